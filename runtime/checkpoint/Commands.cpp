//===- Commands.cpp - the subcommands of sluice-checkpoint -----------------------------===//
#include "runtime/checkpoint/Commands.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Compare.h"
#include "runtime/checkpoint/Convert.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/train/Safetensors.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {

using Outcome = CheckpointCommandResult;

std::span<const CheckpointSubcommand> checkpointSubcommands() {
  static const CheckpointSubcommand rows[] = {
      {"list", "the checkpoints in a folder: step, size, evaluation loss, and whether it is complete", {"FOLDER"}},
      {"show", "the state and the tensors of a checkpoint", {"CHECKPOINT"}},
      {"verify", "compare every byte of a checkpoint, or of all in a folder, with its digests", {"CHECKPOINT"}},
      {"convert", "write a checkpoint with another number of shards", {"CHECKPOINT", "OUT"}},
      {"export", "write the weights as a Hugging Face model", {"CHECKPOINT", "OUT"}},
      {"diff", "print the differences between two checkpoints", {"CHECKPOINT", "OTHER"}},
  };
  return rows;
}

static Outcome failed(Status status) { return {"", std::move(status)}; }

static std::uint64_t bytesOf(const CheckpointReader &reader) {
  std::uint64_t bytes = 0;
  for (const IndexFile &file : reader.index().files)
    bytes += file.bytes;
  return bytes;
}

/// The checkpoints of a folder, or the folder itself if it is one.
static Result<std::vector<std::string>> checkpointsIn(const std::string &folder) {
  if (isCheckpoint(folder))
    return std::vector<std::string>{folder};
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> steps, listSteps(folder));
  if (steps.empty())
    return inputError(fmt::format("'{}' is not a training checkpoint and has none", folder));
  std::vector<std::string> paths;
  for (std::uint64_t step : steps)
    paths.push_back(stepPath(folder, step));
  return paths;
}

/// Adds a checkpoint to the text and to its row of the JSON result.
using Describe = void(const std::string &path, const Result<CheckpointReader> &reader, Outcome &result,
                      nlohmann::json &row);

/// Describes each checkpoint of a folder.
static Outcome describeEach(const CheckpointCommand &command, Describe &describe) {
  Result<std::vector<std::string>> paths = checkpointsIn(command.paths[0]);
  if (!paths.isOk())
    return failed(paths.takeStatus());
  Outcome result;
  auto rows = nlohmann::json::array();
  for (const std::string &path : *paths) {
    nlohmann::json row = {{"path", path}};
    Outcome one = result;
    describe(path, CheckpointReader::open(path), one, row);
    // A run that writes to the folder has removed it meanwhile.
    if (std::error_code error; paths->size() > 1 && !std::filesystem::exists(path, error))
      continue;
    result = std::move(one);
    rows.push_back(std::move(row));
  }
  if (command.json)
    result.text = dumpJson(rows, 2) + "\n";
  return result;
}

static void listOne(const std::string &path, const Result<CheckpointReader> &reader, Outcome &result,
                    nlohmann::json &row) {
  row["complete"] = reader.isOk();
  result.text += path + "  ";
  if (!reader.isOk()) {
    row["error"] = reader.status().message();
    result.text += fmt::format("damaged: {}\n", reader.status().message());
    return;
  }
  const TrainProgress &progress = reader->state().progress;
  row["step"] = progress.step;
  row["bytes"] = bytesOf(*reader);
  result.text += fmt::format("step {}  {}", progress.step, formatBytes(bytesOf(*reader)));
  if (progress.evaluationLoss) {
    row["eval_loss"] = *progress.evaluationLoss;
    result.text += fmt::format("  eval_loss {:.5f}", *progress.evaluationLoss);
  }
  result.text += "\n";
}

static Outcome show(const CheckpointCommand &command, const CheckpointReader &reader) {
  const auto state = parseJson<nlohmann::json>(formatState(reader.state()));
  std::map<std::string, std::size_t> parts;
  for (const IndexFile &file : reader.index().files)
    for (const IndexPart &part : file.parts)
      ++parts[part.tensor];
  Outcome result;
  auto tensors = nlohmann::json::object();
  for (const auto &[key, value] : state.items())
    result.text += fmt::format("{} = {}\n", key, dumpJson(value));
  for (const auto &[name, tensor] : reader.index().tensors) {
    tensors[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"parts", parts[name]}};
    result.text += fmt::format("{}: {} {} in {} {}\n", name, tensor.dtype, shapeText(tensor.shape), parts[name],
                               parts[name] == 1 ? "part" : "parts");
  }
  if (command.json) {
    const nlohmann::json json = {{"state", state}, {"tensors", std::move(tensors)}};
    result.text = dumpJson(json, 2) + "\n";
  }
  return result;
}

static void verifyOne(const std::string &path, const Result<CheckpointReader> &reader, Outcome &result,
                      nlohmann::json &row) {
  Status status = reader.isOk() ? reader->verify() : reader.status();
  row["verified"] = status.isOk();
  if (status.isOk())
    result.text += fmt::format("{}: {} files, {}, every digest is right\n", path, reader->index().files.size(),
                               formatBytes(bytesOf(*reader)));
  else
    row["error"] = status.message();
  if (result.status.isOk())
    result.status = std::move(status);
}

static Outcome diff(const CheckpointCommand &command, const CheckpointReader &reader) {
  const Result<CheckpointReader> other = CheckpointReader::open(command.paths[1]);
  if (!other.isOk())
    return failed(other.status());
  const Result<std::vector<CheckpointDifference>> differences = compareCheckpoints(reader, *other);
  if (!differences.isOk())
    return failed(differences.status());
  Outcome result;
  auto rows = nlohmann::json::array();
  for (const CheckpointDifference &each : *differences) {
    rows.push_back({{"name", each.name}, {"difference", each.text}});
    result.text += fmt::format("{}: {}\n", each.name, each.text);
  }
  if (command.json)
    result.text = dumpJson(rows, 2) + "\n";
  result.exitCode = differences->empty() ? 0 : 1;
  return result;
}

/// What was written is right only if what was read is.
static Status verified(const CheckpointReader &reader, const std::function<Status()> &write) {
  SLUICE_RETURN_IF_ERROR(reader.verify());
  return write();
}

CheckpointCommandResult runCheckpointCommand(const CheckpointCommand &command) {
  if (command.name == "list")
    return describeEach(command, listOne);
  if (command.name == "verify")
    return describeEach(command, verifyOne);
  const Result<CheckpointReader> reader = CheckpointReader::open(command.paths[0]);
  if (!reader.isOk())
    return failed(reader.status());
  if (command.name == "show")
    return show(command, *reader);
  if (command.name == "diff")
    return diff(command, *reader);
  return failed(verified(*reader, [&] {
    return command.name == "convert" ? convertCheckpoint(*reader, command.paths[1], command.shards)
                                     : exportCheckpoint(*reader, command.paths[1], command.dtype, command.shardBytes);
  }));
}

} // namespace sluice
