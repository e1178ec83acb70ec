//===- Collective.td - asynchronous collectives -------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD
#define SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD

include "dialect/spmd/CollectiveOpInterface.td"
include "dialect/spmd/SpmdDialect.td"

/// A collective over a list of tensors (segments), as one instruction. Its values are the results of spmd.wait.
class Spmd_StartOp<string mnemonic, string text> : Spmd_Op<mnemonic, [DeclareOpInterfaceMethods<CollectiveOpInterface>,
                      DeclareOpInterfaceMethods<CostOpInterface>, Rules_AtLeastOneOperand]> {
  let summary = text;
  let results = (outs Spmd_TokenType:$token);
  let extraClassDefinition = [{
    ::sluice::OpCost $cppClass::getCost() { return ::sluice::spmd::ringCost(*this); }
  }];
}

def Spmd_AllGatherStartOp : Spmd_StartOp<"all_gather_start", "starts gathering shards along axes"> {
  let description = [{
    ```mlir
    %t = spmd.all_gather_start %a over ["shard"] unit "h.0" : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    %w = spmd.wait %t : tensor<6x4xf32>
    ```

    Gathers shards into unsharded tensors, dense in row-major order. Along dim 0 a gathered tensor has chunk x ranks rows with padding only
    at the end, so kernels read it in place. Along another dim the collective writes the chunks to a separate buffer, and a copy after the
    wait puts them into place; a reduction copies its operand into chunks before it starts. Such a parameter takes twice its gathered bytes
    during the copy, and one additional read and write per gather and per reduction; uneven extents are padded with zeros that no op reads. A
    parameter that is sharded by elements is a tensor of one dim here; a `model.reshape`, which is a view, is after its gather and before its
    reduction. It needs no copy, and less than one element of padding per rank. The op is the dual of reduce_scatter.

    **Constraints.** (all_gather_start_c1) at least one operand. (all_gather_start_c2) axes are distinct axes of the mesh. (all_gather_start_c3) each
    operand is a shard along exactly these axes, or unsharded if the group has one rank.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$operands `over` $axes (`unit` $unit^)? attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Type> getValueTypes();
    ::mlir::RankedTensorType getDestinationChunk(unsigned index) {
      return ::llvm::cast<::mlir::RankedTensorType>(getOperands()[index].getType());
    }
  }];
  let hasVerifier = 1;
}

class Spmd_ReductionIs<string predicate, string text>
    : AttrConstraint<CPred<predicate # "(::llvm::cast<::sluice::spmd::ReductionKindAttr>($_self).getValue())">, text>;
def Spmd_Reduces : Spmd_ReductionIs<"::sluice::spmd::isReduction", "that is sum, mean, premul_sum or max">;
def Spmd_Scatters : Spmd_ReductionIs<"::sluice::spmd::isSumOrMean", "that is sum, mean or premul_sum">;

def Spmd_ReduceScatterStartOp : Spmd_StartOp<"reduce_scatter_start", "starts reducing unsharded tensors into shards"> {
  let description = [{
    ```mlir
    %t = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "h.0" : tensor<6x4xf32> to [tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>]
    %s = spmd.wait %t : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    ```

    Reduces the unsharded tensors of the ranks and returns each rank its shard of the `sum`, the `mean`, or the sum of `scale` times each
    tensor (`premul_sum`).

    **Constraints.** (reduce_scatter_start_c1) at least one operand. (reduce_scatter_start_c2) axes are distinct axes of the mesh.
    (reduce_scatter_start_c3) the reduction is `sum`, `mean` or `premul_sum`, and `scale` is given only with `premul_sum`. (reduce_scatter_start_c4) one shard
    type for each operand. (reduce_scatter_start_c5) each is the operand's type in chunks along exactly these axes, or the operand's type if the group has one
    rank.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes,
                       ConfinedAttr<Spmd_ReductionKindAttr, [Spmd_Scatters]>:$op,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, TypeArrayAttr:$shards, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$operands `over` $axes $op (`unit` $unit^)? attr-dict `:` type($operands) `to` $shards";
  let extraClassDeclaration = [{
    ::sluice::ReductionKind getReduction() { return getOp(); }
    ::llvm::SmallVector<::mlir::Type> getValueTypes() {
      return ::llvm::to_vector(getShards().getAsValueRange<::mlir::TypeAttr>());
    }
    ::mlir::RankedTensorType getSourceChunk(unsigned index) {
      return ::llvm::cast<::mlir::RankedTensorType>(::llvm::cast<::mlir::TypeAttr>(getShards()[index]).getValue());
    }
  }];
  let hasVerifier = 1;
}

def Spmd_AllReduceStartOp : Spmd_StartOp<"all_reduce_start", "starts reducing tensors on all ranks of the group"> {
  let description = [{
    ```mlir
    %t = spmd.all_reduce_start %loss over ["replicate", "shard"] <mean> : tensor<f32>
    %mean = spmd.wait %t : tensor<f32>
    ```

    Reduces the tensors of all ranks of the group in place. The reductions are those of reduce_scatter, and `max`.

    **Constraints.** (all_reduce_start_c1) at least one operand. (all_reduce_start_c2) axes are distinct axes of the mesh. (all_reduce_start_c3) the reduction is
    known, and `scale` is given only with `premul_sum`.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes,
                       ConfinedAttr<Spmd_ReductionKindAttr, [Spmd_Reduces]>:$op,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$operands `over` $axes $op (`unit` $unit^)? attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::sluice::ReductionKind getReduction() { return getOp(); }
    bool isInPlace() { return true; }
  }];
  let hasVerifier = 1;
}

def Spmd_AllToAllStartOp : Spmd_StartOp<"all_to_all_start", "starts exchanging chunks between the ranks of axes"> {
  let description = [{
    ```mlir
    %t = spmd.all_to_all_start %a over ["tensor"] : tensor<4x8xf32>
    %b = spmd.wait %t : tensor<4x8xf32>
    ```

    An operand consists of one chunk for each rank of the group along dim 0, in order of rank: rank r receives chunk r of each rank, and its value
    has them in order of rank. Transposes before and after it make the shards along one dim those along another.

    **Constraints.** (all_to_all_start_c1) at least one operand. (all_to_all_start_c2) axes are distinct axes of the mesh. (all_to_all_start_c3) extent 0
    of each operand is a multiple of the ranks of the group.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes);
  let assemblyFormat = "$operands `over` $axes attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getSourceChunk(unsigned index);
    ::mlir::RankedTensorType getDestinationChunk(unsigned index) { return getSourceChunk(index); }
  }];
  let hasVerifier = 1;
}

def Spmd_CopyStartOp : Spmd_StartOp<"copy_start", "starts copies between host and device memory"> {
  let description = [{
    ```mlir
    %t = spmd.copy_start %a to <host> unit "h.0" : tensor<2x4xf32>
    %d = spmd.wait %t : tensor<2x4xf32>
    ```

    Copies the operands to the other memory space, asynchronously, on one stream per direction.

    **Constraints.** (copy_start_c1) at least one operand. (copy_start_c2) `to` is `host` or `device`. (copy_start_c3) each operand is in the other space.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, Spmd_MemorySpaceAttr:$to, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$operands `to` $to (`unit` $unit^)? attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::sluice::MemorySpace getDestinationSpace() { return getTo(); }
    ::sluice::StreamKind getStream() {
      return getTo() == ::sluice::MemorySpace::host ? ::sluice::StreamKind::offload : ::sluice::StreamKind::fetch;
    }
  }];
  let hasVerifier = 1;
}

def Spmd_WaitOp : Spmd_Op<"wait", []> {
  let summary = "waits for a collective and returns its values";
  let description = [{
    The op returns the values of a collective. Compute waits at this op. On a mesh with `replicate` and `shard`, a gradient passes through two
    collectives; the wait between them is `chained`: the second collective waits for the first, and compute does not wait. The wait for a copy
    that only a gather reads is chained too; a cast between the copy and the gather has `spmd.stream = #spmd.stream<gather>`.

    **Constraints.** (wait_c1) the token comes from a start in the same block. (wait_c2) no other op waits for it. (wait_c3) the values have the types of
    the collective's results. (wait_c4) only collectives, and ops on their stream, read the values of a chained wait. (wait_c5) it is issued in the repetitions of its start.
  }];
  let arguments = (ins Spmd_TokenType:$token, UnitAttr:$chained);
  let results = (outs Variadic<Spmd_Tensor>:$values);
  let builders = [OpBuilder<(ins "::sluice::spmd::CollectiveOpInterface":$start, CArg<"bool", "false">:$chained), [{
    build($_builder, $_state, start.getValueTypes(), start->getResult(0), chained);
  }]>];
  let assemblyFormat = "$token attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The collective or copy that it waits for; null in invalid IR.
    ::sluice::spmd::CollectiveOpInterface getStart() {
      return getToken().getDefiningOp<::sluice::spmd::CollectiveOpInterface>();
    }
  }];
  let hasVerifier = 1;
}

def Spmd_AllSliceOp : Spmd_Op<"all_slice", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "the rank's chunk of a gathered tensor along axes";
  let description = [{
    ```mlir
    %p = spmd.all_slice %w : tensor<6x4xf32> -> tensor<3x4xf32, #spmd.sharding<[{"shard.1", chunk = 3, total = 6}, {} ]>>
    ```

    The rank's chunk of a gathered tensor along axes: the shard that is kept after a release if the next gather is over fewer ranks. The
    sub-axes of a factored axis are `shard.0` (outer) and `shard.1`.

    **Constraints.** (all_slice_c1) the result is the operand's type in chunks along axes of the mesh.
  }];
  let arguments = (ins Spmd_Tensor:$operand);
  let results = (outs Spmd_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_ReleaseOp : Spmd_Op<"release", [Rules_AtLeastOneOperand]> {
  let summary = "no later op reads the gathered values";
  let description = [{
    ```mlir
    %t = spmd.all_gather_start %a over ["shard"] unit "h.0" : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    %w = spmd.wait %t : tensor<6x4xf32>
    spmd.release %w unit "h.0" : tensor<6x4xf32>
    ```

    No later op reads the values, which are results of a wait for a gather of the same unit.

    **Constraints.** (release_c1) at least one value. (release_c2) each is a result of a wait for a gather of the same unit. (release_c3) no later op reads any of them.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$values, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$values (`unit` $unit^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD
