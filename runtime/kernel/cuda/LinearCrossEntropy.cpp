//===- LinearCrossEntropy.cpp - chunked cross entropy on a GPU ------------------===//
//
// Each chunk of rows is a product into scratch memory, followed by the loss kernels. The gradient computes the chunk's
// logits again, replaces them by their gradient, and ends in two products; that of the weight adds the sum of earlier
// chunks as its residual. Only one chunk's logits exist at a time. Rows without a constant stride are chunks of one
// row.
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

using cpu::LinearLossOperands;
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
  std::unique_ptr<BoundKernel> logits, loss, dx, firstWeight, nextWeight;
};

struct Chunks {
  LinearLossShape s;
  LinearLossWorkspace space;
  RowRange x, dx, targets, lse;
  /// Full chunks, and a shorter last one.
  Steps steps[2];
  std::unique_ptr<BoundKernel> total;

  char *numbers(const RunAddresses &run) const { return static_cast<char *>(run.workspace) + space.logits; }
  void *rest(const RunAddresses &run) const { return static_cast<char *>(run.workspace) + space.own(); }

  /// At least once: a sum over no rows is still to be written.
  template <typename Body> Status forEachChunk(Body body) const {
    for (std::int64_t at = 0; at == 0 || at < s.rows; at += s.chunk)
      SLUICE_RETURN_IF_ERROR(body(at, steps[s.rows - at < s.chunk]));
    return {};
  }
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

/// `dx` null: forward.
Result<std::shared_ptr<Chunks>> prepare(const KernelRequest &request, const LinearLossOperands &o, const Operand *dx) {
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape s, LinearLossShape::of(request, o.x, o.weight, o.targets, o.lse, o.loss));
  const int dims = o.x.rank - 1;
  for (const Operand *operand : {&o.x, dx ? dx : &o.x, &o.targets, &o.lse})
    if (!pitchOf(*operand, dims))
      s.chunk = 1;
  const LinearLossWorkspace space(s.rows, s.chunk, s.classes, dtypeBytes(o.x.dtype));
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(space.own()));
  auto chunks = std::make_shared<Chunks>(
      Chunks{s, space, {o.x, dims}, {dx ? *dx : o.x, dims}, {o.targets, dims}, {o.lse, dims}, {}, nullptr});
  const std::string policy = policyOf({&o.x});
  for (int last : {0, 1}) {
    const std::int64_t rows = last ? s.rows % s.chunk : std::min(s.chunk, s.rows);
    if (rows == 0 && (last == 0 || s.rows != 0))
      continue;
    Steps &steps = chunks->steps[last];
    steps.rows = rows;
    const Operand part = chunks->x.chunk(rows, s.columns),
                  logits = cpu::matrixOf(o.x.dtype, rows, s.classes, space.pitch);
    SLUICE_ASSIGN_OR_RETURN(steps.logits,
                            product(request, space.own(), {part, o.weight}, logits, {{"transpose_b", 1, 0, {}}}));
    RowArgs args = lossArgs(s, rows);
    const int first = dx ? 1 : 0;
    args.in[first] = viewOf(logits);
    args.in[first + 1] = chunks->targets.numbers(rows);
    const LaunchShape shape = rowGrid(rows, s.classes);
    if (!dx) {
      args.out[1] = chunks->lse.numbers(rows);
      SLUICE_ASSIGN_OR_RETURN(steps.loss, oneLaunch(request, "sluice_crossEntropy_" + policy, shape, args,
                                                    [](RowArgs &args, const RunAddresses &run) {
                                                      args.in[0].data = run.inputs[0];
                                                      args.in[1].data = run.inputs[1];
                                                      args.out[1].data = run.outputs[0];
                                                      args.scratch = run.workspace;
                                                    }));
      continue;
    }
    args.in[3] = chunks->lse.numbers(rows);
    args.out[0] = args.in[1];
    SLUICE_ASSIGN_OR_RETURN(steps.loss, oneLaunch(request, "sluice_crossEntropyGrad_" + policy, shape, args,
                                                  [](RowArgs &args, const RunAddresses &run) {
                                                    args.in[1].data = args.out[0].data = run.inputs[0];
                                                    args.in[2].data = run.inputs[1];
                                                    args.in[3].data = run.inputs[2];
                                                    args.scratch = run.workspace;
                                                  }));
    const Operand &dweight = request.outputs[1];
    SLUICE_ASSIGN_OR_RETURN(steps.dx,
                            product(request, space.own(), {logits, o.weight}, chunks->dx.chunk(rows, s.columns), {}));
    SLUICE_ASSIGN_OR_RETURN(steps.firstWeight,
                            product(request, space.own(), {logits, part}, dweight, {{"transpose_a", 1, 0, {}}}));
    SLUICE_ASSIGN_OR_RETURN(steps.nextWeight, product(request, space.own(), {logits, part, dweight}, dweight,
                                                      {{"transpose_a", 1, 0, {}}, {"residual", 1, 0, {}}}));
  }
  return chunks;
}

char *shifted(void *data, std::int64_t bytes) { return static_cast<char *>(data) + bytes; }

} // namespace

Bound kernels::linear_cross_entropy(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto chunks,
                          prepare(request, LinearLossOperands::ofForward(request.inputs, request.outputs), nullptr));
  RowArgs args = lossArgs(chunks->s, chunks->s.rows);
  args.in[1] = viewOf(request.inputs[2]);
  args.out[0] = viewOf(request.outputs[0]);
  SLUICE_ASSIGN_OR_RETURN(chunks->total, oneLaunch(request, "sluice_crossEntropyEnd", {1, 512, reduceBytes}, args,
                                                   [](RowArgs &args, const RunAddresses &run) {
                                                     args.in[1].data = run.inputs[2];
                                                     args.out[0].data = run.outputs[0];
                                                     args.scratch = run.workspace;
                                                   }));
  LaunchList list(*request.cuda);
  list.addStep([chunks](const RunAddresses &run) {
    const Chunks &c = *chunks;
    SLUICE_RETURN_IF_ERROR(c.forEachChunk([&](std::int64_t at, const Steps &steps) {
      void *const product[] = {shifted(run.inputs[0], c.x.offset(at)), run.inputs[1]}, *const logits[] = {
                                                                                           run.workspace};
      SLUICE_RETURN_IF_ERROR(steps.logits->enqueue(run.stream, product, logits, c.rest(run)));
      void *const in[] = {run.workspace, shifted(run.inputs[2], c.targets.offset(at))};
      void *const out[] = {shifted(run.outputs[1], c.lse.offset(at))};
      return steps.loss->enqueue(run.stream, in, out, c.numbers(run) + at * 8);
    }));
    return c.total->enqueue(run.stream, run.inputs, run.outputs, c.numbers(run));
  });
  return std::move(list).finish();
}

Bound kernels::linear_cross_entropy_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto chunks,
                          prepare(request, LinearLossOperands::ofGradient(request.inputs), &request.outputs[0]));
  RowArgs args = lossArgs(chunks->s, chunks->s.rows);
  args.in[0] = viewOf(request.inputs[0]);
  args.in[2] = viewOf(request.inputs[3]);
  SLUICE_ASSIGN_OR_RETURN(chunks->total, oneLaunch(request, "sluice_crossEntropyFactor", {1, 512, reduceBytes}, args,
                                                   [](RowArgs &args, const RunAddresses &run) {
                                                     args.in[0].data = run.inputs[0];
                                                     args.in[2].data = run.inputs[3];
                                                     args.scratch = run.workspace;
                                                   }));
  LaunchList list(*request.cuda);
  list.addStep([chunks](const RunAddresses &run) {
    const Chunks &c = *chunks;
    SLUICE_RETURN_IF_ERROR(c.total->enqueue(run.stream, run.inputs, run.outputs, c.numbers(run)));
    return c.forEachChunk([&](std::int64_t at, const Steps &steps) {
      void *const part = shifted(run.inputs[1], c.x.offset(at)), *const weight = run.inputs[2],
                  *const dweight = run.outputs[1];
      void *const slopes = run.workspace, *const product[] = {part, weight}, *const logits[] = {slopes};
      SLUICE_RETURN_IF_ERROR(steps.logits->enqueue(run.stream, product, logits, c.rest(run)));
      void *const loss[] = {slopes, shifted(run.inputs[3], c.targets.offset(at)),
                            shifted(run.inputs[4], c.lse.offset(at))};
      SLUICE_RETURN_IF_ERROR(steps.loss->enqueue(run.stream, loss, {}, c.numbers(run)));
      void *const down[] = {slopes, weight}, *const rows[] = {shifted(run.outputs[0], c.dx.offset(at))};
      SLUICE_RETURN_IF_ERROR(steps.dx->enqueue(run.stream, down, rows, c.rest(run)));
      void *const outer[] = {slopes, part, dweight}, *const sums[] = {dweight};
      return at == 0 ? steps.firstWeight->enqueue(run.stream, std::span(outer, 2), sums, c.rest(run))
                     : steps.nextWeight->enqueue(run.stream, outer, sums, c.rest(run));
    });
  });
  return std::move(list).finish();
}

} // namespace sluice::cuda
