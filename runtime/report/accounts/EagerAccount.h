//===- EagerAccount.h - the memory that an eager framework would hold ----------------------===//
//
// The unsharded program in a plan determines what eager execution with sharded parameters keeps: this module adds it up
// for PyTorch FSDP1 and FSDP2. It is an account, not a measurement; docs/memory.md lists its assumptions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERACCOUNT_H
#define SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERACCOUNT_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Live bytes of one rank between two phases of an iteration.
struct AccountPoint {
  int iteration = 0;
  std::string name;
  std::uint64_t bytes = 0;
};

/// The iterations whose points an account has.
inline constexpr int accountIterations = 4;

struct EagerAccount {
  /// "fsdp1" or "fsdp2".
  std::string name;
  /// The largest sum of live bytes, which the second iteration reaches, as the optimizer's states exist from the first
  /// update on.
  std::uint64_t peak = 0;
  /// Live bytes at the peak by purpose, in a fixed order; their sum is the peak. Empty for FSDP1.
  std::vector<std::pair<std::string, std::uint64_t>> peakByPurpose;
  /// Six points for each iteration.
  std::vector<AccountPoint> points;
  /// Bytes that the caching allocator reserves in three iterations, by its default settings and with expandable
  /// segments. Of FSDP2 on GPUs only.
  std::optional<std::uint64_t> reserved, reservedExpandable;
};

/// What a plan does not state about a job of FSDP2.
struct Fsdp2Options {
  /// Ranks over which parameters are sharded; 0: those of the plan.
  std::uint64_t shardRanks = 0;
  /// CPUOffloadPolicy(): parameters, gradients and optimizer states are in host memory.
  bool offloads = false;
  /// The loss is computed by the module that is the root, as in an archive of torch.export, and not by the training
  /// loop: the loop does not hold the results of the model, and the backward of the root begins with that of the loss.
  bool hasLossInModel = false;
};

/// FSDP1 with the units, mesh, precision, recompute and resharding policy of the plan: flat parameters, forward values
/// that autograd saves, gradients until zero_grad(set_to_none=True) at the end of an iteration, one batch that exists
/// throughout. Errors: those of readEagerProgram.
Result<EagerAccount> accountFsdp1(const plan::PlanT &plan);

/// FSDP2 likewise: parameters sharded one by one, buffers and copies of gathers, inputs of reduce-scatters, tensors
/// that PyTorch's ops save where Sluice's do not, temporaries of the optimizer. Errors: those of readEagerProgram, and
/// several micro-batches.
Result<EagerAccount> accountFsdp2(const plan::PlanT &plan, const Fsdp2Options &options = {});

Json accountJson(const EagerAccount &account);
std::string accountText(const EagerAccount &account);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERACCOUNT_H
