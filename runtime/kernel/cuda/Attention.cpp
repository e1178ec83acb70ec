//===- Attention.cpp - attention on a GPU ------------------------------------------------------------===//
//
// cuDNN computes the launches for which the plan states it (DnnKernels.h). Sluice's kernels compute the others: on
// tensor cores if q, k, v and the results are all bf16 or all f16, heads have at most 256 elements, and there are no
// mask, no bias and no dropout, else on plain cores.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/AttentionTensorGrad.h"

#include <algorithm>
#include <cmath>

namespace sluice::cuda {
namespace {

/// Shared memory that a block may have on every architecture from sm_80 on.
constexpr int sharedMemory = 163 << 10;

/// `lse`: the operand whose position is that of the shard.
AttentionArgs argsOf(const cpu::AttentionShape &shape, const Operand &lse) {
  AttentionArgs args;
  args.batch = shape.batch;
  args.queries = shape.queries;
  args.keys = shape.keys;
  args.heads = shape.heads;
  args.keyHeads = shape.keyHeads;
  args.size = static_cast<int>(shape.size);
  args.scale = shape.scale;
  args.causal = shape.causal;
  args.window = shape.window;
  args.masked = shape.mask != 0;
  args.biased = shape.bias != 0;
  args.packed = shape.documents != 0;
  if (shape.dropout) {
    const cpu::GlobalIndex index(lse);
    std::copy_n(index.strides.begin(), 3, args.global);
    args.first = index.first;
    args.key = shape.dropout->key;
    args.threshold = shape.dropout->threshold;
    args.kept = shape.dropout->factor;
  }
  return args;
}

/// As bindViews, with mask, bias, documents, the numbers of dropout and the gradient of the bias after the others.
Bind<AttentionArgs> bindAll(AttentionArgs &args, const cpu::AttentionShape &shape, const KernelRequest &request,
                            std::vector<View AttentionArgs::*> inputs, std::vector<View AttentionArgs::*> outputs,
                            void *AttentionArgs::*workspace = nullptr) {
  using A = AttentionArgs;
  if (args.masked != 0)
    inputs.push_back(&A::mask);
  if (args.biased != 0)
    inputs.push_back(&A::bias);
  if (args.packed != 0)
    inputs.push_back(&A::documents);
  if (request.outputs.size() > outputs.size())
    outputs.push_back(&A::dbias);
  auto bind = bindViews(args, request, std::move(inputs), std::move(outputs), workspace);
  for (View *view : {&args.mask, &args.bias, &args.dbias})
    for (int d = 0; d < view->rank; ++d)
      if (view->extent[d] == 1)
        view->strides[d] = 0;
  if (!shape.dropout)
    return bind;
  return [bind, seed = shape.dropout->seed](AttentionArgs &args, const RunAddresses &run) {
    bind(args, run);
    args.seed = static_cast<const Index *>(run.inputs[seed]);
    args.step = static_cast<const Index *>(run.inputs[seed + 1]);
    args.row = static_cast<const Index *>(run.inputs[seed + 2]);
  };
}

/// The suffix of a function (size and policy), and a block's memory.
Status chooseForm(const cpu::Check &check, const AttentionArgs &args, const std::string &policy, std::string &form,
                  LaunchShape &shape) {
  form = args.size <= 128 ? "128_" : "512_";
  form += policy;
  shape.threads = attentionWarps * warpSize;
  shape.shared = attentionShared(args.size, policy == "wide" ? 8 : 4);
  if (shape.shared > sharedMemory)
    return check.refuse("head size, expected at most " + std::to_string(policy == "wide" ? 256 : 512) +
                        " on cuda but got " + std::to_string(args.size));
  return {};
}

std::uint64_t blocksOf(Index rows, Index heads) {
  return static_cast<std::uint64_t>((rows + attentionWarps - 1) / attentionWarps * heads);
}

/// "_bf16" or "_f16" if tensor cores take the operands, else empty. Bits do not depend on addresses: the kernel decides
/// which rows it copies by chunks.
std::string tensorType(const AttentionArgs &args, bool drops, std::initializer_list<const Operand *> rows,
                       const Operand &lse) {
  const DType type = (*rows.begin())->dtype;
  constexpr Index most = Index(1) << 30;
  const bool alike = std::ranges::all_of(rows, [&](const Operand *o) { return o->dtype == type; });
  if (!alike || (type != DType::bf16 && type != DType::f16) || lse.dtype != DType::f32 || args.size > 256 ||
      args.queries > most || args.keys > most || drops || args.masked != 0 || args.biased != 0 || args.packed != 0 ||
      !(args.scale > 0) || !std::isfinite(args.scale))
    return {};
  return type == DType::bf16 ? "_bf16" : "_f16";
}

/// The smallest form that fits the head.
const HeadForm &formOf(std::span<const HeadForm> forms, int size) {
  return *std::ranges::find_if(forms, [&](const HeadForm &form) { return form.D >= size; });
}
static_assert(attentionTensorShared(headForms[3]) <= sharedMemory && keysTensorShared(keyForms[3]) <= sharedMemory &&
              keysTensorShared(keyForms[2]) <= sharedMemory && queriesTensorShared(queryForms[3]) <= sharedMemory);

LaunchShape tensorShape(const HeadForm &form, Index rows, Index heads, int shared) {
  return {static_cast<std::uint64_t>((rows + form.rows() - 1) / form.rows() * heads), headThreads, shared};
}

} // namespace

Bound kernels::attention(const KernelRequest &request) {
  using A = AttentionArgs;
  if (request.attributes->integer("cudnn") != 0)
    return requiredDnn(request);
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  SLUICE_ASSIGN_OR_RETURN(cpu::AttentionShape resolved, cpu::AttentionShape::ofForward(request));
  AttentionArgs args = argsOf(resolved, out[1]);
  const auto bind = bindAll(args, resolved, request, {&A::q, &A::k, &A::v}, {&A::out, &A::lse});
  if (const std::string type =
          tensorType(args, resolved.dropout.has_value(), {&in[0], &in[1], &in[2], &out[0]}, out[1]);
      !type.empty()) {
    const HeadForm &form = formOf(headForms, args.size);
    return oneLaunch(request, "sluice_attentionTensor" + std::to_string(form.D) + type,
                     tensorShape(form, args.queries, args.batch * args.heads, attentionTensorShared(form)), args, bind);
  }
  std::string form;
  LaunchShape shape;
  SLUICE_RETURN_IF_ERROR(
      chooseForm(cpu::Check(request), args, policyOf({&in[0], &in[1], &in[2], &out[0]}), form, shape));
  shape.blocks = blocksOf(args.queries, args.batch * args.heads);
  return oneLaunch(request, "sluice_attentionForward" + form, shape, args, bind);
}

/// Queries first: they store dout.out for the keys.
Bound kernels::attention_grad(const KernelRequest &request) {
  using A = AttentionArgs;
  if (request.attributes->integer("cudnn") != 0)
    return requiredDnn(request);
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  SLUICE_ASSIGN_OR_RETURN(cpu::AttentionShape resolved, cpu::AttentionShape::ofGradient(request));
  AttentionArgs args = argsOf(resolved, in[5]);
  const auto bind = bindAll(args, resolved, request, {&A::dout, &A::q, &A::k, &A::v, &A::out, &A::lse},
                            {&A::dq, &A::dk, &A::dv}, &A::delta);
  const cpu::Check check(request);
  SLUICE_RETURN_IF_ERROR(check.workspace(attentionGradWorkspace(args.batch, args.heads, args.queries)));
  const auto rows = {&in[0], &in[1], &in[2], &in[3], &in[4], &out[0], &out[1], &out[2]};
  LaunchList list(*request.cuda);
  if (const std::string type = tensorType(args, resolved.dropout.has_value(), rows, in[5]); !type.empty()) {
    const HeadForm &queries = formOf(queryForms, args.size), &keys = formOf(keyForms, args.size);
    const std::string size = std::to_string(queries.D) + type;
    list.add("sluice_attentionTensorQueries" + size,
             tensorShape(queries, args.queries, args.batch * args.heads, queriesTensorShared(queries)), args, bind);
    const LaunchShape shape = tensorShape(keys, args.keys, args.batch * args.keyHeads, keysTensorShared(keys));
    list.add("sluice_attentionTensorKeys" + size, shape, args, bind);
    if (keys.D > 128)
      list.add("sluice_attentionTensorValues" + size, shape, args, bind);
    return std::move(list).finish();
  }
  std::string form;
  LaunchShape shape;
  const std::string policy = policyOf(rows);
  SLUICE_RETURN_IF_ERROR(chooseForm(check, args, policy, form, shape));
  shape.blocks = blocksOf(args.queries, args.batch * args.heads);
  list.add("sluice_attentionQueries" + form, shape, args, bind);
  shape.blocks = blocksOf(args.keys, args.batch * args.keyHeads);
  list.add("sluice_attentionKeys" + form, shape, args, bind);
  if (resolved.hasBiasGrad) {
    const Index tiles = out[3].extent[2] == 1 ? 1 : (args.queries + attentionWarps - 1) / attentionWarps;
    shape.blocks = static_cast<std::uint64_t>(out[3].extent[0] * out[3].extent[1] * tiles * ((args.keys + 31) / 32));
    list.add("sluice_attentionBias_" + policy, shape, args, bind);
  }
  return std::move(list).finish();
}

} // namespace sluice::cuda
