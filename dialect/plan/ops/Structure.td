//===- Structure.td - streams, buffers, entries, sections -----------------------------===//
#ifndef SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD

include "dialect/plan/PlanDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_StreamOp : Plan_Op<"stream", [Symbol]> {
  let summary = "a stream of a processor";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_ProcessorAttr:$processor, DefaultValuedAttr<I64Attr, "0">:$priority,
                       DefaultValuedAttr<I64Attr, "0">:$workspace);
  let assemblyFormat = "$sym_name `on` $processor attr-dict";
}

def Plan_BufferOp : Plan_Op<"buffer", [Symbol]> {
  let summary = "a piece of an arena";
  let description = [{
    `type` is what it holds on one rank, padding included; `buffer_class` one of the account's classes. `entry` names its entry
    point; absent: persistent. `begin`, `end` (half-open, in issue order of the entry point) and `offset` come from memory
    planning. `parameter`, `state`: what persistent buffers hold; `valid`: how a sharded one is cut. `unit`: of a
    gathered buffer. `carried`: a repetition reads what the one before left in it. `ahead`: in the run of the entry point
    before, the bytes are this buffer's from there on; see plan.fbs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, Plan_MemorySpaceAttr:$space, Plan_BufferClassAttr:$buffer_class, I64Attr:$bytes,
                       OptionalAttr<StrAttr>:$entry, OptionalAttr<StrAttr>:$parameter, OptionalAttr<StrAttr>:$state,
                       OptionalAttr<Plan_ValidAttr>:$valid,
                       OptionalAttr<StrAttr>:$unit, OptionalAttr<I64Attr>:$begin, OptionalAttr<I64Attr>:$end,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$ahead, UnitAttr:$carried);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Plan_ArenaOp : Plan_Op<"arena"> {
  let summary = "what one rank requests of a memory space";
  let description = [{Made by placement. `bytes` includes `persistent` and not `workspace`; see plan.fbs.}];
  let arguments = (ins Plan_MemorySpaceAttr:$space, I64Attr:$bytes, I64Attr:$persistent, I64Attr:$peak_live, I64Attr:$workspace,
                       I64Attr:$alignment, UnitAttr:$pinned);
  let assemblyFormat = "$space attr-dict";
}

def Plan_EntryOp : Plan_Op<"entry", [Symbol, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "an entry point: sections in order";
  let regions = (region SizedRegion<1>:$body);
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<I64Attr, "0">:$events);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_SectionOp : Plan_Op<"section", [SingleBlock, NoTerminator, NoRegionArguments, HasParent<"EntryOp">]> {
  let summary = "straight-line instructions with a repeat count";
  let regions = (region SizedRegion<1>:$body);
  let arguments = (ins StrAttr:$name, I64Attr:$repeat);
  let assemblyFormat = "$name `repeat` $repeat attr-dict-with-keyword $body";
}

def Plan_PortOp : Plan_Op<"port", [HasParent<"EntryOp">]> {
  let summary = "what the host gives before a step (input) or reads after it (output)";
  let description = [{`limit`: exclusive upper bound of an integer input, 0: none.}];
  let arguments = (ins Plan_PortDirectionAttr:$direction, StrAttr:$name, Plan_ViewAttr:$view, UnitAttr:$per_repetition,
                       DefaultValuedAttr<I64Attr, "0">:$limit);
  let assemblyFormat = "$direction $name $view attr-dict";
}

#endif // SLUICE_DIALECT_PLAN_OPS_STRUCTURE_TD
