//===- GradientNorm.td - gradient norm, clipping, the guard ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_GRADIENTNORM_TD
#define SLUICE_DIALECT_MODEL_OPS_GRADIENTNORM_TD

include "dialect/model/ModelDialect.td"

def Model_PowerSumOp : Model_StepOp<"power_sum", [Rules_AtLeastOneOperand]> {
  let summary = "the sum of |g|^p over all elements of all operands; their maximum for p = infinity";
  let description = [{
    **Semantics.** The sum of `|g|^p` over all elements of all operands, accumulated in f64; for `p = infinity` the largest `|g|`. On shards the result is partial: the sharding rule gives the reduction.

    **Constraints.** (power_sum_c1) at least one operand. (power_sum_c2) the result is a scalar. (power_sum_c3) p is more than 0.

    ```mlir
    %s = model.power_sum %g0, %g1 {p = 2.0 : f64} : (tensor<4xf32>, tensor<8xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Model_FloatTensor>:$gradients, Model_NormExponent:$p);
  let rule = "";
  let results = (outs Model_Scalar:$result);
}
def Model_NormRootOp : Model_StepOp<"norm_root", []> {
  let summary = "s^(1/p); s itself for p = infinity";
  let description = [{
    **Semantics.** `sum^(1/p)`; the operand itself for `p = infinity`.

    **Constraints.** (norm_root_c1) scalars. (norm_root_c2) p is more than 0.

    ```mlir
    %n = model.norm_root %s {p = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Model_Scalar:$sum, Model_NormExponent:$p);
  let results = (outs Model_Scalar:$norm);
  let flopsPerElement = "1";
}
def Model_ClipCoefficientOp : Model_StepOp<"clip_coefficient", []> {
  let summary = "min(1, max_norm / (norm + 1e-6))";
  let description = [{
    **Semantics.** `min(1, max_norm / (norm + 1e-6))`.

    **Constraints.** (clip_coefficient_c1) scalars. (clip_coefficient_c2) `max_norm` is more than 0.

    ```mlir
    %c = model.clip_coefficient %n {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Model_Scalar:$norm, Model_F64In<"value > 0", "above 0">:$max_norm);
  let results = (outs Model_Scalar:$coefficient);
  let flopsPerElement = "3";
}
def Model_AllFiniteOp : Model_StepOp<"all_finite", [Rules_AtLeastOneOperand]> {
  let summary = "the guard: 1 if all scalars are finite";
  let description = [{
    **Semantics.** The guard: 1 if all scalars are finite, else 0.

    **Constraints.** (all_finite_c1) at least one operand. (all_finite_c2) scalars.

    ```mlir
    %ok = model.all_finite %loss, %n : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    ```
  }];
  let arguments = (ins Variadic<Model_Scalar>:$scalars);
  let results = (outs Model_BoolScalar:$guard);
  let flopsPerElement = "getScalars().size()";
}

#endif // SLUICE_DIALECT_MODEL_OPS_GRADIENTNORM_TD
