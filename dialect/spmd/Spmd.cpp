//===- Spmd.cpp - registration of the spmd dialect -------------------------------------===//

#include "dialect/spmd/Spmd.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

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

mlir::LogicalResult ValidAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, std::int64_t dim,
                                      std::int64_t total, llvm::ArrayRef<mlir::StringAttr> axes) {
  if (dim < 0)
    return emitError() << "dim of a shard, expected a dim from 0 but got " << dim;
  if (total < 1)
    return emitError() << "total extent of a shard, expected a positive number but got " << total;
  return mlir::success();
}
