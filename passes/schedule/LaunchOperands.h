//===- LaunchOperands.h - operands of a launch for the catalogue ---------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_LAUNCHOPERANDS_H
#define SLUICE_PASSES_SCHEDULE_LAUNCHOPERANDS_H

#include "dialect/plan/Plan.h"
#include "runtime/kernel/catalogue/Operand.h"

namespace sluice {

/// The operands of views, without memory and without the part that is valid on a rank.
std::vector<Operand> launchOperands(mlir::ArrayAttr views);

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_LAUNCHOPERANDS_H
