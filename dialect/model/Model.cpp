//===- Model.cpp - the model dialect's registration -------------------------------===//

#include "dialect/model/Model.h"
#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

// Constraints of ODS name attributes without their namespace.
using mlir::DenseI64ArrayAttr, mlir::getElementTypeOrSelf;

#include "dialect/model/ModelDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/model/ModelAttrs.cpp.inc"

namespace sluice::model {

void ModelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/model/ModelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/model/ModelOps.cpp.inc"
      >();
}

void populateFusionPatterns(mlir::RewritePatternSet &patterns) {
  populateMatmulFusionPatterns(patterns, /*inBackward=*/false);
  populateGateFusionPatterns(patterns);
}

} // namespace sluice::model

#define GET_OP_CLASSES
#include "dialect/model/ModelOps.cpp.inc"
