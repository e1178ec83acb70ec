//===- DnnGraph.h - a graph of cuDNN operations and the engine that runs it ----------------===//
//
// Operations are added to a graph, then an engine is chosen and run. After the first call that fails all later ones do
// nothing; status() returns the failure.
//
// The choice depends only on the graph, the library and the device: the engines of heuristic A in its order, then those
// of its fallback, and of these the first one that is deterministic by its notes, computes in the requested type, and
// fits the workspace.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DNNGRAPH_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DNNGRAPH_H

#include "runtime/base/DType.h"
#include "runtime/base/cuda/Table.h"

#include <array>
#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace sluice::cuda {

using DnnDims = std::vector<std::int64_t>;

struct DnnTensor {
  dnn::Descriptor descriptor = nullptr;
  DnnDims extent;
};

/// The window of a convolution or pooling: height, width.
struct DnnWindow {
  std::array<std::int64_t, 2> size{1, 1}, stride{1, 1}, before{}, behind{}, dilation{1, 1};
};

/// Limits on the engine.
struct DnnLimits {
  std::uint64_t workspace = 0;
  /// Inputs of f32 products are not rounded to TF32.
  bool withoutTensorCores = false;
};

/// cuDNN's number of a type; absent for a type that it lacks.
std::optional<int> dnnType(DType dtype);

class DnnGraph {
public:
  /// For the device of a handle, or for a device that cuDNN's JSON of its properties describes.
  static DnnGraph forHandle(const Dnn &dnn, dnn::Handle handle) { return DnnGraph(dnn, handle, {}); }
  static DnnGraph forDescription(const Dnn &dnn, std::string_view json) { return DnnGraph(dnn, nullptr, json); }
  DnnGraph(DnnGraph &&other) noexcept;
  DnnGraph &operator=(DnnGraph &&) = delete;
  ~DnnGraph();

  /// A tensor in memory: address `place` of a run, a multiple of 16.
  DnnTensor memory(int place, int type, DnnDims extent, DnnDims strides);
  /// The result of one operation that another reads; never in memory.
  DnnTensor between(int type, DnnDims extent);
  DnnTensor between(int type, DnnDims extent, DnnDims strides);
  /// Dense f32 numbers at the begin of the workspace.
  DnnTensor scratch(DnnDims extent);
  /// A number stored in the graph.
  DnnTensor constant(float value) { return constant(dnn::f32, value); }
  DnnTensor constant(std::int32_t value) { return constant(dnn::i32, value); }

  /// One of dnn::convolutionForward, InputGrad, WeightGrad.
  void convolve(dnn::Kind kind, const DnnWindow &window, const DnnTensor &x, const DnnTensor &weight,
                const DnnTensor &y, bool wide);
  /// y = mode(x, b, t); b, t and axis if the mode has them.
  void pointwise(dnn::PointwiseMode mode, int computeType, const DnnTensor &x, const DnnTensor *b, const DnnTensor *t,
                 const DnnTensor &y, int axis = -1);
  void reduce(dnn::ReductionMode mode, const DnnTensor &x, const DnnTensor &y);
  void multiply(const DnnTensor &a, const DnnTensor &b, const DnnTensor &c);
  /// y has the elements of x with other extents and strides.
  void reshape(const DnnTensor &x, const DnnTensor &y);
  /// One of dnn::resampleForward, resampleGrad.
  void resample(dnn::Kind kind, dnn::ResampleMode mode, const DnnWindow &window, const DnnTensor &x,
                const DnnTensor &y);

  /// Runs the engine `count` times; the address of a place moves by its number of bytes each time.
  void repeat(std::int64_t count, std::vector<std::int64_t> bytes);

  /// Ends the graph and chooses an engine; refused with the reasons if no engine fits.
  Status choose(const DnnLimits &limits);
  const Status &status() const { return failure; }
  std::int64_t engine() const { return chosenEngine; }
  /// The engine's numerical notes (dnn::Note).
  const std::vector<int> &notes() const { return chosenNotes; }
  /// Bytes of the engine and of scratch().
  std::uint64_t workspaceBytes() const { return scratchBytes + chosenWorkspace; }

  /// Enqueues the engine's work on a stream. `addresses` are in the order of the places of memory().
  Status run(Stream stream, std::span<void *const> addresses, void *workspace);

private:
  DnnGraph(const Dnn &dnn, dnn::Handle handle, std::string_view json);

  /// The addresses of a repetition, and their descriptor.
  struct Pack {
    dnn::Descriptor descriptor = nullptr;
    std::vector<void *> addresses;
  };

  /// A new descriptor, owned by the graph; null after a failure.
  dnn::Descriptor make(dnn::Kind kind);
  void set(dnn::Descriptor on, dnn::Attribute attribute, dnn::ValueType type, std::int64_t count, const void *values);
  template <typename T> void setOne(dnn::Descriptor on, dnn::Attribute attribute, dnn::ValueType type, T value) {
    set(on, attribute, type, 1, &value);
  }
  void finalize(dnn::Descriptor descriptor, const char *what);
  /// Adds `operation` with the descriptors of its mode and of its tensors; null: absent.
  using Descriptors = std::initializer_list<std::pair<int, dnn::Descriptor>>;
  void addOperation(dnn::Descriptor operation, const char *what, Descriptors descriptors);
  template <typename T> DnnTensor constant(int type, T value);
  DnnTensor tensor(std::int64_t number, int type, DnnDims extent, DnnDims strides, bool isVirtual, bool isByValue);
  void check(Code code, const std::string &call);
  /// Takes the first engine of a heuristic that fits; false if none fits.
  bool tryHeuristic(dnn::HeuristicMode mode, const DnnLimits &limits, std::string &why);
  bool tryConfig(dnn::Descriptor config, const DnnLimits &limits, std::string &why);
  Status runOnce(Pack &pack, std::span<void *const> addresses, std::int64_t repetition, void *workspace);
  std::optional<std::string> unfit(dnn::Descriptor engine, const DnnLimits &limits);

  const Dnn *dnn;
  dnn::Handle handle;
  dnn::Descriptor device = nullptr, graph = nullptr, plan = nullptr;
  std::vector<dnn::Descriptor> owned, operations;
  Status failure;
  std::int64_t nextNumber = 1000;
  struct Argument {
    std::int64_t number;
    /// The number of an address; -1: the memory of the constant, or at the offset in the workspace.
    int place;
    const void *constant;
    std::uint64_t offset = 0;
  };
  std::vector<Argument> arguments;
  std::deque<std::uint64_t> constants;
  std::int64_t chosenEngine = -1;
  std::vector<int> chosenNotes;
  std::uint64_t chosenWorkspace = 0, scratchBytes = 0;
  std::vector<Pack> packs = {{}};
  std::vector<std::int64_t> bytesOfRepetition;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DNNGRAPH_H
