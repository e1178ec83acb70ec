//===- OpPrograms.h - the reference operations as programs of the model dialect -------===//
#ifndef SLUICE_TEST_NUMERIC_OPPROGRAMS_H
#define SLUICE_TEST_NUMERIC_OPPROGRAMS_H

#include "test/numeric/Program.h"

#include <nlohmann/json.hpp>

namespace sluice::numeric {

/// One operation of test/reference/ops/index.json.
struct OpCase {
  std::string name;
  std::string op;
  nlohmann::json attributes;
  TensorMap tensors;
};

/// Operations that the model dialect has no op for.
const std::vector<std::string> &operationsWithoutOp();

/// Declares the case's inputs in `float type` and builds the operation. False if the dialect has no op for it.
/// Names of inputs and outputs are the case's, without `in.` and `out.`.
bool buildOperation(const OpCase &operation, const std::string &type, Function &f);

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_OPPROGRAMS_H
