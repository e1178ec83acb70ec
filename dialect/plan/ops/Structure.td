//===- Structure.td - streams, buffers, entries, sections -----------------------------===//
#ifndef SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD

include "dialect/plan/PlanDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_StreamOp : Plan_Op<"stream"> {
  let summary = "a stream of a processor";
  let description = [{
    ```mlir
    plan.stream @gather on <device> {priority = 1 : i64, workspace = 0 : i64}
    ```

    A queue of a processor. Instructions of one stream run in order. Its launches share `workspace`. A stream may have the name
    of an entry point or buffer. The name implies its kind, or `(kind)` follows: `@fetch`, `@copies(fetch)`.

    **Constraints.** (stream_c1) Streams have distinct names. (stream_c2) A name that implies no kind is followed by one.
  }];
  let arguments = (ins SymbolNameAttr:$name, Plan_StreamKindAttr:$kind, Plan_ProcessorAttr:$processor, DefaultValuedAttr<Plan_Count, "0">:$priority,
                       DefaultValuedAttr<Plan_Count, "0">:$workspace);
  let assemblyFormat = "$name custom<StreamKind>(ref($name), $kind) `on` $processor attr-dict";
  let hasVerifier = 1;
}

def Plan_BufferOp : Plan_Op<"buffer", [Symbol]> {
  let summary = "a range of bytes of an arena";
  let description = [{
    ```mlir
    plan.buffer @h.0.act.3 : tensor<4x64x64xbf16> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 32768 : i64,
        entry = "train_step", begin = 17 : i64, end = 140 : i64, offset = 81920 : i64}
    ```

    A range of bytes of an arena. Without `entry` it persists and is shared by all entry points. `begin` and `end` are half-open, in
    instructions of its entry point counted in order of issue, sections one after another, repetitions not expanded.

    **Constraints.** (buffer_c1) The type is static, of integers or floats. (buffer_c2) `bytes` is its size. (buffer_c3) `space` is `device` or `host`.
    (buffer_c4) The class is one of the account of memory: `parameter`, `gathered`, `gradient_shard`, `gradient`, `optimizer`, `activation`, `temporary`, `state`,
    `communication`, `workspace`, `input`. (buffer_c5) `begin` and `end` require each other.

    Classes: a parameter is `parameter`, an optimizer state `optimizer`; the destination of a gather is `gathered`; the source
    of a reduction is `gradient` and the destination of a reduce_scatter `gradient_shard`; a cast shard that is gathered is
    `communication`. Of the other buffers, one that the forward writes and the backward reads is an `activation`; so is one that
    a recompute region writes for the backward; one that the backward writes and the update reads is a `gradient`; all others
    are `temporary`.

    `type` is its type on one rank, padding included; `buffer_class` one of the account's classes. `entry` names its entry
    point; absent: persistent. `begin`, `end` (half-open, in issue order of the entry point) and `offset` are set by memory
    planning. `parameter`, `state`: the value of a persistent buffer; `valid`: its sharding. `unit`: the unit of a
    gathered buffer. `carried`: a repetition reads the value of the previous one. `reserved_from`: the instruction of the
    previous run of the entry point from which on the bytes are reserved for this buffer; see plan.fbs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Plan_BufferType>:$type, Plan_MemorySpaceAttr:$space, Plan_BufferClassAttr:$buffer_class, Plan_Count:$bytes,
                       OptionalAttr<StrAttr>:$entry, OptionalAttr<StrAttr>:$parameter, OptionalAttr<StrAttr>:$state,
                       OptionalAttr<Plan_ValidAttr>:$valid,
                       OptionalAttr<StrAttr>:$unit, OptionalAttr<Plan_Count>:$begin, OptionalAttr<Plan_Count>:$end,
                       OptionalAttr<Plan_Count>:$offset, OptionalAttr<Plan_Count>:$reserved_from, UnitAttr:$carried);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Plan_ArenaOp : Plan_Op<"arena"> {
  let summary = "the memory that one rank requests of a memory space";
  let description = [{
    ```mlir
    plan.arena <device> {alignment = 256 : i64, bytes = 4096 : i64, peak_live = 4000 : i64, persistent = 1024 : i64, workspace = 640 : i64}
    ```

    The memory that one rank requests of a memory space. Created by `plan-place-buffers`.

    `bytes` includes `persistent` and not `workspace`; see plan.fbs.
  }];
  let arguments = (ins Plan_MemorySpaceAttr:$space, Plan_Count:$bytes, Plan_Count:$persistent, Plan_Count:$peak_live, Plan_Count:$workspace,
                       ConfinedAttr<I64Attr, [IntPositivePowerOf2]>:$alignment, UnitAttr:$pinned);
  let assemblyFormat = "$space attr-dict";
}

def Plan_EntryOp : Plan_Op<"entry", [Symbol, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "an entry point: sections in order";
  let description = [{
    ```mlir
    plan.entry @train_step attributes {events = 12 : i64} {
      plan.port <input> "tokens" <@input.tokens.host : 4x64xi32 step 1024> {limit = 256 : i64, per_repetition}
      plan.section "microbatch" repeat 2 { ... }
      plan.section "update" repeat 1 { ... }
    }
    ```

    An entry point is a list of sections, each of which has a repeat count and instructions without control flow. Ports are host memory that is
    written before a run or read after it.
  }];
  let regions = (region SizedRegion<1>:$body);
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<Plan_Count, "0">:$events);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Plan_SectionOp : Plan_Op<"section", [SingleBlock, NoTerminator, NoRegionArguments, HasParent<"EntryOp">]> {
  let summary = "instructions without control flow, with a repeat count";
  let description = [{
    See `plan.entry`. The name implies the kind, as in `spmd.section`.
  }];
  let regions = (region SizedRegion<1>:$body);
  let arguments = (ins StrAttr:$name, Plan_SectionKindAttr:$kind, Plan_PositiveCount:$repeat);
  let assemblyFormat = "$name custom<SectionKind>(ref($name), $kind) `repeat` $repeat attr-dict-with-keyword $body";
}

def Plan_PortOp : Plan_Op<"port", [HasParent<"EntryOp">]> {
  let summary = "an input that the host writes before a step, or an output that it reads after it";
  let description = [{
    See `plan.entry`. The name implies the role, or `(role)` follows. `limit`: exclusive upper bound of an integer input, 0: none. `values`:
    those of an input whose role is `constant`.
  }];
  let arguments = (ins Plan_PortDirectionAttr:$direction, StrAttr:$name, Plan_PortRoleAttr:$role, Plan_ViewAttr:$view, UnitAttr:$per_repetition,
                       DefaultValuedAttr<Plan_Count, "0">:$limit, OptionalAttr<ElementsAttr>:$values);
  let assemblyFormat = "$direction $name custom<PortRole>(ref($direction), ref($name), $role) $view attr-dict";
}

#endif // SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD
