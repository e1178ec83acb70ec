//===- Sharding.td - how a tensor is divided among the ranks of the mesh ------------===//
#ifndef SLUICE_DIALECT_SPMD_SHARDING_TD
#define SLUICE_DIALECT_SPMD_SHARDING_TD

include "mlir/IR/TensorEncoding.td"
include "dialect/spmd/SpmdDialect.td"

def Spmd_DimShardingAttr : Spmd_Attr<"DimSharding", "dim_sharding"> {
  let summary = "how one dim is divided along mesh axes";
  let description = [{
    The dim has `segments` equal segments, each divided into chunks of `chunk` rows: along `axes`, the first outermost, the
    rank with coordinate c has rows `[c * chunk, (c + 1) * chunk)` of every segment. `total` is the unpadded extent of the
    dim. If ranks x chunk exceeds the extent of a segment, the last ranks have padding. Without axes every rank has the full
    dim, and the other parameters have their defaults. A sub-axis is an axis of the mesh with the name `axis.N`. `priority`
    orders propagation: shardings of priority 0, those of parameters, are kept if they conflict with a sharding of priority 1
    (rows or the sequence).

    **Constraints:** (dim_sharding_c1) axes are distinct; (dim_sharding_c2) with axes, `segments`, `chunk` and `total` are positive, and `segments`
    divides `total`; (dim_sharding_c3) without axes, none of them is given.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, DefaultValuedParameter<"int64_t", "1">:$segments,
                        DefaultValuedParameter<"int64_t", "0">:$chunk, DefaultValuedParameter<"int64_t", "0">:$total,
                        DefaultValuedParameter<"int64_t", "0">:$priority);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A dim that is not sharded.
    static DimShardingAttr replicated(::mlir::MLIRContext *context) { return get(context, {}, 1, 0, 0, 0); }
    bool isReplicated() const { return getAxes().empty(); }
    /// The extent of the dim on each rank, padding included. The dim is not replicated.
    int64_t localExtent() const { return getSegments() * getChunk(); }
    /// The rows of a segment.
    int64_t segmentExtent() const { return getTotal() / getSegments(); }
    /// True if every rank has the same rows: only `priority` may differ.
    bool isSamePlacement(DimShardingAttr other) const;
  }];
}

def Spmd_ShardingAttr : Spmd_Attr<"Sharding", "sharding",
                                  [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>, ShardingAttrInterface]> {
  let summary = "how a tensor is divided among the ranks of the mesh";
  let description = [{
    One `#spmd.dim_sharding` for each dim, as in Shardy's sharding attribute. Along `partial` axes each rank has a partial
    result, which the reduction of the axis (`sum`, `max`, `logsumexp` or `mean`) completes; along axes that are not named, all
    ranks have equal data. A sharding with one dim on a tensor of several dims divides the flattened tensor: a shard by
    elements, whose local type has one dim.
    ```
    #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>
    #spmd.sharding<[{}, {"tensor", segments = 3, chunk = 4, total = 24} ]>
    #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}p1]>
    #spmd.sharding<[{}, {} ] partial sum over ["expert"]>
    #spmd.sharding<[{} ] partial mean over ["replicate", "shard"], sum over ["tensor"]>
    ```
    Before localization it annotates values of global types: `spmd.sharding` on arguments and parameters, `spmd.shardings`
    on ops, with one element for each result, and `spmd.operand_shardings` if an op takes an operand in another sharding
    than that of the value. After localization it is the encoding of the type of one rank's shard, whose dims have the
    extent `segments * chunk`.

    **Constraints:** (sharding_c1) an axis occurs once; (sharding_c2) a partial axis has a reduction; (sharding_c3) the encoding of a
    type has one element for each dim, and the extent of a sharded dim is `segments * chunk`.
  }];
  let parameters = (ins ArrayRefParameter<"::sluice::spmd::DimShardingAttr">:$dims,
                        OptionalArrayRefParameter<"::sluice::spmd::PartialAxis">:$partialAxes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static ShardingAttr replicated(::mlir::MLIRContext *context, int64_t rank);
    /// True if every rank has the full value.
    bool isReplicated() const { return !isSharded() && !isPartial(); }
    bool isSharded() const {
      return ::llvm::any_of(getDims(), [](DimShardingAttr dim) { return !dim.isReplicated(); });
    }
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// The dim that is sharded along the axis; nothing if none is.
    std::optional<int64_t> dimAlong(::llvm::StringRef axis) const;
    /// How the partial results along the axis are combined; `none` if the value is not partial along it.
    ::sluice::PartialReduction reductionOver(::llvm::StringRef axis) const;
    bool isPartialOver(::llvm::StringRef axis) const {
      return reductionOver(axis) != ::sluice::PartialReduction::none;
    }
    /// The sharding with the dims of this one and no partial axis, as a type's encoding has it.
    ShardingAttr withoutPartial() const { return get(getContext(), getDims(), {}); }
    /// True if only priorities differ.
    bool isSamePlacement(ShardingAttr other) const;
  }];
}

#endif // SLUICE_DIALECT_SPMD_SHARDING_TD
