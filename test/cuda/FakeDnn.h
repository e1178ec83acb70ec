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
  /// The status of creating a plan with it.
  cuda::Code planCode = 0;
};

/// Features and behaviour of the fake library; reset by each FakeCuda.
struct FakeDnnOptions {
  std::vector<FakeEngine> preferred, fallback;
  /// The status of cudnnCreate and cudnnBackendExecute.
  cuda::Code create = 0, execute = 0;
};
extern FakeDnnOptions fakeDnn;
/// Engines for all graphs: the first ones must not be used; number 45 must be.
FakeDnnOptions usualEngines();

void fillFakeDnn(cuda::Dnn &dnn);
/// Descriptors and handles that are not released.
int liveDnnObjects();

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKEDNN_H
