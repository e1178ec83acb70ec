//===- Creation.td - constants, ranges, random tensors ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_CREATION_TD
#define SLUICE_DIALECT_MODEL_OPS_CREATION_TD

include "dialect/model/ModelDialect.td"

def Model_ConstantOp : Model_InactiveOp<"constant", []> {
  let summary = "a tensor of one value";
  let description = [{
    **Semantics.** A tensor of one value, rounded to the element type.

    ```mlir
    %c = model.constant 1.0 : tensor<4xf32>
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Model_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let flopsPerElement = "0";
}
def Model_IotaOp : Model_InactiveOp<"iota", []> {
  let summary = "the index along one dim";
  let description = [{
    **Semantics.** The index along `dim`.

    **Constraints.** (iota_c1) `dim` is at least 0 and less than the rank.

    ```mlir
    %i = model.iota 0 : tensor<64xi64>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Model_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasOwnVerifier = 1;
  let flopsPerElement = "0";
  let rule = "iotaRule";
}
class Model_RandomOp<string mnemonic> : Model_InactiveOp<mnemonic, []> {
  let description = [{
    A function of the seed, `key` and the global index of the element (Philox 4x32-10), so it does not depend on the sharding; with `step` and `row`
    as for `dropout`. Elements with global indices in [`zeros`[0], `zeros`[1]) are 0.
  }];
  let results = (outs Model_FloatTensor:$result);
  let hasOwnVerifier = 1;
  let flopsPerElement = "1";
}
def Model_RandomNormalOp : Model_RandomOp<"random_normal"> {
  let summary = "normally distributed numbers by counter";
  let description = [{
    **Semantics.** Normally distributed numbers. Element `e` is a function of the seed, `key` and e's global row-major index (Philox 4x32-10), so it does not depend on the sharding.
    With `step` and `row`, the numbers of a step: the counter and the index are those of [`dropout`](#modeldropout-sluicemodeldropoutop), so they do not depend on ranks, recompute or micro-batches, and dim 0 has the rows. `eval_step` draws too.

    **Inputs.** `seed`: i64 scalar; optionally `step` and `row`, i64 scalars. **Attributes.** `key`, `mean`, `stddev`, and optionally `zeros`: elements with global indices in [`zeros`[0], `zeros`[1]) are 0.

    **Constraints.** (random_normal_c1) `zeros` are two indices, the second no less than the first. (random_normal_c2) after `seed` there are no operands, or `step` and `row`. (random_normal_c3) with `step` and `row`, the result has rank 1 or more and
    `key` is 0 to 4294967295.

    ```mlir
    %w = model.random_normal %seed {key = 0 : i64, mean = 0.0 : f64, stddev = 0.02 : f64} : (tensor<i64>) -> tensor<256x64xf32>
    ```

    ```mlir
    %noise = model.random_normal %seed, %step, %row {key = 1 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, Variadic<Model_IntegerScalar>:$step_and_row, I64Attr:$key, F64Attr:$mean, F64Attr:$stddev,
                       OptionalAttr<DenseI64ArrayAttr>:$zeros);
}
def Model_RandomUniformOp : Model_RandomOp<"random_uniform"> {
  let summary = "uniformly distributed numbers by counter";
  let description = [{
    **Semantics.** As random_normal, uniform in [`low`, `high`). (random_uniform_c1) as random_normal_c1 to random_normal_c3.

    ```mlir
    %w = model.random_uniform %seed {key = 0 : i64, low = -1.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<256x64xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, Variadic<Model_IntegerScalar>:$step_and_row, I64Attr:$key, F64Attr:$low, F64Attr:$high,
                       OptionalAttr<DenseI64ArrayAttr>:$zeros);
}

#endif // SLUICE_DIALECT_MODEL_OPS_CREATION_TD
