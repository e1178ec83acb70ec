//===- SpmdDialect.td - local tensors, mesh axes, asynchronous collectives --------===//
#ifndef SLUICE_DIALECT_SPMD_SPMDDIALECT_TD
#define SLUICE_DIALECT_SPMD_SPMDDIALECT_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialect/rules/Enums.td"
include "dialect/rules/Roles.td"
include "dialect/rules/Rules.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::sluice::spmd";
  let summary = "local tensors of one rank, named mesh axes, asynchronous collectives";
  let description = [{
    ```
    model -> spmd -> plan
    ```

    The dialect states where each shard is and what ranks communicate. Compute ops are those of the [model dialect](model.md), on the
    tensors of one rank; this dialect adds the mesh, the sharding of a type, sections, and collectives as pairs of a start and a wait. A label
    such as `wait_c3` is in this page, at the check in `dialect/spmd/ops/`, and above the test in `test/dialect/spmd/errors-structure.mlir`
    or `errors-collective.mlir`.

    ## An entry point

    Each entry point is one `func.func` that contains only sections and a return.

    | attribute | on | meaning |
    |---|---|---|
    | `spmd.parameter`, `spmd.state` | argument | the argument is a shard of this parameter, or of this optimizer state of it |
    | `spmd.input`, `spmd.per_repetition` | argument | a host input; one for each repetition of the first section |
    | `spmd.space` | argument | the argument is in host memory: `#spmd.space<host>` |
    | `spmd.stream` | op of a section | the stream that executes the op if it is not compute: `#spmd.stream<host>`, on values in host memory, or `#spmd.stream<gather>`, before a gather |
    | `spmd.donates` | result | the argument whose memory the result reuses |
    | `spmd.output` | result | a host output |
    | `spmd.when` | op of a section | the repetitions in which it is issued: `#spmd.when<first>`, `not_first`, `last`, `not_last`, or a list as `#spmd.when<[0, 2]>`; absent: all |
    | `model.phase`, `model.block`, `model.ids`, `model.recompute` | op | as the model stage set them; ops of an inlined recompute region have `model.recompute` |
    | `spmd.local_shardings` | op of local types | the sharding of each operand and then of each result, for a kernel that reads its position or does not read padding |
    | `spmd.local_axes` | module | the axes along which types are local |
    | `spmd.unshard` | `all_reduce_start` | the model's author wrote this all-reduce; blocks whose units are gathered while it runs |

    Persistent arguments come first: parameters in the order of the module, each followed by its states sorted by name; then inputs. Each
    parameter or state that the entry point writes has a result with `spmd.donates`; a parameter without gradient has no such result. `@init`
    has the same persistent arguments and `seed`, and writes all of them. A forward entry point has parameters and no states.

    After the sharding phase `spmd-verify` checks: an entry point contains no `model.read`, `write`, `gradient`, `step_mean`, `block`,
    `checkpoint`, `recompute` and no conversion cast; each parameter argument has the type that follows from the mesh; each token has exactly
    one wait; only `copy_start` reads a value in the other memory space; no op reads a gathered value, or a view of it, after its release, and
    each gathered value is released; no collective has an axis of one rank.

    ## Shardings

    ```
    #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>
    #spmd.sharding<[{}, {"tensor", segments = 3, chunk = 4, total = 24} ]>
    #spmd.sharding<[{}, {} ] partial sum over ["expert"]>
    ```

    The attribute has one element for each dim of a tensor. `{}`: every rank has the full dim. Otherwise the dim has `segments` equal segments
    (1 if absent; the fused weight of Q, K and V has 3), each divided into chunks of `chunk` rows along the axes, the first axis outermost. The
    rank with coordinate c has the rows from `c * chunk` of each segment. `total` is the unpadded extent of the dim: on a rank,
    `clamp(total / segments - c * chunk, 0, chunk)` rows of a segment are data (possibly 0), and the rows after them are padding, which no op
    reads as data. A sub-axis (a factor of an axis) is an axis of the mesh with the name `axis.N`. `p1` after an element is its priority in
    propagation; the smaller number wins. Along the axes of `partial` each rank has a partial result, which the reduction of the axis (`sum`,
    `max`, `logsumexp` or `mean`) completes; axes may have different reductions. Ranks along an axis that is not named have equal data.

    As a discardable attribute it annotates a value of a global type:

    | attribute | on | meaning |
    |---|---|---|
    | `spmd.sharding` | argument, `model.parameter` | its sharding |
    | `spmd.shardings` | op | the sharding of each result |
    | `spmd.operand_shardings` | op | the sharding in which the op takes each operand, if one differs from that of the value |

    `spmd-localize` makes the types local along an axis; a parameter of a local type keeps its `spmd.sharding` along that axis.

    As the encoding of a type it makes the type local, the type of one rank's shard:

    ```
    tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>
    ```

    A dim without segments has chunks of `ceil(total / ranks)` rows on every rank, so that all ranks hold the same bytes. Over one rank a
    tensor is global and its type has no encoding.

    ## Collectives

    A collective is a start and a `spmd.wait`; other ops run between them. The start has a list of tensors, each of which is a segment of one
    instruction; its token represents all of them. The runtime issues the start at its position.
  }];
  let discardableAttrs = (ins
    // On arguments of entry points.
    "::mlir::FlatSymbolRefAttr":$parameter,
    "::mlir::StringAttr":$state,
    "::mlir::StringAttr":$input,
    "::mlir::UnitAttr":$per_repetition,
    "::sluice::spmd::MemorySpaceAttr":$space,
    // On results of entry points.
    "::mlir::IntegerAttr":$donates,
    "::mlir::StringAttr":$output,
    // On ops of sections.
    "::sluice::spmd::WhenAttr":$when,
    "::sluice::spmd::StreamKindAttr":$stream,
    "::mlir::ArrayAttr":$unshard,
    // Shardings of values and parameters.
    "::sluice::spmd::ShardingAttr":$sharding,
    "::mlir::ArrayAttr":$shardings,
    "::mlir::ArrayAttr":$operand_shardings,
    "::mlir::ArrayAttr":$local_shardings,
    // On modules.
    "::mlir::ArrayAttr":$local_axes
  );
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Spmd_Attr<string name, string mnemonicName, list<Trait> traits = []> : AttrDef<Spmd_Dialect, name, traits> {
  let mnemonic = mnemonicName;
}

def Spmd_WhenAttr : Rules_WhenAttr<Spmd_Dialect>;
def Spmd_ReductionKindAttr : Rules_EnumAttr<Spmd_Dialect, Rules_ReductionKind, "reduction">;
def Spmd_SyncModeAttr : Rules_EnumAttr<Spmd_Dialect, Rules_SyncMode, "sync">;
def Spmd_MemorySpaceAttr : Rules_EnumAttr<Spmd_Dialect, Rules_MemorySpace, "space">;
def Spmd_AxisRoleAttr : Rules_EnumAttr<Spmd_Dialect, Rules_AxisRole, "role">;
def Spmd_SectionKindAttr : Rules_EnumAttr<Spmd_Dialect, Rules_SectionKind, "section">;
def Spmd_StreamKindAttr : Rules_EnumAttr<Spmd_Dialect, Rules_StreamKind, "stream">;

def Spmd_TokenType : TypeDef<Spmd_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a collective in flight";
}

class Spmd_Op<string mnemonic, list<Trait> traits = []> : Op<Spmd_Dialect, mnemonic, traits>;

def Spmd_Tensor : StaticShapeTensorOf<[F32, F64, BF16, F16, I32, I64, UI<8>]>;

#endif // SLUICE_DIALECT_SPMD_SPMDDIALECT_TD
