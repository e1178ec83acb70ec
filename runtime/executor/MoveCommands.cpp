//===- MoveCommands.cpp - copy and fill as commands -------------------------------===//
//
// Both access only the valid extents of this rank: they walk the outer dims and process the innermost dense run at
// once.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Half.h"
#include "runtime/executor/Commands.h"

#include <cstring>

namespace sluice {
namespace {

/// The dims [0, outer) are walked; the rest is a dense run of `run` elements.
struct Walk {
  int outer = 0;
  std::int64_t run = 1;
};

/// A common walk over operands of one extent: dims are merged from the innermost as long as both are dense.
Walk walkOf(const Operand &a, const Operand &b) {
  Walk walk{a.rank, 1};
  while (walk.outer > 0) {
    const int d = walk.outer - 1;
    if (a.extent[d] != 1 && (a.strides[d] != walk.run || b.strides[d] != walk.run))
      break;
    walk.run *= a.extent[d];
    --walk.outer;
  }
  return walk;
}

/// Calls `visit(offset in a, offset in b)`, in elements, for each run.
template <typename Visit> void forEachRun(const Operand &a, const Operand &b, const Walk &walk, Visit &&visit) {
  if (a.elements() == 0)
    return;
  std::array<std::int64_t, maxRank> position{};
  while (true) {
    std::int64_t inA = 0, inB = 0;
    for (int d = 0; d < walk.outer; ++d) {
      inA += position[d] * a.strides[d];
      inB += position[d] * b.strides[d];
    }
    visit(inA, inB);
    int d = walk.outer - 1;
    while (d >= 0 && ++position[d] == a.extent[d])
      position[d--] = 0;
    if (d < 0)
      return;
  }
}

class CopyCommand final : public InstructionCommand {
public:
  using InstructionCommand::InstructionCommand;

  Status bind(const plan::CopyT &copy, const Binder &binder) {
    SLUICE_ASSIGN_OR_RETURN(source, binder.bind(*copy.source, place.repeat));
    SLUICE_ASSIGN_OR_RETURN(destination, binder.bind(*copy.destination, place.repeat));
    if (source.operand.dtype != destination.operand.dtype)
      return refusedError("type of a copy's destination, expected " + std::string(dtypeName(source.operand.dtype)) +
                          " but got " + std::string(dtypeName(destination.operand.dtype)));
    if (source.operand.rank != destination.operand.rank || source.operand.shape != destination.operand.shape)
      return refusedError("source and destination of a copy have different shapes");
    for (int d = 0; d < source.operand.rank; ++d)
      source.operand.extent[d] = std::min(source.operand.extent[d], destination.operand.extent[d]);
    walk = walkOf(source.operand, destination.operand);
    return {};
  }

  Status perform(void *nativeStream, std::uint32_t repetition) override {
    const auto element = static_cast<std::int64_t>(dtypeBytes(source.operand.dtype));
    const auto *from = static_cast<const std::byte *>(source.at(repetition));
    auto *to = static_cast<std::byte *>(destination.at(repetition));
    if (context.mover && nativeStream) {
      Status status;
      forEachRun(source.operand, destination.operand, walk, [&](std::int64_t in, std::int64_t out) {
        if (status.isOk())
          status = context.mover->copy(nativeStream, to + out * element, from + in * element,
                                       static_cast<std::uint64_t>(walk.run * element));
      });
      return status;
    }
    forEachRun(source.operand, destination.operand, walk, [&](std::int64_t in, std::int64_t out) {
      std::memmove(to + out * element, from + in * element, static_cast<std::size_t>(walk.run * element));
    });
    return {};
  }

private:
  BoundView source, destination;
  Walk walk;
};

/// The bits of `value` as an element; returns their number of bytes.
std::size_t encode(DType dtype, double value, std::byte *bits) {
  const auto put = [&](auto x) {
    std::memcpy(bits, &x, sizeof x);
    return sizeof x;
  };
  switch (dtype) {
  case DType::f32:
    return put(static_cast<float>(value));
  case DType::f64:
    return put(value);
  case DType::bf16:
    return put(floatToBf16(static_cast<float>(value)));
  case DType::f16:
    return put(floatToF16(static_cast<float>(value)));
  case DType::i32:
    return put(static_cast<std::int32_t>(value));
  case DType::i64:
    return put(static_cast<std::int64_t>(value));
  case DType::u8:
    return put(static_cast<std::uint8_t>(value));
  }
  return 0;
}

class FillCommand final : public InstructionCommand {
public:
  using InstructionCommand::InstructionCommand;

  Status bind(const plan::FillT &fill, const Binder &binder) {
    SLUICE_ASSIGN_OR_RETURN(destination, binder.bind(*fill.destination, place.repeat));
    element = encode(destination.operand.dtype, fill.value, bits.data());
    walk = walkOf(destination.operand, destination.operand);
    for (std::size_t i = 0; i < element; ++i)
      zero = zero && bits[i] == std::byte(0);
    return {};
  }

  Status perform(void *nativeStream, std::uint32_t repetition) override {
    auto *to = static_cast<std::byte *>(destination.at(repetition));
    if (context.mover && nativeStream) {
      Status status;
      forEachRun(destination.operand, destination.operand, walk, [&](std::int64_t offset, std::int64_t) {
        if (status.isOk())
          status = context.mover->fill(nativeStream, to + offset * static_cast<std::int64_t>(element), bits.data(),
                                       static_cast<std::uint32_t>(element), static_cast<std::uint64_t>(walk.run));
      });
      return status;
    }
    forEachRun(destination.operand, destination.operand, walk, [&](std::int64_t offset, std::int64_t) {
      std::byte *run = to + offset * static_cast<std::int64_t>(element);
      if (zero)
        std::memset(run, 0, static_cast<std::size_t>(walk.run) * element);
      else
        for (std::int64_t i = 0; i < walk.run; ++i)
          std::memcpy(run + i * static_cast<std::int64_t>(element), bits.data(), element);
    });
    return {};
  }

private:
  BoundView destination;
  Walk walk;
  std::array<std::byte, 8> bits{};
  std::size_t element = 0;
  bool zero = true;
};

} // namespace

MadeCommand makeCopy(RankContext &context, const InstructionPlace &place, const plan::CopyT &copy,
                     const Binder &binder) {
  auto command = std::make_unique<CopyCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->bind(copy, binder));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

MadeCommand makeFill(RankContext &context, const InstructionPlace &place, const plan::FillT &fill,
                     const Binder &binder) {
  auto command = std::make_unique<FillCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->bind(fill, binder));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

} // namespace sluice
