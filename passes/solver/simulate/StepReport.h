//===- StepReport.h - a predicted step as text and JSON ---------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_SIMULATE_STEPREPORT_H
#define SLUICE_PASSES_SOLVER_SIMULATE_STEPREPORT_H

#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Json.h"

#include <string>

namespace sluice {

Json stepJson(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step);
std::string stepText(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_SIMULATE_STEPREPORT_H
