//===- Enums.h - enums of the dialects, in C++ -----------------------------------------===//
//
// Generated from Enums.td: each enum with stringify<Enum>() and symbolize<Enum>().
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_ENUMS_H
#define SLUICE_DIALECT_RULES_ENUMS_H

#include "mlir/IR/DialectImplementation.h"

#include <optional>

#include "dialect/rules/Enums.h.inc"

#include "dialect/rules/EnumAttrInterface.h.inc"

#endif // SLUICE_DIALECT_RULES_ENUMS_H
