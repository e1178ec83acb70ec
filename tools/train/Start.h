//===- Start.h - the settings that the ranks of a job compare -----------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_START_H
#define SLUICE_TOOLS_TRAIN_START_H

#include "runtime/collective/process/StartValues.h"
#include "tools/train/Config.h"

#include <span>
#include <vector>

namespace sluice {

/// The version of the program, the options that determine the run, the content of its input files (contentDigest()),
/// and the environment variables that libraries of products and collectives read. An unreadable file is an input error.
Result<std::vector<StartValue>> startValues(std::span<const OptionValue> options);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_START_H
