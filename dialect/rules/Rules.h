//===- Rules.h - the op interfaces, in C++ --------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_RULES_H
#define SLUICE_DIALECT_RULES_RULES_H

#include "dialect/rules/KernelCall.h"
#include "dialect/rules/OpCost.h"
#include "dialect/rules/Optimizer.h"
#include "dialect/rules/ShardingRule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialect/rules/Rules.h.inc"

#endif // SLUICE_DIALECT_RULES_RULES_H
