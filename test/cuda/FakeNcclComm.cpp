//===- FakeNcclComm.cpp - communicators of the emulated NCCL --------------------------------===//
#include "test/cuda/FakeNcclComm.h"
#include "test/cuda/FakeState.h"

#include <algorithm>
#include <thread>

namespace sluice::test {

using namespace cuda;

namespace {

std::mutex commsMutex;
std::map<std::string, std::shared_ptr<Root>> roots;
/// Destroyed ones are also kept until the test ends: streams may still run work that was enqueued before.
std::vector<std::unique_ptr<FakeComm>> comms;
int liveComms = 0;

} // namespace

std::shared_ptr<Root> rootOf(const std::string &id, int ranks) {
  std::lock_guard lock(commsMutex);
  std::shared_ptr<Root> &found = roots[id];
  if (!found) {
    found = std::make_shared<Root>();
    found->world = createLocalWorld(ranks);
  }
  return found;
}

std::unique_ptr<FakeComm> join(std::shared_ptr<Root> root, int rank, std::vector<int> members,
                               const std::string &name) {
  auto comm = std::make_unique<FakeComm>();
  auto way = root->world->create(rank, members, name);
  if (!way.isOk())
    return nullptr;
  std::string key = name;
  for (int member : members)
    key += "|" + std::to_string(member);
  {
    std::lock_guard lock(commsMutex);
    std::shared_ptr<Gate> &gate = root->gates[key];
    if (!gate)
      gate = std::make_shared<Gate>();
    comm->gate = gate;
  }
  comm->root = std::move(root);
  comm->rank = rank;
  comm->device = currentDevice;
  comm->members = std::move(members);
  comm->way = std::move(*way);
  return comm;
}

FakeComm *keepUntilTestEnds(std::unique_ptr<FakeComm> comm) {
  std::lock_guard lock(commsMutex);
  ++liveComms;
  return comms.emplace_back(std::move(comm)).get();
}

int liveNcclObjects() {
  std::lock_guard lock(commsMutex);
  return liveComms + static_cast<int>(FakeCuda::registered().size());
}

bool meet(const FakeComm &comm) {
  Gate &gate = *comm.gate;
  std::unique_lock lock(gate.mutex);
  const std::uint64_t own = ++gate.arrivals[comm.rank];
  const auto allHere = [&] {
    return std::ranges::all_of(comm.members, [&](int member) { return gate.arrivals[member] >= own; });
  };
  gate.changed.notify_all();
  gate.changed.wait(lock, [&] { return gate.hasEnded || gate.aborted.contains(comm.rank) || allHere(); });
  if (allHere())
    return true;
  --gate.arrivals[comm.rank];
  return false;
}

Code connect(FakeComm &comm) {
  if (comm.deviceBytes)
    return 0;
  std::lock_guard lock(state->mutex);
  if (state->options.ncclBytes > freeBytesLocked())
    return 1;
  state->ncclBytes[comm.device] += comm.deviceBytes = state->options.ncclBytes;
  return 0;
}

Code retire(FakeComm *comm, const char *call) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((comm->running || comm->persistentRefs) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (comm->persistentRefs)
    fakeComplain(std::string(call) + " waits for a graph that holds the communicator's collectives");
  else if (comm->running)
    fakeComplain(std::string(call) + " waits for a collective that does not end");
  {
    std::lock_guard lock(state->mutex);
    state->ncclBytes[comm->device] -= comm->deviceBytes;
  }
  std::lock_guard lock(commsMutex);
  --liveComms;
  return 0;
}

void endCollectives(FakeComm &comm) {
  std::lock_guard lock(comm.gate->mutex);
  comm.gate->aborted.insert(comm.rank);
  comm.gate->changed.notify_all();
}

void endFakeNccl() {
  std::lock_guard lock(commsMutex);
  for (const auto &[id, root] : roots) {
    root->world->abort(failedError("the test has ended"));
    for (const auto &[name, gate] : root->gates) {
      std::lock_guard own(gate->mutex);
      gate->hasEnded = true;
      gate->changed.notify_all();
    }
  }
}

void freeFakeNccl() {
  forgetRegistrations();
  std::lock_guard lock(commsMutex);
  comms.clear();
  liveComms = 0;
  roots.clear();
}

} // namespace sluice::test
