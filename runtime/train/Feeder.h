//===- Feeder.h - fills an entry point's inputs, step by step ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_FEEDER_H
#define SLUICE_RUNTIME_TRAIN_FEEDER_H

#include "runtime/train/DataOrder.h"
#include "runtime/train/InputData.h"

#include <string>
#include <vector>

namespace sluice {

struct FeederOptions {
  std::vector<std::string> data;
  std::uint64_t seed = 0;
  bool shuffled = false;
  /// Every step takes the rows of the first.
  bool overfit = false;
};

/// Writes "lr", "step" (from 1) and "seed" as they are, and every other input from the data, each rank its own rows.
class Feeder {
public:
  /// Opens the data; everything that can be wrong with them is found here.
  static Result<Feeder> make(const Ranks &ranks, const plan::EntryT &entry, const FeederOptions &options);

  /// Steps count from 0.
  Status feed(Ranks &ranks, std::uint64_t step, double learningRate);
  /// Elements of the first data input in one step, over all ranks: tokens, for a language model.
  std::uint64_t tokensPerStep() const { return tokens; }

private:
  Status feedRow(Ranks &ranks, int rank, std::uint64_t step, std::uint64_t place, std::uint64_t repetition,
                 std::uint64_t row);

  const plan::EntryT *entry = nullptr;
  FeederOptions options;
  DataOrder order;
  std::uint64_t tokens = 0;
  /// Coordinate of each rank among those that have rows of their own.
  std::vector<std::uint64_t> places;
  std::unique_ptr<InputData> data;
  std::vector<const plan::PortT *> ports;
  /// One row of each port, and windows on them: kept, so that a step does not allocate.
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::span<std::byte>> windows;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_FEEDER_H
