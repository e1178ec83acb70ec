//===- InstructionSet.cpp - the instruction set of a process ---------------------------===//
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <dnnl.hpp>

#include <mutex>
#include <string>

namespace sluice {
namespace {

/// oneDNN accepts a limit until its first primitive exists. AVX-512 is the largest limit; it includes all extensions of
/// the machine.
bool limitLibrary(std::string_view isa) {
  if (isa == "avx512")
    return true;
  return dnnl::set_max_cpu_isa(isa == "avx2" ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41) == dnnl::status::success;
}

} // namespace

std::string_view machineIsa() {
  for (std::string_view isa : {"avx512", "avx2"})
    if (cpu::loopsFor(isa))
      return isa;
  return "sse4";
}

Status useInstructionSet(std::string_view isa) {
  static std::mutex mutex;
  static std::string taken;
  std::lock_guard lock(mutex);
  if (taken == isa)
    return {};
  if (!taken.empty())
    return refusedError("instruction set, expected " + taken + " (already used by this process) but got " +
                        std::string(isa));
  const cpu::Loops *found = cpu::loopsFor(isa == "sse4" ? "baseline" : isa);
  if (!found)
    return refusedError("instruction set, expected one that this machine has, " + std::string(machineIsa()) +
                        " at most, but got " + std::string(isa));
  if (!limitLibrary(isa) && isa != machineIsa())
    return refusedError("instruction set, expected " + std::string(machineIsa()) +
                        ", with which this process has used the matrix library, but got " + std::string(isa));
  cpu::chooseLoops(*found);
  taken = isa;
  return {};
}

} // namespace sluice
