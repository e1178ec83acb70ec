//===- LinearCrossEntropy.cpp - a projection and its cross entropy, chunk by chunk ----===//
//
// Each chunk of rows is a product into workspace, followed by the kernel of cross entropy. The gradient recomputes the
// chunk's logits, replaces them by their gradient in place, and computes two products of it. The kernels are those of
// the catalogue, prepared once for full chunks and once for a shorter last one. Sums of chunks are added in f64, in
// order.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/LinearLossShape.h"

namespace sluice::cpu {
namespace {

Operand vector(DType dtype, std::int64_t size) {
  Operand operand = matrixOf(dtype, size, 1, 1);
  operand.rank = 1;
  return operand;
}

Operand scalar(DType dtype) {
  Operand operand;
  operand.dtype = dtype;
  return operand;
}

char *shifted(const Operand &operand, std::int64_t elements) {
  return operand.as<char>() + elements * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
}

/// The kernels of the chunks of one length.
struct Steps {
  std::unique_ptr<BoundKernel> logits, loss, slopes, dx, firstWeight, nextWeight;
};

struct Chunks {
  LinearLossShape s;
  /// Elements between rows of x and of dx.
  std::int64_t xPitch = 0, dxPitch = 0;
  std::uint64_t logitsBytes = 0;
  /// By whether the chunk is a short last one.
  Steps steps[2];

  /// One f64 next to the logits: the sum of a chunk's losses, or the factor of its gradient.
  double *number(Call &call) const {
    return reinterpret_cast<double *>(static_cast<char *>(call.workspace) + logitsBytes);
  }
  void *rest(Call &call) const { return static_cast<char *>(call.workspace) + logitsBytes + 64; }

  template <typename Body> Status forEachChunk(Body body) const {
    for (std::int64_t at = 0; at < s.rows; at += s.chunk)
      SLUICE_RETURN_IF_ERROR(body(at, steps[s.rows - at < s.chunk]));
    return Status::ok();
  }
};

Result<std::unique_ptr<BoundKernel>> bind(const KernelRequest &request, std::uint64_t used, KernelId kernel,
                                          std::vector<Operand> inputs, std::vector<Operand> outputs,
                                          std::vector<Attributes::Item> items) {
  Attributes attributes(std::move(items));
  KernelRequest inner{inputs, outputs, &attributes, request.threads, request.workspace - used};
  return findCpuKernel(kernel)(inner);
}

/// Chunks of x, or an error if operands are not rows at one distance.
Result<std::shared_ptr<Chunks>> prepare(const KernelRequest &request, const LinearLossShape &s, const Operand &x,
                                        const Operand &weight, const Operand &targets, const Operand &lse,
                                        const Operand *dx) {
  auto chunks = std::make_shared<Chunks>();
  chunks->s = s;
  chunks->xPitch = x.rank > 1 ? Rows(x).pitch : s.columns;
  chunks->dxPitch = dx && dx->rank > 1 ? Rows(*dx).pitch : s.columns;
  chunks->logitsBytes = linearLossLogits(s.chunk, s.classes, dtypeBytes(x.dtype));
  std::uint64_t used = chunks->logitsBytes + 64;
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(used));
  std::vector<Attributes::Item> loss = {{"reduction", static_cast<std::int64_t>(kernel::LossReduction::sum), 0, {}},
                                        {"ignore_index", s.loss.ignore, 0, {}}};
  if (s.loss.smoothing != 0)
    loss.push_back({"label_smoothing", 0, s.loss.smoothing, {}});
  Operand weights = matrixOf(x.dtype, s.classes, s.columns, weight.strides[0]);
  Operand dweights = matrixOf(x.dtype, s.classes, s.columns, s.columns);
  for (int last : {0, 1}) {
    std::int64_t rows = last ? s.rows % s.chunk : s.chunk;
    if (rows == 0)
      continue;
    Steps &steps = chunks->steps[last];
    Operand part = matrixOf(x.dtype, rows, s.columns, chunks->xPitch);
    Operand logits = matrixOf(x.dtype, rows, s.classes, s.classes);
    Operand indices = vector(targets.dtype, rows), statistics = vector(lse.dtype, rows);
    auto make = [&](KernelId kernel, std::vector<Operand> in, std::vector<Operand> out,
                    std::vector<Attributes::Item> items) {
      return bind(request, used, kernel, std::move(in), std::move(out), std::move(items));
    };
    SLUICE_ASSIGN_OR_RETURN(steps.logits,
                            make(KernelId::matmul, {part, weights}, {logits}, {{"transpose_b", 1, 0, {}}}));
    if (!dx) {
      SLUICE_ASSIGN_OR_RETURN(steps.loss,
                              make(KernelId::cross_entropy, {logits, indices}, {scalar(DType::f64), statistics}, loss));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(steps.slopes, make(KernelId::cross_entropy_grad,
                                               {scalar(DType::f64), logits, indices, statistics}, {logits}, loss));
    SLUICE_ASSIGN_OR_RETURN(
        steps.dx, make(KernelId::matmul, {logits, weights}, {matrixOf(x.dtype, rows, s.columns, chunks->dxPitch)}, {}));
    SLUICE_ASSIGN_OR_RETURN(steps.firstWeight,
                            make(KernelId::matmul, {logits, part}, {dweights}, {{"transpose_a", 1, 0, {}}}));
    SLUICE_ASSIGN_OR_RETURN(steps.nextWeight, make(KernelId::matmul, {logits, part, dweights}, {dweights},
                                                   {{"transpose_a", 1, 0, {}}, {"residual", 1, 0, {}}}));
  }
  return chunks;
}

/// Rows that follow one another at one distance.
bool areRows(const Operand &operand) {
  return operand.elements() > 0 && contiguousRows(operand) && Rows(operand).pitch >= 0 &&
         (operand.rank < 2 || Rows(operand).pitch >= operand.extent[operand.rank - 1] || Rows(operand).rows == 1);
}

} // namespace

Bound fast::linear_cross_entropy(const KernelRequest &request) {
  auto [x, weight, targets, lse, loss] = LinearLossOperands::ofForward(request.inputs, request.outputs);
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape s, LinearLossShape::of(request, x, weight, targets, lse, loss));
  if (!areRows(x) || !areRows(weight) || !targets.isDense() || !lse.isDense())
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(auto chunks, prepare(request, s, x, weight, targets, lse, nullptr));
  return makeKernel(request, [chunks](Call &call) {
    const Chunks &c = *chunks;
    auto [x, weight, targets, lse, loss] = LinearLossOperands::ofForward(call.inputs, call.outputs);
    SLUICE_RETURN_IF_ERROR(c.s.loss.checkTargets(targets));
    double total = 0;
    SLUICE_RETURN_IF_ERROR(c.forEachChunk(
        [&, &x = x, &weight = weight, &targets = targets, &lse = lse](std::int64_t at, const Steps &steps) {
          void *product[] = {shifted(x, at * c.xPitch), weight.data}, *logits[] = {call.workspace};
          SLUICE_RETURN_IF_ERROR(steps.logits->run(product, logits, c.rest(call)));
          void *in[] = {call.workspace, shifted(targets, at)}, *out[] = {c.number(call), shifted(lse, at)};
          SLUICE_RETURN_IF_ERROR(steps.loss->run(in, out, c.rest(call)));
          total += *c.number(call);
          return Status::ok();
        }));
    store(loss, 0, c.s.loss.mean ? total / static_cast<double>(c.s.loss.counted(targets)) : total);
    return Status::ok();
  });
}

Bound fast::linear_cross_entropy_grad(const KernelRequest &request) {
  auto [x, weight, targets, lse, dloss] = LinearLossOperands::ofGradient(request.inputs);
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape s, LinearLossShape::of(request, x, weight, targets, lse, dloss));
  const Operand &dx = request.outputs[0], &dweight = request.outputs[1];
  if (!areRows(x) || !areRows(weight) || !areRows(dx) || !targets.isDense() || !lse.isDense() || !dweight.isDense())
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(auto chunks, prepare(request, s, x, weight, targets, lse, &dx));
  return makeKernel(request, [chunks](Call &call) {
    const Chunks &c = *chunks;
    auto [x, weight, targets, lse, dloss] = LinearLossOperands::ofGradient(call.inputs);
    const Operand &dx = call.outputs[0], &dweight = call.outputs[1];
    SLUICE_RETURN_IF_ERROR(c.s.loss.checkTargets(targets));
    double factor = load(dloss, 0);
    if (c.s.loss.mean)
      factor /= static_cast<double>(c.s.loss.counted(targets));
    return c.forEachChunk(
        [&, &x = x, &weight = weight, &targets = targets, &lse = lse](std::int64_t at, const Steps &steps) {
          void *slopes = call.workspace, *part = shifted(x, at * c.xPitch);
          void *product[] = {part, weight.data}, *logits[] = {slopes};
          SLUICE_RETURN_IF_ERROR(steps.logits->run(product, logits, c.rest(call)));
          *c.number(call) = factor;
          void *loss[] = {c.number(call), slopes, shifted(targets, at), shifted(lse, at)};
          SLUICE_RETURN_IF_ERROR(steps.slopes->run(loss, logits, c.rest(call)));
          void *down[] = {slopes, weight.data}, *rows[] = {shifted(dx, at * c.dxPitch)};
          SLUICE_RETURN_IF_ERROR(steps.dx->run(down, rows, c.rest(call)));
          void *outer[] = {slopes, part, dweight.data}, *sums[] = {dweight.data};
          return at == 0 ? steps.firstWeight->run(std::span(outer, 2), sums, c.rest(call))
                         : steps.nextWeight->run(outer, sums, c.rest(call));
        });
  });
}

} // namespace sluice::cpu
