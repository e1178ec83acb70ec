//===- Collective.td - asynchronous collectives -------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD
#define SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD

include "dialect/spmd/CollectiveOpInterface.td"
include "dialect/spmd/SpmdDialect.td"

/// A collective over a list of tensors (segments), as one instruction. Its values come out of spmd.wait.
class Spmd_StartOp<string mnemonic, string text> : Spmd_Op<mnemonic, [DeclareOpInterfaceMethods<CollectiveOpInterface>,
                      DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = text;
  let results = (outs Spmd_TokenType:$token);
  let extraClassDefinition = [{
    ::sluice::OpCost $cppClass::getCost() { return ::sluice::spmd::ringCost(*this); }
  }];
}

def Spmd_AllGatherStartOp : Spmd_StartOp<"all_gather_start", "starts gathering shards along axes"> {
  let description = [{
    Each operand is a shard with `#spmd.sharding`; the waited value is the whole tensor, extents as global. Its storage has
    chunk x ranks rows of the sharded dim (padding at the tail only): kernels read it in place.
    ```mlir
    %t = spmd.all_gather_start %a over ["shard"] unit "h.0" : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    %w = spmd.wait %t : tensor<6x4xf32>
    ```

    **Constraints:** (C1) at least one operand; (C2) axes are distinct axes of the mesh; (C3) each operand is sharded
    along just these axes; along a group of one rank, it is whole. The partner of `reduce_scatter_start`.
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

def Spmd_ReduceScatterStartOp : Spmd_StartOp<"reduce_scatter_start", "starts reducing whole tensors into shards"> {
  let description = [{
    Each operand is a whole tensor; the waited value its shard with `#spmd.sharding`. `op` is `sum`, `mean` or `premul_sum`
    (with `scale`). `shards` names the result types, in order.
    ```mlir
    %t = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "h.0" : tensor<6x4xf32> to [tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>]
    %s = spmd.wait %t : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    ```

    **Constraints:** (C1) at least one operand; (C2) axes are distinct axes of the mesh; (C3) `op` is one of
    these, and only `premul_sum` has a `scale`; (C4) one shard type for each operand; (C5) each shard type is the operand's type cut in
    chunks along just these axes; along a group of one rank, it is the operand's type.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes, Spmd_ReductionKindAttr:$op,
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
    In place: the waited values take over the operands' memory. `op` as reduce_scatter, or `max`.
    ```mlir
    %t = spmd.all_reduce_start %loss over ["replicate", "shard"] <mean> : tensor<f32>
    %mean = spmd.wait %t : tensor<f32>
    ```

    **Constraints:** (C1) at least one operand; (C2) axes are distinct axes of the mesh; (C3) `op` is one of
    these, and only `premul_sum` has a `scale`.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes, Spmd_ReductionKindAttr:$op,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$operands `over` $axes $op (`unit` $unit^)? attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::sluice::ReductionKind getReduction() { return getOp(); }
    bool isInPlace() { return true; }
  }];
  let hasVerifier = 1;
}

def Spmd_CopyStartOp : Spmd_StartOp<"copy_start", "starts copies between host and device memory"> {
  let description = [{
    The waited values are the operands' in the other memory space: `to` is `host` or `device`. Asynchronous as a
    collective is, on a stream of its own for each direction.
    ```mlir
    %t = spmd.copy_start %a to <device> unit "h.0" : tensor<2x4xf32>
    %d = spmd.wait %t : tensor<2x4xf32>
    ```

    **Constraints:** (C1) at least one operand; (C2) `to` is a memory space; (C3) each operand is in the
    other space.
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
  let summary = "the values of a collective, once it is complete";
  let description = [{
    Where it stands, the compute stream waits. A token is waited exactly once, in the section that starts it. A chained
    collective (all_reduce of what a reduce_scatter gave) may take the value of a wait marked `chained`: there only the
    stream of the collectives waits. So does a gather of what a copy gave: its wait is `chained`, and a cast in between
    runs on the gathers' stream; and a copy to the host of what a reduction gave.
    ```mlir
    %s = spmd.wait %t {chained} : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    %u = spmd.all_reduce_start %s over ["replicate"] <mean> unit "h.0" : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    ```

    **Constraints:** (C1) the token comes from a start in the same block; (C2) no other op waits for it; (C3) the values'
    types are those of the collective's results; (C4) the values of a chained wait are read by collectives and copies, and by what runs on their stream, alone; (C5)
    the wait has the `spmd.when` of its start.
  }];
  let arguments = (ins Spmd_TokenType:$token, UnitAttr:$chained);
  let results = (outs Variadic<Spmd_Tensor>:$values);
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
    What stays of a unit that is released, where the next gather is over fewer ranks than all: the rows that are this
    rank's by its coordinate along the axes of the result's type.
    ```mlir
    %p = spmd.all_slice %w : tensor<6x4xf32> -> tensor<3x4xf32, #spmd.sharding<[{"shard.1", chunk = 3, total = 6}, {} ]>>
    ```

    **Constraints:** (C1) the result is the operand's type cut in chunks along axes of the mesh.
  }];
  let arguments = (ins Spmd_Tensor:$operand);
  let results = (outs Spmd_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Spmd_ReleaseOp : Spmd_Op<"release", []> {
  let summary = "gathered values are not read from here on";
  let description = [{
    The reshard of a unit. Operands are values of the unit's wait, before spmd-lower-reshards of the unit's
    reshards; no op after it may read them.
    ```mlir
    spmd.release %w unit "h.0" : tensor<6x4xf32>
    ```

    **Constraints:** (C1) at least one value; (C2) each value comes from a wait for a gather of the same unit; (C3) no op
    behind the release reads a value.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$values, OptionalAttr<StrAttr>:$unit);
  let assemblyFormat = "$values (`unit` $unit^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_SPMD_OPS_COLLECTIVE_TD
