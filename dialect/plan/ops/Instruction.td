//===- Instruction.td - instructions ----------------------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_OPS_INSTRUCTION_TD
#define SLUICE_DIALECT_PLAN_OPS_INSTRUCTION_TD

include "dialect/plan/PlanDialect.td"
include "mlir/IR/SymbolInterfaces.td"

/// Every instruction: its stream (empty before streams are assigned), when, phase, unit.
class Plan_Instruction<string mnemonic, dag extra>
    : Plan_Op<mnemonic, [HasParent<"SectionOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &tables) {
      return ::sluice::plan_ir::verifyInstruction(*this, tables);
    }
  }];
  let arguments = !con(extra, (ins OptionalAttr<FlatSymbolRefAttr>:$stream, OptionalAttr<Plan_WhenAttr>:$when, Plan_PhaseAttr:$phase,
                                   OptionalAttr<StrAttr>:$unit, DefaultValuedAttr<Plan_Count, "0">:$invocation, UnitAttr:$recompute));
}

def Plan_LaunchOp : Plan_Instruction<"launch", (ins StrAttr:$kernel, Plan_ViewArrayAttr:$inputs, Plan_ViewArrayAttr:$outputs,
    DictionaryAttr:$settings, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$input_values, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$output_values,
    DefaultValuedAttr<Plan_Count, "0">:$workspace, DefaultValuedAttr<Plan_Count, "0">:$flops, DefaultValuedAttr<Plan_Count, "0">:$traffic,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$may_alias, DefaultValuedAttr<Plan_Count, "0">:$sm_margin)> {
  let summary = "launches a catalogue kernel";
  let description = [{`may_alias`: flat list of (input, output) pairs that memory planning may put in one buffer.
    `sm_margin`: SMs that the kernel leaves to collectives that run at the same time.}];
  let hasVerifier = 1;
  let assemblyFormat = "$kernel `ins` $inputs `outs` $outputs $settings (`on` $stream^)? attr-dict";
}

def Plan_CollectiveOp : Plan_Instruction<"collective", (ins Plan_CollectiveKindAttr:$kind, Plan_ReductionKindAttr:$op, StrArrayAttr:$axes, Plan_ViewArrayAttr:$sources,
    Plan_ViewArrayAttr:$destinations, DefaultValuedAttr<F64Attr, "1.0">:$scale,
    OptionalAttr<Plan_Count>:$token)> {
  let summary = "a collective over a list of segments";
  let description = [{
    The collective runs on a different stream. `token` identifies it for the `plan.await` before the first use of its
    result; `plan-insert-events` replaces both by events.
  }];
  let hasVerifier = 1;
  let assemblyFormat = "$kind $op `over` $axes `from` $sources `to` $destinations (`on` $stream^)? attr-dict";
}

def Plan_CopyOp : Plan_Instruction<"copy", (ins Plan_ViewAttr:$source, Plan_ViewAttr:$destination,
    OptionalAttr<Plan_Count>:$token)> {
  let summary = "copies between spaces or buffers";
  let description = [{
    With a `token` the copy is asynchronous, like a collective. Consecutive copies with the same token start together, and
    one `plan.await` waits for all of them.
  }];
  let assemblyFormat = "$source `to` $destination (`on` $stream^)? attr-dict";
}

def Plan_FillOp : Plan_Instruction<"fill", (ins Plan_ViewAttr:$destination, F64Attr:$value)> {
  let summary = "fills a view with a value";
  let assemblyFormat = "$destination `with` $value (`on` $stream^)? attr-dict";
}

def Plan_AwaitOp : Plan_Instruction<"await", (ins Plan_Count:$token, UnitAttr:$chained)> {
  let summary = "compute waits for a collective or copy";
  let description = [{
    Compute waits here for a collective or a copy. `plan-insert-events` replaces the op; the runtime has no such
    instruction. `chained`: only later collectives use the result of a collective, and only instructions on the stream of
    gathers that of a copy.
  }];
  let assemblyFormat = "$token attr-dict";
}

def Plan_RecordOp : Plan_Instruction<"record", (ins Plan_Count:$event)> {
  let summary = "records an event on its stream";
  let assemblyFormat = "$event (`on` $stream^)? attr-dict";
}

def Plan_WaitOp : Plan_Instruction<"wait", (ins Plan_Count:$event, UnitAttr:$carried)> {
  let summary = "its stream waits for the latest record of an event";
  let description = [{
    `carried`: the wait is for the record in the previous run of the same entry point. It has no effect if a different entry
    point ran before, or none, because a run then starts after all previous runs.
  }];
  let assemblyFormat = "$event (`on` $stream^)? attr-dict";
}

def Plan_ReleaseOp : Plan_Instruction<"release", (ins FlatSymbolRefArrayAttr:$buffers)> {
  let summary = "no later instruction uses the values of gathered buffers";
  let assemblyFormat = "$buffers (`on` $stream^)? attr-dict";
}

#endif // SLUICE_DIALECT_PLAN_OPS_INSTRUCTION_TD
