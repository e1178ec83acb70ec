//===- Model.cpp - the model dialect's registration -------------------------------===//

#include "dialect/model/Model.h"
#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/model/ModelDialect.cpp.inc"

namespace sluice::model {

void ModelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/model/ModelOps.cpp.inc"
      >();
}

void populateFusionPatterns(mlir::RewritePatternSet &patterns) {
  populateMatmulFusionPatterns(patterns);
  populateGateFusionPatterns(patterns);
}

} // namespace sluice::model

#define GET_OP_CLASSES
#include "dialect/model/ModelOps.cpp.inc"
