//===- LinearCrossEntropy.cpp - chunked cross entropy on a GPU ------------------===//
//
// Each chunk of rows is a product into scratch memory, followed by the loss kernels. The gradient replaces the logits
// by their gradient and ends in two products; that of the weight adds the sum of earlier chunks, or that to which the
// launch adds, as its residual. Alone it computes the logits again. Only one chunk's logits exist at a time. Rows
// without a constant stride are chunks of one row.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/LinearLossShape.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Rows.h"

#include <algorithm>
#include <optional>

namespace sluice::cuda {
namespace {

using cpu::LinearLoss;
using cpu::LinearLossOperands;
using cpu::linearLossOperands;
using cpu::LinearLossShape;

/// The stride of rows (the first `dims` dims), if it is constant.
std::optional<std::int64_t> pitchOf(const Operand &operand, int dims) {
  const View view = joined(viewOf(operand), dims);
  const int left = view.rank - (operand.rank - dims);
  return left == 0   ? std::optional<std::int64_t>(0)
         : left == 1 ? std::optional<std::int64_t>(view.strides[0])
                     : std::nullopt;
}

/// Rows of an operand; a chunk of them is a matrix.
struct RowRange {
  const Operand operand;
  const int dims;
  const std::int64_t pitch;
  RowRange(const Operand &operand, int dims)
      : operand(operand), dims(dims), pitch(pitchOf(operand, dims).value_or(0)) {}

  /// Bytes from the first row to this one.
  std::int64_t offset(std::int64_t row) const {
    // Without rows there is no dim to divide by.
    return row == 0 ? 0 : cpu::offsetOf(operand, 0, dims, row) * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
  }
  Operand chunk(std::int64_t rows, std::int64_t columns) const {
    Operand made = cpu::matrixOf(operand.dtype, rows, columns, pitch, operand.strides[operand.rank - 1]);
    // As aligned as the worst chunk: its address is the first one's and some multiple of the distance.
    made.data = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(operand.data) |
                                         static_cast<std::uintptr_t>(pitch * rows) * dtypeBytes(operand.dtype));
    return made;
  }
  /// One number a row.
  View numbers(std::int64_t rows) const {
    View view;
    view.type = static_cast<int>(operand.dtype);
    view.rank = 1;
    view.extent[0] = rows;
    view.strides[0] = pitch;
    return view;
  }
};

/// The kernels of chunks of one length.
struct Steps {
  std::int64_t rows = 0;
  std::unique_ptr<BoundKernel> logits, loss, slopes, dx, firstWeight, nextWeight;
};

struct Chunks {
  LinearLossShape s;
  LinearLossWorkspace space;
  RowRange x, dx, targets, lse;
  /// Full chunks, and a shorter last one.
  Steps steps[2];
  std::unique_ptr<BoundKernel> factor, total;

  char *factorOf(const RunAddresses &run) const { return static_cast<char *>(run.workspace) + space.logits; }
  char *lossOf(const RunAddresses &run, std::int64_t row) const { return factorOf(run) + (1 + row) * 8; }
  void *rest(const RunAddresses &run) const { return static_cast<char *>(run.workspace) + space.own(); }
};

Result<std::unique_ptr<BoundKernel>> product(const KernelRequest &request, std::uint64_t used,
                                             std::vector<Operand> inputs, const Operand &output,
                                             std::vector<Attributes::Item> items) {
  Attributes attributes(std::move(items));
  const Operand outputs[] = {output};
  KernelRequest inner{inputs, outputs, &attributes, 1, request.workspace - used, request.cuda, request.smMargin};
  inner.measuresAlgorithm = false;
  return findCudaKernel(KernelId::matmul)(inner);
}

RowArgs lossArgs(const LinearLossShape &s, std::int64_t rows) {
  RowArgs args;
  args.rows = rows;
  args.columns = args.classes = s.classes;
  args.ignore = s.loss.ignore;
  args.mean = s.loss.mean;
  args.smoothing = s.loss.smoothing;
  return args;
}

Result<std::shared_ptr<Chunks>> prepare(const KernelRequest &request, const LinearLossOperands &o) {
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape s, LinearLossShape::of(request, o));
  const int dims = o.x->rank - 1;
  const Operand &dx = o.dx ? *o.dx : *o.x;
  for (const Operand *operand : {o.x, &dx, o.targets, o.lse})
    if (!pitchOf(*operand, dims))
      s.chunk = 1;
  const LinearLossWorkspace space(s.rows, s.chunk, s.classes, dtypeBytes(o.x->dtype));
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(space.own()));
  auto chunks = std::make_shared<Chunks>(
      Chunks{s, space, {*o.x, dims}, {dx, dims}, {*o.targets, dims}, {*o.lse, dims}, {}, nullptr, nullptr});
  const std::string policy = policyOf({o.x});
  for (int last : {0, 1}) {
    const std::int64_t rows = last ? s.rows % s.chunk : std::min(s.chunk, s.rows);
    if (rows == 0 && (last == 0 || s.rows != 0))
      continue;
    Steps &steps = chunks->steps[last];
    steps.rows = rows;
    const Operand part = chunks->x.chunk(rows, s.columns),
                  logits = cpu::matrixOf(o.x->dtype, rows, s.classes, space.pitch);
    SLUICE_ASSIGN_OR_RETURN(steps.logits,
                            product(request, space.own(), {part, *o.weight}, logits, {{"transpose_b", 1, 0, {}}}));
    const LaunchShape shape = rowGrid(rows, s.classes);
    if (o.loss) {
      RowArgs args = lossArgs(s, rows);
      args.in[0] = viewOf(logits);
      args.in[1] = chunks->targets.numbers(rows);
      args.out[1] = chunks->lse.numbers(rows);
      SLUICE_ASSIGN_OR_RETURN(steps.loss, oneLaunch(request, "sluice_crossEntropy_" + policy, shape, args,
                                                    [](RowArgs &args, const RunAddresses &run) {
                                                      args.in[0].data = run.inputs[0];
                                                      args.in[1].data = run.inputs[1];
                                                      args.out[1].data = run.outputs[0];
                                                      args.scratch = run.workspace;
                                                    }));
    }
    if (!o.dx)
      continue;
    RowArgs args = lossArgs(s, rows);
    args.in[1] = args.out[0] = viewOf(logits);
    args.in[2] = chunks->targets.numbers(rows);
    args.in[3] = chunks->lse.numbers(rows);
    SLUICE_ASSIGN_OR_RETURN(steps.slopes, oneLaunch(request, "sluice_crossEntropyGrad_" + policy, shape, args,
                                                    [](RowArgs &args, const RunAddresses &run) {
                                                      args.in[1].data = args.out[0].data = run.inputs[0];
                                                      args.in[2].data = run.inputs[1];
                                                      args.in[3].data = run.inputs[2];
                                                      args.scratch = run.workspace;
                                                    }));
    const Operand &dweight = *o.dweight;
    SLUICE_ASSIGN_OR_RETURN(steps.dx,
                            product(request, space.own(), {logits, *o.weight}, chunks->dx.chunk(rows, s.columns), {}));
    SLUICE_ASSIGN_OR_RETURN(steps.firstWeight,
                            product(request, space.own(), {logits, part}, dweight, {{"transpose_a", 1, 0, {}}}));
    SLUICE_ASSIGN_OR_RETURN(steps.nextWeight, product(request, space.own(), {logits, part, dweight}, dweight,
                                                      {{"transpose_a", 1, 0, {}}, {"residual", 1, 0, {}}}));
  }
  return chunks;
}

char *shifted(void *data, std::int64_t bytes) { return static_cast<char *>(data) + bytes; }

using Addresses = cpu::LinearLossRoles<void *>;
Addresses addressesOf(LinearLoss kernel, const RunAddresses &run) {
  return Addresses::of(
      kernel, [&](std::size_t i) { return run.inputs[i]; }, [&](std::size_t i) { return run.outputs[i]; });
}

Status enqueueChunk(const Chunks &c, const RunAddresses &run, const Addresses &a, std::int64_t at, const Steps &steps) {
  void *const part = shifted(a.x, c.x.offset(at)), *const targets = shifted(a.targets, c.targets.offset(at)),
              *const lse = shifted(a.lse, c.lse.offset(at));
  void *const product[] = {part, a.weight}, *const logits[] = {run.workspace};
  SLUICE_RETURN_IF_ERROR(steps.logits->enqueue(run.stream, product, logits, c.rest(run)));
  if (steps.loss) {
    void *const in[] = {run.workspace, targets}, *const out[] = {lse};
    SLUICE_RETURN_IF_ERROR(steps.loss->enqueue(run.stream, in, out, c.lossOf(run, at)));
  }
  if (!steps.slopes)
    return {};
  void *const slopes[] = {run.workspace, targets, lse};
  SLUICE_RETURN_IF_ERROR(steps.slopes->enqueue(run.stream, slopes, {}, c.factorOf(run)));
  void *const down[] = {run.workspace, a.weight}, *const rows[] = {shifted(a.dx, c.dx.offset(at))};
  SLUICE_RETURN_IF_ERROR(steps.dx->enqueue(run.stream, down, rows, c.rest(run)));
  void *const outer[] = {run.workspace, part, a.dweight}, *const sums[] = {a.dweight};
  return at == 0 && !c.s.addsWeight ? steps.firstWeight->enqueue(run.stream, std::span(outer, 2), sums, c.rest(run))
                                    : steps.nextWeight->enqueue(run.stream, outer, sums, c.rest(run));
}

Bound prepareChunks(const KernelRequest &request, LinearLoss kernel) {
  const auto o = linearLossOperands(kernel, request.inputs, request.outputs);
  SLUICE_ASSIGN_OR_RETURN(auto chunks, prepare(request, o));
  // Launches of one block: before the chunks the factor of their gradients, after them the total of their losses.
  const LaunchShape oneBlock{1, 512, reduceBytes};
  RowArgs args = lossArgs(chunks->s, chunks->s.rows);
  args.in[0] = o.dloss ? viewOf(*o.dloss) : View();
  args.in[1] = args.in[2] = viewOf(*o.targets);
  args.out[0] = o.loss ? viewOf(*o.loss) : View();
  const auto bindAll = [kernel](RowArgs &args, const RunAddresses &run) {
    const Addresses a = addressesOf(kernel, run);
    args.in[0].data = a.dloss;
    args.in[1].data = args.in[2].data = a.targets;
    args.out[0].data = a.loss;
    args.scratch = run.workspace;
  };
  if (o.dloss) {
    SLUICE_ASSIGN_OR_RETURN(chunks->factor, oneLaunch(request, "sluice_crossEntropyFactor", oneBlock, args, bindAll));
  }
  if (o.loss) {
    SLUICE_ASSIGN_OR_RETURN(chunks->total, oneLaunch(request, "sluice_crossEntropyEnd", oneBlock, args, bindAll));
  }
  LaunchList list(*request.cuda);
  list.addStep([chunks, kernel](const RunAddresses &run) {
    const Chunks &c = *chunks;
    const Addresses a = addressesOf(kernel, run);
    if (c.factor)
      SLUICE_RETURN_IF_ERROR(c.factor->enqueue(run.stream, run.inputs, run.outputs, c.factorOf(run)));
    // At least once: a sum over no rows is still to be written.
    for (std::int64_t at = 0; at == 0 || at < c.s.rows; at += c.s.chunk)
      SLUICE_RETURN_IF_ERROR(enqueueChunk(c, run, a, at, c.steps[c.s.rows - at < c.s.chunk]));
    return c.total ? c.total->enqueue(run.stream, run.inputs, run.outputs, c.lossOf(run, 0)) : Status::ok();
  });
  return std::move(list).finish();
}

} // namespace

Bound kernels::linear_cross_entropy(const KernelRequest &request) {
  return prepareChunks(request, LinearLoss::forward);
}

Bound kernels::linear_cross_entropy_grad(const KernelRequest &request) {
  return prepareChunks(request, LinearLoss::gradient);
}

Bound kernels::linear_cross_entropy_and_grad(const KernelRequest &request) {
  return prepareChunks(request, LinearLoss::both);
}

} // namespace sluice::cuda
