//===- BatchNorm.td - batch norm in training, and its running statistics ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD
#define SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD

include "dialect/model/ModelDialect.td"

def Model_BatchNormOp : Model_Op<"batch_norm", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, Model_InferExtents<"batch_norm", [Model_TypeOf<"x">.text, Model_StatisticsType<"x">.text, Model_StatisticsType<"x">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                                DeclareOpInterfaceMethods<EvaluationOpInterface>, Model_ElementsOf<"x", ["weight", "bias"]>]> {
  let summary = "norm over all dims but the last, by the statistics of this micro-batch";
  let description = [{
    **Semantics.** Over all dims but the last, of this micro-batch on this rank: `mean`, biased `variance`, `y = (x - mean) / sqrt(variance + epsilon) * weight + bias`. `mean` and
    `variance` are saved for the derivative and for running statistics. In `eval_step` the op reads the running statistics instead of `mean` and
    `variance`, and running statistics and counts are not updated.

    **Inputs.** `x [..., C]`, `weight [C]`, `bias [C]`: tensors of float. **Outputs.** `y`: type of x; `mean`, `variance` `[C]`: statistics type.

    **Constraints.** (batch_norm_c1) x has at least two dims. (batch_norm_c2) `weight` and `bias` are `[C]` of x's element type; statistics are `[C]` in theirs.

    **Derivative.** `batch_norm_grad`. A cotangent of `mean` or `variance` is an error.

    **Decomposition.** reduce_mean, subtract, multiply, reduce_mean, add, rsqrt, multiply, multiply, add.

    ```mlir
    %y, %mean, %variance = model.batch_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```

    #### batch_norm_grad

    With `rstd = 1 / sqrt(variance + epsilon)`, `u = (x - mean) rstd` and n rows: `dweight = sum(dy u)`, `dbias = sum(dy)`, `dx = weight rstd (dy - dbias / n - u dweight / n)`, sums in a fixed
    order. Inactive. (batch_norm_grad_c1) `dy` and `dx` are as x. (batch_norm_grad_c2) as batch_norm_c1 and batch_norm_c2. (batch_norm_grad_c3) `dweight` and `dbias` are `[C]` of weight's element type or in the statistics type.

    ```mlir
    %dx, %dw, %db = model.batch_norm_grad %dy, %x, %w, %mean, %variance {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 2>:$x, Model_FloatTensor:$weight, Model_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$mean, Model_FloatTensor:$variance);
}
def Model_BatchNormGradOp : Model_InactiveOp<"batch_norm_grad", [Model_TypesAgree<["dy", "x", "dx"]>, Model_ElementsOf<"x", ["weight"]>, Model_StatisticsOf<"x", ["mean", "variance"]>,
                                                                Model_GradientsOf<"weight", ["dweight", "dbias"]>]> {
  let summary = "VJP of batch_norm: dx, dweight, dbias";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfMinRank<Model_FloatTensor, 2>:$x, Model_FloatTensor:$weight, Model_FloatTensor:$mean,
                       Model_FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight, Model_FloatTensor:$dbias);
  let firstWidened = 1;
}
def Model_RunningAverageOp : Model_InactiveOp<"running_average", [Model_ResultsLike<["old"]>,
                                                                     DeclareOpInterfaceMethods<EvaluationOpInterface>, Model_TypesAgree<["old", "value"]>]> {
  let summary = "a running statistic moved towards a new value: (1 - momentum) old + momentum factor value";
  let description = [{
    **Semantics.** `(1 - momentum) old + momentum factor value`, in the memory of `old`. *Inactive.*

    **Constraints.** (running_average_c1) `value` has the type of `old`. (running_average_c2) `momentum` is in [0, 1].

    ```mlir
    %new = model.running_average %old, %mean {momentum = 0.1 : f64, factor = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$old, Model_FloatTensor:$value, Model_Fraction:$momentum,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor);
  let results = (outs Model_FloatTensor:$result);
  let flopsPerElement = "3";
}
def Model_CountUpOp : Model_StepOp<"count_up", [DeclareOpInterfaceMethods<EvaluationOpInterface>, AllShapesMatch<["old", "result"]>]> {
  let summary = "old + 1, in the memory of old";
  let description = [{
    **Semantics.** `old + 1`, in the memory of `old`. *Inactive.* (count_up_c1) the result has the shape of `old`.

    ```mlir
    %new = model.count_up %old : (tensor<i64>) -> tensor<i64>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$old);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let flopsPerElement = "1";
}

#endif // SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD
