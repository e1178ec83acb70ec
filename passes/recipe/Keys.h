//===- Keys.h - names of recipe keys that code refers to --------------------------------------===//
//
// RecipeKeys.cpp has the table of all keys. A key that passes, diagnostics or the planner name is a constant here.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_KEYS_H
#define SLUICE_PASSES_RECIPE_KEYS_H

namespace sluice::keys {

inline constexpr const char *tensor = "sharding.tensor", *units = "sharding.units",
                            *reshardAfterForward = "sharding.reshard_after_forward",
                            *reshardBeforeBackward = "sharding.reshard_before_backward",
                            *reshardAfterBackward = "sharding.reshard_after_backward",
                            *unshardInBackward = "sharding.unshard_in_backward", *shardingDim = "sharding.dim",
                            *forwardPrefetch = "schedule.forward_prefetch",
                            *backwardPrefetch = "schedule.backward_prefetch",
                            *reduceBuffers = "schedule.reduce_buffers", *recomputePolicy = "recompute.policy",
                            *recomputeSave = "recompute.save", *memoryBudget = "memory.budget",
                            *memoryOffload = "memory.offload", *microbatches = "gradient.microbatches",
                            *attentionKernels = "kernels.attention";

} // namespace sluice::keys

#endif // SLUICE_PASSES_RECIPE_KEYS_H
