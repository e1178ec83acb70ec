//===- Binding.h - views of a plan as addresses of one rank ----------------------===//
//
// The parts of a plan that depend on the rank are computed here, at load: the address of each arena and, from the
// rank's coordinate, the valid extent of padded dims. Ranges are checked again although the plan's checker proved them,
// because a wrong address would be a wrong write.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_BINDING_H
#define SLUICE_RUNTIME_EXECUTOR_BINDING_H

#include "runtime/base/Status.h"
#include "runtime/executor/Executor.h"

#include <array>

namespace sluice {

/// A view at its addresses. `operand.data` is that of repetition 0.
struct BoundView {
  Operand operand;
  /// Bytes from one repetition to the next.
  std::uint64_t stride = 0;

  void *at(std::uint32_t repetition) const { return static_cast<std::byte *>(operand.data) + repetition * stride; }
};

/// Binds views for one rank.
class Binder {
public:
  Binder(const plan::PlanT &plan, int rank) : plan(plan), rank(static_cast<std::uint32_t>(rank)) {}

  void setArena(plan::Space space, void *base, std::uint64_t bytes) { arenas[index(space)] = {base, bytes}; }

  std::span<std::byte> arena(plan::Space space) const {
    return {static_cast<std::byte *>(arenas[index(space)].base), arenas[index(space)].bytes};
  }

  /// `repeat`: how often the view's section runs.
  Result<BoundView> bind(const plan::ViewT &view, std::uint32_t repeat) const;
  /// A full persistent buffer, with the shape of its parameter.
  Result<Operand> bindParameter(const plan::ParameterT &parameter, std::uint32_t buffer) const;
  /// A full buffer with its own shape.
  Result<Operand> bindBuffer(std::uint32_t buffer) const;

private:
  struct Memory {
    void *base = nullptr;
    std::uint64_t bytes = 0;
  };
  static std::size_t index(plan::Space space) { return static_cast<std::size_t>(space); }
  /// The address of a range of a buffer.
  Result<void *> address(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const;

  const plan::PlanT &plan;
  const std::uint32_t rank;
  std::array<Memory, 2> arenas;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_BINDING_H
