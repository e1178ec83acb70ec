//===- Reshard.td - changes of sharding ---------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_OPS_RESHARD_TD
#define SLUICE_DIALECT_SPMD_OPS_RESHARD_TD

include "dialect/spmd/Sharding.td"

def Spmd_ReshardOp : Spmd_Op<"reshard", [Pure]> {
  let summary = "values in another sharding";
  let description = [{
    Each result is its operand in another sharding: `sources` has the sharding of each operand, `destinations` that of each
    result. The op is lowered to collectives: a gather where an axis leaves a dim, a local slice where an axis is added to a
    dim, a reduction where an axis leaves the partial axes. Types are global, or local types of the same global types.
    ```mlir
    %w = spmd.reshard %a from [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>] to [#spmd.sharding<[{}, {} ]>] unit "h.0" : (tensor<6x4xf32>) -> tensor<6x4xf32>
    ```

    **Constraints:** (reshard_c1) at least one operand, and a result, a source and a destination for each; (reshard_c2) the global type of a
    result is the operand's, or that of the flattened operand if one of the shardings divides the flattened tensor; (reshard_c3) a
    sharding has one element for each dim, or one for the flattened tensor; its totals are the extents of a global type, its
    chunks those of a local type; without its partial axes it is the encoding of a local type; (reshard_c4) axes are axes of the mesh.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, TypedArrayAttrBase<Spmd_ShardingAttr, "shardings">:$sources,
                       TypedArrayAttrBase<Spmd_ShardingAttr, "shardings">:$destinations, OptionalAttr<StrAttr>:$unit);
  let results = (outs Variadic<Spmd_Tensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::sluice::spmd::ShardingAttr":$source,
                                 "::sluice::spmd::ShardingAttr":$destination)>];
  let assemblyFormat = [{
    $operands `from` $sources `to` $destinations (`unit` $unit^)? attr-dict `:` functional-type($operands, $results)
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_SPMD_OPS_RESHARD_TD
