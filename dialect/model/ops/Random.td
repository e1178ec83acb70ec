//===- Random.td - dropout -------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_RANDOM_TD
#define SLUICE_DIALECT_MODEL_OPS_RANDOM_TD

include "dialect/model/ModelDialect.td"

def Model_DropoutOp : Model_Op<"dropout", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "elements set to zero by chance, the others scaled up";
  let description = [{
    **Semantics.** `y = x / (1 - rate)` where the element is kept, else 0. It is kept where a uniform number in [0, 1), a multiple of 2^-24, is at least `rate`. That number is word
    `i mod 4` of block `i div 4` of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), shifted right by 8. The Philox key is the seed; the counter is the block (64 bits), `key` (32 bits) and
    `step` (its low 32 bits). `i` is the element's index in the step: `row` times the elements of one row of the unsharded tensor, plus the element's row-major index; dim 0 has the rows. So masks do not depend on
    ranks, recompute or micro-batches. Steps count from 1; initial weights use step 0. In the entry point `eval_step` it is the identity. A rate of 0 folds to x.

    **Inputs.** `x`: tensor of float; `seed`, `step`, `row`: i64 scalars, which the trainer gives to inputs of those names (`row` for each micro-batch: the number, within the step, of its first row). **Attributes.** `rate`; `key`, different for each dropout
    of a model. **Outputs.** `y`: the type of x.

    **Constraints.** (dropout_c1) `rate` is at least 0 and less than 1. (dropout_c2) `key` is 0 to 4294967295. (dropout_c3) `seed`, `step`, `row` are scalars.

    **Derivative.** The same op on dy: the mask is computed again and never stored.

    ```mlir
    %y = model.dropout %x, %seed, %step, %row {key = 0 : i64, rate = 0.1 : f64} : (tensor<4x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_IntegerScalar:$seed, Model_IntegerScalar:$step,
                       Model_IntegerScalar:$row, Model_F64In<"value >= 0 && value < 1", "0 to less than 1">:$rate,
                       Model_RandomKey:$key);
  let results = (outs Model_FloatTensor:$y);
  let hasFolder = 1;
  // Compare, multiply; per four elements ten rounds of two products, four exclusive ors, two sums.
  let flopsPerElement = "22";
}

#endif // SLUICE_DIALECT_MODEL_OPS_RANDOM_TD
