//===- MachineFuzz.cpp - reads any bytes as the description of a machine -------------------===//
#include "Fuzz.h"

#include "runtime/report/machine/MachineFile.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const Result<Machine> machine = parseMachine(std::string(fuzz::textOf(data, size)), "fuzz");
  if (!machine.isOk()) {
    fuzz::claimReported(machine.status());
    return 0;
  }
  fuzz::claim(!machine->name.empty() && (machine->device == "cpu" || architectureNumber(machine->arch)),
              "a machine without a name or architecture");
  for (const auto &figure : machine->figures)
    fuzz::claim(!figure || (figure->value != 0 && !figure->from.empty()), "a figure without a value or source");
  return 0;
}
