//===- Pointwise.cpp - element by element on a GPU --------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Dense.h"

namespace sluice::cuda {
namespace {

bool isDenseAlike(const Operand &a, const Operand &b) { return a.isDense() && cpu::sameExtent(a, b); }

/// Elements after which `x` repeats over `frame`, as if the last dims of both were equal and x had no others; 0 if it
/// does not repeat so.
std::int64_t periodOf(const Operand &x, const Operand &frame) {
  if (isDenseAlike(x, frame))
    return frame.elements();
  const cpu::Dims strides = cpu::broadcastStrides(x, frame);
  std::int64_t period = 1;
  int d = frame.rank - 1;
  for (; d >= 0 && (frame.extent[d] == 1 || strides[d] == period); --d)
    period *= frame.extent[d];
  for (; d >= 0; --d)
    if (frame.extent[d] != 1 && strides[d] != 0)
      return 0;
  return period;
}

/// Four vectors of a thread, or fewer on a device that is not full: blocks that are short leave no long rest when the
/// last of them run, whatever the number that run at once.
LaunchShape gridOfVectors(const KernelContext &context, std::int64_t vectors) {
  LaunchShape shape = gridFor(context, vectors);
  shape.blocks = std::max(shape.blocks, exactGrid(vectors, 4 * shape.threads).blocks);
  return shape;
}

/// A launch of a kernel of dense operands.
Bound dense(const KernelRequest &request, const std::string &function, int operation = 0, double p = 0, double q = 0,
            std::int64_t period = 0) {
  const Operand &y = request.outputs[0];
  DenseArgs args;
  args.count = static_cast<unsigned>(y.elements());
  args.period = period == 0 ? args.count : static_cast<unsigned>(period);
  args.operation = operation;
  args.p = static_cast<float>(p);
  args.q = static_cast<float>(q);
  const auto width = static_cast<std::int64_t>(vectorBytes / dtypeBytes(y.dtype));
  return oneLaunch(request, "sluice_" + function, gridOfVectors(*request.cuda, (y.elements() + width - 1) / width),
                   args, [](DenseArgs &args, const RunAddresses &run) {
                     for (std::size_t i = 0; i < run.outputs.size(); ++i)
                       args.y[i] = run.outputs[i];
                     for (std::size_t i = 0; i < run.inputs.size(); ++i)
                       args.x[i] = run.inputs[i];
                   });
}

/// y += x
Bound accumulateDense(const KernelRequest &request, const std::string &pair) {
  const Operand &y = request.outputs[0];
  DenseArgs args;
  args.count = args.period = static_cast<unsigned>(y.elements());
  return oneLaunch(request, "sluice_accumulateDense_" + pair, gridOfVectors(*request.cuda, (y.elements() + 3) / 4),
                   args, [](DenseArgs &args, const RunAddresses &run) {
                     args.x[0] = run.inputs[0];
                     args.x[1] = args.y[0] = run.outputs[0];
                   });
}

/// A launch over the output with one to three inputs.
Bound pointwise(const KernelRequest &request, const std::string &function, int operation = 0, double p = 0,
                double q = 0) {
  const Operand &y = request.outputs[0];
  PointwiseArgs args;
  args.y = viewOf(y);
  args.operation = operation;
  args.p = p;
  args.q = q;
  args.dense = y.isDense();
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    args.x[i] = broadcastView(request.inputs[i], y);
    args.dense = args.dense && isDenseAlike(request.inputs[i], y);
  }
  return oneLaunch(request, function, gridFor(*request.cuda, y.elements()), args,
                   [](PointwiseArgs &args, const RunAddresses &run) {
                     args.y.data = run.outputs[0];
                     for (std::size_t i = 0; i < run.inputs.size(); ++i)
                       args.x[i].data = run.inputs[i];
                   });
}

Bound unary(const KernelRequest &request, Unary operation, double p = 0) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const bool hasDense = operation != Unary::sin && operation != Unary::cos;
  if (const std::string stored = storedAlike({&x, &y}); hasDense && !stored.empty() && cpu::sameExtent(x, y))
    return dense(request, "unaryDense_" + stored, static_cast<int>(operation), p);
  return pointwise(request, symbol("unary", {&request.inputs[0], &request.outputs[0]}), static_cast<int>(operation), p);
}

Bound binary(const KernelRequest &request, Binary operation, double p = 0, double q = 0) {
  const Operand &a = request.inputs[0], &b = request.inputs[1], &y = request.outputs[0];
  const std::string stored = storedAlike({&a, &b, &y});
  if (const std::int64_t period = stored.empty() ? 0 : periodOf(b, y);
      cpu::sameExtent(a, y) && period != 0 &&
      period % static_cast<std::int64_t>(vectorBytes / dtypeBytes(y.dtype)) == 0)
    return dense(request, "binaryDense_" + stored, static_cast<int>(operation), p, q, period);
  const bool integers = !isFloat(y.dtype);
  return pointwise(request,
                   integers ? "sluice_binaryInteger"
                            : symbol("binary", {&request.inputs[0], &request.inputs[1], &request.outputs[0]}),
                   static_cast<int>(operation), p, q);
}

bool usesTanh(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

} // namespace

Bound kernels::negate(const KernelRequest &request) { return unary(request, Unary::negate); }
Bound kernels::exp(const KernelRequest &request) { return unary(request, Unary::exp); }
Bound kernels::log(const KernelRequest &request) { return unary(request, Unary::log); }
Bound kernels::tanh(const KernelRequest &request) { return unary(request, Unary::tanh); }
Bound kernels::erf(const KernelRequest &request) { return unary(request, Unary::erf); }
Bound kernels::sin(const KernelRequest &request) { return unary(request, Unary::sin); }
Bound kernels::cos(const KernelRequest &request) { return unary(request, Unary::cos); }
Bound kernels::sqrt(const KernelRequest &request) { return unary(request, Unary::sqrt); }
Bound kernels::rsqrt(const KernelRequest &request) { return unary(request, Unary::rsqrt); }
Bound kernels::relu(const KernelRequest &request) { return unary(request, Unary::relu); }
Bound kernels::sigmoid(const KernelRequest &request) { return unary(request, Unary::sigmoid); }
Bound kernels::softplus(const KernelRequest &request) { return unary(request, Unary::softplus); }
Bound kernels::silu(const KernelRequest &request) { return unary(request, Unary::silu); }
Bound kernels::add(const KernelRequest &request) { return binary(request, Binary::add); }
Bound kernels::subtract(const KernelRequest &request) { return binary(request, Binary::subtract); }
Bound kernels::multiply(const KernelRequest &request) { return binary(request, Binary::multiply); }
Bound kernels::divide(const KernelRequest &request) { return binary(request, Binary::divide); }
Bound kernels::maximum(const KernelRequest &request) { return binary(request, Binary::maximum); }
Bound kernels::relu_grad(const KernelRequest &request) { return binary(request, Binary::reluGrad); }
Bound kernels::silu_grad(const KernelRequest &request) { return binary(request, Binary::siluGrad); }
Bound kernels::swiglu(const KernelRequest &request) { return binary(request, Binary::swiglu); }

Bound kernels::power(const KernelRequest &request) {
  return unary(request, Unary::power, request.attributes->number("exponent"));
}
Bound kernels::scale(const KernelRequest &request) {
  return unary(request, Unary::scale, request.attributes->number("factor"));
}
Bound kernels::gelu(const KernelRequest &request) {
  return unary(request, usesTanh(request) ? Unary::geluTanh : Unary::geluErf);
}
Bound kernels::gelu_grad(const KernelRequest &request) {
  return binary(request, usesTanh(request) ? Binary::geluTanhGrad : Binary::geluErfGrad);
}
Bound kernels::swiglu_grad(const KernelRequest &request) {
  using A = SwigluGradArgs;
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  if (const std::string stored = storedAlike({&in[0], &in[1], &in[2], &out[0], &out[1]}); !stored.empty())
    return dense(request, "swigluGradDense_" + stored);
  A args;
  const auto bind = bindViews(args, request, {&A::dy, &A::gate, &A::up}, {&A::dgate, &A::dup});
  return oneLaunch(request, symbol("swigluGrad", {&in[0], &in[1], &in[2], &out[0], &out[1]}),
                   gridFor(*request.cuda, out[0].elements()), args, bind);
}

Bound kernels::running_average(const KernelRequest &request) {
  const double momentum = request.attributes->number("momentum");
  return binary(request, Binary::runningAverage, 1 - momentum, momentum * request.attributes->number("factor"));
}

Bound kernels::compare(const KernelRequest &request) {
  return pointwise(request, "sluice_compare", static_cast<int>(request.attributes->integer("predicate")));
}
Bound kernels::select(const KernelRequest &request) { return pointwise(request, "sluice_select"); }
namespace {

/// Types that are computed in f32 are cast through f32.
Bound castOne(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (const std::string pair = storedPair(x, y); !pair.empty() && cpu::sameExtent(x, y))
    return dense(request, "castDense_" + pair);
  if (isFloat(x.dtype) && isFloat(y.dtype) && policyOf({&x, &y}) != "wide")
    return unary(request, Unary::identity);
  return pointwise(request, "sluice_cast");
}

/// A launch for each `listedCasts` dense tensors of a list, if all have the same two types; null if one does not fit.
Bound castAll(const KernelRequest &request) {
  const std::string pair = storedPair(request.inputs[0], request.outputs[0]);
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    if (pair.empty() || storedPair(request.inputs[i], request.outputs[i]) != pair ||
        !cpu::sameExtent(request.inputs[i], request.outputs[i]))
      return std::unique_ptr<BoundKernel>();
  LaunchList list(*request.cuda);
  for (std::size_t begin = 0; begin < request.outputs.size(); begin += listedCasts) {
    const auto some =
        request.outputs.subspan(begin, std::min<std::size_t>(listedCasts, request.outputs.size() - begin));
    std::int64_t elements = 0;
    for (const Operand &y : some)
      elements += y.elements();
    LaunchShape shape{0, 256, reduceBytes};
    CastListArgs args;
    args.count = static_cast<int>(some.size());
    args.span = static_cast<unsigned>(spanOfBlocks(*request.cuda, elements, 8, vectorBytes / 2));
    for (std::size_t i = 0; i < some.size(); ++i) {
      args.casts[i].count = static_cast<unsigned>(some[i].elements());
      args.casts[i].firstBlock = static_cast<int>(shape.blocks);
      shape.blocks += (args.casts[i].count + std::uint64_t(args.span) - 1) / args.span;
    }
    list.add("sluice_castList_" + pair, shape, args,
             [begin, count = some.size()](CastListArgs &args, const RunAddresses &run) {
               for (std::size_t i = 0; i < count; ++i) {
                 args.casts[i].x = run.inputs[begin + i];
                 args.casts[i].y = run.outputs[begin + i];
               }
             });
  }
  return std::move(list).finish();
}

} // namespace

Bound kernels::cast(const KernelRequest &request) {
  if (request.outputs.size() == 1)
    return castOne(request);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<BoundKernel> all, castAll(request));
  return all ? Bound(std::move(all)) : prepareEach(castOne, request);
}
Bound kernels::copy(const KernelRequest &request) { return pointwise(request, "sluice_strided"); }
Bound kernels::constant(const KernelRequest &request) {
  return pointwise(request, "sluice_constant", 0, request.attributes->number("value"));
}
Bound kernels::accumulate(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (const std::string pair = storedPair(x, y); !pair.empty() && cpu::sameExtent(x, y))
    return request.attributes->integer("first") != 0 ? dense(request, "castDense_" + pair)
                                                     : accumulateDense(request, pair);
  return pointwise(request, "sluice_accumulate", request.attributes->integer("first") != 0);
}
Bound kernels::count_up(const KernelRequest &request) { return pointwise(request, "sluice_countUp"); }

} // namespace sluice::cuda
