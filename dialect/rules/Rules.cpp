//===- Rules.cpp - definitions of the op interfaces -------------------------------===//

#include "dialect/rules/Rules.h"

#include "dialect/rules/Rules.cpp.inc"
