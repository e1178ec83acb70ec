//===- Machine.cpp - checks that a plan fits this runtime and machine -------------===//
#include "runtime/executor/Machine.h"
#include "runtime/executor/Backend.h"

namespace sluice {
namespace {

/// Position of an instruction set in a list where each includes the ones before; -1: unknown.
int isaLevel(std::string_view isa) {
  constexpr std::string_view names[] = {"sse4", "avx2", "avx512"};
  for (int i = 0; i < 3; ++i)
    if (names[i] == isa)
      return i;
  return -1;
}

/// Kernels of a different set would compute different bits.
Status fixInstructionSet(const plan::TargetT &target) {
  Status kept = useInstructionSet(target.isa);
  if (kept.isOk())
    return kept;
  return refusedError("target.isa of the plan: " + kept.message())
      .withNote("all plans of a process have one target.isa: run this one in a separate process");
}

} // namespace

Status checkFits(const plan::PlanT &plan, const ExecutorOptions &options) {
  if (plan.catalogue != catalogueVersion())
    return refusedError("kernel catalogue of the plan, expected version " + std::to_string(catalogueVersion()) +
                        " but got " + std::to_string(plan.catalogue));
  if (!plan.target)
    return refusedError("the plan has no target");
  if (plan.target->device != "cpu" && plan.target->device != "cuda")
    return refusedError("target.device of the plan, expected 'cpu' or 'cuda' but got '" + plan.target->device + "'");
  const bool onCpu = plan.target->device == "cpu";
  if (onCpu && !plan.target->isa.empty()) {
    const std::string_view machine = options.isa.empty() ? machineIsa() : std::string_view(options.isa);
    const int level = isaLevel(plan.target->isa);
    if (level < 0)
      return refusedError("target.isa of the plan, expected avx512 or avx2 but got '" + plan.target->isa + "'");
    if (level > isaLevel(machine))
      return refusedError("instruction set of this machine, expected " + plan.target->isa +
                          " as the plan's target.isa but got " + std::string(machine))
          .withNote("compile the plan with target.isa = \"" + std::string(machine) + "\"");
  }
  if (options.threads > static_cast<int>(plan.target->threads))
    return refusedError("threads of a rank, expected at most the plan's target.threads, " +
                        std::to_string(plan.target->threads) + ", but got " + std::to_string(options.threads));
  for (const std::string &kernel : plan.kernels)
    if (!findKernelOf(plan, options, kernel))
      return refusedError("kernel of the plan, expected one that the " + plan.target->device + " device has but got '" +
                          kernel + "'");
  // Last: a refused plan does not fix the instruction set of the process.
  return onCpu && !plan.target->isa.empty() ? fixInstructionSet(*plan.target) : Status();
}

} // namespace sluice
