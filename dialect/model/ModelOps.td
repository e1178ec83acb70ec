//===- ModelOps.td - all families of the model dialect --------------------------===//
#ifndef SLUICE_DIALECT_MODEL_MODELOPS_TD
#define SLUICE_DIALECT_MODEL_MODELOPS_TD

include "dialect/model/ops/Structure.td"
include "dialect/model/ops/Pointwise.td"
include "dialect/model/ops/Creation.td"
include "dialect/model/ops/Movement.td"
include "dialect/model/ops/TakeAlong.td"
include "dialect/model/ops/Reduction.td"
include "dialect/model/ops/Matmul.td"
include "dialect/model/ops/MatmulGelu.td"
include "dialect/model/ops/Normalization.td"
include "dialect/model/ops/BatchNorm.td"
include "dialect/model/ops/Convolution.td"
include "dialect/model/ops/Pooling.td"
include "dialect/model/ops/RmsNorm.td"
include "dialect/model/ops/Softmax.td"
include "dialect/model/ops/Activation.td"
include "dialect/model/ops/Attention.td"
include "dialect/model/ops/Rope.td"
include "dialect/model/ops/Embedding.td"
include "dialect/model/ops/Loss.td"
include "dialect/model/ops/LinearLoss.td"
include "dialect/model/ops/Random.td"
include "dialect/model/ops/AllReduce.td"
include "dialect/model/ops/AllGather.td"
include "dialect/model/ops/GradientNorm.td"
include "dialect/model/ops/Optimizer.td"

#endif // SLUICE_DIALECT_MODEL_MODELOPS_TD
