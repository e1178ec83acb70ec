//===- ProcessWorld.cpp - a world of one process per rank ------------------------===//
#include "runtime/collective/process/ProcessWorld.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/collective/process/ProcessCommunicator.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace sluice::process {
namespace {

constexpr auto pulseInterval = std::chrono::milliseconds(250);
/// Seconds that a process of a failed world waits for the others, so that rank 0 can report the failure.
constexpr auto failedWait = std::chrono::seconds(3);
/// The time within which a process answers that runs.
constexpr auto answerWait = std::chrono::seconds(2);
/// Channels that others have created and this process has not.
constexpr std::size_t mostEarlyChannels = 1 << 16;
/// Seconds without a report of the link, which ticks ten times a second, after which a process did not run.
constexpr double leastSleep = 1;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string rounded(double value) { return std::to_string(static_cast<std::uint64_t>(value + 0.5)); }

/// The same number on all members.
std::uint64_t channelId(const std::string &key, std::uint64_t generation) {
  const std::string text = concat(key, "#", generation);
  const Digest digest = sha256(std::span(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()));
  std::uint64_t id = 0;
  std::memcpy(&id, digest.data(), sizeof id);
  return id == 0 ? 1 : id;
}

/// Bytes of a block: a frame's, or less in large groups, so that what waits for all members stays small.
std::uint32_t blockBytesOf(std::size_t members) {
  constexpr std::size_t together = 8 << 20, least = 4096;
  const std::size_t share = together / (slotCount * std::max<std::size_t>(members - 1, 1));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(share / least * least, least, maxFrameBytes));
}

} // namespace

ProcessWorld::ProcessWorld(std::unique_ptr<Link> link, const ProcessWorldOptions &options)
    : link(std::move(link)), options(options), peers(static_cast<std::size_t>(this->link->size())) {
  for (Peer &peer : peers)
    peer.lastReceived = peer.lastProgress = Clock::now();
  lastRun = secondsSinceBoot();
}

Result<std::unique_ptr<ProcessWorld>> ProcessWorld::create(std::unique_ptr<Link> link,
                                                           const ProcessWorldOptions &options) {
  std::unique_ptr<ProcessWorld> world(new ProcessWorld(std::move(link), options));
  if (Status status = world->link->start(*world); !status.isOk()) {
    for (Peer &peer : world->peers)
      peer.lost = true;
    return status;
  }
  const Hello hello = ownHello();
  std::lock_guard lock(world->mutex);
  world->postToAll(FrameKind::hello, std::as_bytes(std::span(&hello, 1)));
  return world;
}

Status ProcessWorld::waitForHellos() {
  std::unique_lock lock(mutex);
  const auto allGreeted = [&] { return std::ranges::count(peers, true, &Peer::hasGreeted) == size() - 1; };
  changed.wait(lock, [&] { return !failure.isOk() || allGreeted(); });
  // An error of all ranks, such as a missing file, is reported by each rank.
  return allGreeted() ? Status() : failure;
}

ProcessWorld::~ProcessWorld() { (void)end(); }

bool ProcessWorld::end() {
  if (ended)
    return true;
  ended = true;
  bool orderly = true;
  {
    std::unique_lock lock(mutex);
    postToAll(FrameKind::goodbye, {});
    peers[static_cast<std::size_t>(rank())].saidGoodbye = true;
    const auto allLeft = [&] {
      for (int p = 0; p < size(); ++p)
        if (p != rank() && !peers[static_cast<std::size_t>(p)].hasLeft())
          return false;
      return true;
    };
    // A running process sends its goodbye sooner or later; one that died makes the world fail.
    changed.wait(lock, [&] { return allLeft() || !failure.isOk(); });
    if (!failure.isOk())
      changed.wait_for(lock, failedWait, allLeft);
    for (int p = 0; p < size(); ++p)
      orderly = orderly && (p == rank() || peers[static_cast<std::size_t>(p)].saidGoodbye);
  }
  link->stop(orderly);
  return orderly;
}

void ProcessWorld::postToAll(FrameKind kind, Part payload) {
  // A process that has every goodbye ends its link, and MPI gives its group's identity to the next group.
  if (peers[static_cast<std::size_t>(rank())].saidGoodbye)
    return;
  for (int p = 0; p < size(); ++p)
    if (p != rank() && !peers[static_cast<std::size_t>(p)].lost)
      link->post(p, kind, 0, payload);
}

Result<std::unique_ptr<Communicator>> ProcessWorld::create(int rank, std::span<const int> members,
                                                           std::string_view channelName) {
  SLUICE_RETURN_IF_ERROR(checkMembers(rank, members, size()));
  if (rank != this->rank())
    return internalError(concat("rank of this process, expected ", this->rank(), " but got ", rank));
  auto channel = std::make_shared<Channel>();
  channel->name = channelName;
  channel->members.assign(members.begin(), members.end());
  channel->own = channel->memberOf(rank);
  channel->inbound.resize(members.size());
  channel->blockBytes = blockBytesOf(members.size());
  std::string key = channel->name;
  for (int member : members)
    key += concat("|", member);

  std::unique_lock lock(mutex);
  if (!failure.isOk())
    return failure;
  channel->id = channelId(key, generations[key]++);
  for (int source : early[channel->id])
    if (const int member = channel->memberOf(source); member >= 0)
      channel->inbound[static_cast<std::size_t>(member)].hasCreated = true;
  early.erase(channel->id);
  channels[channel->id] = channel;
  for (int member : members)
    if (member != rank)
      link->post(member, FrameKind::join, channel->id, {});
  // From here on the communicator's destructor notifies the others.
  auto communicator = std::make_unique<ProcessCommunicator>(*this, channel);
  Status status;
  for (std::size_t m = 0; m < channel->members.size() && status.isOk(); ++m) {
    if (static_cast<int>(m) == channel->own)
      continue;
    const Peer &peer = peers[static_cast<std::size_t>(channel->members[m])];
    channel->changed.wait(lock, [&] { return channel->inbound[m].hasCreated || peer.hasLeft() || !failure.isOk(); });
    if (channel->inbound[m].hasCreated)
      continue;
    status = !failure.isOk() ? failure
                             : failedError(concat("rank ", channel->members[m], " has ended while rank ", rank,
                                                  " waits for it on channel '", channel->name, "'"));
  }
  lock.unlock();
  if (!status.isOk())
    return status;
  return std::unique_ptr<Communicator>(std::move(communicator));
}

void ProcessWorld::abort(const Status &reason) {
  std::lock_guard lock(mutex);
  fail(reason);
}

Status ProcessWorld::state() const {
  std::lock_guard lock(mutex);
  return failure;
}

void ProcessWorld::fail(const Status &reason, int accused) {
  if (accused >= 0 && accused < size())
    peers[static_cast<std::size_t>(accused)].accused = true;
  changed.notify_all();
  if (!failure.isOk())
    return;
  failure = reason;
  for (const auto &[id, channel] : channels)
    channel->changed.notify_all();
  link->abandonSends();
  std::vector<std::byte> payload(sizeof accused);
  std::memcpy(payload.data(), &accused, sizeof accused);
  const std::vector<std::byte> text = encodeStatus(reason);
  payload.insert(payload.end(), text.begin(), text.end());
  postToAll(FrameKind::abort, payload);
}

void ProcessWorld::noteProgress(std::uint32_t entry, std::uint32_t instruction) {
  progressPlace.store(std::uint64_t(entry) << 32 | instruction, std::memory_order_relaxed);
  progressCount.fetch_add(1, std::memory_order_relaxed);
}

void ProcessWorld::nameProgress(std::function<std::string(std::uint32_t, std::uint32_t)> newNames) {
  std::lock_guard lock(mutex);
  names = std::move(newNames);
}

int ProcessWorld::reporter() {
  std::unique_lock lock(mutex);
  const Clock::time_point end = Clock::now() + answerWait;
  for (int p = 0; p < rank(); ++p) {
    const Peer &peer = peers[static_cast<std::size_t>(p)];
    // Every process that runs sends the reason on.
    changed.wait_until(lock, end, [&] { return peer.accused || peer.aborted || peer.hasLeft(); });
    if (peer.aborted && !peer.accused)
      return p;
  }
  return rank();
}

void ProcessWorld::checkSleep() {
  const double now = secondsSinceBoot(), gap = now - std::exchange(lastRun, now);
  if (gap < leastSleep)
    return;
  slept = gap;
  woke = Clock::now();
  // What the others sent meanwhile is still to be received.
  for (Peer &peer : peers)
    peer.lastReceived = peer.lastProgress = woke;
  for (const auto &[id, channel] : channels)
    channel->since = woke;
}

Status ProcessWorld::unlessSlept(Status reason) const {
  // The others measure from the last heartbeat before the sleep.
  const double limit = options.watchdogSeconds - seconds(pulseInterval) - 1;
  if (options.watchdogSeconds <= 0 || slept < limit || Clock::now() - woke > failedWait)
    return reason;
  return failedError(concat("rank ", rank(), " did not run for ", rounded(slept), " s, and the other ranks have ended"))
      .withNote("its process was stopped, or its machine suspended");
}

void ProcessWorld::receiveHello(int source, Part payload) {
  Hello hello;
  if (payload.size() != sizeof hello)
    return fail(failedError(concat("the greeting of rank ", source, " cannot be read")));
  std::memcpy(&hello, payload.data(), sizeof hello);
  Peer &peer = peers[static_cast<std::size_t>(source)];
  peer.process = hello.process;
  peer.hasGreeted = true;
  changed.notify_all();
  if (hello.machine == ownHello().machine)
    peer.watch = ProcessWatch(hello.process);
}

void ProcessWorld::receiveHeartbeat(Peer &peer, Part payload) {
  if (payload.size() != sizeof(Heartbeat))
    return;
  const std::uint64_t before = peer.heartbeat.count;
  std::memcpy(&peer.heartbeat, payload.data(), sizeof(Heartbeat));
  if (peer.heartbeat.count != before)
    peer.lastProgress = peer.lastReceived;
}

Heartbeat ProcessWorld::ownHeartbeat() const {
  Heartbeat heartbeat;
  heartbeat.count = progressCount.load(std::memory_order_relaxed);
  const std::uint64_t place = progressPlace.load(std::memory_order_relaxed);
  heartbeat.entry = static_cast<std::uint32_t>(place >> 32);
  heartbeat.instruction = static_cast<std::uint32_t>(place);
  return heartbeat;
}

void ProcessWorld::onFrame(int source, const FrameHeader &header, Part payload) {
  std::lock_guard lock(mutex);
  checkSleep();
  Peer &peer = peers[static_cast<std::size_t>(source)];
  peer.lastReceived = Clock::now();
  switch (header.kind) {
  case FrameKind::hello:
    return receiveHello(source, payload);
  case FrameKind::heartbeat:
    return receiveHeartbeat(peer, payload);
  case FrameKind::call:
    // If this process dies now, the others can name its latest instruction.
    if (payload.size() >= sizeof(Heartbeat)) {
      receiveHeartbeat(peer, payload.last(sizeof(Heartbeat)));
      payload = payload.first(payload.size() - sizeof(Heartbeat));
    }
    break;
  case FrameKind::goodbye:
    peer.saidGoodbye = true;
    for (const auto &[id, channel] : channels)
      channel->changed.notify_all();
    return changed.notify_all();
  case FrameKind::join:
    if (!channels.count(header.channel)) {
      // A process creates few channels before the others have created theirs.
      if (early.size() == mostEarlyChannels && !early.contains(header.channel))
        return fail(failedError(concat("rank ", source, " has created too many channels")));
      early[header.channel].insert(source);
      return;
    }
    break;
  case FrameKind::abort:
    if (header.channel == 0) {
      peer.aborted = true;
      int accused = -1;
      const std::size_t bytes = std::min(payload.size(), sizeof accused);
      std::memcpy(&accused, payload.data(), bytes);
      // Forwarded, so that every rank receives the reason before it sees that this rank left.
      return fail(decodeStatus(payload.subspan(bytes)), accused);
    }
    break;
  default:
    break;
  }
  receiveOnChannel(source, header, payload);
}

void ProcessWorld::receiveOnChannel(int source, const FrameHeader &header, Part payload) {
  const auto found = channels.find(header.channel);
  // A channel whose communicator this process has destroyed.
  if (found == channels.end())
    return;
  Channel &channel = *found->second;
  const int member = channel.memberOf(source);
  bool good = member >= 0;
  if (good) {
    Inbound &inbound = channel.inbound[static_cast<std::size_t>(member)];
    // Frames for a call that has failed here are dropped.
    const bool failed = !channel.failure.isOk() || !failure.isOk();
    switch (header.kind) {
    case FrameKind::join:
      inbound.hasCreated = true;
      break;
    case FrameKind::leave:
      inbound.left = true;
      break;
    case FrameKind::call:
      good = channel.receiveCall(member, payload) || failed;
      break;
    case FrameKind::block:
      good = channel.receiveBlock(member, payload) || failed;
      break;
    case FrameKind::result:
      good = channel.receiveResult(member, payload) || failed;
      break;
    case FrameKind::abort:
      if (channel.failure.isOk())
        channel.failure = decodeStatus(payload);
      break;
    default:
      good = false;
    }
  }
  channel.changed.notify_all();
  if (!good)
    fail(failedError(concat("rank ", source, " has sent what channel '", channel.name, "' does not expect")));
}

void ProcessWorld::onLost(int source, std::string_view why) {
  std::lock_guard lock(mutex);
  checkSleep();
  Peer &peer = peers[static_cast<std::size_t>(source)];
  if (peer.lost)
    return;
  peer.lost = true;
  if (!peer.saidGoodbye)
    fail(unlessSlept(failedError(concat("rank ", source, " has died (", why, "), ", progressOf(source)))));
  for (const auto &[id, channel] : channels)
    channel->changed.notify_all();
  changed.notify_all();
}

void ProcessWorld::onTick() {
  std::lock_guard lock(mutex);
  checkSleep();
  const Clock::time_point now = Clock::now();
  Peer &self = peers[static_cast<std::size_t>(rank())];
  if (now - self.lastReceived >= pulseInterval) {
    self.lastReceived = now;
    Heartbeat heartbeat = ownHeartbeat();
    for (const auto &[id, channel] : channels)
      heartbeat.waits += channel->waiting ? 1 : 0;
    if (heartbeat.count != self.heartbeat.count)
      self.lastProgress = now;
    self.heartbeat = heartbeat;
    postToAll(FrameKind::heartbeat, std::as_bytes(std::span(&heartbeat, 1)));
  }
  if (!failure.isOk())
    return;
  checkPeers(now);
  if (options.watchdogSeconds > 0)
    checkWaits(now);
}

void ProcessWorld::checkPeers(Clock::time_point now) {
  for (int p = 0; p < size(); ++p) {
    Peer &peer = peers[static_cast<std::size_t>(p)];
    if (p == rank() || peer.hasLeft())
      continue;
    if (peer.watch.hasEnded()) {
      peer.lost = true;
      return fail(unlessSlept(
          failedError(concat("rank ", p, " has died (process ", peer.process, " has ended), ", progressOf(p)))));
    }
    if (const double silent = seconds(now - peer.lastReceived);
        options.watchdogSeconds > 0 && silent > options.watchdogSeconds)
      return fail(failedError(concat("rank ", p, " has been silent for ", rounded(silent), " s, ", progressOf(p))), p);
  }
}

void ProcessWorld::checkWaits(Clock::time_point now) {
  for (const auto &[id, channel] : channels) {
    if (!channel->waiting || seconds(now - channel->since) <= options.watchdogSeconds)
      continue;
    // A rank that itself waits in a collective is not the cause, unless all ranks do.
    bool anyMoves = false;
    for (int p = 0; p < size(); ++p) {
      const Peer &peer = peers[static_cast<std::size_t>(p)];
      const bool stuck = peer.heartbeat.count != 0 && seconds(now - peer.lastProgress) > options.watchdogSeconds;
      anyMoves = anyMoves || !stuck;
      if (p != rank() && stuck && !peer.hasLeft() && peer.heartbeat.waits == 0)
        return fail(failedError(concat("rank ", p, " has run nothing for ", rounded(seconds(now - peer.lastProgress)),
                                       " s while ", describeCall(rank(), *channel->waiting), ", ", progressOf(p))),
                    p);
    }
    if (!anyMoves && seconds(now - channel->since) > options.watchdogSeconds + 2)
      return fail(failedError("no rank has run anything for " + rounded(options.watchdogSeconds) + " s while " +
                              describeCall(rank(), *channel->waiting) + " on channel '" + channel->name + "'"));
  }
}

} // namespace sluice::process
