//===- Rules.cpp - definitions of the op interfaces and enums -------------------------------===//

#include "dialect/rules/Rules.h"

#include "dialect/rules/EnumAttrInterface.cpp.inc"
#include "dialect/rules/Enums.cpp.inc"
#include "dialect/rules/Rules.cpp.inc"
