//===- TrainingState.cpp - the numbers of a training in a checkpoint -----------------===//
#include "runtime/checkpoint/TrainingState.h"

#include "runtime/base/Json.h"
#include "runtime/checkpoint/Index.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr std::string_view stateFormat = "sluice-training-state";

/// Reads members; a missing one, or one of a different type, clears `isComplete`.
struct StateReader {
  const nlohmann::json &object;
  bool &isComplete;

  template <typename T, typename Stored> void read(const char *key, T &out) {
    const auto at = object.find(key);
    const Stored *value = at == object.end() ? nullptr : at->get_ptr<const Stored *>();
    if (value)
      out = static_cast<T>(*value);
    isComplete = isComplete && value;
  }
  void number(const char *key, std::uint64_t &out) { read<std::uint64_t, std::uint64_t>(key, out); }
  void numbers(const char *key, std::vector<std::uint64_t> &out) {
    const auto at = object.find(key);
    isComplete = isComplete && at->is_array();
    for (std::size_t i = 0; isComplete && i < at->size(); ++i) {
      const auto *value = (*at)[i].get_ptr<const std::uint64_t *>();
      isComplete = value != nullptr;
      out.push_back(value ? *value : 0);
    }
  }
  void text(const char *key, std::string &out) { read<std::string, std::string>(key, out); }
  void truth(const char *key, bool &out) { read<bool, bool>(key, out); }
  void texts(const char *key, std::vector<std::string> &out) {
    const auto at = object.find(key);
    isComplete = isComplete && at != object.end() && at->is_array();
    if (isComplete)
      for (const nlohmann::json &item : *at) {
        isComplete = isComplete && item.is_string();
        out.push_back(item.is_string() ? *item.get_ptr<const std::string *>() : std::string());
      }
  }
};

} // namespace

std::string formatState(const TrainingState &state) {
  const TrainProgress &progress = state.progress;
  nlohmann::json json = {
      {"format", stateFormat},
      {"version", std::uint64_t(1)},
      {"step", progress.step},
      {"updates", progress.updates},
      {"loss_scale", progress.lossScale.value()},
      {"loss_scale_unchanged_steps", progress.lossScale.unchangedSteps()},
      {"seed", state.seed},
      {"shuffled", state.shuffled},
      {"overfit", state.overfit},
      {"entries", state.entries},
      {"data", state.data},
      {"rows_per_step", state.rowsPerStep},
      {"model_digest", state.modelDigest},
      {"plan_digest", state.planDigest},
      {"plan_name", state.planName},
      {"world", state.world},
  };
  if (!state.dataContents.empty())
    json["data_contents"] = state.dataContents;
  if (!state.tokenizer.empty())
    json["tokenizer_digest"] = state.tokenizer;
  if (!progress.rowsRead.empty())
    json["rows_read"] = progress.rowsRead;
  if (progress.evaluationLoss)
    json["eval_loss"] = *progress.evaluationLoss;
  return dumpJson(json, 2) + "\n";
}

Result<TrainingState> parseState(const std::string &path, std::string_view text) {
  const auto json = parseJson<nlohmann::json>(text);
  TrainingState state;
  bool isComplete = json.is_object();
  std::string format;
  std::uint64_t version = 0, unchanged = 0;
  double scale = 0;
  if (isComplete) {
    StateReader reader{json, isComplete};
    reader.text("format", format);
    reader.number("version", version);
    reader.number("step", state.progress.step);
    reader.number("updates", state.progress.updates);
    reader.read<double, double>("loss_scale", scale);
    reader.number("loss_scale_unchanged_steps", unchanged);
    reader.number("seed", state.seed);
    reader.truth("shuffled", state.shuffled);
    reader.truth("overfit", state.overfit);
    reader.texts("entries", state.entries);
    reader.texts("data", state.data);
    reader.number("rows_per_step", state.rowsPerStep);
    reader.text("model_digest", state.modelDigest);
    reader.text("plan_digest", state.planDigest);
    reader.text("plan_name", state.planName);
    reader.number("world", state.world);
    if (json.contains("data_contents"))
      reader.texts("data_contents", state.dataContents);
    if (json.contains("tokenizer_digest"))
      reader.text("tokenizer_digest", state.tokenizer);
    if (json.contains("rows_read"))
      reader.numbers("rows_read", state.progress.rowsRead);
    if (const auto at = json.find("eval_loss"); at != json.end())
      if (const auto *loss = at->get_ptr<const double *>())
        state.progress.evaluationLoss = *loss;
  }
  if (format == stateFormat && version > 1)
    return otherVersionError(path, version);
  if (!isComplete || format != stateFormat || version != 1 || state.world == 0)
    return damageError(fmt::format("'{}' is not the state of a training checkpoint of version 1", path));
  state.progress.lossScale = LossScale(scale, unchanged);
  return state;
}

} // namespace sluice
