//===- EntrySchedule.h - the entry points of each step, and their rows -------------------===//
//
// A stateless map from a step to the entry points that it runs and the rows that they read: the same on all ranks, and
// a run can continue at any step. All of TrainOptions::entries in each step; or one of several shapes, by a schedule of
// steps, or by the lengths of documents.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ENTRYSCHEDULE_H
#define SLUICE_RUNTIME_TRAIN_ENTRYSCHEDULE_H

#include "runtime/train/Feeder.h"

#include <string>
#include <vector>

namespace sluice {

struct EntryScheduleOptions {
  /// Without a schedule and buckets.
  std::vector<std::string> entries = {"train_step"};
  /// "STEP:TOKENS" or "STEP:ROWSxTOKENS", ascending from step 0: the train entry point of the steps from STEP on.
  /// Empty: no schedule.
  std::vector<std::string> shapesAt = {};
};

class EntrySchedule {
public:
  /// Opens the data of each entry point. If their rows have one document each (PackingOptions::isSeparate), each step
  /// runs the entry point of a bucket of lengths: those of the plan's train entry points. A usage error if no entry
  /// point, or several, have a shape.
  static Result<EntrySchedule> make(const Ranks &ranks, const EntryScheduleOptions &options,
                                    const FeederOptions &feeding);

  struct Source {
    const plan::EntryT *entry;
    Feeder feeder;
    /// Of a schedule: its first step.
    std::uint64_t begin = 0;
  };
  /// Those of a step, in turn, are a part of these.
  std::vector<Source> &sources() { return list; }

  /// The sources of a step from index `first` on, and the step of their feeders.
  struct Part {
    std::size_t first = 0, count = 1;
    std::uint64_t step = 0;
  };
  Part at(std::uint64_t step) const;
  /// True if steps run different entry points.
  bool differs() const { return kind != Kind::inTurn; }

  /// TrainProgress::rowsRead after `steps` steps.
  std::vector<std::uint64_t> rowsRead(std::uint64_t steps) const;
  /// The steps after the first `steps` ones read the rows after these, also if a step had another number of rows then:
  /// in a run of another number of ranks. Nothing changes if they are of another number of shapes.
  void continueFrom(std::uint64_t steps, const std::vector<std::uint64_t> &rows);

  /// Of a step over all ranks.
  std::uint64_t tokens(std::uint64_t step) const;
  /// As Feeder::epoch(), sourceEpochs() and stepsOfEpochs(), of the first `steps` steps.
  std::optional<double> epoch(std::uint64_t steps) const;
  std::vector<double> sourceEpochs(std::uint64_t steps) const;
  Result<std::uint64_t> stepsOfEpochs(double epochs) const;
  std::optional<PackedContent> packed(std::uint64_t step) const;
  /// As Feeder::checkTargets(), of each source.
  Status checkTargets(std::uint64_t first, std::uint64_t last);
  /// As Feeder::describe(), with the shapes.
  Result<std::optional<DataReport>> describe();

private:
  enum class Kind : std::uint8_t { inTurn, bySteps, byLength };

  Status addInTurn(const Ranks &ranks, const EntryScheduleOptions &options, const FeederOptions &feeding);
  Status addBySteps(const Ranks &ranks, const std::vector<std::string> &texts, const FeederOptions &feeding);
  Status addByLength(const Ranks &ranks, const FeederOptions &feeding);
  /// A source of a schedule, from the second one on, begins with the row after the tokens of the one before it.
  void beginAfter(std::size_t index);
  /// The step after the last one of source `index` of a schedule.
  std::uint64_t endOf(std::size_t index) const;
  double rowsOf(std::size_t bucket, std::uint64_t steps) const;

  Kind kind = Kind::inTurn;
  std::vector<Source> list;
  /// Of buckets: the source of each step.
  DataMixture mixture{std::array{1.0}, 0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ENTRYSCHEDULE_H
