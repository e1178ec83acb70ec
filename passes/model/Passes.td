//===- Passes.td - the model stage: from the forward to the train step ---------------===//
#ifndef SLUICE_PASSES_MODEL_PASSES_TD
#define SLUICE_PASSES_MODEL_PASSES_TD

include "passes/recipe/RecipeOptions.td"

//===----------------------------------------------------------------------===//
// Phase input
//===----------------------------------------------------------------------===//

def VerifyInput : Pass<"model-verify-input", "::mlir::ModuleOp"> {
  let summary = "verifies the imported module";
  let description = [{
    Changes nothing. An error for: a recipe with unknown keys or values; a module without entry function; an entry kind
    other than `train`, `eval` and `forward`; arguments and results without names or with equal names; inputs `seed`,
    `step`, `row` that are not i64 scalars; a train or eval entry whose only result is not an f32 scalar; ops that are not compute ops; a read of an optimizer state, a write of a parameter or a
    gradient, which only passes create.
  }];
}

def MakeEvaluation : Pass<"model-make-evaluation", "::mlir::ModuleOp"> {
  let summary = "creates the entry point eval_step from the train function";
  let description = [{
    `@eval_step`, of kind `eval`, is the forward of `@train_step`, or of the first train function without one of that name. Every
    op has its form outside training (dropout is the identity). It returns the loss of all ranks. Inputs that only
    training needs are removed. A module that has an `eval_step`, or no train function, is not changed.
  }];
}

//===----------------------------------------------------------------------===//
// Phase prepare
//===----------------------------------------------------------------------===//

def FreezeParameters : Pass<"model-freeze-parameters", "::mlir::ModuleOp"> {
  let summary = "marks the parameters that the recipe freezes";
  let description = [{
    Parameters whose name or alias matches a glob of `parameters.frozen` become `frozen`: they get no
    gradient, no reduction, no optimizer state, and are sharded and gathered as before. A glob that matches nothing is a
    warning.
  }];
  let options = [RecipeOption<"globs", "parameters.frozen">];
}

def CountLoss : Pass<"model-count-loss", "::mlir::ModuleOp"> {
  let summary = "splits mean losses into sum and count";
  let description = [{
    Under `loss.mean = "tokens"` the loss of a train or eval function becomes a sum, and the function returns the number
    of targets of the sum, both divided by the same static number. The update divides loss and gradients by that
    number's mean over micro-batches and ranks. A loss that is not a mean over counted targets is an error. Under `"rank"`
    only the loss of an eval function changes, if it is such a mean. The eval function also returns the count.
  }];
  let options = [RecipeOption<"mean", "loss.mean">];
}

def FlattenBlocks : Pass<"model-flatten-blocks", "::mlir::ModuleOp"> {
  let summary = "inlines blocks and checkpoint regions; each op gets their path as attribute";
  let description = [{
    Every op gets `model.block`, the path of its blocks joined by `/` (empty for the root), and `model.checkpoint`, the
    path of its checkpoint regions, numbered in program order in their function, for an op in such a region.
    ```mlir
    %0 = model.block "h.0" -> tensor<4xf32> {
      %1 = model.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      model.yield %1 : tensor<4xf32>
    }
    ==>
    %1 = model.tanh %x {model.block = "h.0"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def ApplyPrecision : Pass<"model-apply-precision", "::mlir::ModuleOp"> {
  let summary = "sets the precision of parameters, forward and results";
  let description = [{
    f32 parameters become those of `precision.parameter`. Under `precision.compute = "bf16"` (likewise `"f16"`, `"f64"`):
    reads of f32 parameters become bf16, float inputs are cast, and every op's result
    types follow (they are inferred again; without inference, the element type of the first float operand). Ops with
    fixed types keep them; operands of one element type that become different are cast to the wider one. f32 results of the
    function become those of `precision.output`, losses no less than f32. With tables by unit, ops and parameters have the
    types of their units: a unit with an output type casts its values where other units read them, and a unit casts the
    values of units that compute in another type where it reads them.
    ```mlir
    %w = model.read @w : tensor<4x4xf32>
    ==>
    %w = model.read @w : tensor<4x4xbf16>
    ```
  }];
  let options = [RecipeOption<"computeType", "precision.compute">,
                 RecipeOption<"reduceType", "precision.reduce">,
                 RecipeOption<"parameterType", "precision.parameter">,
                 RecipeOption<"outputType", "precision.output">,
                 RecipeOption<"shardingUnits", "sharding.units">];
}

def Fuse : Pass<"model-fuse", "::mlir::ModuleOp"> {
  let summary = "runs the fusions of the op families";
  let description = [{
    Bias and residual are fused into a matrix product whose result has no other use. The fusion does not depend on
    recompute, so that a recomputed value has the same bits. With `loss.chunk_rows` a loss and its output projection become one op.
    ```mlir
    %p = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %s = model.add %p, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ==>
    %s = model.matmul %x, %w bias(%b) : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let options = [RecipeOption<"chunkRows", "loss.chunk_rows">];
}

//===----------------------------------------------------------------------===//
// Phase differentiate
//===----------------------------------------------------------------------===//

def Differentiate : Pass<"model-differentiate", "::mlir::ModuleOp"> {
  let summary = "appends loss derivative and backward to train functions";
  let description = [{
    Reverse mode by the ops' own derivatives, in reverse order of the forward. The cotangent of the loss is
    1 / `gradient.microbatches`.
    Cotangents of several uses are added in the order in which the backward creates them; a zero cotangent has no op, and
    values that need no gradient have none. A parameter's gradient is cast to `precision.reduce`, summed over all reads,
    and passed to `model.gradient` as soon as it is complete; a parameter without influence on the loss has none. Under
    `gradient.reduce_per_pass` a loss that is a sum has a backward pass for each term, the last term first, and a parameter
    a gradient for each pass and invocation, whose number is `model.invocation` of the backward's ops. Ops carry
    `model.phase`: `forward` before the op that defines the loss, `loss` from there on and for that op's derivative,
    `backward` after; ops that stop gradients are replaced by their operands at the end. Backward ops carry the `model.block` and `model.checkpoint` of the op they derive from. The
    function returns the loss by `model.step_mean`. Functions that have phases are not changed.
    ```mlir
    %w = model.read @w : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
    ==>
    %w = model.read @w : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %m = model.step_mean %s : tensor<f32>
    %one = model.constant 1.0 : tensor<f32>
    %g = model.broadcast %one : (tensor<f32>) -> tensor<4xf32>
    %d = model.gradient @w, %g : tensor<4xf32>
    return %m : tensor<f32>
    ```
  }];
  let options = [RecipeOption<"microbatches", "gradient.microbatches">,
                 RecipeOption<"reducePerPass", "gradient.reduce_per_pass">,
                 RecipeOption<"reduceType", "precision.reduce">,
                 RecipeOption<"shardingUnits", "sharding.units">,
                 RecipeOption<"lossScale", "precision.loss_scale">];
}

def DifferentiateFunction : Pass<"model-differentiate-function", "::mlir::ModuleOp"> {
  let summary = "creates a function for the derivative of a forward function";
  let description = [{
    Creates @f_vjp for @f: arguments are those of @f, then one for each float result, named `cotangent.<output>`; results
    are the gradients of the arguments that `wrt` numbers (default: all float ones), named `grad.<input>`. A gradient
    that is zero is a constant. For tests of derivatives.
  }];
  let options = [
    Option<"function", "function", "std::string", "", "Name of the function">,
    ListOption<"wrt", "wrt", "int64_t", "Numbers of the arguments to differentiate by">,
  ];
}

def FuseBackward : Pass<"model-fuse-backward", "::mlir::ModuleOp"> {
  let summary = "runs the fusions of the op families for a forward and its backward";
  let description = [{
    In train functions a product and its `gelu` (tanh form) become one op with both as results, if no other op reads the
    product and backward ops read both, so that the fusion keeps no additional value. A product whose only use is the
    cotangent of a `gelu_grad` is fused with it. Before `model-recompute`, so that a recomputed value has the same bits.
    A product of the backward adds an older cotangent to which only its result is added (its residual); so does the gradient
    of a norm (its addend).
    In the backward an op that rounds its result once (a product, a sum, the gradients of a norm's vectors and of an
    embedding) has it in f32 if a cast to f32 is its only use: the gradient of a parameter has the type
    `precision.reduce` without a cast.
    ```mlir
    %x = model.matmul %a, %w bias(%b) {model.phase = #model.phase<forward>} : ...
    %y = model.gelu %x {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : ...
    %dy = model.matmul %g, %v {model.phase = #model.phase<backward>, transpose_rhs} : ...
    %dx = model.gelu_grad %dy, %x {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : ...
    ==>
    %x, %y = model.matmul_gelu %a, %w bias(%b) {model.phase = #model.phase<forward>} : ...
    %dx = model.matmul_gelu_grad %g, %v, %x {model.phase = #model.phase<backward>, transpose_rhs} : ...
    ```
    ```mlir
    %0 = model.matmul %a, %g {model.phase = #model.phase<backward>, transpose_lhs} : ... -> tensor<4x5xbf16>
    %dw = model.cast %0 {model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
    ==>
    %dw = model.matmul %a, %g {model.phase = #model.phase<backward>, output = f32, transpose_lhs} : ... -> tensor<4x5xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Phase optimize
//===----------------------------------------------------------------------===//

def ApplyOptimizer : Pass<"model-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "appends the update: norm, clipping, guard, optimizer";
  let description = [{
    The function gains the inputs `lr` and `step` and the outputs `grad_norm` and `guard`. The norm is over all gradients,
    of type `gradient.clip_type` (2 without clipping); the guard is 1 where loss, norm, clip coefficient and learning
    rate are finite. Under `optimizer.in_backward` the guard of each update is the constant 1, and no output. Then, for each
    parameter with a gradient in the module's order, its value and states are read, updated by the op of
    `optimizer.name`, and written; `optimizer.no_decay` excludes parameters from weight decay. Ops carry `model.phase = #model.phase<update>`.
    Functions that have an update are not changed.
  }];
  let options = [RecipeOption<"optimizerName", "optimizer.name">,
                 ListOption<"hyperParameters", "set", "std::string",
                            "settings of the recipe for the optimizer, each optimizer.<name>=value">,
                 RecipeOption<"noDecay", "optimizer.no_decay">,
                 RecipeOption<"inBackward", "optimizer.in_backward">,
                 RecipeOption<"clipNorm", "gradient.clip_norm">,
                 RecipeOption<"clipType", "gradient.clip_type">,
                 RecipeOption<"lossScale", "precision.loss_scale">];
}

//===----------------------------------------------------------------------===//
// Phase recompute
//===----------------------------------------------------------------------===//

def Recompute : Pass<"model-recompute", "::mlir::ModuleOp"> {
  let summary = "recomputes forward ops in the backward instead of keeping their results";
  let description = [{
    By `recompute.policy`: nothing, one region for each outermost block, or one for each outermost checkpoint region; in a
    table by block, the policy of the innermost block around an op. Each invocation of a block is a group. A
    region is before the first backward op of its group and has clones of the group's forward ops that the group's
    backward needs; the backward then reads the region's results. The forward keeps only the values that regions capture:
    the group's inputs, and under `selective` the results of the ops that `recompute.save` names. An error for a name
    in a table that is no block, and for a name in `recompute.save` that is no op of the dialect.
    ```mlir
    %a = model.tanh %x {model.block = "h.0", model.phase = #model.phase<forward>} : ...
    %d = model.multiply %g, %a {model.block = "h.0", model.phase = #model.phase<backward>} : ...
    ==>
    %a = model.tanh %x {model.block = "h.0", model.phase = #model.phase<forward>} : ...
    %r = model.recompute "h.0" -> tensor<4xf32> attributes {...} {
      %b = model.tanh %x {model.block = "h.0", model.phase = #model.phase<backward>} : ...
      model.yield %b : tensor<4xf32>
    }
    %d = model.multiply %g, %r {model.block = "h.0", model.phase = #model.phase<backward>} : ...
    ```
  }];
  let options = [RecipeOption<"policy", "recompute.policy">,
                 RecipeOption<"save", "recompute.save">];
}

def RecordProgram : Pass<"model-record-program", "::mlir::ModuleOp"> {
  let summary = "numbers all values and keeps a copy of the unsharded program";
  let description = [{
    Every op of an entry function gets `model.ids`, the numbers of its results, and every argument `model.id`, from 1 in
    the order of the module. A nested module with `model.unsharded` then holds a copy of parameters and
    functions, which later phases do not change: it is the unsharded program of the plan. A module that has the copy is
    not changed.
  }];
}

def VerifyOutput : Pass<"model-verify-output", "::mlir::ModuleOp"> {
  let summary = "verifies the result of the model phases";
  let description = [{
    Changes nothing. On exit of the model phases, entry functions are flat except for recompute regions; every op has its
    block, its phase and its value ids; phases are in order; a train function has each gradient once in a backward pass,
    writes each parameter and state at most once, and has an update; every op implements the interfaces of compute ops.
  }];
}

//===----------------------------------------------------------------------===//
// Not in the pipeline: for tests and people
//===----------------------------------------------------------------------===//

def Decompose : Pass<"model-decompose", "::mlir::ModuleOp"> {
  let summary = "replaces composites by their decomposition into primitives";
  let description = [{The reference of each composite in tests.}];
}

def ShowShardingRules : Pass<"model-show-sharding-rules", "::mlir::ModuleOp"> {
  let summary = "shows each op's sharding rule as an attribute";
  let description = [{Sets `model.sharding_rule` on every op that has one.}];
}

def ShowCost : Pass<"model-show-cost", "::mlir::ModuleOp"> {
  let summary = "shows each op's cost as an attribute";
  let description = [{Sets `model.cost` (`flops=..., bytes=...`) on every op that has one.}];
}

#endif // SLUICE_PASSES_MODEL_PASSES_TD
