//===- Rows.cpp - softmax and norms on a GPU ----------------------------------------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cuda/RowLaunch.h"
#include "runtime/kernel/cuda/device/DenseSoftmax.h"

namespace sluice::cuda {
namespace {

static_assert(normGradWorkspace(1, 1) == normRuns * 2 * 8);

/// One launch, a block per row.
Bound perRow(std::string_view function, const KernelRequest &request, std::initializer_list<const Operand *> operands,
             double epsilon = 0) {
  RowArgs args = rowArgs(request, request.inputs[0]);
  args.epsilon = epsilon;
  return oneLaunch(request, symbol(function, operands), rowGrid(args.rows, args.columns), args, bindRow);
}

/// How the kernels of RowTeams.h divide rows: the threads of a team and their vectors, none if the rows do not fit.
struct RowTeam {
  int threads = 0, vectors = 0;
  /// `width`: elements of a vector. A thread has the registers for 32 elements of one operand, or four vectors of
  /// several; there are kernels for a half, three quarters and all of these vectors.
  RowTeam(std::int64_t columns, std::int64_t width, int operands) {
    const std::int64_t count = columns / width, mine = operands == 1 ? 32 / width : 4, most = mine * warpSize;
    if (columns == 0 || columns % width != 0 || count > mostVectors)
      return;
    threads = static_cast<int>((count + most - 1) / most) * warpSize;
    const int quarter = static_cast<int>(mine / 4), each = static_cast<int>((count + threads - 1) / threads);
    vectors = std::max((each + quarter - 1) / quarter, 2) * quarter;
    rowBytes = static_cast<int>(count) * vectorBytes;
  }
  int warps() const { return threads / warpSize; }
  /// Any division of the rows gives the same bits. Blocks of 4 warps, or one team; as many as run at once: 32 warps a
  /// multiprocessor, which have 64 registers a thread, if there is shared memory for their rows.
  LaunchShape shapeOf(const KernelContext &context, std::uint64_t rows, int weights, int operands) const {
    const int teams = std::max(4 / warps(), 1), shared = teamsShared(teams, rowBytes, weights, 2 * operands);
    const int blocks = std::min(32 / (teams * warps()), std::max(context.blocksWith(shared), 1));
    const auto most = static_cast<std::uint64_t>(context.multiprocessors() * blocks);
    return {std::min((rows + teams - 1) / teams, most), teams * threads, shared};
  }
  /// A block for each run, whose sums depend on the number of teams, so not on the device: 2,048 warps in all, at most
  /// 8 warps, with at most 97 KiB, in a block.
  LaunchShape shapeOfRuns(std::uint64_t runs, bool adds) const {
    const int teams = std::clamp(static_cast<int>(2048 / runs) / warps(), 1, teamWarps / warps());
    return {runs, teams * threads, teamsShared(teams, rowBytes, 1, adds ? 5 : 4)};
  }
  /// The same with sums of `columns` elements for each team, and as many teams as need at most 97 KiB; without blocks
  /// if one needs more.
  LaunchShape shapeOfRunsAndSums(std::uint64_t runs, bool adds, unsigned columns) const {
    LaunchShape shape = shapeOfRuns(runs, adds);
    for (int teams = shape.threads / threads; teams > 0; --teams) {
      shape.threads = teams * threads;
      shape.shared = teamsShared(teams, rowBytes, 1, adds ? 5 : 4) + teams * static_cast<int>(columns) * 4;
      if (shape.shared <= 97 << 10)
        return shape;
    }
    return {.blocks = 0};
  }

private:
  /// The rows of a gradient in f32 take 97 KiB of shared memory.
  static constexpr std::int64_t mostVectors = 1024;
  int rowBytes = 0;
};

/// A norm or its gradient over dense rows.
struct DenseNorm {
  const std::string stored;
  RowTeam team{0, 1, 1};
  DenseNormArgs args;

  /// `x`: the rows; `operands` are read; `alike` have their type, `statistics` are f32.
  DenseNorm(const Operand &x, int operands, std::initializer_list<const Operand *> alike,
            std::initializer_list<const Operand *> statistics)
      : stored(storedOf(alike, statistics)) {
    if (stored.empty())
      return;
    args.columns = static_cast<unsigned>(x.rank ? x.extent[x.rank - 1] : 1);
    args.rows = static_cast<unsigned>(x.rank ? cpu::extentOf(x, 0, x.rank - 1) : 1);
    args.width = static_cast<unsigned>(vectorBytes / dtypeBytes(x.dtype));
    team = RowTeam(args.columns, args.width, operands);
    args.team = static_cast<unsigned>(team.threads);
  }
  bool fits() const { return team.threads != 0; }
  std::string function(std::string_view name) const {
    return "sluice_" + std::string(name) + std::to_string(team.vectors) + "_" + stored;
  }

private:
  static std::string storedOf(std::initializer_list<const Operand *> alike,
                              std::initializer_list<const Operand *> statistics) {
    const std::string name = storedAlike(alike);
    return storedAlike(statistics) == "f32" ? name : "";
  }
};

/// By the dense kernel, a block for some rows; null if the operands do not fit it.
Bound denseNormOf(const KernelRequest &request, double epsilon, bool centred) {
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  DenseNorm norm(in[0], 1, {&in[0], &in[1], &in[in.size() - 1], &out[0]}, {&out[out.size() - 1], &out[1]});
  if (!norm.fits())
    return std::unique_ptr<BoundKernel>();
  norm.args.epsilon = static_cast<float>(epsilon);
  return oneLaunch(request, norm.function(centred ? "denseLayerNorm" : "denseRmsNorm"),
                   norm.team.shapeOf(*request.cuda, norm.args.rows, centred ? 2 : 1, 1), norm.args,
                   [centred](DenseNormArgs &args, const RunAddresses &run) {
                     args.x = run.inputs[0];
                     args.weight = run.inputs[1];
                     args.bias = centred ? run.inputs[2] : nullptr;
                     args.y = run.outputs[0];
                     args.mean = centred ? static_cast<float *>(run.outputs[1]) : nullptr;
                     args.rstd = static_cast<float *>(run.outputs[centred ? 2 : 1]);
                   });
}

/// By the dense kernels, with the sums of dx if they are a result; null if the operands do not fit them.
Bound denseNormGradOf(const KernelRequest &request, bool centred) {
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  const std::size_t rstd = centred ? 4 : 3;
  const bool adds = in.size() > rstd + 1;
  DenseNorm norm(in[1], 2, {&in[0], &in[1], &in[2], &out[0], &in[adds ? rstd + 1 : 0]}, {&in[3], &in[rstd]});
  if (!norm.fits() || std::ranges::any_of(out, [](const Operand &operand) { return operand.dtype == DType::f64; }))
    return std::unique_ptr<BoundKernel>();
  DenseNormArgs &args = norm.args;
  args.runs = static_cast<unsigned>(normGradRuns(args.rows));
  args.dweight = viewOf(out[1]);
  if (centred)
    args.dbias = viewOf(out[2]);
  args.addsWeight = request.adds[1];
  args.addsBias = request.adds[2];
  LaunchShape shape = norm.team.shapeOfRuns(args.runs, adds);
  if (out.size() > 3) {
    args.sumsDx = 1;
    args.addsSum = request.adds[3];
    args.dsum = viewOf(out[3]);
    shape = norm.team.shapeOfRunsAndSums(args.runs, adds, args.columns);
    if (shape.blocks == 0)
      return std::unique_ptr<BoundKernel>();
  }
  const auto bind = [centred, rstd, adds](DenseNormArgs &args, const RunAddresses &run) {
    args.dy = run.inputs[0];
    args.x = run.inputs[1];
    args.weight = run.inputs[2];
    args.mean = centred ? static_cast<float *>(run.inputs[3]) : nullptr;
    args.rstd = static_cast<float *>(run.inputs[rstd]);
    args.addend = adds ? run.inputs[rstd + 1] : nullptr;
    args.y = run.outputs[0];
    args.dweight.data = run.outputs[1];
    if (centred)
      args.dbias.data = run.outputs[2];
    if (args.sumsDx)
      args.dsum.data = run.outputs[3];
    args.partial = static_cast<float *>(run.workspace);
  };
  const auto tiles = static_cast<std::uint64_t>((args.columns + warpSize - 1) / warpSize);
  LaunchList list(*request.cuda);
  list.add(norm.function(centred ? "denseLayerNormGrad" : "denseRmsNormGrad"), shape, args, bind);
  list.add("sluice_denseNormGradEnd", {(out.size() - 1) * tiles, runsThreads, runsShared}, args, bind);
  return std::move(list).finish();
}

/// softmax or its gradient by the dense kernel; null if the operands do not fit it.
Bound denseSoftmaxOf(const KernelRequest &request, std::initializer_list<const Operand *> operands) {
  const Operand &x = request.inputs[0];
  const std::string stored = storedAlike(operands);
  if (stored.empty())
    return std::unique_ptr<BoundKernel>();
  DenseSoftmaxArgs args;
  args.columns = static_cast<unsigned>(x.rank ? x.extent[x.rank - 1] : 1);
  args.rows = static_cast<unsigned>(x.rank ? cpu::extentOf(x, 0, x.rank - 1) : 1);
  const bool isGradient = request.inputs.size() == 2;
  const RowTeam team(args.columns, vectorBytes / dtypeBytes(x.dtype), isGradient ? 2 : 1);
  if (team.threads == 0)
    return std::unique_ptr<BoundKernel>();
  args.team = static_cast<unsigned>(team.threads);
  return oneLaunch(request,
                   (isGradient ? "sluice_denseSoftmaxGrad" : "sluice_denseSoftmax") + std::to_string(team.vectors) +
                       "_" + stored,
                   team.shapeOf(*request.cuda, args.rows, 0, isGradient ? 2 : 1), args,
                   [isGradient](DenseSoftmaxArgs &args, const RunAddresses &run) {
                     args.first = run.inputs[0];
                     args.second = isGradient ? run.inputs[1] : nullptr;
                     args.result = run.outputs[0];
                   });
}

/// The gradients of the vectors first: dx may be in dy's memory.
Bound normGradOf(const KernelRequest &request, bool mean) {
  const auto &in = request.inputs;
  RowArgs args = rowArgs(request, in[1]);
  args.mean = mean;
  args.adds = in.size() > (mean ? 5 : 4);
  std::copy_n(request.adds.begin(), std::size(args.isSum), args.isSum);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(normGradWorkspace(args.rows, args.columns)));
  LaunchList list(*request.cuda);
  constexpr int threads = 128;
  const auto tiles = static_cast<std::uint64_t>((args.columns + threads - 1) / threads);
  addRows(list, symbol("normVectors", {&in[0], &in[1]}), {tiles * normRuns, threads, reduceBytes}, args);
  addRows(list, "sluice_normVectorsEnd", {tiles, threads, reduceBytes}, args);
  addRows(list, symbol("normGrad", {&in[0], &in[1], &in[2], &request.outputs[0], &in[args.adds ? in.size() - 1 : 0]}),
          rowGrid(args.rows, args.columns), args);
  return whereAligned(denseNormGradOf(request, mean), std::move(list).finish());
}

/// layer_norm_grad, then the sums of the columns of dx.
Bound normGradThenSum(const KernelRequest &request) {
  const Operand &dx = request.outputs[0];
  KernelRequest first = request;
  first.outputs = request.outputs.first(3);
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<BoundKernel> gradient, normGradOf(first, true));
  Attributes::Item dims{"dims", 0, 0, {}}, adds{"sum", request.adds[3], 0, {}};
  for (int d = 0; d + 1 < dx.rank; ++d)
    dims.list.push_back(d);
  const Attributes attributes({dims, adds});
  const Operand inputs[] = {dx, request.outputs[3]};
  KernelRequest second = request;
  second.inputs = std::span(inputs).first(request.adds[3] ? 2 : 1);
  second.outputs = request.outputs.subspan(3);
  second.attributes = &attributes;
  second.adds = {};
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<BoundKernel> sum, findCudaKernel(KernelId::reduce_sum)(second));
  LaunchList list(*request.cuda);
  list.addStep([gradient, sum](const RunAddresses &run) {
    SLUICE_RETURN_IF_ERROR(gradient->enqueue(run.stream, run.inputs, run.outputs.first(3), run.workspace));
    void *const inputs[] = {run.outputs[0], run.outputs[3]};
    return sum->enqueue(run.stream, inputs, run.outputs.subspan(3), run.workspace);
  });
  return std::move(list).finish();
}

} // namespace

Bound kernels::softmax(const KernelRequest &request) {
  const auto operands = {&request.inputs[0], &request.outputs[0]};
  return whereAligned(denseSoftmaxOf(request, operands), perRow("softmax", request, operands));
}
Bound kernels::softmax_grad(const KernelRequest &request) {
  const auto operands = {&request.inputs[0], &request.inputs[1], &request.outputs[0]};
  return whereAligned(denseSoftmaxOf(request, operands), perRow("softmaxGrad", request, operands));
}
Bound kernels::logsumexp(const KernelRequest &request) {
  const RowArgs args = rowArgs(request, request.inputs[0]);
  // An empty row also has a result.
  LaunchShape shape = rowGrid(args.rows, args.columns);
  shape.blocks = static_cast<std::uint64_t>(args.rows);
  return oneLaunch(request, symbol("logSumExp", {&request.inputs[0]}), shape, args, bindRow);
}
Bound kernels::layer_norm(const KernelRequest &request) {
  const auto &in = request.inputs;
  const double epsilon = request.attributes->number("epsilon");
  return whereAligned(denseNormOf(request, epsilon, true),
                      perRow("layerNorm", request, {&in[0], &in[1], &in[2], &request.outputs[0]}, epsilon));
}
Bound kernels::rms_norm(const KernelRequest &request) {
  const auto &in = request.inputs;
  const double epsilon = request.attributes->number("epsilon");
  return whereAligned(denseNormOf(request, epsilon, false),
                      perRow("rmsNorm", request, {&in[0], &in[1], &request.outputs[0]}, epsilon));
}
Bound kernels::layer_norm_grad(const KernelRequest &request) { return normGradOf(request, true); }
Bound kernels::layer_norm_grad_and_sum(const KernelRequest &request) {
  return whereAligned(denseNormGradOf(request, true), normGradThenSum(request));
}
Bound kernels::rms_norm_grad(const KernelRequest &request) { return normGradOf(request, false); }

} // namespace sluice::cuda
