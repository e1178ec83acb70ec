//===- PlanDialect.td - instructions, streams, buffers -------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_PLANDIALECT_TD
#define SLUICE_DIALECT_PLAN_PLANDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "dialect/rules/Enums.td"
include "dialect/rules/Roles.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::sluice::plan_ir";
  let summary = "instructions on buffers: their order, streams and offsets, one-to-one with the runtime's instructions";
  let description = [{
    ```
    model -> spmd -> plan
    ```

    The dialect states when, on which stream and at which offset an instruction runs. It has one op for each instruction of
    the runtime, and one for each table that instructions refer to. [docs/plan-format.md](../plan-format.md) describes the bytes of a plan file;
    each op below becomes the table of the same name there.

    ## Views

    An instruction refers to memory by views, not by SSA values. A view is an attribute: a typed strided window of a buffer.

    ```mlir
    #plan.view<@w.gathered.0 : 7x4xf32>                             // dense, from the first byte
    #plan.view<@qkv : 4x64x32xbf16 offset 64 strides [6144, 96, 1]>   // a window: bytes to its start, elements between
    #plan.view<@x.host : 4x64xi32 step 1024>                        // 1024 bytes further in each repetition
    #plan.view<@w.shard : 4x4xf32 valid <dim = 0, chunk = 4, total = 7, axes = ["shard"]>>  // a padded shard
    ```

    A rank's valid extent of a padded shard is `clamp(total - coordinate * chunk, 0, chunk)`. Nothing else depends on the rank.

    **Constraints.** (view_c1) The buffer exists. (view_c2) The view is inside the buffer in every repetition. (view_c3) Strides, if given, are one for
    each dim. (view_c4) The element type is an integer or a float.

    ## Instructions

    Every instruction has a `stream` and a `phase` (`forward`, `loss`, `backward`, `update`, `init`). It may have `when`, the repetitions of
    its section in which it is issued (`first`, `not_first`, `last`, `not_last` or a list), `unit`, the `invocation` of its block, and
    `recompute`.

    **Constraints.** (instruction_c1) The stream exists. (instruction_c2) `when` and `phase` are known names.

    | op | effect | further constraints |
    |---|---|---|
    | `launch` | runs a kernel of the [catalogue](../generated/kernels.md) on views | (launch_c1) the kernel is in the catalogue (launch_c2) the numbers of inputs and outputs are those of its record (launch_c3) so are names and values of attributes (launch_c4) `may_alias` is pairs of an input and an output (launch_c5) inputs and outputs are views |
    | `collective` | `all_gather`, `reduce_scatter`, `all_reduce` or `broadcast` over axes, on a list of segments | (collective_c1) known kind and reduction (collective_c2) one destination for each source (collective_c3) views are dense |
    | `await` | compute waits for the collective or copy with a token; `plan-insert-events` replaces it by a `wait` | does not occur after the streams phase |
    | `copy` | copies between spaces or buffers | |
    | `fill` | fills a view with a value | |
    | `record` | records an event on its stream | |
    | `wait` | its stream waits for the latest record of an event | a record comes before it (`plan-verify-streams`) |
    | `release` | no later instruction uses the values of a gathered unit's buffers | |

    ```mlir
    plan.launch "matmul" ins [#plan.view<@input.x : 2x7xf32>, #plan.view<@w.gathered.0 : 7x4xf32>] outs [#plan.view<@h.0.act.0 : 2x4xf32>] {} on @compute {phase = #plan.phase<forward>, flops = 112 : i64}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w.shard : 4x4xf32>] to [#plan.view<@w.gathered.0 : 8x4xf32>] on @gather {phase = #plan.phase<forward>, unit = "h.0"}
    plan.copy <@input.x.host : 2x7xf32 step 56> to <@input.x : 2x7xf32> on @compute {phase = #plan.phase<forward>}
    plan.fill <@h.0.grad.0 : 1x4xf32 offset 112> with 0.0 on @compute {phase = #plan.phase<backward>}
    plan.record 0 on @compute {phase = #plan.phase<forward>}
    plan.wait 0 on @gather {phase = #plan.phase<forward>}
    plan.release [@w.gathered.0] on @compute {phase = #plan.phase<forward>}
    ```

    ## From spmd to plan

    - A value has a separate buffer, unless it is a window of its operand's (`ViewOpInterface`), reuses its operand's memory
      (`mustAlias`, `spmd.donates`, all_reduce), or is concatenated with others (`DestinationOpInterface`): then it is copied into
      its window, and `plan-place-destinations` erases the copy if the value can be computed there.
    - If memory cannot be reused because it is read later, or because it is persistent, the value is copied.
    - A gathered value's buffer has chunk x ranks rows; the value is the first rows of it. A gradient that is reduced has a
      buffer of as many rows, whose tail is filled with zeros before the reduction.
    - A collective waits for the compute position at which it is issued. Its memory is in use until compute has waited for it.
      Lifespans rely on these two rules only, and the checker proves them again from the plan alone.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
class Plan_Attr<string name, string mnemonicName> : AttrDef<Plan_Dialect, name> { let mnemonic = mnemonicName; }

def Plan_WhenAttr : Rules_WhenAttr<Plan_Dialect>;
def Plan_PhaseAttr : Rules_EnumAttr<Plan_Dialect, Rules_Phase, "phase">;
def Plan_MemorySpaceAttr : Rules_EnumAttr<Plan_Dialect, Rules_MemorySpace, "space">;
def Plan_ProcessorAttr : Rules_EnumAttr<Plan_Dialect, Rules_Processor, "processor">;
def Plan_BufferClassAttr : Rules_EnumAttr<Plan_Dialect, Rules_BufferClass, "class">;
def Plan_CollectiveKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_CollectiveKind, "kind">;
def Plan_ReductionKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_ReductionKind, "reduction">;
def Plan_PortRoleAttr : Rules_EnumAttr<Plan_Dialect, Rules_PortRole, "role">;
def Plan_SectionKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_SectionKind, "section">;
def Plan_StreamKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_StreamKind, "stream">;
def Plan_PortDirectionAttr : Rules_EnumAttr<Plan_Dialect, Rules_PortDirection, "direction">;

/// As in spmd: clamp(total - coordinate * chunk, 0, chunk).
def Plan_ValidAttr : Plan_Attr<"Valid", "valid"> {
  let summary = "the true extent of a padded dim";
  let parameters = (ins "int64_t":$dim, "int64_t":$chunk, "int64_t":$total, ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `chunk` `=` $chunk `,` `total` `=` $total `,` `axes` `=` `[` $axes `]` `>`";
}

/// A typed strided window of a buffer. Offset in bytes; empty strides: dense row-major; `step`: bytes added for each
/// repetition of the section.
/// ```mlir
/// #plan.view<@w : 4x64xf32 offset 128 strides [64, 1] step 256 valid <dim = 0, chunk = 4, total = 10, axes = ["shard"]>>
/// ```
def Plan_ViewAttr : Plan_Attr<"View", "view"> {
  let summary = "a typed strided window of a buffer";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::Type":$elementType, ArrayRefParameter<"int64_t">:$shape,
                        DefaultValuedParameter<"int64_t", "0">:$offset, OptionalArrayRefParameter<"int64_t">:$strides,
                        DefaultValuedParameter<"int64_t", "0">:$step, OptionalParameter<"::sluice::plan_ir::ValidAttr">:$valid);
  let assemblyFormat = [{
    `<` $buffer `:` custom<Dims>($shape, $elementType) (`offset` $offset^)? (`strides` ` ` `[` $strides^ `]`)?
    (`step` $step^)? (`valid` $valid^)? `>`
  }];
  let genVerifyDecl = 1;
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::RankedTensorType":$type), [{
    return $_get(buffer.getContext(), buffer, type.getElementType(), type.getShape(), 0, ::llvm::ArrayRef<int64_t>(), 0,
                 ::sluice::plan_ir::ValidAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Bytes of one element of `type`.
    static int64_t elementBytes(::mlir::Type type);
    int64_t elements() const;
    /// Bytes from the first to one past the last element.
    int64_t spanBytes() const;
    /// The strides, those of a dense row-major tensor if none are given.
    ::llvm::SmallVector<int64_t> getOrComputeStrides() const;
    /// True without strides, or with those of a dense row-major tensor.
    bool isDense() const;
    ::sluice::plan_ir::ViewAttr onBuffer(::mlir::FlatSymbolRefAttr other, int64_t newOffset) const;
  }];
}

/// Counts and positions from 0, and counts from 1.
def Plan_Count : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Plan_PositiveCount : ConfinedAttr<I64Attr, [IntPositive]>;
def Plan_BufferType : StaticShapeTensorOf<[AnyInteger, AnyFloat]>;
def Plan_ViewArrayAttr : TypedArrayAttrBase<Plan_ViewAttr, "list of views">;

#endif // SLUICE_DIALECT_PLAN_PLANDIALECT_TD
