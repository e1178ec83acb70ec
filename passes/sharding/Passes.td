//===- Passes.td - the sharding stage: from whole parameters to shards ----------------===//
#ifndef SLUICE_PASSES_SHARDING_PASSES_TD
#define SLUICE_PASSES_SHARDING_PASSES_TD

include "passes/recipe/RecipeOptions.td"

def PartitionExpert : Pass<"spmd-partition-expert", "::mlir::ModuleOp"> {
  let summary = "the model as one rank of the axis expert computes it";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Parameters that `sharding.expert` names are split on dim 0, inputs by rows, and both flow through each entry by the ops'
    sharding rules, as splits over `tensor` do. Rows give way: they are gathered where an op has experts in parts, and sums
    over experts are reduced to parts of the rows. Gradients of all other parameters are terms of a sum over `expert`, which
    their unit's reduction completes. An entry whose rows the ranks do not divide computes them all on each rank. Does
    nothing where `mesh.expert` is 1.
    ```mlir
    model.parameter @w : tensor<4x8x8xf32> zeros
    ==>
    model.parameter @w : tensor<2x8x8xf32> zeros {spmd.tensor = {axis = "expert", dim = 0 : i64, segments = 1 : i64, shape = array<i64: 4, 8, 8>}}
    ```
  }];
  let options = [RecipeOption<"meshExpert", "mesh.expert">,
                 RecipeOption<"experts", "sharding.expert">];
}

def PartitionTensor : Pass<"spmd-partition-tensor", "::mlir::ModuleOp"> {
  let summary = "the model as one rank of the axis tensor computes it";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Parameters are split as `sharding.tensor` says; `spmd.tensor` on one tells what it is a part of. Splits flow through
    each entry by the ops' sharding rules: types become those of one rank's part, and collectives over `tensor` stand where
    a rule asks for them and nowhere else; a remark says which. Does nothing where `mesh.tensor` is 1.
    ```mlir
    model.parameter @w : tensor<8x4xf32> zeros
    ==>
    model.parameter @w : tensor<4x4xf32> zeros {spmd.tensor = {dim = 0 : i64, segments = 1 : i64, shape = array<i64: 8, 4>}}
    ```
  }];
  let options = [RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"splits", "sharding.tensor">,
                 RecipeOption<"sequence", "sharding.sequence">];
}

def AssignUnits : Pass<"spmd-assign-units", "::mlir::ModuleOp"> {
  let summary = "makes the mesh, the units and each parameter's placement";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Adds `spmd.mesh` and one `spmd.unit` for each unit, in order of first use with `root` first. A parameter belongs to
    the outermost block that holds all its uses in all entries, else to `root`. Each `model.parameter` gets `unit` and,
    where it is sharded, `dim`.
    ```mlir
    model.parameter @h.0.w : tensor<6x4xf32> zeros
    ==>
    spmd.mesh @mesh <replicate = 1, shard = 4, tensor = 1>
    spmd.unit @root []
    spmd.unit @h.0 [@h.0.w] {reshard_after_forward}
    model.parameter @h.0.w : tensor<6x4xf32> zeros {dim = 0 : i64, unit = "h.0"}
    ```
  }];
  let options = [RecipeOption<"meshShard", "mesh.shard">,
                 RecipeOption<"meshReplicate", "mesh.replicate">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">,
                 RecipeOption<"strategy", "sharding.strategy">,
                 RecipeOption<"units", "sharding.units">,
                 RecipeOption<"replicated", "sharding.replicated">,
                 RecipeOption<"dim", "sharding.dim">,
                 RecipeOption<"reshardAfterForward", "sharding.reshard_after_forward">,
                 RecipeOption<"reshardBeforeBackward", "sharding.reshard_before_backward">,
                 RecipeOption<"reshardAfterBackward", "sharding.reshard_after_backward">,
                 RecipeOption<"unshardInBackward", "sharding.unshard_in_backward">,
                 RecipeOption<"microbatches", "gradient.microbatches">,
                 RecipeOption<"gradientSync", "gradient.sync">,
                 RecipeOption<"gradientDivide", "gradient.divide">];
}

def Partition : Pass<"spmd-partition", "::mlir::ModuleOp"> {
  let summary = "parameters and states become arguments and results; sections; the entry point init";
  let description = [{
    Each entry takes its shards as arguments and gives them back as donated results. The body of a train entry is cut in
    the sections `microbatch` (repeated `gradient.microbatches` times) and `update`. Reads of shards in the update
    become the arguments; update ops are retyped to shards as their sharding rules say, and partial results (`power_sum`)
    completed by an all_reduce. `model.recompute` regions are inlined. What moves between ranks in the forward and backward is
    left as `model.read` (whole values), `model.gradient` with a conversion cast from the whole mean to its shard, and
    `model.step_mean`, which the next two passes replace. Adds the entry point `init`.
  }];
  let options = [RecipeOption<"microbatches", "gradient.microbatches">,
                 RecipeOption<"offload", "memory.offload">];
}

def InsertGathers : Pass<"spmd-insert-gathers", "::mlir::ModuleOp"> {
  let summary = "gathers units before their use and releases them after it";
  let description = [{
    Replaces each `model.read` of a whole parameter by the waited value of its unit's gather. A gather stands before the
    first op of the unit's scope in a phase, its start directly before its wait; a release stands behind the last op of
    the scope: in the forward where the unit reshards, and always in the backward.
  }];
}

def InsertReductions : Pass<"spmd-insert-reductions", "::mlir::ModuleOp"> {
  let summary = "reduces each unit's gradients behind its backward, and the scalars of a step";
  let description = [{
    Replaces `model.gradient` by one reduction for each unit, behind the release at the end of the unit's backward, and
    `model.step_mean` by accumulation and an all_reduce. With micro-batches, gradients are accumulated and reductions are
    issued in the last repetition only.
  }];
  let options = [RecipeOption<"forceSum", "gradient.force_sum">];
}

def SyncStatistics : Pass<"spmd-sync-statistics", "::mlir::ModuleOp"> {
  let summary = "averages running statistics over the data-parallel ranks";
  let description = [{
    With `statistics.sync = "last"`, all states of floats that a train entry writes go through one all_reduce in the last
    micro-batch, started behind the last of them and waited for where the section ends. Counts of batches are alike on all
    ranks and stay. A remark says so where the model has no running statistics.
    ```mlir
    %m = model.running_average %old, %mean {momentum = 0.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ==>
    %m = model.running_average %old, %mean {momentum = 0.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = spmd.all_reduce_start %m over ["replicate", "shard"] <mean> {spmd.when = #spmd.when<last>} : tensor<4xf32>
    %a = spmd.wait %t {spmd.when = #spmd.when<last>} : tensor<4xf32>
    ```
  }];
  let options = [RecipeOption<"sync", "statistics.sync">];
}

def FoldUnitAxes : Pass<"spmd-fold-unit-axes", "::mlir::ModuleOp"> {
  let summary = "folds collectives over axes of size 1";
  let description = [{
    Axes of size 1 are dropped from collectives; a collective without axes is its operands, its wait and releases of its
    values vanish. A chained wait whose collective has vanished is no longer chained. Encodings over axes of size 1 do
    not occur, so at one rank no collective and no encoding is left.
  }];
}

def Offload : Pass<"spmd-offload", "::mlir::ModuleOp"> {
  let summary = "runs the update where the optimizer's states are, and copies between host and device memory";
  let description = [{
    Arguments with `spmd.space` lie in host memory. Where all states of the optimizer do, ops of the section `update` get
    `spmd.stream = #spmd.stream<host>`, but for collectives, and so do sums of reduced gradients over repetitions and what makes
    initial values there. A value that is read in the other space is copied: gradients behind their reduction, all of a
    unit together. Parameters are copied to the device by spmd-insert-gathers. Does nothing without `memory.offload`.
    ```mlir
    %g = spmd.wait %r : tensor<4xf32>
    ==>
    %g = spmd.wait %r : tensor<4xf32>
    %t = spmd.copy_start %g to "host" unit "h.0" : tensor<4xf32>
    %h = spmd.wait %t : tensor<4xf32>
    ```
  }];
  let options = [RecipeOption<"offload", "memory.offload">];
}

def VerifySpmd : Pass<"spmd-verify", "::mlir::ModuleOp"> {
  let summary = "diagnoses what the sharding phase must not leave behind";
  let description = [{
    No `model.read`, `write`, `gradient`, `step_mean`, `block`, `checkpoint` or `recompute` in entry points; every token
    waited once, in its section; nothing reads a gathered value behind its release; local extent times ranks covers the
    global extent of each parameter; donated results have the donating argument's type. Collects all errors.
  }];
}

#endif // SLUICE_PASSES_SHARDING_PASSES_TD
