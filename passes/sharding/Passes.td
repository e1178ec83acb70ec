//===- Passes.td - the sharding stage: from global tensors to shards -------------------===//
#ifndef SLUICE_PASSES_SHARDING_PASSES_TD
#define SLUICE_PASSES_SHARDING_PASSES_TD

include "passes/recipe/RecipeOptions.td"

def ShardParameters : Pass<"spmd-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "attaches the recipe's shardings to parameters and inputs";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Along the axis `tensor`, `sharding.tensor` shards parameters on the dim of input or output features, which follows from
    the rules of the ops that read the parameter. Along `expert`, `sharding.expert` shards parameters on dim 0, and inputs
    are sharded by rows where the ranks divide them. Types stay global. Does nothing where the axis has one rank.
    ```mlir
    model.parameter @w : tensor<8x4xf32> zeros
    ==>
    model.parameter @w : tensor<8x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {} ]>}
    ```
  }];
  let options = [Option<"axis", "axis", "std::string", "", "the axis of the mesh: tensor or expert">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">,
                 RecipeOption<"tensorPlan", "sharding.tensor">,
                 RecipeOption<"sequence", "sharding.sequence">,
                 RecipeOption<"experts", "sharding.expert">];
}

def PropagateShardings : Pass<"spmd-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "attaches shardings to values by the sharding rules of ops";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    In program order, each op is sharded along one factor of its rule: that of its first operand with a parameter's sharding
    (priority 0), else that of its first operand sharded by rows or the sequence (priority 1). Its results are sharded by the
    rule, or partial where the factor is reduced. An op that cannot be sharded along a factor of its operands is replaced by
    its shardable form first. A reshard completes partial results directly after their op, unless their readers are linear
    in them, or a gradient, which its unit's reduction completes. `spmd.operand_shardings` states the shardings that an op
    requires where one differs from that of the value. Remarks name the reductions. Types stay global; recompute regions
    are inlined.
    ```mlir
    %0 = model.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    ==>
    %0 = model.matmul %x, %w {spmd.operand_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8} ]>, #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {} ]>],
                              spmd.shardings = [#spmd.sharding<[{}, {} ] partial sum over ["tensor"]>]} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %1 = spmd.reshard %0 from [#spmd.sharding<[{}, {} ] partial sum over ["tensor"]>] to [#spmd.sharding<[{}, {} ]>] : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let options = [Option<"axis", "axis", "std::string", "", "the axis of the mesh: tensor or expert">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">,
                 RecipeOption<"sequence", "sharding.sequence">,
                 RecipeOption<"experts", "sharding.expert">];
}

def InsertReshards : Pass<"spmd-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "inserts a reshard where an op requires another sharding of an operand";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    All readers that require the same sharding share a reshard. Rows and the sequence are gathered again for the backward,
    since the gathered value would occupy memory until then. Where the inputs of an elementwise op have fewer elements than
    its result, the inputs are gathered. A shard of a replicated value is computed by a copy of its op where the op can
    compute it alone, as a constant. Remarks name the gathers.
    ```mlir
    %0 = model.relu %x {spmd.operand_shardings = [#spmd.sharding<[{"tensor", chunk = 2, total = 4} ]>]} : (tensor<4xf32>) -> tensor<4xf32>
    ==>
    %s = spmd.reshard %x from [#spmd.sharding<[{} ]>] to [#spmd.sharding<[{"tensor", chunk = 2, total = 4} ]>] : (tensor<4xf32>) -> tensor<4xf32>
    %0 = model.relu %s : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [Option<"axis", "axis", "std::string", "", "the axis of the mesh: tensor or expert">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">];
}

def Localize : Pass<"spmd-localize", "::mlir::ModuleOp"> {
  let summary = "makes types local along an axis";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Values that `spmd.shardings` or a reshard shards, parameters and attributes with shapes get the shapes of one rank's
    shard. Ops whose kernels read their position, or leave padding out, get `spmd.local_shardings`: the sharding of each
    operand and result. Padding is cleared in gradients, and in operands whose padding is read. The module lists the axis in
    `spmd.local_axes`; parameters keep `spmd.sharding`, and inputs are replicated arguments that a reshard slices.
    ```mlir
    model.parameter @w : tensor<8x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {} ]>}
    ==>
    model.parameter @w : tensor<4x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {} ]>}
    ```
  }];
  let options = [Option<"axis", "axis", "std::string", "", "the axis of the mesh: tensor or expert">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">,
                 RecipeOption<"experts", "sharding.expert">];
}

def PrintShardings : Pass<"spmd-print-shardings", "::mlir::ModuleOp"> {
  let summary = "prints the shardings that the IR states";
  let description = [{
    To standard output: a line for each parameter and argument with a sharding, and one for each operand and result of an op
    with shardings. In no pipeline.
  }];
}

def AssignUnits : Pass<"spmd-assign-units", "::mlir::ModuleOp"> {
  let summary = "creates the mesh and the units, and sets each parameter's placement";
  let dependentDialects = ["::sluice::spmd::SpmdDialect"];
  let description = [{
    Adds `spmd.mesh` and one `spmd.unit` for each unit, in order of first use with `root` first. A parameter belongs to
    the outermost block that contains all its uses in all entries, else to `root`. Each `model.parameter` gets `unit` and,
    if it is sharded, `dim`.
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
                 RecipeOption<"gradientDivide", "gradient.divide">,
                 RecipeOption<"offload", "memory.offload">];
}

def Partition : Pass<"spmd-partition", "::mlir::ModuleOp"> {
  let summary = "makes parameters and states arguments and results, creates sections and the entry point init";
  let description = [{
    Each entry has its parameters and states as arguments, and their new values as results that donate the arguments. Types
    stay global: the sharding of an argument is `spmd.sharding`. The body of a train entry becomes the sections `microbatch`
    (repeated `gradient.microbatches` times) and `update`, whose reads become the arguments. `model.recompute` regions are
    inlined, and the collectives that the model's author wrote are along the data axes. The forward and backward still have
    `model.read` and `model.gradient`, and the update has `model.step_mean`: spmd-insert-data-reshards replaces them. Adds
    the entry point `init`.
    ```mlir
    func.func @f() attributes {model.entry = "forward"} {
      %0 = model.read @w : tensor<6x4xf32>
    ==>
    func.func @f(%arg0: tensor<6x4xf32> {spmd.parameter = @w, spmd.sharding = #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>}) {
      spmd.section "forward" repeat 1 {
        %0 = model.read @w : tensor<6x4xf32>
    ```
  }];
  let options = [RecipeOption<"microbatches", "gradient.microbatches">,
                 RecipeOption<"offload", "memory.offload">];
}

def InsertDataReshards : Pass<"spmd-insert-data-reshards", "::mlir::ModuleOp"> {
  let summary = "inserts a reshard for each read of a parameter, each gradient and each mean over ranks";
  let description = [{
    Before: sections read parameters by `model.read` and name gradients by `model.gradient`. After: ops of the forward and
    backward require replicated parameters, so a read is a reshard of the parameter's argument, after a cast to the element
    type of the readers. A gradient is partial over the data axes, and over the axes that `spmd.operand_shardings` names,
    and becomes a reshard to its parameter's sharding; `model.step_mean` becomes a reshard to replicated. Each read and
    gradient names its parameter and unit.
    ```mlir
    %0 = model.read @w : tensor<6x4xf32>
    ==>
    %0 = spmd.reshard %arg0 from [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>] to [#spmd.sharding<[{}, {} ]>] unit "h.0" {spmd.parameter = @w} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    ```
  }];
}

def GroupReshards : Pass<"spmd-group-reshards", "::mlir::ModuleOp"> {
  let summary = "merges the reshards of a unit in each of its scopes";
  let description = [{
    Before: a reshard for each read and gradient. After: one reshard of all sharded parameters of a unit before the first op
    of each of its scopes, and a `spmd.release` of them after the last, as if every unit resharded after each use.
    Replicated parameters of the unit are in a second reshard, which at most copies them to the device. Gradients of a unit
    with the same axes are in one reshard after the release at the end of its backward.
    ```mlir
    %0 = spmd.reshard %a from ... unit "h.0" {spmd.parameter = @w}
    %1 = spmd.reshard %b from ... unit "h.0" {spmd.parameter = @b}
    %2 = model.matmul %x, %0
    %3 = model.add %2, %1
    ==>
    %0:2 = spmd.reshard %a, %b from ... unit "h.0" {model.phase = "forward"}
    %2 = model.matmul %x, %0#0
    %3 = model.add %2, %0#1
    spmd.release %0#0, %0#1 unit "h.0" {model.phase = "forward"}
    ```
  }];
}

def ElideReshards : Pass<"spmd-elide-reshards", "::mlir::ModuleOp"> {
  let summary = "elides releases and gathers as the policy of each unit states";
  let description = [{
    Before: each scope of a unit gathers and releases. After: a unit without `reshard_after_forward` stays gathered until
    its backward, or until any backward begins (`reshard_before_backward`); one with `kept_axes` keeps a shard along these
    axes, from which the next reshard starts; one with `keep_after_backward` is gathered in the first repetition and
    released in the last; one with `skip_backward` is not gathered in the backward. Views of a released value in the
    forward are recomputed in the backward.
    ```mlir
    %0 = spmd.reshard %a from ... unit "root" {model.phase = "forward"}
    spmd.release %0 unit "root" {model.phase = "forward"}
    %1 = spmd.reshard %a from ... unit "root" {model.phase = "backward"}
    spmd.release %1 unit "root" {model.phase = "backward"}
    ==>
    %0 = spmd.reshard %a from ... unit "root" {model.phase = "forward"}
    spmd.release %0 unit "root" {model.phase = "backward"}
    ```
  }];
}

def AccumulateGradients : Pass<"spmd-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "accumulates gradients over micro-batches and schedules their reductions";
  let description = [{
    Before: gradients are reduced in every repetition of the section `microbatch`. After: they are accumulated, and reduced
    in the repetitions that `sync` of the unit names, by default in the last. With `reduce_scatter_only` the reduction over
    shards is separate from that over replicas, and the shards are accumulated in between. The mean of a scalar over
    repetitions is its scaled sum.
    ```mlir
    %1 = spmd.reshard %0 from [#spmd.sharding<[{} ] partial mean over ["shard"]>] to ... unit "h.0"
    ==>
    %s = spmd.accumulate %0
    %1 = spmd.reshard %s from [#spmd.sharding<[{} ] partial mean over ["shard"]>] to ... unit "h.0" {spmd.when = "last"}
    ```
  }];
}

def LocalizeUpdate : Pass<"spmd-localize-update", "::mlir::ModuleOp"> {
  let summary = "makes types local along the data axes";
  let description = [{
    Before: types are global, `spmd.sharding` on an argument is its sharding, and a reshard has that of its results. After:
    arguments and results of reshards have the type of one rank's shard with the sharding as its encoding. Ops that read
    them have local types by their sharding rules. A result for which a sharded factor is reduced is partial: a reshard to
    replicated completes it, and replicated operands count once.
    ```mlir
    func.func @f(%w: tensor<6x4xf32> {spmd.sharding = #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>}) {
      %0 = model.power_sum %w {p = 2.0} : (tensor<6x4xf32>) -> tensor<f32>
    ==>
    func.func @f(%w: tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>) {
      %0 = model.power_sum %w {p = 2.0} : (tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {} ]>>) -> tensor<f32>
      %1 = spmd.reshard %0 from [#spmd.sharding<[] partial sum over ["shard"]>] to [#spmd.sharding<[]>] : (tensor<f32>) -> tensor<f32>
    ```
  }];
}

def LowerReshards : Pass<"spmd-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "lowers reshards to collectives, slices and copies";
  let description = [{
    Before: shardings change by `spmd.reshard`, whose types are local. After: by `all_gather` where values become replicated,
    `all_slice` where they become sharded, `reduce_scatter` and then `all_reduce` over replicas where partial results become
    sharded, `all_reduce` where they become replicated; each start is directly before its wait. Reshapes and a transpose
    order the ranks' chunks of a dim. Gradients are scaled as the unit's `divide` and their element type require. Parameters
    in host memory are copied to the device first.
    ```mlir
    %0 = spmd.reshard %a from [#spmd.sharding<[{"shard", chunk = 2, total = 6} ]>] to [#spmd.sharding<[{} ]>] unit "h.0"
    ==>
    %t = spmd.all_gather_start %a over ["shard"] unit "h.0"
    %0 = spmd.wait %t
    ```
  }];
  let options = [RecipeOption<"forceSum", "gradient.force_sum">,
                 RecipeOption<"meshTensor", "mesh.tensor">,
                 RecipeOption<"meshExpert", "mesh.expert">];
}

def ReturnRankLosses : Pass<"spmd-return-rank-losses", "::mlir::ModuleOp"> {
  let summary = "makes the loss of each rank an output";
  let description = [{
    With `loss.per_rank`, an entry point that returns the loss also returns `rank_loss`: the mean over the rows of this rank
    and over its micro-batches, of which the loss is the mean over the ranks.
  }];
  let options = [RecipeOption<"perRank", "loss.per_rank">];
}

def JoinReductions : Pass<"spmd-join-reductions", "::mlir::ModuleOp"> {
  let summary = "combines values before they are reduced over the same axes";
  let description = [{
    Two values that an add or a maximum combines, one reduced over a model-parallel axis and the shard axes, the other over
    the shard axes, are combined before the reduction that both have: a norm requires one all_reduce for each axis.
    ```mlir
    %0 = all_reduce(all_reduce(%a over ["shard"]) over ["tensor"])
    %1 = all_reduce(%b over ["shard"])
    %2 = model.add %0, %1
    ==>
    %0 = all_reduce(%a over ["tensor"])
    %1 = model.add %0, %b
    %2 = all_reduce(%1 over ["shard"])
    ```
  }];
}

def SyncStatistics : Pass<"spmd-sync-statistics", "::mlir::ModuleOp"> {
  let summary = "averages running statistics over the data-parallel ranks";
  let description = [{
    With `statistics.sync = "last"`, one all_reduce in the last micro-batch averages all states of floats that a train entry
    writes. It starts after the last of them is computed; the wait is at the end of the section. Counts of batches are equal
    on all ranks and are not reduced. A remark is emitted for a model without running statistics.
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
    Axes of size 1 are removed from collectives. A collective without axes is replaced by its operands, and its wait and the
    releases of its values are erased. A chained wait is no longer chained if the next collective is erased. Encodings
    along axes of size 1 do not occur, so on one rank no collective and no encoding remains.
  }];
}

def Offload : Pass<"spmd-offload", "::mlir::ModuleOp"> {
  let summary = "runs each parameter's update in the memory space of its optimizer states, and copies between the spaces";
  let description = [{
    Arguments with `spmd.space` are in host memory. Ops of the section `update` except collectives get
    `spmd.stream = #spmd.stream<host>` if they update parameters whose optimizer states are in host memory, or if they are of
    several parameters with one of these among them (the norm of all gradients). So do sums of reduced gradients over
    repetitions that only the host reads, and the ops that compute initial values in host memory. A value that is read in the
    other space is copied: gradients after their reduction, all of a unit together. spmd-lower-reshards copies parameters to
    the device. Does nothing without `memory.offload`.
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

def OffloadActivations : Pass<"spmd-offload-activations", "::mlir::ModuleOp"> {
  let summary = "copies activations to host memory after the forward of their block, and back before its backward";
  let description = [{
    A value that the forward computes and a block's backward reads is copied to the host after the last block of the forward
    that reads it, and back to the device before the block of the backward that reads it first. Views of it are repeated in
    the backward. Compute waits for a block's copies to the host where those of the next block start, and copies to the
    device start `schedule.backward_prefetch` blocks before their use (1 for its other forms), so the activations of a fixed
    number of blocks are in device memory. Not copied: the values of the block whose backward is first, values that ops outside of
    blocks read first in the backward, values of less than 1 KiB, inputs, results, gathered parameters. Does nothing without
    `"activations"` in `memory.offload`.
    ```mlir
    %y = model.relu %x; ...; %dx = model.relu_grad %y, %dy
    ==>
    %y = model.relu %x
    %t = spmd.copy_start %y to <host> unit "h.0"
    ...
    %h = spmd.wait %t
    %u = spmd.copy_start %h to <device> unit "h.0"
    ...
    %z = spmd.wait %u
    %dx = model.relu_grad %z, %dy
    ```
  }];
  let options = [RecipeOption<"offload", "memory.offload">,
                 RecipeOption<"backwardPrefetch", "schedule.backward_prefetch">];
}

def VerifySpmd : Pass<"spmd-verify", "::mlir::ModuleOp"> {
  let summary = "verifies the invariants at the end of the sharding phase";
  let description = [{
    No `model.read`, `write`, `gradient`, `step_mean`, `block`, `checkpoint` or `recompute` in entry points; every token has
    one wait, in its section; no op reads a gathered value after its release; local extent times ranks covers the global
    extent of each parameter; a result that donates an argument has its type. All errors are reported.
  }];
}

#endif // SLUICE_PASSES_SHARDING_PASSES_TD
