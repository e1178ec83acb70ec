//===- sluice-compile.cpp - from a model and a recipe to a plan -------------------------------===//
//
// The input is an imported model, or any file of --dump-phases: compilation continues after the phase that the module
// names. Nothing is written unless everything succeeded, except the dumps of phases that were reached.
// tools/compile/Options.cpp has the options, tools/compile/Tasks.cpp what each of them does.
//
//===----------------------------------------------------------------------===//
#include "tools/Process.h"
#include "tools/compile/Tasks.h"

using namespace sluice;

int main(int argc, char **argv) {
  prepareProcess();
  CompileCommand command;
  if (const std::optional<int> done = readCompileOptions(argc, argv, command))
    return *done;
  for (const Task &task : tasks())
    if (task.isRequested(command))
      return task.run(command);
}
