//===- TestedIsa.h - the instruction set of a test or a benchmark ----------------===//
#ifndef SLUICE_TEST_TESTEDISA_H
#define SLUICE_TEST_TESTEDISA_H

#include "runtime/kernel/Kernel.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sluice::test {

/// The instruction set of SLUICE_TEST_ISA, which the process then uses, else the machine's best. Ends the
/// process if the machine does not have it. Call it before any kernel is prepared.
inline const std::string &testedIsa() {
  static const std::string isa = [] {
    const char *named = std::getenv("SLUICE_TEST_ISA");
    if (!named)
      return std::string(machineIsa());
    if (const Status kept = useInstructionSet(named); !kept.isOk()) {
      std::fprintf(stderr, "SLUICE_TEST_ISA: %s\n", kept.message().c_str());
      std::exit(1);
    }
    return std::string(named);
  }();
  return isa;
}

} // namespace sluice::test

#endif // SLUICE_TEST_TESTEDISA_H
