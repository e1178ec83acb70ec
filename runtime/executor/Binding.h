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

  /// By plan::Space; empty for a space without an arena.
  std::array<std::span<std::byte>, 2> arenas;

  /// `repeat`: how often the view's section runs.
  Result<BoundView> bind(const plan::ViewT &view, std::uint32_t repeat) const;
  /// The address of a range of a buffer.
  Result<std::byte *> address(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) const;

private:
  const plan::PlanT &plan;
  const std::uint32_t rank;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_BINDING_H
