//===- FakeDnn.h - cuDNN's graphs in plain loops
//----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FAKEDNN_H
#define SLUICE_TEST_CUDA_FAKEDNN_H

#include "runtime/base/cuda/Table.h"

#include <vector>

namespace sluice::test {

/// An engine that the fake's heuristics name, in their order.
struct FakeEngine {
  std::int64_t index;
  std::vector<int> notes;
  std::int64_t workspace;
  /// What making a plan of it returns.
  cuda::Code planCode = 0;
};

/// Features and behaviour of the fake library; reset by each FakeCuda.
struct FakeDnnOptions {
  std::vector<FakeEngine> preferred, fallback;
  /// What cudnnCreate and cudnnBackendExecute return.
  cuda::Code create = 0, execute = 0;
};
extern FakeDnnOptions fakeDnn;
/// Engines that answer for all graphs: the first ones must be passed over, number 45 is the one to take.
FakeDnnOptions usualEngines();

void fillFakeDnn(cuda::Dnn &dnn);
/// Descriptors and handles that are not released.
int liveDnnObjects();

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKEDNN_H
