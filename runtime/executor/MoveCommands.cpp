//===- MoveCommands.cpp - copy and fill as commands -------------------------------===//
//
// Both access only the valid extents of this rank: they iterate over the outer dims and process the inner dense run at
// once.
//
//===----------------------------------------------------------------------===//
#include "runtime/executor/Commands.h"
#include "runtime/kernel/cpu/Walk.h"

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

/// Calls `visit(offset in a, offset in b)`, in elements, for each run, until it fails.
template <typename Visit> Status forEachRun(const Operand &a, const Operand &b, const Walk &walk, Visit visit) {
  Status status;
  if (a.elements() != 0)
    cpu::walk<2>(walk.outer, a.extent, {a.strides, b.strides}, [&](const auto &at) {
      if (status.isOk())
        status = visit(at[0], at[1]);
    });
  return status;
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
    Device *const mover = nativeStream ? context.mover : nullptr;
    const auto bytes = static_cast<std::uint64_t>(walk.run * element);
    return forEachRun(source.operand, destination.operand, walk, [&](std::int64_t in, std::int64_t out) -> Status {
      if (mover)
        return mover->copy(nativeStream, to + out * element, from + in * element, bytes);
      std::memmove(to + out * element, from + in * element, bytes);
      return {};
    });
  }

private:
  BoundView source, destination;
  Walk walk;
};

class FillCommand final : public InstructionCommand {
public:
  using InstructionCommand::InstructionCommand;

  Status bind(const plan::FillT &fill, const Binder &binder) {
    SLUICE_ASSIGN_OR_RETURN(destination, binder.bind(*fill.destination, place.repeat));
    element = dtypeBytes(destination.operand.dtype);
    cpu::storeNumber(bits.data(), destination.operand.dtype, 0, fill.value);
    walk = walkOf(destination.operand, destination.operand);
    for (std::size_t i = 0; i < element; ++i)
      zero = zero && bits[i] == std::byte(0);
    return {};
  }

  Status perform(void *nativeStream, std::uint32_t repetition) override {
    auto *to = static_cast<std::byte *>(destination.at(repetition));
    Device *const mover = nativeStream ? context.mover : nullptr;
    const auto count = static_cast<std::uint64_t>(walk.run);
    return forEachRun(destination.operand, destination.operand, walk, [&](std::int64_t offset, std::int64_t) -> Status {
      std::byte *run = to + offset * static_cast<std::int64_t>(element);
      if (mover)
        return mover->fill(nativeStream, run, bits.data(), static_cast<std::uint32_t>(element), count);
      if (zero)
        std::memset(run, 0, count * element);
      for (std::uint64_t i = 0; !zero && i < count; ++i)
        std::memcpy(run + i * element, bits.data(), element);
      return {};
    });
  }

private:
  BoundView destination;
  Walk walk;
  std::array<std::byte, 8> bits{};
  std::size_t element = 0;
  bool zero = true;
};

} // namespace

CommandResult makeCopy(RankContext &context, const InstructionPlace &place, const plan::CopyT &copy,
                       const Binder &binder) {
  auto command = std::make_unique<CopyCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->bind(copy, binder));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

CommandResult makeFill(RankContext &context, const InstructionPlace &place, const plan::FillT &fill,
                       const Binder &binder) {
  auto command = std::make_unique<FillCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->bind(fill, binder));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

} // namespace sluice
