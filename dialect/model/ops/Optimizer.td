//===- Optimizer.td - optimizer updates ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
#define SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD

include "dialect/model/ModelDialect.td"

/// The update of any number of parameters. `values` has for each of them the parameter, its gradient and its states, one
/// parameter behind the other; `updated` the new parameter and states, which take over the old ones' memory. Where `guard`
/// is 0 they keep their values.
class Model_UpdateOp<string mnemonic, string text, dag settings, list<string> more = []>
    : Model_StepOp<mnemonic, [DeclareOpInterfaceMethods<MergeOpInterface>,
                              DeclareOpInterfaceMethods<OptimizerOpInterface, more>]> {
  let summary = text;
  let arguments = !con((ins Variadic<Model_FloatTensor>:$values, Model_Scalar:$lr, StaticShapeTensorOf<[I64]>:$step,
                        Model_Scalar:$coefficient, Model_BoolTensor:$guard), settings);
  let results = (outs Variadic<Model_FloatTensor>:$updated);
  let hasVerifier = 1;
}
def Model_SgdOp : Model_UpdateOp<"sgd", "SGD with momentum, nesterov, weight decay (torch.optim.SGD)",
                                 (ins F64Attr:$momentum, F64Attr:$weight_decay, BoolAttr:$nesterov), ["findConflict"]>;
defvar Model_AdamSettings = (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
def Model_AdamOp : Model_UpdateOp<"adam", "Adam, weight decay added to the gradient (torch.optim.Adam)", Model_AdamSettings>;
def Model_AdamwOp : Model_UpdateOp<"adamw", "Adam with decoupled weight decay (torch.optim.AdamW)", Model_AdamSettings>;

#endif // SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
