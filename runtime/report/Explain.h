//===- Explain.h - why a plan needs its memory ---------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_EXPLAIN_H
#define SLUICE_RUNTIME_REPORT_EXPLAIN_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>

namespace sluice {

/// Of entry point `entry`: buffers at the peak, activations by unit, gathered units and recompute regions; or, if
/// `name` is not empty, the unit, parameter or buffer of that name. JSON or text for a person. An input error for an
/// unknown name.
Result<std::string> explainPlan(const plan::PlanT &plan, std::uint32_t entry, const std::string &name, bool json);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_EXPLAIN_H
