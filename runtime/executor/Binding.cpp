//===- Binding.cpp - views of a plan as addresses of one rank --------------------===//
#include "runtime/executor/Binding.h"

#include "runtime/base/ShardMath.h"
#include "runtime/base/Text.h"

namespace sluice {
Result<std::byte *> Binder::address(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const {
  if (buffer >= plan.buffers.size())
    return refusedError(concat("buffer of a view, expected less than ", plan.buffers.size(), " but got ", buffer));
  const plan::BufferT &in = *plan.buffers[buffer];
  const std::span<std::byte> arena = arenas[static_cast<std::size_t>(in.space)];
  if (offset > in.bytes || bytes > in.bytes - offset)
    return refusedError(
        concat("end of a range in buffer '", in.name, "', expected at most ", in.bytes, " but got ", offset + bytes));
  if (in.offset > arena.size() || in.bytes > arena.size() - in.offset)
    return refusedError(concat("end of buffer '", in.name, "' in its arena, expected at most ", arena.size(),
                               " but got ", in.offset + in.bytes));
  return arena.data() + in.offset + offset;
}

Result<BoundView> Binder::bind(const plan::ViewT &view, std::uint32_t repeat) const {
  if (view.shape.size() > maxRank)
    return refusedError(concat("rank of a view, expected at most ", maxRank, " but got ", view.shape.size()));
  if (!elementCount(view.shape))
    return refusedError("elements of a view, expected a number below 2^64");
  Operand operand = Operand::dense(baseType(view.dtype), view.shape);
  if (!view.strides.empty()) {
    if (view.strides.size() != view.shape.size())
      return refusedError(concat("strides of a view, expected ", view.shape.size(), " but got ", view.strides.size()));
    std::copy(view.strides.begin(), view.strides.end(), operand.strides.begin());
  }
  for (const auto &valid : view.valid) {
    if (valid->dim >= view.shape.size())
      return refusedError(
          concat("padded dim of a view, expected less than ", view.shape.size(), " but got ", valid->dim));
    const std::uint32_t coordinate = coordinateAlong(plan, rank, valid->axes);
    operand.extent[valid->dim] = validExtent(valid->total, valid->chunk, coordinate);
    operand.origin[valid->dim] = valid->chunk * coordinate;
    operand.global[valid->dim] = valid->total;
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

} // namespace sluice
