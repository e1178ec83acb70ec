//===- EagerProgram.h - the training step as eager execution sees it -----------------------===//
//
// The unsharded program of a plan's training step: its ops in order, the memory of its values, and where it reads each
// unit's parameters. The accounts of eager frameworks (EagerAccount.h) add up bytes over it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERPROGRAM_H
#define SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERPROGRAM_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// The index of no op.
inline constexpr std::uint32_t noOp = std::numeric_limits<std::uint32_t>::max();

struct EagerOp {
  /// Without the dialect.
  std::string_view name;
  plan::Phase phase;
  /// Module path in the source, and the parameter or state that it reads or writes.
  std::string_view block, symbol;
  /// Value ids; 0: none.
  std::span<const std::uint32_t> operands, results;
  const plan::ProgramKindT *kind;
  /// Elements of the scores [B, H, T, S] of an attention or of its gradient; 0: another op.
  std::uint64_t scores = 0;

  /// A plan may have any ops and operands.
  bool readsFirst() const { return !operands.empty() && operands[0] != 0; }
};

/// Memory of one or more values: a reshape, transpose, slice or broadcast shares that of its operand.
struct EagerStorage {
  /// 0: of a parameter, or none.
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  plan::Phase phase = plan::Phase::forward, lastPhase = plan::Phase::forward;
  /// The op that computes it, and the last one that reads it.
  std::uint32_t begin = 0, last = 0;
  /// Index in EagerProgram::parameters of the parameter, or of the parameter that it is a cast of; -1: of none.
  int parameter = -1;
  /// The gradient of a parameter.
  bool isGradient = false;
};

struct EagerParameter {
  const plan::ParameterT *parameter;
  /// Element types that the ops read and in which its gradient is reduced.
  DType compute, reduce;
  /// The op that computes its gradient.
  std::uint32_t gradient = noOp;
};

/// Parameters that are gathered together, with the ops of its modules: first and last op that reads a parameter or is
/// in the block of the unit's name, in the forward and in the backward, gradients included.
struct EagerUnit {
  const plan::UnitT *unit;
  /// Indices in EagerProgram::parameters.
  std::vector<std::uint32_t> parameters;
  std::uint32_t begin = noOp, end = 0, backwardBegin = noOp, backwardEnd = 0;
  bool isRead() const { return begin != noOp; }
  bool hasBackward() const { return backwardBegin != noOp; }
};

struct EagerProgram {
  /// At least one.
  std::vector<EagerOp> ops;
  /// By value id, through EagerProgram::storageOf.
  std::vector<EagerStorage> storages;
  std::vector<std::uint32_t> storageOf;
  /// As Plan.parameters and Plan.units.
  std::vector<EagerParameter> parameters;
  std::vector<EagerUnit> units;
  std::uint64_t batchBytes = 0;
  /// Of a plan for GPUs: PyTorch's ops and optimizers differ.
  bool isCuda = false;
  /// By the plan's recipe, blocks are recomputed except the results of some ops.
  bool isSelective = false;
  /// Of the mesh axis `shard`.
  std::uint64_t shardRanks = 1;

  const EagerStorage &storage(std::uint32_t value) const { return storages[storageOf[value]]; }
};

/// Tensors that are live over instants, which the caller numbers.
class BytesOverTime {
public:
  explicit BytesOverTime(std::size_t instants) : instants(instants) {}
  struct Tensor {
    /// Both instants included.
    std::size_t begin = 0, end = 0;
    std::uint64_t bytes = 0;
  };
  void add(std::size_t begin, std::size_t end, std::uint64_t bytes);
  /// Live bytes at each instant.
  std::vector<std::uint64_t> values() const;
  /// In the order in which they were added.
  const std::vector<Tensor> &tensors() const { return added; }

private:
  std::size_t instants;
  std::vector<Tensor> added;
};

/// The program of the only entry point that trains, or of `train_step` if there are several. `plan` outlives the
/// result. Errors name `account`: no such entry point or program, and mesh axes other than `replicate` and `shard`.
Result<EagerProgram> readEagerProgram(const plan::PlanT &plan, std::string_view account);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERPROGRAM_H
