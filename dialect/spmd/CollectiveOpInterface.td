//===- CollectiveOpInterface.td - collectives and copies between spaces -------------------===//
#ifndef SLUICE_DIALECT_SPMD_COLLECTIVEOPINTERFACE_TD
#define SLUICE_DIALECT_SPMD_COLLECTIVEOPINTERFACE_TD

include "dialect/rules/Rules.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface", [CostOpInterface]> {
  let cppNamespace = "::sluice::spmd";
  let description = [{
    The start of an asynchronous transfer of a list of tensors: a collective over the ranks of mesh axes, or a copy between
    the memory spaces of one rank. Operand i becomes value i of the `spmd.wait` for its token. Passes use this interface
    and no op kinds.

    **Placement.** On each side, a tensor is one dense tensor or consists of one chunk for each rank of the group, in order
    of rank. A chunk's type is a shard type: chunks along dim 0 are consecutive rows of the tensor with padding at the tail,
    chunks along another dim are in a separate buffer, and copies split or join the tensor.

    | | source | destination |
    |---|---|---|
    | all_gather | tensor | chunks of the operand's type |
    | reduce_scatter | chunks of the value's type | tensor |
    | all_reduce | tensor | in place |
    | all_to_all | chunks | chunks |
    | copy | tensor, strided or dense | tensor in the other memory space |
  }];
  let methods = [
    InterfaceMethod<"The kind of the plan's collective; nullopt for a copy.",
      "std::optional<::sluice::CollectiveKind>", "getKind">,
    InterfaceMethod<"The mesh axes whose ranks form a group; null for a copy.", "::mlir::ArrayAttr", "getAxes", (ins), "",
      "return {};">,
    InterfaceMethod<"Replaces the axes of a collective.", "void", "setAxesAttr", (ins "::mlir::ArrayAttr":$axes), "",
      "llvm_unreachable(\"a copy has no axes\");">,
    InterfaceMethod<"How the ranks' values are combined; `none` for other collectives.", "::sluice::ReductionKind", "getReduction", (ins), "",
      "return ::sluice::ReductionKind::none;">,
    InterfaceMethod<"The factor of premul_sum.", "::llvm::APFloat", "getScale", (ins), "",
      "return ::llvm::APFloat(1.0);">,
    InterfaceMethod<"The types of the values, in order of the operands.", "::llvm::SmallVector<::mlir::Type>",
      "getValueTypes", (ins), "", "return ::llvm::to_vector($_op->getOperandTypes());">,
    InterfaceMethod<"The type of the chunks that operand `index` consists of; null for one tensor.",
      "::mlir::RankedTensorType", "getSourceChunk", (ins "unsigned":$index), "", "return {};">,
    InterfaceMethod<"The type of the chunks that value `index` consists of; null for one tensor.",
      "::mlir::RankedTensorType", "getDestinationChunk", (ins "unsigned":$index), "", "return {};">,
    InterfaceMethod<"True where each value is written over its operand.", "bool", "isInPlace", (ins), "",
      "return false;">,
    InterfaceMethod<"The memory in which the values are: `device` or `host`.", "::sluice::MemorySpace", "getDestinationSpace", (ins), "",
      "return ::sluice::MemorySpace::device;">,
    InterfaceMethod<"The stream that executes it.", "::sluice::StreamKind", "getStream", (ins), "",
      "return ::sluice::spmd::defaultStream($_op);">,
    InterfaceMethod<"The `spmd.reshard` that it implements, from its placement and reduction; nullopt for a copy.",
      "std::optional<::sluice::spmd::ReshardKind>", "getReshard", (ins), "", "return ::sluice::spmd::defaultReshard($_op);">,
  ];
  let extraSharedClassDeclaration = [{
    /// True for a copy between memory spaces.
    bool isCopy() { return !$_op.getKind(); }
    /// True for a collective that combines the ranks' values.
    bool isReduction() { return $_op.getReduction() != ::sluice::ReductionKind::none; }
    /// True for a collective that gathers shards.
    bool isUnshard() { return $_op.getReshard() == ::sluice::spmd::ReshardKind::unshard; }
    /// The ranks of the group; 1 for a copy.
    int64_t getGroupSize() { return ::sluice::spmd::groupSizeOf($_op); }
  }];
}

#endif // SLUICE_DIALECT_SPMD_COLLECTIVEOPINTERFACE_TD
