//===- Pack.h - sluice-plan pack ------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_PACK_H
#define SLUICE_TOOLS_PLAN_PACK_H

#include "runtime/report/commands/PlanCommand.h"

#include <cstdint>
#include <string>

namespace sluice {

struct PackCommand {
  /// In the form of passes/solver/PackingText.h.
  std::string input, output;
  /// Bytes.
  std::uint64_t capacity = 0;
};

/// Places the buffers of the input below the capacity and writes the output. StatusCode::budget if no placement was
/// found.
PlanCommandResult runPack(const PackCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_PACK_H
