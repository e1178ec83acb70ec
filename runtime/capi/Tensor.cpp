//===- Tensor.cpp - DLPack tensors of the caller, and for the caller -------------------===//
#include "runtime/capi/Tensor.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/Numbers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

namespace sluice::capi {
namespace {

constexpr DLDataType dataTypes[dtypeCount] = {{kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLBfloat, 16, 1},
                                              {kDLFloat, 16, 1}, {kDLInt, 32, 1},   {kDLInt, 64, 1},
                                              {kDLUInt, 8, 1}};

std::optional<DType> dtypeOf(const DLDataType &type) {
  // Booleans are bytes in a plan.
  if (type.code == kDLBool && type.bits == 8 && type.lanes == 1)
    return DType::u8;
  for (std::size_t i = 0; i < dtypeCount; ++i)
    if (type.code == dataTypes[i].code && type.bits == dataTypes[i].bits && type.lanes == 1)
      return static_cast<DType>(i);
  return std::nullopt;
}

std::string typeName(const DLDataType &type) {
  if (const std::optional<DType> dtype = dtypeOf(type))
    return type.code == kDLBool ? "bool" : std::string(dtypeName(*dtype));
  return concat("DLPack type ", int(type.code), " of ", int(type.bits), " bits in ", int(type.lanes), " lanes");
}

std::string shapeName(std::span<const std::int64_t> shape) { return "[" + join(shape, ", ") + "]"; }

bool canConvert(DType from, DType to) {
  return (from == DType::i32 && to == DType::i64) || (from == DType::i64 && to == DType::i32) ||
         (from == DType::f64 && to == DType::f32);
}

/// Elements of a row of the last dim, `stride` elements from one to the next.
struct Row {
  const std::byte *data;
  std::int64_t count, stride;
};

/// An element at any address.
template <typename T> T loadElement(const Row &row, std::int64_t i) {
  T value;
  std::memcpy(&value, row.data + i * row.stride * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename From, typename To>
Status copyIntegers(const Row &row, const TensorType &type, const std::string &what, std::byte *out) {
  const std::int64_t most =
      type.limit != 0 ? static_cast<std::int64_t>(type.limit) - 1 : std::numeric_limits<To>::max();
  for (std::int64_t i = 0; i < row.count; ++i) {
    const auto value = static_cast<std::int64_t>(loadElement<From>(row, i));
    // Negative numbers mark ignored positions.
    if (value > most || value < std::numeric_limits<To>::min())
      return inputError(concat(what, ", expected integers up to ", most, " but got ", value));
    const auto converted = static_cast<To>(value);
    std::memcpy(out + i * static_cast<std::int64_t>(sizeof(To)), &converted, sizeof(To));
  }
  return Status::ok();
}

Status copyRow(const Row &row, DType from, const TensorType &type, const std::string &what, std::byte *out) {
  const DType to = type.dtype;
  if (to == DType::i32)
    return from == DType::i64 ? copyIntegers<std::int64_t, std::int32_t>(row, type, what, out)
                              : copyIntegers<std::int32_t, std::int32_t>(row, type, what, out);
  if (to == DType::i64)
    return from == DType::i64 ? copyIntegers<std::int64_t, std::int64_t>(row, type, what, out)
                              : copyIntegers<std::int32_t, std::int64_t>(row, type, what, out);
  if (from != to) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const auto value = static_cast<float>(loadElement<double>(row, i));
      std::memcpy(out + i * 4, &value, sizeof value);
    }
    return Status::ok();
  }
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(to));
  if (row.stride == 1) {
    std::memcpy(out, row.data, static_cast<std::size_t>(row.count * bytes));
    return Status::ok();
  }
  for (std::int64_t i = 0; i < row.count; ++i)
    std::memcpy(out + i * bytes, row.data + i * row.stride * bytes, static_cast<std::size_t>(bytes));
  return Status::ok();
}

/// The tensor that a deleter destroys; make_unique sets it to zeros.
struct Managed {
  DLManagedTensorVersioned tensor;
  std::shared_ptr<void> owner;
  std::vector<std::int64_t> shape, strides;
};

} // namespace

std::uint64_t TensorType::bytes() const {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape)
    elements *= static_cast<std::uint64_t>(extent);
  return elements * dtypeBytes(dtype);
}

Status copyTensor(const DLTensor &tensor, const TensorType &type, const std::string &what, std::span<std::byte> out) {
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost)
    return inputError(concat(what, ", expected a tensor in CPU memory but got DLPack device ",
                             static_cast<int>(tensor.device.device_type)))
        .withNote("copy it to the CPU first");
  const std::optional<DType> dtype = dtypeOf(tensor.dtype);
  if (!dtype || (*dtype != type.dtype && !(type.converts && canConvert(*dtype, type.dtype))))
    return inputError(
        concat(what, ", expected element type ", dtypeName(type.dtype), " but got ", typeName(tensor.dtype)));
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    return inputError(what + ": the tensor has no shape");
  const std::span<const std::int64_t> shape(tensor.shape, static_cast<std::size_t>(tensor.ndim));
  if (!std::ranges::equal(shape, type.shape))
    return inputError(concat(what, ", expected shape ", shapeName(type.shape), " but got ", shapeName(shape)));
  if (out.empty())
    return Status::ok();
  if (!tensor.data)
    return inputError(what + ": the tensor has no data");
  const std::size_t dims = shape.size();
  std::vector<std::int64_t> strides(dims, 1);
  for (std::size_t d = dims; d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  if (tensor.strides)
    strides.assign(tensor.strides, tensor.strides + dims);

  const auto *data = static_cast<const std::byte *>(tensor.data) + tensor.byte_offset;
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(*dtype));
  // The last dims that are dense together are one row.
  std::size_t inner = dims;
  std::int64_t count = 1, stride = 1;
  if (dims > 0) {
    inner = dims - 1;
    count = shape[inner];
    stride = strides[inner];
    while (inner > 0 && stride == 1 && strides[inner - 1] == count) {
      --inner;
      count *= shape[inner];
    }
  }
  std::vector<std::int64_t> index(inner, 0);
  std::int64_t offset = 0;
  std::byte *to = out.data();
  const std::int64_t rowBytes = count * static_cast<std::int64_t>(dtypeBytes(type.dtype));
  while (true) {
    SLUICE_RETURN_IF_ERROR(copyRow({data + offset * bytes, count, stride}, *dtype, type, what, to));
    to += rowBytes;
    std::size_t d = inner;
    for (; d > 0; --d) {
      offset += strides[d - 1];
      if (++index[d - 1] < shape[d - 1])
        break;
      offset -= strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0)
      return Status::ok();
  }
}

DLManagedTensorVersioned *wrapTensor(std::shared_ptr<void> owner, void *data, DType dtype,
                                     std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                                     std::uint64_t flags) {
  auto managed = std::make_unique<Managed>();
  if (strides.empty()) {
    strides.assign(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;)
      strides[d - 1] = strides[d] * shape[d];
  }
  managed->owner = std::move(owner);
  managed->shape = std::move(shape);
  managed->strides = std::move(strides);
  DLManagedTensorVersioned &tensor = managed->tensor;
  tensor.version = {DLPACK_MAJOR_VERSION, 0};
  tensor.flags = flags;
  tensor.dl_tensor.data = data;
  tensor.dl_tensor.device = {kDLCPU, 0};
  tensor.dl_tensor.ndim = static_cast<std::int32_t>(managed->shape.size());
  tensor.dl_tensor.dtype = dataTypes[static_cast<std::size_t>(dtype)];
  tensor.dl_tensor.shape = managed->shape.data();
  tensor.dl_tensor.strides = managed->strides.data();
  tensor.manager_ctx = managed.get();
  tensor.deleter = [](DLManagedTensorVersioned *self) {
    if (self)
      delete static_cast<Managed *>(self->manager_ctx);
  };
  return &managed.release()->tensor;
}

DLManagedTensorVersioned *shareTensor(const DLManagedTensorVersioned &tensor) {
  const auto &managed = *static_cast<const Managed *>(tensor.manager_ctx);
  return wrapTensor(managed.owner, tensor.dl_tensor.data, *dtypeOf(tensor.dl_tensor.dtype), managed.shape,
                    managed.strides, tensor.flags);
}

DLManagedTensor *shareUnversioned(const DLManagedTensorVersioned &tensor) {
  auto unversioned = std::make_unique<DLManagedTensor>();
  DLManagedTensorVersioned *shared = shareTensor(tensor);
  unversioned->dl_tensor = shared->dl_tensor;
  unversioned->manager_ctx = shared;
  unversioned->deleter = [](DLManagedTensor *self) {
    if (!self)
      return;
    auto *held = static_cast<DLManagedTensorVersioned *>(self->manager_ctx);
    held->deleter(held);
    delete self;
  };
  return unversioned.release();
}

NewTensor newTensor(DType dtype, std::vector<std::int64_t> shape) {
  const TensorType type{dtype, shape};
  // Aligned as DLPack recommends.
  constexpr std::size_t alignment = 256;
  const std::uint64_t bytes = type.bytes(), reserved = (bytes + alignment - 1) / alignment * alignment;
  void *memory = bytes == 0 ? nullptr : std::aligned_alloc(alignment, reserved);
  if (bytes != 0 && !memory)
    throw std::bad_alloc();
  std::shared_ptr<void> owner(memory, std::free);
  NewTensor result;
  result.tensor = wrapTensor(std::move(owner), memory, dtype, std::move(shape), {}, DLPACK_FLAG_BITMASK_IS_COPIED);
  result.bytes = {static_cast<std::byte *>(memory), bytes};
  return result;
}

} // namespace sluice::capi
