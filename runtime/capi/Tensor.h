//===- Tensor.h - DLPack tensors of the caller, and for the caller ---------------------===//
#ifndef SLUICE_RUNTIME_CAPI_TENSOR_H
#define SLUICE_RUNTIME_CAPI_TENSOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/capi/sluice.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::capi {

/// The element type and shape that a tensor of the caller must have.
struct TensorType {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  /// Exclusive upper bound of integers; 0: unbounded. Negative integers are below it.
  std::uint64_t limit = 0;
  /// Accepts i32 for i64 and the reverse, and f64 for f32.
  bool converts = false;

  std::uint64_t bytes() const;
};

/// Copies the elements in row-major order, as elements of the type. `what` names the tensor in errors: of device,
/// shape, element type and range. After an error `out` is undefined.
Status copyTensor(const DLTensor &tensor, const TensorType &type, const std::string &what, std::span<std::byte> out);

/// A tensor for the caller, who calls its deleter. The data are at `data`, which `owner` keeps; strides in elements,
/// empty: dense.
DLManagedTensorVersioned *wrapTensor(std::shared_ptr<void> owner, void *data, DType dtype,
                                     std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                                     std::uint64_t flags);

/// Another reference to the memory of a tensor of wrapTensor(), without and with its flags.
DLManagedTensor *shareUnversioned(const DLManagedTensorVersioned &tensor);
DLManagedTensorVersioned *shareTensor(const DLManagedTensorVersioned &tensor);

/// A dense tensor with separate memory, and the memory to fill.
struct NewTensor {
  DLManagedTensorVersioned *tensor = nullptr;
  std::span<std::byte> bytes;
};
NewTensor newTensor(DType dtype, std::vector<std::int64_t> shape);

/// Deletes a tensor unless it is released.
struct TensorDeleter {
  void operator()(DLManagedTensorVersioned *tensor) const { tensor->deleter(tensor); }
};
using OwnedTensor = std::unique_ptr<DLManagedTensorVersioned, TensorDeleter>;

} // namespace sluice::capi

#endif // SLUICE_RUNTIME_CAPI_TENSOR_H
