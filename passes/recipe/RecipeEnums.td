//===- RecipeEnums.td - settings of the recipe that are one of a closed set ----------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEENUMS_TD
#define SLUICE_PASSES_RECIPE_RECIPEENUMS_TD

include "mlir/IR/EnumAttr.td"

/// An enum whose cases are spelled as in the recipe, in the order in which the documentation lists them.
class Recipe_Enum<string name, string text, list<string> cases>
    : I32Enum<name, text, !foreach(i, !range(!size(cases)), I32EnumCase<cases[i], i>)> {
  let cppNamespace = "::sluice";
}

def Recipe_TensorSplit : I32Enum<"TensorSplit", "how a parameter is sharded along the axis `tensor`",
    [I32EnumCase<"replicated", 0>, I32EnumCase<"megatron", 1>, I32EnumCase<"column", 2>, I32EnumCase<"row", 3>,
     I32EnumCase<"automatic", 4, "auto">]> {
  let cppNamespace = "::sluice";
}
def Recipe_ShardingStrategy : Recipe_Enum<"ShardingStrategy", "the sharding strategies of PyTorch FSDP",
    ["full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_grad_op"]>;
def Recipe_ReshardRule : I32Enum<"ReshardRule", "a rule that decides for each unit whether it is resharded",
                                 [I32EnumCase<"by_strategy", 0, "default">, I32EnumCase<"automatic", 1, "auto">]> {
  let cppNamespace = "::sluice";
}
def Recipe_ReshardAfterBackward : I32Enum<"ReshardAfterBackward",
    "after which micro-batches' backward a unit is resharded",
    [I32EnumCase<"always", 0>, I32EnumCase<"last", 1>, I32EnumCase<"automatic", 2, "auto">]> {
  let cppNamespace = "::sluice";
}
def Recipe_ShardDim : Recipe_Enum<"ShardDim", "the dim on which a parameter is sharded", ["first", "largest", "flat"]>;
def Recipe_Precision : Recipe_Enum<"Precision", "a floating-point element type", ["f32", "bf16", "f16", "f64"]>;
def Recipe_LossScaling : Recipe_Enum<"LossScaling", "a loss scale that is not a constant", ["dynamic"]>;
def Recipe_LossMean : Recipe_Enum<"LossMean", "the values that a loss is the mean of", ["rank", "tokens"]>;
def Recipe_GradientSync : Recipe_Enum<"GradientSync", "the micro-batches in which gradients are reduced",
                                      ["last", "every", "reduce_scatter_only"]>;
def Recipe_GradientDivide : Recipe_Enum<"GradientDivide", "a rule for the divisor of summed gradients", ["mean"]>;
def Recipe_NoDecay : I32Enum<"NoDecay", "a rule for the parameters that are excluded from weight decay",
                             [I32EnumCase<"norms_and_biases", 0, "norms-and-biases">]> {
  let cppNamespace = "::sluice";
}
def Recipe_StatisticsSync : Recipe_Enum<"StatisticsSync", "the micro-batches in which running statistics are averaged",
                                        ["never", "last"]>;
def Recipe_LearningRateSchedule : Recipe_Enum<"LearningRateSchedule", "a learning-rate schedule",
                                              ["constant", "linear", "cosine", "wsd"]>;
def Recipe_RecomputePolicy : Recipe_Enum<"RecomputePolicy", "the forward ops that the backward recomputes",
                                         ["none", "marked", "block", "selective", "budget"]>;
def Recipe_ScheduleOrder : Recipe_Enum<"ScheduleOrder", "the order of micro-batches", ["loop"]>;
def Recipe_BackwardPrefetch : Recipe_Enum<"BackwardPrefetch", "the backward prefetch modes of PyTorch FSDP",
                                          ["none", "pre", "post"]>;
def Recipe_ScheduleRule : I32Enum<"ScheduleRule", "a rule that decides a setting of the schedule",
                                  [I32EnumCase<"automatic", 0, "auto">]> {
  let cppNamespace = "::sluice";
}
def Recipe_Offloaded : Recipe_Enum<"Offloaded", "tensors that can be kept in host memory",
                                    ["parameters", "optimizer", "activations"]>;
def Recipe_OffloadRule : I32Enum<"OffloadRule", "a rule that decides which tensors are kept in host memory",
                                 [I32EnumCase<"automatic", 0, "auto">]> {
  let cppNamespace = "::sluice";
}
def Recipe_AttentionKernels : I32Enum<"AttentionKernels", "the library whose kernels compute attention on a GPU",
    [I32EnumCase<"automatic", 0, "auto">, I32EnumCase<"cudnn", 1>, I32EnumCase<"own", 2>]> {
  let cppNamespace = "::sluice";
}
def Recipe_TargetDevice : Recipe_Enum<"TargetDevice", "the device of a plan", ["cpu", "cuda"]>;
def Recipe_InstructionSet : Recipe_Enum<"InstructionSet", "a CPU instruction set", ["avx512", "avx2"]>;
def Recipe_GpuArchitecture : Recipe_Enum<"GpuArchitecture", "a GPU architecture", ["sm_80", "sm_90", "sm_100"]>;

#endif // SLUICE_PASSES_RECIPE_RECIPEENUMS_TD
