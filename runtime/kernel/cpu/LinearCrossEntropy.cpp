//===- LinearCrossEntropy.cpp - a projection and its cross entropy, chunk by chunk ----===//
//
// Each chunk of rows is a product into workspace, followed by the kernel of cross entropy. The gradient replaces the
// logits by their gradient in place, and computes two products of it; alone it computes the logits again. The kernels
// are those of the catalogue, prepared once for full chunks and once for a shorter last one. Sums of chunks are added
// in f64, in order.
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
};

Result<std::unique_ptr<BoundKernel>> bind(const KernelRequest &request, std::uint64_t used, KernelId kernel,
                                          std::vector<Operand> inputs, std::vector<Operand> outputs,
                                          std::vector<Attributes::Item> items) {
  Attributes attributes(std::move(items));
  KernelRequest inner{inputs, outputs, &attributes, request.threads, request.workspace - used};
  return findCpuKernel(kernel)(inner);
}

/// Chunks of x, whose operands are rows at one distance.
Result<std::shared_ptr<Chunks>> prepare(const KernelRequest &request, const LinearLossShape &s,
                                        const LinearLossOperands &o) {
  const Operand &x = *o.x;
  auto chunks = std::make_shared<Chunks>();
  chunks->s = s;
  chunks->xPitch = x.rank > 1 ? Rows(x).pitch : s.columns;
  chunks->dxPitch = o.dx && o.dx->rank > 1 ? Rows(*o.dx).pitch : s.columns;
  chunks->logitsBytes = linearLossLogits(s.chunk, s.classes, dtypeBytes(x.dtype));
  std::uint64_t used = chunks->logitsBytes + 64;
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(used));
  std::vector<Attributes::Item> loss = {{"reduction", static_cast<std::int64_t>(kernel::LossReduction::sum), 0, {}},
                                        {"ignore_index", s.loss.ignore, 0, {}}};
  if (s.loss.smoothing != 0)
    loss.push_back({"label_smoothing", 0, s.loss.smoothing, {}});
  Operand weights = matrixOf(x.dtype, s.classes, s.columns, o.weight->strides[0]);
  Operand dweights = matrixOf(o.dweight ? o.dweight->dtype : x.dtype, s.classes, s.columns, s.columns);
  for (int last : {0, 1}) {
    std::int64_t rows = last ? s.rows % s.chunk : s.chunk;
    if (rows == 0)
      continue;
    Steps &steps = chunks->steps[last];
    Operand part = matrixOf(x.dtype, rows, s.columns, chunks->xPitch);
    Operand logits = matrixOf(x.dtype, rows, s.classes, s.classes);
    Operand indices = vector(o.targets->dtype, rows), statistics = vector(o.lse->dtype, rows);
    auto make = [&](KernelId kernel, std::vector<Operand> in, std::vector<Operand> out,
                    std::vector<Attributes::Item> items) {
      return bind(request, used, kernel, std::move(in), std::move(out), std::move(items));
    };
    SLUICE_ASSIGN_OR_RETURN(steps.logits,
                            make(KernelId::matmul, {part, weights}, {logits}, {{"transpose_b", 1, 0, {}}}));
    if (o.loss) {
      SLUICE_ASSIGN_OR_RETURN(steps.loss,
                              make(KernelId::cross_entropy, {logits, indices}, {scalar(DType::f64), statistics}, loss));
    }
    if (!o.dx)
      continue;
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

Status computeChunk(Call &call, const Chunks &c, const LinearLossOperands &o, std::int64_t at, const Steps &steps,
                    double factor, double &total) {
  void *logits = call.workspace, *part = shifted(*o.x, at * c.xPitch), *targets = shifted(*o.targets, at),
       *lse = shifted(*o.lse, at);
  void *product[] = {part, o.weight->data}, *chunk[] = {logits};
  SLUICE_RETURN_IF_ERROR(steps.logits->run(product, chunk, c.rest(call)));
  if (steps.loss) {
    void *in[] = {logits, targets}, *out[] = {c.number(call), lse};
    SLUICE_RETURN_IF_ERROR(steps.loss->run(in, out, c.rest(call)));
    total += *c.number(call);
  }
  if (!steps.slopes)
    return {};
  *c.number(call) = factor;
  void *slopes[] = {c.number(call), logits, targets, lse};
  SLUICE_RETURN_IF_ERROR(steps.slopes->run(slopes, chunk, c.rest(call)));
  void *down[] = {logits, o.weight->data}, *rows[] = {shifted(*o.dx, at * c.dxPitch)};
  SLUICE_RETURN_IF_ERROR(steps.dx->run(down, rows, c.rest(call)));
  void *outer[] = {logits, part, o.dweight->data}, *sums[] = {o.dweight->data};
  return at == 0 && !c.s.addsWeight ? steps.firstWeight->run(std::span(outer, 2), sums, c.rest(call))
                                    : steps.nextWeight->run(outer, sums, c.rest(call));
}

Bound prepareChunks(const KernelRequest &request, LinearLoss kernel) {
  const auto o = linearLossOperands(kernel, request.inputs, request.outputs);
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape s, LinearLossShape::of(request, o));
  if (!areRows(*o.x) || !areRows(*o.weight) || !o.targets->isDense() || !o.lse->isDense() ||
      (o.dx && (!areRows(*o.dx) || !o.dweight->isDense())))
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(auto chunks, prepare(request, s, o));
  return makeKernel(request, [chunks, kernel](Call &call) {
    const Chunks &c = *chunks;
    const auto o = linearLossOperands(kernel, call.inputs, call.outputs);
    SLUICE_RETURN_IF_ERROR(c.s.loss.checkTargets(*o.targets));
    const double counted = c.s.loss.mean ? static_cast<double>(c.s.loss.counted(*o.targets)) : 1,
                 factor = o.dloss ? load(*o.dloss, 0) / counted : 0;
    double total = 0;
    for (std::int64_t at = 0; at < c.s.rows; at += c.s.chunk)
      SLUICE_RETURN_IF_ERROR(computeChunk(call, c, o, at, c.steps[c.s.rows - at < c.s.chunk], factor, total));
    if (o.loss)
      store(*o.loss, 0, total / counted);
    return Status::ok();
  });
}

} // namespace

Bound fast::linear_cross_entropy(const KernelRequest &request) { return prepareChunks(request, LinearLoss::forward); }

Bound fast::linear_cross_entropy_grad(const KernelRequest &request) {
  return prepareChunks(request, LinearLoss::gradient);
}

Bound fast::linear_cross_entropy_and_grad(const KernelRequest &request) {
  return prepareChunks(request, LinearLoss::both);
}

} // namespace sluice::cpu
