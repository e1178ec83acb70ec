//===- SessionOptions.cpp - the options of a session -----------------------------------===//
#include "runtime/capi/SessionOptions.h"

#include "runtime/base/JsonOptions.h"
#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "runtime/train/StartEnvironment.h"

namespace sluice::capi {

Result<SessionSettings> readSessionOptions(std::string_view text) {
  SessionSettings settings;
  JsonOptions options(text, "session options");
  // A seed is a number of the plan's input, which has 63 bits.
  options.read("seed", settings.training.seed);
  options.read("threads", settings.ranks.threads);
  options.read("entries", settings.ranks.entries);
  options.read("init", settings.training.init);
  options.read("require_proof", settings.ranks.requiresProof);
  options.read("checkpoint", settings.checkpoint.folder);
  options.read("every", settings.checkpoint.every);
  options.read("keep", settings.checkpoint.keep);
  options.read("resume", settings.checkpoint.resume);
  options.read("steps", settings.training.steps);
  options.readChoice("launch", settings.launch.communicator, {"auto", "local", "mpi", "socket"});
  options.read("join_seconds", settings.launch.joinSeconds);
  options.read("watchdog_seconds", settings.launch.watchdogSeconds);
  SLUICE_RETURN_IF_ERROR(options.finish());
  settings.ranks.seed = settings.training.seed;
  settings.ranks.joinSeconds = settings.launch.joinSeconds;
  settings.ranks.watchdogSeconds = settings.launch.watchdogSeconds;
  settings.ranks.writesCheckpoints = !settings.checkpoint.folder.empty();
  return settings;
}

std::vector<StartValue> SessionSettings::startValues() const {
  std::vector<StartValue> values = {{"version", versionText("libsluice")},
                                    {"'seed'", std::to_string(training.seed)},
                                    {"'threads'", std::to_string(ranks.threads)},
                                    {"'entries'", join(ranks.entries, " ")},
                                    {"'init'", training.init.empty() ? "unset" : "set"},
                                    {"'checkpoint'", checkpoint.folder.empty() ? "unset" : "set"},
                                    {"'every'", std::to_string(checkpoint.every)},
                                    {"'resume'", checkpoint.resume},
                                    {"'steps'", std::to_string(training.steps)}};
  for (StartValue &value : environmentValues())
    values.push_back(std::move(value));
  return values;
}

} // namespace sluice::capi
