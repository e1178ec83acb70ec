//===- Calibrate.h - writes the machine file of this machine ------------------------------------===//
#ifndef SLUICE_TOOLS_CALIBRATE_CALIBRATE_H
#define SLUICE_TOOLS_CALIBRATE_CALIBRATE_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sluice {

struct CalibrateOptions {
  std::string output;
  /// Compute threads of a rank that plans will have; each also with as many ranks at the same time as there are cores.
  std::vector<int> threads = {1};
  /// Few sizes and short measurements, for tests: the rates are rough.
  bool isQuick = false;
};

/// Measures kernels, streams and collectives of this machine's CPU, and writes a machine file.
Status calibrate(const CalibrateOptions &options);

} // namespace sluice

#endif // SLUICE_TOOLS_CALIBRATE_CALIBRATE_H
