//===- SessionOptions.h - the options of a session -------------------------------------===//
#ifndef SLUICE_RUNTIME_CAPI_SESSIONOPTIONS_H
#define SLUICE_RUNTIME_CAPI_SESSIONOPTIONS_H

#include "runtime/checkpoint/RunCheckpoints.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/collective/process/StartValues.h"
#include "runtime/train/TrainSession.h"

#include <string_view>
#include <vector>

namespace sluice::capi {

struct SessionSettings {
  RanksOptions ranks;
  LaunchOptions launch;
  CheckpointOptions checkpoint;
  SessionOptions training;

  bool hasCheckpoints() const { return !checkpoint.folder.empty() || resumesFromPath(); }
  /// True if a checkpoint to continue from is named.
  bool resumesFromPath() const { return checkpoint.resume != "auto" && checkpoint.resume != "none"; }
  /// Values that must be equal on all processes of a job.
  std::vector<StartValue> startValues() const;
};

/// Reads the JSON of sluice_session_open().
Result<SessionSettings> readSessionOptions(std::string_view text);

} // namespace sluice::capi

#endif // SLUICE_RUNTIME_CAPI_SESSIONOPTIONS_H
