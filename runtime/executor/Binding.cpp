//===- Binding.cpp - views of a plan as addresses of one rank --------------------===//
#include "runtime/executor/Binding.h"

#include "runtime/base/ShardMath.h"
#include "runtime/base/Text.h"

namespace sluice {
namespace {

/// Shape, dense strides, and all of it valid.
Result<Operand> denseOperand(DType dtype, std::span<const std::int64_t> shape) {
  if (shape.size() > maxRank)
    return refusedError(concat("rank of a view, expected at most ", maxRank, " but got ", shape.size()));
  if (!elementCount(shape))
    return refusedError("elements of a view, expected a number below 2^64");
  Operand operand;
  operand.dtype = dtype;
  operand.rank = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int d = operand.rank - 1; d >= 0; --d) {
    operand.shape[d] = operand.extent[d] = operand.global[d] = shape[d];
    operand.strides[d] = stride;
    stride *= shape[d];
  }
  return operand;
}

void restrict(Operand &operand, std::uint32_t dim, std::int64_t chunk, std::int64_t total, std::uint32_t coordinate) {
  operand.extent[dim] = validExtent(total, chunk, coordinate);
  operand.origin[dim] = chunk * coordinate;
  operand.global[dim] = total;
}

} // namespace

Result<void *> Binder::address(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const {
  if (buffer >= plan.buffers.size())
    return refusedError(concat("buffer of a view, expected less than ", plan.buffers.size(), " but got ", buffer));
  const plan::BufferT &in = *plan.buffers[buffer];
  const Memory &arena = arenas[index(in.space)];
  if (offset > in.bytes || bytes > in.bytes - offset)
    return refusedError(
        concat("end of a view in buffer '", in.name, "', expected at most ", in.bytes, " but got ", offset + bytes));
  if (in.offset > arena.bytes || in.bytes > arena.bytes - in.offset)
    return refusedError(concat("end of buffer '", in.name, "' in its arena, expected at most ", arena.bytes,
                               " but got ", in.offset + in.bytes));
  return static_cast<void *>(static_cast<std::byte *>(arena.base) + in.offset + offset);
}

Result<BoundView> Binder::bind(const plan::ViewT &view, std::uint32_t repeat) const {
  SLUICE_ASSIGN_OR_RETURN(Operand operand, denseOperand(baseType(view.dtype), view.shape));
  if (!view.strides.empty()) {
    if (view.strides.size() != view.shape.size())
      return refusedError(concat("strides of a view, expected ", view.shape.size(), " but got ", view.strides.size()));
    std::copy(view.strides.begin(), view.strides.end(), operand.strides.begin());
  }
  for (const auto &valid : view.valid) {
    if (valid->dim >= view.shape.size())
      return refusedError(
          concat("padded dim of a view, expected less than ", view.shape.size(), " but got ", valid->dim));
    restrict(operand, valid->dim, valid->chunk, valid->total, coordinateAlong(plan, rank, valid->axes));
  }
  const std::optional<std::uint64_t> once = viewBytes(view);
  std::uint64_t moved = 0;
  std::uint64_t bytes = 0;
  if (!once || __builtin_mul_overflow(view.repetition_stride, repeat == 0 ? 0 : repeat - 1, &moved) ||
      __builtin_add_overflow(*once, moved, &bytes))
    return refusedError("bytes of a view, expected a number below 2^64");
  SLUICE_ASSIGN_OR_RETURN(operand.data, address(view.buffer, view.offset, bytes));
  return BoundView{operand, view.repetition_stride};
}

Result<Operand> Binder::bindParameter(const plan::ParameterT &parameter, std::uint32_t buffer) const {
  if (parameter.dim > static_cast<std::int64_t>(parameter.shape.size()) ||
      (parameter.dim >= 0 && parameter.shape.empty()))
    return refusedError(concat("sharded dim of parameter '", parameter.name, "', expected at most ",
                               parameter.shape.size(), " but got ", parameter.dim));
  const std::vector<std::int64_t> shape = shardShape(parameter);
  if (buffer >= plan.buffers.size())
    return refusedError(concat("buffer of parameter '", parameter.name, "', expected less than ", plan.buffers.size(),
                               " but got ", buffer));
  SLUICE_ASSIGN_OR_RETURN(Operand operand, denseOperand(baseType(plan.buffers[buffer]->dtype), shape));
  if (parameter.dim >= 0)
    restrict(operand, static_cast<std::uint32_t>(cutDim(parameter)), parameter.chunk,
             cutShape(parameter)[cutDim(parameter)], coordinateAlong(plan, rank, parameter.axes));
  const std::uint64_t count = elementCount(shape).value_or(~std::uint64_t(0) / 16);
  SLUICE_ASSIGN_OR_RETURN(operand.data, address(buffer, 0, count * dtypeBytes(operand.dtype)));
  return operand;
}

Result<Operand> Binder::bindBuffer(std::uint32_t buffer) const {
  SLUICE_ASSIGN_OR_RETURN(void *data, address(buffer, 0, 0));
  const plan::BufferT &in = *plan.buffers[buffer];
  SLUICE_ASSIGN_OR_RETURN(Operand operand, denseOperand(baseType(in.dtype), in.shape));
  operand.data = data;
  return operand;
}

} // namespace sluice
