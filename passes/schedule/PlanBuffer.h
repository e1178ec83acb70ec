//===- PlanBuffer.h - buffers during the lowering to plan ----------------------------===//
//
// The buffers of all entry points, in the order of the plan. Persistent ones are shared by the
// entry points; the others belong to one. Symbols are set at the end, when the class of each buffer is known.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_PLANBUFFER_H
#define SLUICE_PASSES_SCHEDULE_PLANBUFFER_H

#include "dialect/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace sluice {

/// Phases of the ops that access a buffer, with those of a recompute separate.
class AccessPhases {
public:
  void insert(Phase phase, bool isRecompute) { phases[isRecompute] |= bitOf(phase); }
  bool contains(Phase phase) const { return (phases[false] & bitOf(phase)) != 0; }
  bool hasRecompute() const { return phases[true] != 0; }

private:
  static unsigned bitOf(Phase phase) { return 1u << static_cast<unsigned>(phase); }
  std::array<unsigned, 2> phases = {};
};

struct PlanBuffer {
  PlanBuffer(mlir::RankedTensorType type, mlir::Location location) : type(type), location(location) {}

  mlir::RankedTensorType type;
  mlir::Location location;
  MemorySpace space = MemorySpace::device;
  /// Unset until finish(), which derives it from the phases of the writers and readers.
  std::optional<BufferClass> bufferClass;
  /// Empty: persistent.
  std::string entry;
  std::string parameter, state, unit;
  plan_ir::ValidAttr valid;
  /// Contents are carried from one repetition to the next.
  bool carried = false;
  /// Outermost block of the op that writes it; the prefix of the name.
  std::string block;
  /// A symbol instead of one by block and number; empty: none.
  std::string hint;
  mlir::FlatSymbolRefAttr symbol;
  AccessPhases writers, readers;
};

class PlanBuffers {
public:
  /// Adds a buffer of that shape and element type, without the type's encoding.
  int add(mlir::RankedTensorType type, mlir::Location location, std::string entry,
          std::optional<BufferClass> bufferClass = std::nullopt);
  PlanBuffer &operator[](int id) { return buffers[id]; }
  const PlanBuffer &operator[](int id) const { return buffers[id]; }
  int size() const { return static_cast<int>(buffers.size()); }

  /// The persistent buffer of a parameter (empty state) or of its optimizer state, created at first use.
  int persistent(llvm::StringRef parameter, llvm::StringRef state, mlir::RankedTensorType type,
                 plan_ir::ValidAttr valid, BufferClass bufferClass, mlir::Location location);

  /// Sets missing classes by the phases of the writers and readers, and all symbols. They differ from those of the
  /// module.
  void finish(mlir::ModuleOp module);

private:
  std::vector<PlanBuffer> buffers;
  std::map<std::pair<std::string, std::string>, int> persistents;
};

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_PLANBUFFER_H
