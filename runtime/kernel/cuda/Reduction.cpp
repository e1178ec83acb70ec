//===- Reduction.cpp - sums and maxima on a GPU ----------------------------------------------------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Columns.h"
#include "runtime/kernel/cuda/device/Reduce.h"

#include <cmath>
#include <map>

namespace sluice::cuda {
namespace {

static_assert(powerSumWorkspace(1) == powerBlocks * 8);

/// The number of results from which one thread per result fills the device.
constexpr std::int64_t manyResults = 4096;

Bound reduce(const KernelRequest &request, bool largest) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::array<bool, maxRank> reduced{};
  for (const std::int64_t dim : request.attributes->list("dims"))
    reduced[static_cast<std::size_t>(dim)] = true;
  ReduceArgs args;
  args.largest = largest;
  args.outer.type = args.inner.type = static_cast<int>(x.dtype);
  args.y = viewOf(y);
  // Dims of extent 1 that the output has for reduced dims do not count.
  int kept = 0;
  View out = args.y;
  for (int d = 0; d < x.rank; ++d) {
    View &part = reduced[d] ? args.inner : args.outer;
    part.extent[part.rank] = x.extent[d];
    part.strides[part.rank++] = x.strides[d];
    if (!reduced[d]) {
      out.extent[kept] = x.extent[d];
      out.strides[kept] = y.strides[y.rank == x.rank ? d : kept];
      ++kept;
    }
  }
  out.rank = kept;
  args.y = out;
  args.outputs = countOf(args.outer);
  args.terms = countOf(args.inner);
  if (request.attributes->integer("mean", 0) != 0)
    args.divisor = static_cast<double>(args.terms);
  args.adds = request.adds[0];
  const bool byThread = args.outputs >= manyResults || args.terms <= 32;
  return oneLaunch(
      request, symbol(byThread ? "reduceByThread" : "reduceByBlock", {&x}),
      byThread ? exactGrid(args.outputs, 128)
               : LaunchShape{static_cast<std::uint64_t>(args.outputs), args.terms <= 512 ? 128 : 256, reduceBytes},
      args, [](ReduceArgs &args, const RunAddresses &run) {
        args.outer.data = run.inputs[0];
        args.y.data = run.outputs[0];
      });
}

/// True if the reduced dims are the first ones, so that the sums are those of a matrix's columns.
bool areFirst(std::span<const std::int64_t> dims) {
  for (const std::int64_t dim : dims)
    if (dim >= static_cast<std::int64_t>(dims.size()))
      return false;
  return !dims.empty();
}

/// The sums of the columns of a dense matrix, in two stages; null if the request is not that.
Bound columnSumsOf(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const auto dims = request.attributes->list("dims");
  const std::string stored = storedAlike({&x});
  if (stored.empty() || !areFirst(dims) || y.dtype == DType::f64 || !y.isDense())
    return std::unique_ptr<BoundKernel>();
  const std::int64_t rows = cpu::extentOf(x, 0, static_cast<int>(dims.size())),
                     columns = cpu::extentOf(x, static_cast<int>(dims.size()), x.rank);
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(x.dtype)), width = vectorBytes / bytes;
  if (rows == 0 || columns == 0 || columns % width != 0)
    return std::unique_ptr<BoundKernel>();
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(columnsWorkspace(rows, columns, bytes)));
  ColumnsArgs args;
  args.rows = static_cast<unsigned>(rows);
  args.columns = static_cast<unsigned>(columns);
  args.runs = static_cast<unsigned>(columnRuns(rows, columns, bytes));
  args.y.type = static_cast<int>(y.dtype);
  args.y.strides[0] = 1;
  if (request.attributes->integer("mean", 0) != 0)
    args.factor = 1 / static_cast<float>(rows);
  args.adds = request.adds[0];
  const auto bind = [](ColumnsArgs &args, const RunAddresses &run) {
    args.x = run.inputs[0];
    args.y.data = run.outputs[0];
    args.partial = static_cast<float *>(run.workspace);
  };
  const auto tiles = static_cast<std::uint64_t>((columns / width + warpSize - 1) / warpSize);
  LaunchList list(*request.cuda);
  list.add("sluice_columnSums_" + stored, {tiles * args.runs, columnsThreads, columnsShared}, args, bind);
  if (args.runs > 1)
    list.add("sluice_columnSumsEnd",
             {static_cast<std::uint64_t>((columns + warpSize - 1) / warpSize), runsThreads, runsShared}, args, bind);
  return std::move(list).finish();
}

/// Dense tensors of one policy for one launch.
struct PowerList {
  PowerListArgs args;
  std::vector<std::size_t> inputs;
  std::uint64_t blocks = 0;
};

void addList(LaunchList &list, const std::string &policy, PowerList &pending) {
  if (pending.inputs.empty())
    return;
  pending.args.count = static_cast<int>(pending.inputs.size());
  list.add("sluice_powerSumOfList_" + policy, {pending.blocks, powerThreads, reduceBytes}, pending.args,
           [inputs = pending.inputs](PowerListArgs &args, const RunAddresses &run) {
             for (std::size_t i = 0; i < inputs.size(); ++i)
               args.tensors[i].data = run.inputs[inputs[i]];
             args.partial = static_cast<double *>(run.workspace);
           });
  pending.inputs.clear();
  pending.blocks = 0;
}

Bound scalarOf(const KernelRequest &request, Scalar operation, double p) {
  ScalarArgs args;
  const auto bind = bindViews(args, request, {&ScalarArgs::x}, {&ScalarArgs::y});
  args.operation = static_cast<int>(operation);
  args.p = p;
  return oneLaunch(request, "sluice_scalar", {1, 32, reduceBytes}, args, bind);
}

} // namespace

/// One launch for all dense inputs of a policy, up to as many as fit its arguments. Partial results are in the order of
/// the inputs, whichever launch computes them.
Bound kernels::power_sum(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(powerSumWorkspace(request.inputs.size())));
  const double p = request.attributes->number("p");
  LaunchList list(*request.cuda);
  std::map<std::string, PowerList> pending;
  std::int64_t partials = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const Operand &x = request.inputs[i];
    LaunchShape shape = exactGrid(x.elements(), x.isDense() ? static_cast<int>(powerElements) : 256);
    shape.blocks = std::min<std::uint64_t>(shape.blocks, powerBlocks);
    const std::int64_t first = partials;
    partials += static_cast<std::int64_t>(shape.blocks);
    if (shape.blocks == 0)
      continue;
    if (x.isDense()) {
      const std::string policy = policyOf({&x});
      PowerList &to = pending[policy];
      to.args.largest = std::isinf(p);
      to.args.p = p;
      to.args.tensors[to.inputs.size()] = {nullptr, x.elements(), static_cast<int>(x.dtype),
                                           static_cast<int>(to.blocks), static_cast<int>(first)};
      to.inputs.push_back(i);
      to.blocks += shape.blocks;
      if (to.inputs.size() == listedTensors)
        addList(list, policy, to);
      continue;
    }
    ReduceArgs args;
    args.inner = viewOf(x);
    args.terms = x.elements();
    args.largest = std::isinf(p);
    args.p = p;
    list.add(symbol("powerSum", {&x}), shape, args, [i, first](ReduceArgs &args, const RunAddresses &run) {
      args.inner.data = run.inputs[i];
      args.partial = static_cast<double *>(run.workspace) + first;
    });
  }
  for (auto &[policy, rest] : pending)
    addList(list, policy, rest);
  ReduceArgs args;
  const auto bind = bindViews(args, request, {}, {&ReduceArgs::y}, &ReduceArgs::partial);
  args.terms = partials;
  args.largest = std::isinf(p);
  list.add("sluice_powerSumEnd", {1, 1024, reduceBytes}, args, bind);
  return std::move(list).finish();
}

Bound kernels::all_finite(const KernelRequest &request) {
  LaunchList list(*request.cuda);
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    ScalarArgs args{viewOf(request.inputs[i]), viewOf(request.outputs[0])};
    args.isContinued = i > 0;
    list.add("sluice_allFinite", {1, 256, reduceBytes}, args, [i](ScalarArgs &args, const RunAddresses &run) {
      args.x.data = run.inputs[i];
      args.y.data = run.outputs[0];
    });
  }
  return std::move(list).finish();
}

Bound kernels::reduce_sum(const KernelRequest &request) {
  return whereAligned(columnSumsOf(request), reduce(request, false));
}
Bound kernels::reduce_max(const KernelRequest &request) { return reduce(request, true); }
Bound kernels::norm_root(const KernelRequest &request) {
  return scalarOf(request, Scalar::normRoot, request.attributes->number("p"));
}
Bound kernels::clip_coefficient(const KernelRequest &request) {
  return scalarOf(request, Scalar::clipCoefficient, request.attributes->number("max_norm"));
}

} // namespace sluice::cuda
