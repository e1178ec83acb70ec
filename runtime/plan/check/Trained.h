//===- Trained.h - the parameters that the unsharded program trains -----------------------===//
//
// A function of the program trains if it takes the learning rate or records a gradient. It trains a parameter if its
// first result, the loss, depends on the parameter through values of floating-point types, and the recipe does not
// exclude it from training.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_TRAINED_H
#define SLUICE_RUNTIME_PLAN_CHECK_TRAINED_H

#include "runtime/plan/Plan.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sluice::check {

/// For each function of the program, by the name of its entry point: for each parameter of the plan, if the function
/// trains it. Functions that do not train have an entry without any.
std::map<std::string, std::vector<bool>> trainedParameters(const plan::PlanT &plan);

/// The names of the parameters, states and variables that the program writes.
std::set<std::string> writtenParameters(const plan::PlanT &plan);

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_TRAINED_H
