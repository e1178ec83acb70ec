//===- Save.cpp - writes a checkpoint --------------------------------------------------===//
#include "runtime/checkpoint/Save.h"

#include "runtime/base/DigestStream.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/checkpoint/Shards.h"
#include "runtime/plan/CheckpointMemory.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace sluice {

Status commonStatus(const Exchange &exchange, Status own) {
  // A message has the name of a file, with any byte but this one.
  constexpr char separator = '\0';
  const std::string_view between(&separator, 1);
  SLUICE_ASSIGN_OR_RETURN(const bool failed, exchange.agree(!own.isOk()));
  if (!failed)
    return Status::ok();
  for (int rank = 0; rank < exchange.size(); ++rank) {
    std::string text;
    if (exchange.holds(rank) && !own.isOk())
      text = concat(std::string{static_cast<char>(own.code()), own.isDamage() ? 'd' : ' '}, own.message(), between,
                    join(own.notes(), between));
    SLUICE_RETURN_IF_ERROR(exchange.share(rank, text));
    if (text.empty())
      continue;
    std::size_t end = text.find(separator);
    Status status = Status(static_cast<StatusCode>(text[0]), text.substr(2, end - 2)).asDamage(text[1] == 'd');
    for (std::size_t begin = end + 1; begin < text.size(); begin = end + 1) {
      end = std::min(text.find(separator, begin), text.size());
      status.addNote(text.substr(begin, end - begin));
    }
    return status;
  }
  return own;
}

static Status cancelledError() { return failedError("the run ended before its checkpoint was written"); }

namespace {

/// Reads elements of a tensor from the copy of a rank's buffer, by the runs that have them.
class RunReader {
public:
  RunReader(std::span<const std::byte> copy, const PlanTensor &tensor, std::vector<ShardRun> runs,
            const std::atomic<bool> &cancelled)
      : copy(copy), element(dtypeBytes(tensor.dtype)),
        runs(std::make_shared<const std::vector<ShardRun>>(std::move(runs))), cancelled(cancelled) {}

  Status operator()(std::uint64_t begin, std::span<std::byte> out) const {
    if (cancelled)
      return cancelledError();
    auto run = std::upper_bound(runs->begin(), runs->end(), begin,
                                [](std::uint64_t at, const ShardRun &each) { return at < each.begin; });
    for (--run; !out.empty(); ++run) {
      const std::uint64_t first = begin - run->begin;
      const std::uint64_t bytes = std::min<std::uint64_t>((run->count - first) * element, out.size());
      std::memcpy(out.data(), copy.subspan((run->offset + first) * element, bytes).data(), bytes);
      out = out.subspan(bytes);
      begin += bytes / element;
    }
    return Status::ok();
  }

private:
  std::span<const std::byte> copy;
  std::uint64_t element;
  /// Shared by the readers of its boxes.
  std::shared_ptr<const std::vector<ShardRun>> runs;
  const std::atomic<bool> &cancelled;
};

} // namespace

/// The boxes that the rank writes.
static std::vector<ShardTensor> shardTensors(const Ranks &ranks, const std::vector<PlanTensor> &tensors, int rank,
                                             const CheckpointMemory &memory, const std::atomic<bool> &cancelled) {
  const plan::PlanT &plan = ranks.plan();
  std::vector<ShardTensor> shards;
  for (const PlanTensor &tensor : tensors) {
    if (tensor.parameter ? !writesParameter(plan, *tensor.parameter, static_cast<std::uint32_t>(rank))
                         : tensor.rank != rank)
      continue;
    const plan::BufferT &buffer = *plan.buffers[tensor.buffer];
    const std::span<const std::byte> copy = ranks.checkpointMemory(rank).subspan(*memory.copyOf(buffer), buffer.bytes);
    std::vector<ShardRun> runs = runsOf(plan, tensor, rank);
    std::vector<ElementRange> ranges;
    for (const ShardRun &run : runs)
      ranges.push_back({run.begin, run.count});
    const RunReader read(copy, tensor, std::move(runs), cancelled);
    for (const Box &box : boxesOf(ranges, tensor.shape))
      shards.push_back({tensor.name, tensor.dtype, tensor.shape, box, read});
  }
  return shards;
}

/// Writes the files of the ranks of this process.
static Result<std::vector<IndexFile>> writeHeldShards(const Ranks &ranks, const std::vector<PlanTensor> &tensors,
                                                      const std::string &folder, const std::atomic<bool> &cancelled) {
  std::vector<IndexFile> files;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks.holds(rank))
      continue;
    const CheckpointMemory memory = checkpointMemory(ranks.plan(), static_cast<std::uint32_t>(rank));
    SLUICE_ASSIGN_OR_RETURN(std::vector<IndexFile> written,
                            writeShards(folder, rank + 1, shardTensors(ranks, tensors, rank, memory, cancelled),
                                        ranks.checkpointMemory(rank).first(memory.block)));
    std::move(written.begin(), written.end(), std::back_inserter(files));
  }
  return files;
}

/// The files of all processes, on each of them.
static Status shareFiles(const Exchange &exchange, std::vector<IndexFile> &files) {
  if (exchange.holds(exchange.size() - 1) && exchange.isRoot())
    return Status::ok();
  std::vector<IndexFile> all;
  for (int rank = 0; rank < exchange.size(); ++rank) {
    std::string text = exchange.holds(rank) ? formatFiles(files) : "";
    SLUICE_RETURN_IF_ERROR(exchange.share(rank, text));
    SLUICE_ASSIGN_OR_RETURN(std::vector<IndexFile> part, parseFiles(fmt::format("rank {}", rank), text));
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  files = std::move(all);
  return Status::ok();
}

static Status writeText(const std::string &path, const std::string &text) {
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

/// Every file of the other processes is in the folder as this process sees it.
static Status checkShared(const std::string &partial, const std::vector<IndexFile> &files) {
  for (const IndexFile &file : files) {
    std::error_code error;
    if (std::filesystem::file_size(partial + "/" + file.name, error) != file.bytes || error)
      return inputError(fmt::format("'{}': file '{}' of a different process is missing in the folder of rank 0",
                                    partial, file.name))
          .withNote("all processes need one folder of checkpoints, on a file system that they share");
  }
  return Status::ok();
}

Status completeCheckpoint(const std::string &partial, const std::string &path, CheckpointIndex index,
                          const std::string &state, const std::string &config) {
  for (const auto &[name, text] : {std::pair(trainingStateName, &state), std::pair(modelConfigName, &config)}) {
    if (text->empty())
      continue;
    SLUICE_RETURN_IF_ERROR(writeText(fmt::format("{}/{}", partial, name), *text));
    index.files.push_back({std::string(name), text->size(), digestOf(*text), {}});
  }
  SLUICE_RETURN_IF_ERROR(writeText(fmt::format("{}/{}", partial, checkpointIndexName), formatIndex(index)));
  SLUICE_RETURN_IF_ERROR(syncFolder(partial));
  const std::string replaced = path + std::string(damagedSuffix);
  std::error_code error;
  const bool replaces = std::filesystem::exists(path, error);
  if (replaces) {
    std::filesystem::remove_all(replaced, error);
    SLUICE_RETURN_IF_ERROR(renamePath(path, replaced));
  }
  if (Status renamed = renamePath(partial, path); !renamed.isOk()) {
    if (replaces)
      (void)renamePath(replaced, path);
    return renamed;
  }
  // Without a lock another run may have removed files before the folder had its name.
  for (const IndexFile &file : index.files)
    if (std::filesystem::file_size(path + "/" + file.name, error) != file.bytes || error) {
      (void)renamePath(path, partial);
      return inputError(fmt::format("'{}/{}' was removed or changed during the save", path, file.name))
          .withNote("two runs must not write to one folder");
    }
  return syncFolder(parentFolder(path));
}

Status saveCheckpoint(const Ranks &ranks, const std::string &folder, const TrainingState &state,
                      const std::atomic<bool> &cancelled) {
  const Exchange &exchange = ranks.background();
  const std::string partial = stepPath(folder, state.progress.step) + std::string(partialSuffix);
  const std::vector<PlanTensor> tensors = planTensors(ranks.plan());
  Status status;
  if (exchange.isRoot()) {
    // Files of an earlier save are never used again.
    std::error_code error;
    std::filesystem::remove_all(partial, error);
    if (!std::filesystem::create_directory(partial, error))
      status = writeError(partial, error ? error.value() : EEXIST);
  }
  SLUICE_RETURN_IF_ERROR(commonStatus(exchange, std::move(status)));
  Result<std::vector<IndexFile>> files = writeHeldShards(ranks, tensors, partial, cancelled);
  if (cancelled)
    return cancelledError();
  status = commonStatus(exchange, files.takeStatus());
  if (status.isOk()) {
    SLUICE_RETURN_IF_ERROR(shareFiles(exchange, *files));
    Status completed;
    if (exchange.isRoot())
      completed = checkShared(partial, *files);
    if (exchange.isRoot() && completed.isOk()) {
      CheckpointIndex index;
      index.files = std::move(*files);
      for (const PlanTensor &tensor : tensors)
        index.tensors[tensor.name] = {safetensorsName(tensor.dtype), tensor.shape};
      completed = completeCheckpoint(partial, stepPath(folder, state.progress.step), std::move(index),
                                     formatState(state), ranks.plan().config);
    }
    status = commonStatus(exchange, std::move(completed));
  }
  if (!status.isOk() && exchange.isRoot()) {
    std::error_code error;
    std::filesystem::remove_all(partial, error);
  }
  return status;
}

} // namespace sluice
