//===- LocalWorld.cpp - a world whose ranks are threads of this process ---------===//
//
// Members of a group find each other by channel and member list. A group is complete when all have come; the next
// create() with the same names begins a new one, so that a world outlives the executors on it.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/local/LocalGroup.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

using local::LocalGroup;

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(std::shared_ptr<LocalGroup> group, int member) : group(std::move(group)), member(member) {}
  ~LocalCommunicator() override { group->leave(member); }

  int rank() const override { return member; }
  int size() const override { return group->size(); }

  Status allGather(std::span<const SegmentPointers> segments, DType dtype, const CallLabel &label, void *) override {
    return run({CallKind::allGather, dtype, Reduction::none, 1, 0, segments, label});
  }
  Status reduceScatter(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale,
                       const CallLabel &label, void *) override {
    return run({CallKind::reduceScatter, dtype, op, scale, 0, segments, label});
  }
  Status allReduce(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale,
                   const CallLabel &label, void *) override {
    return run({CallKind::allReduce, dtype, op, scale, 0, segments, label});
  }
  Status broadcast(std::span<const SegmentPointers> segments, DType dtype, int root, const CallLabel &label,
                   void *) override {
    return run({CallKind::broadcast, dtype, Reduction::none, 1, root, segments, label});
  }
  Status barrier(const CallLabel &label) override {
    return run({CallKind::barrier, DType::u8, Reduction::none, 1, 0, {}, label});
  }
  void abort(const Status &reason) override { group->abort(reason); }

private:
  /// A call that this member cannot make: its peers, who wait for it, get the same error.
  Status run(const Call &call) {
    if (Status status = checkCall(call, size()); !status.isOk()) {
      group->abort(status);
      return status;
    }
    return group->run(member, call);
  }

  const std::shared_ptr<LocalGroup> group;
  const int member;
};

class LocalWorld final : public World {
public:
  explicit LocalWorld(int size) : worldSize(size) {}

  int size() const override { return worldSize; }

  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                               std::string_view channel) override {
    SLUICE_RETURN_IF_ERROR(checkMembers(rank, members, worldSize));
    const int member = static_cast<int>(std::ranges::find(members, rank) - members.begin());
    std::unique_lock lock(mutex);
    if (!failure.isOk())
      return failure;
    const Key key{std::string(channel), {members.begin(), members.end()}};
    std::shared_ptr<Gathering> &found = gatherings[key];
    if (!found) {
      found = std::make_shared<Gathering>();
      found->group = std::make_shared<LocalGroup>(key.second, key.first);
      found->here.resize(members.size());
      std::erase_if(groups, [](const auto &group) { return group.expired(); });
      groups.push_back(found->group);
    }
    const std::shared_ptr<Gathering> gathering = found;
    if (gathering->here[member])
      return internalError("rank " + std::to_string(rank) + " creates channel '" + key.first + "' twice");
    gathering->here[member] = true;
    if (std::ranges::count(gathering->here, true) == std::ssize(members)) {
      gatherings.erase(key);
      gathering->complete = true;
      joined.notify_all();
    } else {
      joined.wait(lock, [&] { return gathering->complete || !failure.isOk(); });
      if (!gathering->complete)
        return failure;
    }
    return std::unique_ptr<Communicator>(std::make_unique<LocalCommunicator>(gathering->group, member));
  }

  void abort(const Status &reason) override {
    std::lock_guard lock(mutex);
    if (failure.isOk())
      failure = reason;
    joined.notify_all();
    for (const std::weak_ptr<LocalGroup> &weak : groups)
      if (const std::shared_ptr<LocalGroup> group = weak.lock())
        group->abort(failure);
  }

  Status state() const override {
    std::lock_guard lock(mutex);
    return failure;
  }

private:
  using Key = std::pair<std::string, std::vector<int>>;
  struct Gathering {
    std::shared_ptr<LocalGroup> group;
    std::vector<bool> here;
    bool complete = false;
  };

  const int worldSize;
  mutable std::mutex mutex;
  std::condition_variable joined;
  Status failure;
  /// Groups that some member still has to join.
  std::map<Key, std::shared_ptr<Gathering>> gatherings;
  /// All groups in use, for abort().
  std::vector<std::weak_ptr<LocalGroup>> groups;
};

} // namespace

std::shared_ptr<World> createLocalWorld(int size) { return std::make_shared<LocalWorld>(size); }

} // namespace sluice
