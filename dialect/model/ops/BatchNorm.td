//===- BatchNorm.td - batch norm in training, and its running statistics ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD
#define SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD

include "dialect/model/ModelDialect.td"

def Model_BatchNormOp : Model_Op<"batch_norm", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                                DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "norm over all dims but the last, by the statistics of this micro-batch";
  let description = [{
    `y = (x - mean) / sqrt(variance + epsilon) * weight + bias`; mean and (biased) variance are f32 (f64 for f64), one for
    each channel, saved for the derivative and for running statistics. A rank's rows are its own batch. Outside training the
    running statistics that follow mean and variance take their places.
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$mean, Model_FloatTensor:$variance);
  let hasVerifier = 1;
}
def Model_BatchNormGradOp : Model_InactiveOp<"batch_norm_grad", [Model_InferTypes]> {
  let summary = "VJP of batch_norm: dx, dweight, dbias";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_FloatTensor:$mean,
                       Model_FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight, Model_FloatTensor:$dbias);
  let hasVerifier = 1;
}
def Model_RunningAverageOp : Model_InactiveOp<"running_average", [Model_InferTypes,
                                                                     DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "a running statistic moved towards a new value: (1 - momentum) old + momentum factor value";
  let description = [{The result takes over the old statistic's memory.}];
  let arguments = (ins Model_FloatTensor:$old, Model_FloatTensor:$value, F64Attr:$momentum,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}
def Model_CountUpOp : Model_StepOp<"count_up", [DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "old + 1, in the old number's memory";
  let arguments = (ins StaticShapeTensorOf<[I64]>:$old);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_BATCHNORM_TD
