//===- Session.h - a plan, its ranks and their memory, for a caller in C ----------------===//
//
// The functions of a session in sluice.h, without handles and exceptions. The caller holds the session for the duration
// of a call (SessionHandle), so that each method is called by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CAPI_SESSION_H
#define SLUICE_RUNTIME_CAPI_SESSION_H

#include "runtime/capi/SessionOptions.h"
#include "runtime/capi/Tensor.h"
#include "runtime/checkpoint/PlanTensors.h"

#include <atomic>
#include <map>
#include <mutex>

namespace sluice::capi {

class Session {
public:
  static Result<std::unique_ptr<Session>> open(PlanFile file, const std::string &name, SessionSettings settings);
  ~Session();

  Result<std::string> describe();
  Status setInput(std::string_view entry, std::string_view input, const DLTensor &tensor);
  /// Writes `result`, if it is not null, when the step is complete: before an error of the checkpoint that follows it.
  Status run(std::string_view entry, double learningRate, sluice_step *result);
  Result<OwnedTensor> output(std::string_view entry, std::string_view output);
  Result<OwnedTensor> read(std::string_view name);
  Status write(std::string_view name, const DLTensor &tensor);
  Result<OwnedTensor> view(std::string_view name, int rank);
  Status load(const std::string &path);
  Status save(const std::string &folder, std::string_view options);
  Status checkpoint();
  /// Completes the last update and the checkpoint that is being written. Every later call but describe() is an error.
  Status close();
  Result<std::vector<std::int64_t>> generate(std::span<const std::int64_t> prompt, std::size_t count,
                                             std::string_view options);

private:
  /// An input of an entry point, and its rows of the next run: micro-batches, then data-parallel ranks of this process,
  /// then rows.
  struct Input {
    const plan::PortT *port = nullptr;
    std::uint64_t microbatches = 1;
    TensorType type;
    std::vector<std::byte> rows;
    bool isSet = false;
  };
  struct Entry {
    const plan::EntryT *entry = nullptr;
    StepInputs scalars;
    std::vector<Input> inputs;
    /// Empty until its first run.
    std::vector<StepEntry> step;
  };

  explicit Session(SessionSettings settings);
  Status start(PlanFile file, const std::string &name);
  Status addEntries();
  /// An error of the ranks ends the session: every later call returns it.
  Status end(Status reason);
  /// Waits for the update of the last step.
  Status finish();
  /// The status of calls that need running ranks.
  Status checkAlive() const { return dead; }

  Result<Entry *> findEntry(std::string_view name);
  Result<const PlanTensor *> findTensor(std::string_view name) const;
  /// An error if a row of the input `documents` is not valid.
  static Status checkRows(const Input &input, const std::string &what);
  Status writeInputs(Entry &entry, const StepScalars &scalars);
  Status train(Entry &entry, double learningRate, sluice_step *result);
  Status evaluate(Entry &entry, sluice_step *result);

  SessionSettings settings;
  std::optional<Launch> launched;
  std::shared_ptr<World> world;
  std::mutex noteMutex;
  std::vector<std::string> notes;
  std::unique_ptr<Ranks> ranks;
  std::unique_ptr<RunCheckpoints> checkpoints;
  std::unique_ptr<TrainSession> training;
  std::vector<DType> loadedTypes;
  /// Ranks of this process, and the first of them at each data-parallel place, in order of place.
  std::vector<int> held;
  std::map<std::uint64_t, int> places;
  std::map<std::string, Entry, std::less<>> entries;
  std::vector<PlanTensor> tensors;
  /// The entry point that ran last, and whether its update may still run.
  std::string lastRun;
  bool isUpdating = false;
  bool isClosed = false;
  const std::shared_ptr<std::atomic<int>> views = std::make_shared<std::atomic<int>>(0);
  Status dead;
};

} // namespace sluice::capi

#endif // SLUICE_RUNTIME_CAPI_SESSION_H
