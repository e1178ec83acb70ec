//===- RecordPlan.cpp - a plan through the executor, recorded and compared -----------------===//
#include "test/cuda/RecordPlan.h"
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/executor/Executor.h"

#include <algorithm>
#include <thread>

namespace sluice::test {
namespace {

using Kind = FakeCall::Kind;

bool runsOnHost(const plan::PlanT &plan) {
  return std::ranges::any_of(plan.streams,
                             [](const auto &stream) { return stream->processor == plan::Processor::host; });
}

/// One rank, on a separate thread.
class Rank {
public:
  Rank(const plan::PlanT &plan, int rank) : plan(plan), rank(rank), calls(plan, rank) {}

  std::string start(std::shared_ptr<World> host) {
    FakeCuda::setCaller(rank);
    std::shared_ptr<World> world = host;
    if (meshSize(plan) > 1) {
      auto made = createNcclWorld(host, rank,
                                  {.registers = plan.register_arena,
                                   .maxCtas = plan.max_ctas,
                                   .copyEngines = plan.copy_engines,
                                   .watchdogSeconds = 0});
      if (!made.isOk())
        return made.status().message();
      world = *made;
    }
    ExecutorOptions options;
    options.dnn = environmentDnn();
    options.device = meshSize(plan) > 1 ? rank : 0;
    auto created = Executor::create(plan, world, rank, options);
    if (!created.isOk())
      return created.status().message();
    executor = std::move(*created);
    std::string wrong = calls.begin();
    FakeCuda::takeCalls(rank);
    return wrong;
  }

  std::vector<FakeCall> run(const plan::EntryT &entry, std::string &wrong) {
    Status issued = executor->runEntry(entry.name);
    Status finished = executor->synchronize();
    if (wrong.empty() && (!issued.isOk() || !finished.isOk()))
      wrong = issued.isOk() ? finished.message() : issued.message();
    return FakeCuda::takeCalls(rank);
  }

  std::string runAll() {
    std::string wrong;
    for (std::uint32_t e = 0; e < plan.entries.size() && wrong.empty(); ++e)
      for (int time = 0; time < 3 && wrong.empty(); ++time) {
        const std::vector<FakeCall> made = run(*plan.entries[e], wrong);
        const auto graphs = std::ranges::count(made, Kind::graph, &FakeCall::kind);
        const bool isGraph = time > 0 && !runsOnHost(plan);
        if (wrong.empty() && graphs != (isGraph ? 1 : 0))
          wrong = plan.entries[e]->name + ", run " + std::to_string(time + 1) + ": " + std::to_string(graphs) +
                  " graphs are launched";
        if (wrong.empty() && !(isGraph && time == 2))
          wrong = calls.compare(e, made, isGraph);
        // A replay issues only its graph and the events that order it with the streams.
        if (wrong.empty() && isGraph && time == 2 && std::ranges::any_of(made, [](const FakeCall &call) {
              return call.kind != Kind::graph && call.kind != Kind::record && call.kind != Kind::wait;
            }))
          wrong = plan.entries[e]->name + ": a replayed step issues work beside its graph";
      }
    return wrong.empty() && meshSize(plan) > 1 ? calls.checkRegistration(plan.register_arena) : wrong;
  }

  const plan::PlanT &plan;
  const int rank;
  std::unique_ptr<Executor> executor;
  PlanCalls calls;
};

/// Every rank on a separate thread; "" or the first error.
std::string withRanks(const plan::PlanT &plan, const std::function<std::string(Rank &)> &body) {
  FakeOptions options;
  options.memory = std::uint64_t(1) << 50;
  options.devices = static_cast<int>(meshSize(plan));
  options.recordsOnly = true;
  FakeCuda fake(options);
  const auto size = static_cast<std::size_t>(meshSize(plan));
  const std::shared_ptr<World> host = size > 1 ? createLocalWorld(static_cast<int>(size)) : createVirtualRanks(1);
  std::vector<std::string> wrong(size);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      Rank rank(plan, static_cast<int>(r));
      wrong[r] = rank.start(host);
      if (wrong[r].empty())
        wrong[r] = body(rank);
      if (!wrong[r].empty())
        host->abort(failedError(wrong[r]));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (std::size_t r = 0; r < size; ++r)
    if (!wrong[r].empty())
      return "rank " + std::to_string(r) + ": " + wrong[r];
  if (!fake.complaint().empty())
    return fake.complaint();
  return fake.liveObjects() == 0 ? "" : std::to_string(fake.liveObjects()) + " objects of CUDA were not freed";
}

/// The comparison's errors for changed calls.
class Spoiler {
public:
  Spoiler(Rank &rank, std::uint32_t entry, std::vector<FakeCall> good)
      : rank(rank), entry(entry), good(std::move(good)) {}

  void add(const char *what, const std::function<void(std::vector<FakeCall> &)> &change) {
    std::vector<FakeCall> bad = good;
    change(bad);
    const std::string wrong = rank.calls.compare(entry, bad, false);
    said.push_back(std::string(what) + ": " + (wrong.empty() ? "not seen" : wrong));
  }
  /// The first call of a kind is changed.
  void change(const char *what, Kind kind, const std::function<void(FakeCall &)> &with) {
    add(what, [&](auto &calls) { with(*std::ranges::find(calls, kind, &FakeCall::kind)); });
  }
  std::vector<std::string> said;

private:
  Rank &rank;
  const std::uint32_t entry;
  const std::vector<FakeCall> good;
};

void spoil(Spoiler &calls) {
  const auto first = [](std::vector<FakeCall> &of, Kind kind) { return std::ranges::find(of, kind, &FakeCall::kind); };
  calls.add("nothing", [](auto &) {});
  calls.add("a launch is missing", [&](auto &of) { of.erase(first(of, Kind::launch)); });
  calls.change("a launch of another function", Kind::launch, [](FakeCall &call) { call.name = "sluice_other"; });
  calls.change("another grid", Kind::launch, [](FakeCall &call) { ++call.blocks; });
  calls.change("another operand", Kind::launch, [](FakeCall &call) { ++call.arguments[0]; });
  calls.change("another product", Kind::matmul, [](FakeCall &call) { ++call.counts[0]; });
  calls.change("a product on more SMs", Kind::matmul, [](FakeCall &call) { ++call.smCount; });
  calls.change("a copy from elsewhere", Kind::copy,
               [](FakeCall &call) { call.addresses[1] = static_cast<const char *>(call.addresses[1]) + 4; });
  calls.add("a wait is missing", [&](auto &of) { of.erase(first(of, Kind::wait)); });
  calls.add("another event", [&](auto &of) {
    const auto wait = first(of, Kind::wait);
    const auto other = std::ranges::find_if(
        of, [&](const FakeCall &call) { return call.kind == Kind::record && call.event != wait->event; });
    wait->event = other->event;
  });
  calls.add("a wait before its record", [&](auto &of) {
    const auto wait = first(of, Kind::wait);
    const auto record = std::find_if(
        of.begin(), wait, [&](const FakeCall &call) { return call.kind == Kind::record && call.event == wait->event; });
    std::rotate(record, wait, wait + 1);
  });
  calls.add("work on another stream", [&](auto &of) {
    const auto launch = first(of, Kind::launch);
    launch->stream =
        std::ranges::find_if(of, [&](const FakeCall &call) { return call.stream != launch->stream; })->stream;
  });
  calls.add("work that no instruction made", [&](auto &of) { of.push_back(*first(of, Kind::launch)); });
  calls.change("another count", Kind::collective, [](FakeCall &call) { ++call.counts[0]; });
  calls.change("a group of fewer segments", Kind::collective, [](FakeCall &call) { call.counts.pop_back(); });
  calls.change("another type", Kind::collective, [](FakeCall &call) { ++call.type; });
  calls.add("another operation",
            [&](auto &of) { ++std::ranges::find(of, std::string("ncclReduceScatter"), &FakeCall::name)->op; });
  calls.add("another communicator", [&](auto &of) {
    const auto reduction = std::ranges::find(of, std::string("ncclReduceScatter"), &FakeCall::name);
    reduction->communicator = first(of, Kind::collective)->communicator;
  });
  calls.add("another collective", [&](auto &of) {
    std::ranges::find(of, std::string("ncclReduceScatter"), &FakeCall::name)->name = "ncclAllReduce";
  });
}

} // namespace

std::string recordPlan(const plan::PlanT &plan, CallCounts &counts) {
  return withRanks(plan, [&](Rank &rank) {
    std::string wrong = rank.runAll();
    if (rank.rank == 0)
      counts = rank.calls.counts;
    return wrong;
  });
}

std::vector<std::string> spoilPlan(const plan::PlanT &plan) {
  std::vector<std::string> said;
  const auto entry = static_cast<std::uint32_t>(std::max(findEntry(plan, "train_step"), 0));
  const std::string wrong = withRanks(plan, [&](Rank &rank) {
    std::string failed;
    std::vector<FakeCall> good = rank.run(*plan.entries[entry], failed);
    if (rank.rank != 0 || !failed.empty())
      return failed;
    Spoiler calls(rank, entry, std::move(good));
    spoil(calls);
    said = std::move(calls.said);
    said.push_back("registered or not: " + rank.calls.checkRegistration(!plan.register_arena));
    return failed;
  });
  if (!wrong.empty())
    said.push_back(wrong);
  return said;
}

} // namespace sluice::test
