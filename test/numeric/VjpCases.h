//===- VjpCases.h - one function for each differentiable op -------------------------------===//
#ifndef SLUICE_TEST_NUMERIC_VJPCASES_H
#define SLUICE_TEST_NUMERIC_VJPCASES_H

#include "test/numeric/Program.h"

#include <functional>

namespace sluice::numeric {

/// A function of one op, the inputs to differentiate for, and values for all inputs.
struct VjpCase {
  std::string name;
  std::function<void(Function &, TensorMap &)> build;
  std::vector<std::string> wrt;
  bool composite = false;
};

std::vector<VjpCase> vjpCases();

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_VJPCASES_H
