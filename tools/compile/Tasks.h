//===- Tasks.h - what sluice-compile does -----------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_TASKS_H
#define SLUICE_TOOLS_COMPILE_TASKS_H

#include "tools/compile/Options.h"

#include <span>

namespace sluice {

struct Task {
  bool (*isRequested)(const CompileCommand &command);
  /// Returns the exit code.
  int (*run)(const CompileCommand &command);
};

/// The first one that is requested is run; the last one always is.
std::span<const Task> tasks();

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_TASKS_H
