//===- Optimizer.td - optimizer updates ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
#define SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD

include "dialect/model/ModelDialect.td"

/// New parameter and states take over the old ones' memory. Where `guard` is 0 they keep their values.
def Model_SgdOp : Model_StepOp<"sgd", []> {
  let summary = "SGD with momentum, nesterov, weight decay (torch.optim.SGD)";
  let arguments = (ins Model_FloatTensor:$parameter, Model_FloatTensor:$gradient, Optional<Model_FloatTensor>:$momentum_buffer,
                       Model_Scalar:$lr, StaticShapeTensorOf<[I64]>:$step, Model_Scalar:$coefficient, Model_BoolTensor:$guard,
                       F64Attr:$momentum, F64Attr:$weight_decay, BoolAttr:$nesterov);
  let results = (outs Model_FloatTensor:$new_parameter, Variadic<Model_FloatTensor>:$new_states);
  let hasVerifier = 1;
}
class Model_AdamLikeOp<string mnemonic, string text> : Model_StepOp<mnemonic, []> {
  let summary = text;
  let arguments = (ins Model_FloatTensor:$parameter, Model_FloatTensor:$gradient, Model_FloatTensor:$exp_avg, Model_FloatTensor:$exp_avg_sq,
                       Model_Scalar:$lr, StaticShapeTensorOf<[I64]>:$step, Model_Scalar:$coefficient, Model_BoolTensor:$guard,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Model_FloatTensor:$new_parameter, Model_FloatTensor:$new_exp_avg, Model_FloatTensor:$new_exp_avg_sq);
  let hasVerifier = 1;
}
def Model_AdamOp : Model_AdamLikeOp<"adam", "Adam, weight decay added to the gradient (torch.optim.Adam)">;
def Model_AdamwOp : Model_AdamLikeOp<"adamw", "Adam with decoupled weight decay (torch.optim.AdamW)">;

#endif // SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
