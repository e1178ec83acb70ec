//===- Passes.td - the memory stage: sharing, lifespans, placement -------------------===//
#ifndef SLUICE_PASSES_MEMORY_PASSES_TD
#define SLUICE_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReuseInPlace : Pass<"plan-reuse-in-place", "::mlir::ModuleOp"> {
  let summary = "a launch writes over an input that is read for the last time";
  let description = [{
    Where a kernel allows it (`may_alias`), where the input's buffer is read nowhere behind the launch and the output's
    buffer is used nowhere before it, both become one buffer.
    ```
    launch relu ins [@a] outs [@b] {may_alias = [0, 0]}  ==>  launch relu ins [@a] outs [@a]
    ```
  }];
}

def ComputeLifespans : Pass<"plan-compute-lifespans", "::mlir::ModuleOp"> {
  let summary = "each buffer gets the half-open range of instructions in which it lives";
  let description = [{
    From the first access to behind the last one, over the instructions of all streams in order of issue. An access by a
    stream other than compute lasts until compute has waited for it. What is carried from one repetition to the next lives
    through the whole section. Host buffers of ports live through the whole entry.
  }];
}

def PlaceBuffers : Pass<"plan-place-buffers", "::mlir::ModuleOp"> {
  let summary = "each buffer gets its offset; arenas get their sizes";
  let description = [{
    Persistent buffers stand first, one after another. Behind them is one region that the entry points share, each placed
    by the packing solver. More than `memory.budget` is an error that names who holds the peak.
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
}

def VerifyMemory : Pass<"plan-verify-memory", "::mlir::ModuleOp"> {
  let summary = "no two live buffers share a byte, every buffer lies in its arena";
  let description = [{Asks the packing checker, which shares no code with the solver. Changes nothing.}];
}

#endif // SLUICE_PASSES_MEMORY_PASSES_TD
