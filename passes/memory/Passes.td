//===- Passes.td - the memory stage: sharing, lifespans, placement -------------------===//
#ifndef SLUICE_PASSES_MEMORY_PASSES_TD
#define SLUICE_PASSES_MEMORY_PASSES_TD

include "passes/recipe/RecipeOptions.td"

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

def CarryEvents : Pass<"plan-carry-events", "::mlir::ModuleOp"> {
  let summary = "a step's first gathers wait for the updates of what they gather, in the step before";
  let description = [{
    Gathers that stand before anything else of an entry point that updates parameters wait for a record of the run before,
    behind the last update of what they gather, and not for the compute position at which they are issued. Casts that make
    their operands go to their stream. Where a gather's memory would then raise the peak, it stays as it is, and all behind
    it. `schedule.overlap_steps = false` leaves all as they are.
    ```
    record 0 on @compute; wait 0 on @gather; collective root on @gather; ...; update root; update h.0
    ==>
    wait 7 on @gather {carried}; collective root on @gather; ...; update root; record 7 on @compute; update h.0
    ```
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"overlapSteps", "schedule.overlap_steps">];
}

def ComputeLifespans : Pass<"plan-compute-lifespans", "::mlir::ModuleOp"> {
  let summary = "each buffer gets the half-open range of instructions in which it lives";
  let description = [{
    From the first access to behind the last one, over the instructions of all streams in order of issue. An access by a
    stream other than compute lasts until compute has waited for it. What is carried from one repetition to the next lives
    through the whole section. Host buffers of ports live through the whole entry. What is written behind carried waits
    alone is taken `ahead` as well, from the record on in the run before.
  }];
}

def PlaceBuffers : Pass<"plan-place-buffers", "::mlir::ModuleOp"> {
  let summary = "each buffer gets its offset; arenas get their sizes";
  let description = [{
    Persistent buffers are first, one after another. After them is one region that the entry points share; the packing
    solver places each entry point in it.
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"offload", "memory.offload">,
                 RecipeOption<"pinned", "memory.pinned">];
}

def CheckBudget : Pass<"plan-check-budget", "::mlir::ModuleOp"> {
  let summary = "diagnoses plans that need more memory than `memory.budget`";
  let description = [{
    Compares the placed device arena and workspace with `memory.budget`. If they are larger, the error's notes name the
    classes of buffers that are live at the peak, and the settings that would reduce it, with estimates. Changes nothing.
  }];
  let options = [RecipeOption<"budget", "memory.budget">,
                 RecipeOption<"shard", "mesh.shard">,
                 RecipeOption<"strategy", "sharding.strategy">,
                 RecipeOption<"recompute", "recompute.policy">,
                 RecipeOption<"offload", "memory.offload">];
}

def VerifyMemory : Pass<"plan-verify-memory", "::mlir::ModuleOp"> {
  let summary = "no two live buffers share a byte, every buffer lies in its arena";
  let description = [{Asks the packing checker, which shares no code with the solver. Changes nothing.}];
}

#endif // SLUICE_PASSES_MEMORY_PASSES_TD
