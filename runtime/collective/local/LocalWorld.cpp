//===- LocalWorld.cpp - a world whose ranks are threads of this process ---------===//
//
// A group is identified by its channel and member list, and complete when all members have called create(). The next
// create() with the same channel and members begins a new group, so that a world can be used by several executors.
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

  Status run(const Call &call, void *) override {
    // The other members, which wait for an invalid call, return the same error.
    if (Status status = checkCall(call, size()); !status.isOk()) {
      group->abort(status);
      return status;
    }
    return group->run(member, call);
  }
  void abort(const Status &reason) override { group->abort(reason); }

private:
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
    std::shared_ptr<PendingGroup> &found = pending[key];
    if (!found) {
      found = std::make_shared<PendingGroup>();
      found->group = std::make_shared<LocalGroup>(key.second, key.first);
      found->arrived.resize(members.size());
      std::erase_if(groups, [](const auto &group) { return group.expired(); });
      groups.push_back(found->group);
    }
    const std::shared_ptr<PendingGroup> entry = found;
    if (entry->arrived[member])
      return internalError("rank " + std::to_string(rank) + " creates channel '" + key.first + "' twice");
    entry->arrived[member] = true;
    if (std::ranges::count(entry->arrived, true) == std::ssize(members)) {
      pending.erase(key);
      entry->complete = true;
      completed.notify_all();
    } else {
      completed.wait(lock, [&] { return entry->complete || !failure.isOk(); });
      if (!entry->complete)
        return failure;
    }
    return std::unique_ptr<Communicator>(std::make_unique<LocalCommunicator>(entry->group, member));
  }

  void abort(const Status &reason) override {
    std::lock_guard lock(mutex);
    if (failure.isOk())
      failure = reason;
    completed.notify_all();
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
  struct PendingGroup {
    std::shared_ptr<LocalGroup> group;
    std::vector<bool> arrived;
    bool complete = false;
  };

  const int worldSize;
  mutable std::mutex mutex;
  std::condition_variable completed;
  Status failure;
  /// Groups for which some member has not called create().
  std::map<Key, std::shared_ptr<PendingGroup>> pending;
  /// All groups in use, for abort().
  std::vector<std::weak_ptr<LocalGroup>> groups;
};

} // namespace

std::shared_ptr<World> createLocalWorld(int size) { return std::make_shared<LocalWorld>(size); }

} // namespace sluice
