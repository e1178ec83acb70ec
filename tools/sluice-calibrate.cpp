//===- sluice-calibrate.cpp - measures this machine's CPU ---------------------------------===//
//
// Usage: sluice-calibrate -o FILE [--threads T,...] [--quick]
// sluice-plan calibrate is this program: sluice-plan itself contains no kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"
#include "tools/calibrate/Calibrate.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace sluice;

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app("Measures kernels, streams and collectives of this machine's CPU, and writes a machine file.",
               "sluice-plan calibrate");
  app.set_version_flag("--version", versionText("sluice-plan"));
  app.footer("exit codes: 0 done, 1 the file cannot be written, 2 usage");
  CalibrateOptions options;
  app.add_option("-o", options.output, "the machine file")->required()->check(nonEmptyPath());
  app.add_option("--threads", options.threads, "compute threads of a rank to measure, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--quick", options.isQuick, "few sizes and short measurements: rough rates within seconds");
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  if (const Status status = calibrate(options); !status.isOk())
    return report(status);
  std::printf("measured in '%s'\n", options.output.c_str());
  return 0;
}
