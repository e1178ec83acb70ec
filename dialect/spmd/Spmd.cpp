//===- Spmd.cpp - registration of the spmd dialect -------------------------------------===//

#include "dialect/spmd/Spmd.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::spmd;

#include "dialect/spmd/SpmdDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/spmd/SpmdAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/spmd/SpmdTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/spmd/SpmdOps.cpp.inc"

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/spmd/SpmdAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/spmd/SpmdTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/spmd/SpmdOps.cpp.inc"
      >();
}
