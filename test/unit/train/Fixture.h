//===- Fixture.h - folders, small plans and ranks for the trainer's tests ----------===//
#ifndef SLUICE_TEST_UNIT_TRAIN_FIXTURE_H
#define SLUICE_TEST_UNIT_TRAIN_FIXTURE_H

#include "runtime/plan/CheckpointMemory.h"
#include "runtime/train/Ranks.h"
#include "test/unit/PlanBuilder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <numeric>

namespace sluice::test {

/// `from`, `from` + 1, ...
inline std::vector<float> iota(std::size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

/// A folder of the running test, empty at the start and removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    root = std::filesystem::temp_directory_path() / (std::string("sluice-train-") + info->test_suite_name() + "-" +
                                                     info->name() + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(root); }
  std::string path(const std::string &name) const { return (root / name).string(); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::recursive_directory_iterator(root),
                                                  std::filesystem::recursive_directory_iterator()));
  }

private:
  std::filesystem::path root;
};

inline std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// Expects an error with this code whose message contains `text`.
inline void expectError(const Status &status, StatusCode code, const std::string &text) {
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code)) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos)
      << "message: " << status.message() << "\nexpected: " << text;
}

/// Ranks with plain memory; running an entry point calls `onRun`.
class FakeRanks : public Ranks {
public:
  FakeRanks(plan::PlanT given) : held(std::move(given)) {
    memory.resize(meshSize(held));
    for (auto &rank : memory)
      for (const auto &buffer : held.buffers)
        rank.emplace_back(buffer->bytes, std::byte{0xee});
  }

  std::function<Status(FakeRanks &, std::string_view)> onRun = [](FakeRanks &, std::string_view) {
    return Status::ok();
  };
  /// The result of finish() while a run is started.
  std::function<Status()> onFinish = [] { return Status::ok(); };
  std::vector<std::string> runs;
  /// The entry points that were searched, and the result.
  std::vector<std::string> searched;
  std::string nonFinite;
  /// The started `runs`, and how often one was running at another start, or at finish().
  int starts = 0, followed = 0, finished = 0;

  const plan::PlanT &plan() const override { return held; }
  plan::PlanT &change() { return held; }
  int size() const override { return static_cast<int>(memory.size()); }
  Status run(std::string_view entry) override {
    if (!underWay.empty())
      return internalError("a run while another one is under way");
    runs.emplace_back(entry);
    return onRun(*this, entry);
  }
  Status start(std::string_view entry) override {
    if (!underWay.empty() && underWay != entry)
      return internalError("a start while another entry point is under way");
    followed += !underWay.empty();
    ++starts;
    runs.emplace_back(entry);
    underWay = entry;
    return onRun(*this, entry);
  }
  Status finish() override {
    finished += !underWay.empty();
    Status status = underWay.empty() ? Status::ok() : onFinish();
    underWay.clear();
    return status;
  }
  Result<std::string> findNonFinite(std::string_view entry) override {
    if (!underWay.empty())
      return internalError("a search while a run is under way");
    searched.emplace_back(entry);
    return nonFinite;
  }
  Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    const auto &bytes = memory.at(rank).at(buffer);
    if (isTaken(buffer))
      return internalError("read while a run is under way");
    if (offset + out.size() > bytes.size())
      return internalError("read outside the buffer");
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return Status::ok();
  }
  Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    auto &bytes = memory.at(rank).at(buffer);
    if (isTaken(buffer))
      return internalError("write while a run is under way");
    if (offset + data.size() > bytes.size())
      return internalError("write outside the buffer");
    std::memcpy(bytes.data() + offset, data.data(), data.size());
    return Status::ok();
  }
  Result<SharedMemory> memoryOf(int rank, std::uint32_t buffer) const override {
    return SharedMemory{const_cast<std::vector<std::byte> &>(memory.at(rank).at(buffer)), nullptr};
  }
  std::uint64_t requestedBytes(plan::Space) const override { return 0; }
  Status copyState() const override {
    copies.resize(memory.size());
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
      const CheckpointMemory needed = sluice::checkpointMemory(held, static_cast<std::uint32_t>(rank));
      copies[rank].resize(needed.bytes());
      for (std::size_t i = 0; i < held.buffers.size(); ++i)
        if (const auto at = needed.copyOf(*held.buffers[i]))
          std::ranges::copy(memory[rank][i], copies[rank].begin() + static_cast<std::ptrdiff_t>(*at));
    }
    return Status::ok();
  }
  std::span<std::byte> checkpointMemory(int rank) const override {
    return copies.empty() ? std::span<std::byte>() : std::span(copies.at(static_cast<std::size_t>(rank)));
  }

  template <typename T> std::vector<T> values(int rank, std::uint32_t buffer) const {
    const auto &bytes = memory.at(rank).at(buffer);
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  template <typename T> void set(std::uint32_t buffer, T value) {
    for (int rank = 0; rank < size(); ++rank)
      std::memcpy(memory[rank][buffer].data(), &value, sizeof value);
  }

private:
  /// True for a buffer that is not a port of the running entry point.
  bool isTaken(std::uint32_t buffer) const {
    if (underWay.empty())
      return false;
    const plan::EntryT &entry = *held.entries[static_cast<std::size_t>(findEntry(held, underWay))];
    for (const auto *ports : {&entry.inputs, &entry.outputs})
      for (const auto &port : *ports)
        if (port->view->buffer == buffer)
          return false;
    return true;
  }

  plan::PlanT held;
  std::string underWay;
  std::vector<std::vector<std::vector<std::byte>>> memory;
  mutable std::vector<std::vector<std::byte>> copies;
};

/// Bytes that this process has read by system calls; 0 if the system does not count them.
inline std::uint64_t bytesRead() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  for (std::uint64_t count = 0; counters >> name >> count;)
    if (name == "rchar:")
      return count;
  return 0;
}

/// Ranks of which only rank 2 is in this process.
class OneRank : public FakeRanks {
public:
  using FakeRanks::FakeRanks;
  bool holds(int rank) const override { return rank == 2; }
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_TRAIN_FIXTURE_H
