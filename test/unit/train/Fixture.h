//===- Fixture.h - folders, small plans and ranks for the trainer's tests ----------===//
#ifndef SLUICE_TEST_UNIT_TRAIN_FIXTURE_H
#define SLUICE_TEST_UNIT_TRAIN_FIXTURE_H

#include "runtime/train/Ranks.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>

namespace sluice::test {

/// A folder of the running test's own, empty at the start and gone at the end.
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

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// Expects an error with this code whose message holds `text`.
inline void expectError(const Status &status, StatusCode code, const std::string &text) {
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code)) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos) << "message: " << status.message() << "\nwanted: " << text;
}

/// Builds plans with the parts that the trainer reads: a mesh, parameters, entry points with ports. Nothing runs them.
class PlanBuilder {
public:
  plan::PlanT plan;

  PlanBuilder(std::vector<std::pair<std::string, std::uint32_t>> mesh) {
    for (auto &[name, size] : mesh) {
      auto axis = std::make_unique<plan::AxisT>();
      axis->name = name;
      axis->size = size;
      if (name == "replicate" || name == "shard")
        plan.data_axes.push_back(static_cast<std::uint32_t>(plan.mesh.size()));
      plan.mesh.push_back(std::move(axis));
    }
  }

  std::uint32_t buffer(std::uint64_t bytes, plan::Space space = plan::Space::device) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->bytes = bytes;
    buffer->space = space;
    plan.buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(plan.buffers.size() - 1);
  }

  plan::ParameterT &parameter(std::string name, std::vector<std::int64_t> shape, int dim = -1,
                              std::vector<std::uint32_t> axes = {}) {
    auto parameter = std::make_unique<plan::ParameterT>();
    parameter->name = std::move(name);
    parameter->shape = shape;
    parameter->dim = dim;
    parameter->axes = axes;
    std::uint64_t elements = 1;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      auto extent = static_cast<std::uint64_t>(shape[d]);
      if (d == dim) {
        extent = (extent + groupSize(plan, axes) - 1) / groupSize(plan, axes);
        parameter->chunk = static_cast<std::int64_t>(extent);
      }
      elements *= extent;
    }
    parameter->buffer = buffer(elements * 4);
    plan.parameters.push_back(std::move(parameter));
    return *plan.parameters.back();
  }

  plan::EntryT &entry(std::string name, std::uint32_t repeat = 1) {
    auto entry = std::make_unique<plan::EntryT>();
    entry->name = std::move(name);
    entry->sections.push_back(std::make_unique<plan::SectionT>());
    entry->sections[0]->repeat = repeat;
    plan.entries.push_back(std::move(entry));
    return *plan.entries.back();
  }

  std::unique_ptr<plan::PortT> port(std::string name, plan::DType dtype, std::vector<std::int64_t> shape,
                                    std::uint32_t repetitions = 0, std::uint64_t limit = 0) {
    auto port = std::make_unique<plan::PortT>();
    port->name = std::move(name);
    port->limit = limit;
    port->per_repetition = repetitions > 0;
    port->view = std::make_unique<plan::ViewT>();
    port->view->dtype = dtype;
    port->view->shape = shape;
    std::uint64_t bytes = dtypeBytes(baseType(dtype));
    for (std::int64_t extent : shape)
      bytes *= static_cast<std::uint64_t>(extent);
    port->view->repetition_stride = repetitions ? bytes : 0;
    port->view->buffer = buffer(bytes * std::max(repetitions, 1u), plan::Space::host);
    return port;
  }

  /// The usual train step: rows x length tokens and targets, scalars, loss, norm and guard.
  plan::EntryT &trainStep(std::int64_t rows, std::int64_t length, std::uint32_t microbatches,
                          std::uint64_t vocabulary) {
    plan.learning_rate = std::make_unique<plan::LearningRateT>();
    plan.learning_rate->peak = 1e-3;
    plan::EntryT &step = entry("train_step", microbatches);
    step.inputs.push_back(port("tokens", plan::DType::i32, {rows, length}, microbatches, vocabulary));
    step.inputs.push_back(port("targets", plan::DType::i32, {rows, length}, microbatches, vocabulary));
    step.inputs.push_back(port("lr", plan::DType::f32, {}));
    step.inputs.push_back(port("step", plan::DType::i64, {}));
    step.outputs.push_back(port("loss", plan::DType::f32, {}));
    step.outputs.push_back(port("grad_norm", plan::DType::f32, {}));
    step.outputs.push_back(port("guard", plan::DType::u8, {}));
    return step;
  }
};

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
  /// The started `runs`, and how often one was running at another start, or at finish().
  int starts = 0, followed = 0, finished = 0;

  const plan::PlanT &plan() const override { return held; }
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
  std::uint64_t requestedBytes(plan::Space) const override { return 0; }

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
  /// Is it not a port of the running entry point?
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
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_TRAIN_FIXTURE_H
