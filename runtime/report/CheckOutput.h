//===- CheckOutput.h - the report of the checker as text and JSON --------------------------===//
//
// For each property its verdict, the facts checked, and the processor time of the stages that decide it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_CHECKOUTPUT_H
#define SLUICE_RUNTIME_REPORT_CHECKOUTPUT_H

#include "runtime/base/Json.h"
#include "runtime/plan/Checker.h"

#include <string>

namespace sluice {

/// One line for each property, and one for the total time. The time of a stage that decides several properties is part
/// of the time of each of them, which has a `*`.
std::string checkText(const CheckReport &report);

/// Keys: `properties`, an array of `property`, `title`, `outcome`, `facts` and `unit` and `seconds` if a stage ran that
/// decides it, `reason` if it is not proved; `stages`, an array of `properties` and `seconds`; `seconds`, the total.
Json checkJson(const CheckReport &report);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_CHECKOUTPUT_H
