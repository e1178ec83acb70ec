//===- Passes.td - the memory stage: sharing, lifespans, placement -------------------===//
#ifndef SLUICE_PASSES_MEMORY_PASSES_TD
#define SLUICE_PASSES_MEMORY_PASSES_TD

include "passes/recipe/RecipeOptions.td"

def ReuseInPlace : Pass<"plan-reuse-in-place", "::mlir::ModuleOp"> {
  let summary = "lets a launch overwrite an input after its last read";
  let description = [{
    If a kernel allows it (`may_alias`), the input's buffer is not read after the launch and the output's buffer is not used
    before it, both become one buffer.
    ```
    launch relu ins [@a] outs [@b] {may_alias = [0, 0]}  ==>  launch relu ins [@a] outs [@a]
    ```
  }];
}

def CarryEvents : Pass<"plan-carry-events", "::mlir::ModuleOp"> {
  let summary = "lets the first gathers of a step wait for the updates of the previous step";
  let description = [{
    In an entry point that updates parameters, gathers before all other work wait for a record of the previous run, after the
    last update of their parameters, and not for the compute position at which they are issued. Casts of their operands
    move to their stream. If a gather's memory would raise the peak, it and the later ones are not changed.
    `schedule.overlap_steps = false` changes nothing.
    ```
    record 0 on @compute; wait 0 on @gather; collective root on @gather; ...; update root; update h.0
    ==>
    wait 7 on @gather {carried}; collective root on @gather; ...; update root; record 7 on @compute; update h.0
    ```
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"overlapSteps", "schedule.overlap_steps">];
}

def MergeLaunches : Pass<"plan-merge-launches", "::mlir::ModuleOp"> {
  let summary = "merges consecutive launches of one kernel over a list of tensors";
  let description = [{
    Kernels that compute one output from one input (`cast`, `rope`) take a list. Consecutive launches of such a kernel with
    the same attributes, types, stream and unit become one: the casts of a unit's parameters, the rotations of queries and
    keys. The inputs are in persistent buffers or overwritten by their outputs, so no buffer is live for longer.
    ```
    launch cast ins [@a] outs [@x]; launch cast ins [@b] outs [@y]  ==>  launch cast ins [@a, @b] outs [@x, @y]
    ```
  }];
}

def ComputeLifespans : Pass<"plan-compute-lifespans", "::mlir::ModuleOp"> {
  let summary = "computes the lifespan of each buffer, a half-open range of instructions";
  let description = [{
    From the first access until after the last one, over the instructions of all streams in order of issue. An access by a
    stream other than compute lasts until compute has waited for it. Buffers with values of the previous repetition
    are live in the section from start to end. Host buffers of ports are live in the entry from start to end. Buffers
    whose first write waits only for a carried event are reserved in the previous run from its record to the end
    (`reserved_from`).
  }];
}

def PlaceBuffers : Pass<"plan-place-buffers", "::mlir::ModuleOp"> {
  let summary = "sets the offset of each buffer and the size of each arena";
  let description = [{
    Persistent buffers are first, one after another. After them is one region that the entry points share; the packing
    solver places each entry point in it, as low as it can; with `memory.budget`, low enough for the budget.
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"budget", "memory.budget">,
                 RecipeOption<"offload", "memory.offload">,
                 RecipeOption<"pinned", "memory.pinned">];
}

def CheckBudget : Pass<"plan-check-budget", "::mlir::ModuleOp"> {
  let summary = "diagnoses plans that need more memory than `memory.budget`";
  let description = [{
    Compares the placed device arena and workspace with `memory.budget`. If they are larger, the error's note names the
    classes of buffers that are live at the peak. Changes nothing.
  }];
  let options = [RecipeOption<"budget", "memory.budget">];
}

def VerifyMemory : Pass<"plan-verify-memory", "::mlir::ModuleOp"> {
  let summary = "verifies that no two live buffers share a byte and every buffer is in its arena";
  let description = [{Runs the packing checker, which shares no code with the solver. Changes nothing.}];
}

#endif // SLUICE_PASSES_MEMORY_PASSES_TD
