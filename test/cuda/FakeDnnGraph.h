//===- FakeDnnGraph.h - computes a graph of cuDNN operations --------------------------------===//
//
// Operations run in the order of their tensors. A tensor between two operations is rounded to its type and is never in
// memory.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FAKEDNNGRAPH_H
#define SLUICE_TEST_CUDA_FAKEDNNGRAPH_H

#include "test/cuda/FakeDnn.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace sluice::test {

struct FakeValue {
  int type = 0;
  std::vector<char> bytes;
};

struct FakeDescriptor {
  int kind = 0;
  bool finalized = false;
  std::map<int, FakeValue> values;
  /// Of configurations, engines and plans.
  FakeEngine engine{};
  FakeDescriptor *graph = nullptr;

  bool has(int attribute) const { return values.contains(attribute); }
  template <typename T> std::vector<T> all(int attribute) const {
    const auto found = values.find(attribute);
    if (found == values.end())
      return {};
    std::vector<T> result(found->second.bytes.size() / sizeof(T));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
    return result;
  }
  template <typename T> T one(int attribute, T otherwise = T()) const {
    const std::vector<T> found = all<T>(attribute);
    return found.empty() ? otherwise : found.front();
  }
  bool isSet(int attribute) const { return one<unsigned char>(attribute) != 0; }
  FakeDescriptor *descriptor(int attribute) const { return static_cast<FakeDescriptor *>(one<void *>(attribute)); }
};

/// Empty, or the error in the extents of an operation.
std::string checkFakeGraph(const FakeDescriptor &graph);

struct FakeTensor {
  std::int64_t number = 0;
  int type = 0;
  std::vector<std::int64_t> extent, strides;
  bool isVirtual = false, isByValue = false;
  void *data = nullptr;
  std::int64_t elements() const;
};

/// A copy of the values of an execution: its descriptors may be destroyed before the stream runs it.
class FakeGraphRun {
public:
  std::string bind(const FakeDescriptor &graph, const std::vector<std::int64_t> &numbers,
                   const std::vector<void *> &pointers);
  void compute() const;
  std::vector<const void *> addresses() const;
  std::vector<std::uint64_t> extents() const;

private:
  struct Operation {
    FakeDescriptor own, mode;
    /// Numbers of tensors by attribute.
    std::map<int, std::int64_t> tensors;
  };
  std::map<std::int64_t, FakeTensor> tensors;
  std::vector<Operation> operations;
  /// Values passed by address are in the caller's memory only until the call returns.
  std::map<std::int64_t, std::vector<double>> constants;
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKEDNNGRAPH_H
