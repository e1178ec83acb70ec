//===- TorchCalls.cpp - the calls of FSDP2 that correspond to a setting -------------------------===//
#include "passes/driver/fit/TorchCalls.h"

#include "runtime/base/Text.h"

namespace sluice {
namespace {

/// A list of Python with the paths of the units but the root: a comprehension for `PREFIX.0` to `PREFIX.N`.
std::string unitList(const FitRow &row) {
  std::vector<std::string> parts;
  for (std::size_t u = 0; u < row.units.size(); ++u) {
    const std::string &unit = row.units[u];
    if (unit.empty())
      continue;
    const std::string prefix = unit.substr(0, unit.rfind('.') + 1);
    std::size_t count = 0;
    while (u + count < row.units.size() && row.units[u + count] == concat(prefix, count))
      ++count;
    if (count > 1) {
      parts.push_back(concat("[f\"", prefix, "{i}\" for i in range(", count, ")]"));
      u += count - 1;
    } else {
      parts.push_back(concat("[\"", unit, "\"]"));
    }
  }
  return parts.empty() ? "[]" : join(parts, " + ");
}

/// Of a precision other than f32.
std::string torchType(const std::string &precision) { return precision == "bf16" ? "torch.bfloat16" : "torch.float16"; }

} // namespace

std::string torchCalls(const FitRow &row) {
  const FitSetting &setting = row.setting;
  const bool isOffloaded = setting.offload == "parameters", isBlock = setting.recompute == "block",
             isSelective = setting.recompute == "selective";
  std::string text =
      "import torch\n"
      "from torch.distributed.device_mesh import init_device_mesh\n"
      "from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard\n";
  if (isBlock || isSelective)
    text += "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper\n";
  if (isSelective)
    text +=
        "from functools import partial\n"
        "from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts\n\n"
        "aten = torch.ops.aten\n"
        "SAVED = {aten.mm.default, aten.addmm.default, aten.bmm.default,\n"
        "         aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_cudnn_attention.default,\n"
        "         aten._scaled_dot_product_efficient_attention.default}\n"
        "policy = lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE if op in SAVED else "
        "CheckpointPolicy.PREFER_RECOMPUTE\n"
        "context_fn = partial(create_selective_checkpoint_contexts, policy)\n";
  const FitMesh &mesh = setting.mesh;
  text += mesh.replicate > 1 ? concat("\nmesh = init_device_mesh(\"cuda\", (", mesh.replicate, ", ", mesh.shard,
                                      "), mesh_dim_names=(\"replicate\", \"shard\"))\n")
                             : concat("\nmesh = init_device_mesh(\"cuda\", (", mesh.shard, ",))\n");
  text += concat("mp_policy = MixedPrecisionPolicy(param_dtype=",
                 setting.precision == "f32" ? "None" : torchType(setting.precision), ", reduce_dtype=torch.float32)\n");
  text += concat("options = dict(mesh=mesh, mp_policy=mp_policy, offload_policy=",
                 isOffloaded ? "CPUOffloadPolicy()" : "OffloadPolicy()", ")\n");
  text += "for path in " + unitList(row) + ":\n    module = model.get_submodule(path)\n";
  if (isBlock || isSelective)
    text += concat("    module = checkpoint_wrapper(module", isSelective ? ", context_fn=context_fn" : "", ")\n",
                   "    parent, _, name = path.rpartition(\".\")\n"
                   "    model.get_submodule(parent).register_module(name, module)\n");
  text += "    fully_shard(module, reshard_after_forward=True, **options)\n";
  return text + "fully_shard(model, reshard_after_forward=False, **options)\n";
}

} // namespace sluice
