//===- MpiLink.cpp - frames over MPI ----------------------------------------------===//
//
// One message per frame. A separate thread makes all MPI calls between begin() and end(): it sends what the streams
// have copied into buffers, and receives into a ring of buffers. It delivers these in the order in which they were
// posted, which is the order of MPI's matching. MPI never has a pointer to a caller's memory, so a call that fails
// leaks no memory.
//
//===----------------------------------------------------------------------===//
#ifdef SLUICE_HAVE_MPI
#include "runtime/collective/mpi/MpiLink.h"
#include "runtime/base/Text.h"
#include "runtime/base/Thread.h"
#include "runtime/collective/mpi/MpiTable.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sluice::mpi {
namespace {

using namespace process;
using Clock = std::chrono::steady_clock;

constexpr int tag = 1;
constexpr std::size_t frameBytes = sizeof(FrameHeader) + maxFrameBytes;
/// Messages that may be in transfer to this process.
constexpr std::size_t ringSize = 8;
/// Buffers for frames of streams; a sender waits for a free one.
constexpr int sendBuffers = 16;
constexpr auto tickInterval = std::chrono::milliseconds(100);
/// An idle thread sleeps at most so long: a rank that waits leaves the processor to others.
constexpr auto shortestSleep = std::chrono::microseconds(20), longestSleep = std::chrono::microseconds(500);
/// Rounds without work before it sleeps.
constexpr int eagerRounds = 20;

struct Process {
  std::optional<MpiTable> table;
  int rank = 0;
  int size = 1;
};
Process &self() {
  static Process process;
  return process;
}

using Buffer = std::unique_ptr<std::byte[]>;

struct Outgoing {
  Buffer buffer;
  std::size_t bytes = 0;
  int peer = 0;
  /// Its buffer is returned to `freeBuffers`.
  bool counted = false;
  MPI_Request request = nullptr;
  bool begun = false;
};

struct Incoming {
  Buffer buffer;
  MPI_Request request = nullptr;
};

class MpiLink final : public Link {
public:
  MpiLink(const MpiTable &mpi, MPI_Comm comm) : mpi(mpi), comm(comm) {
    mpi.commRank(comm, &ownRank);
    mpi.commSize(comm, &ranks);
  }
  ~MpiLink() override { stop(false); }

  int rank() const override { return ownRank; }
  int size() const override { return ranks; }
  std::string_view name() const override { return "mpi"; }

  Status start(FrameSink &frames) override {
    sink = &frames;
    for (Incoming &incoming : ring)
      incoming.buffer.reset(new std::byte[frameBytes]);
    return startThread(thread, "the mpi communicator", [this] { work(); });
  }

  Status send(int peer, FrameKind kind, std::uint64_t channel, std::span<const Part> parts) override {
    Outgoing out;
    out.peer = peer;
    out.counted = true;
    {
      std::unique_lock lock(mutex);
      const auto ready = [&] { return used < sendBuffers || stopping || failed; };
      bufferFreed.wait(lock, ready);
      if (used >= sendBuffers || stopping)
        return failedError("the world has ended");
      ++used;
      if (!freeBuffers.empty()) {
        out.buffer = std::move(freeBuffers.back());
        freeBuffers.pop_back();
      }
    }
    if (!out.buffer)
      out.buffer.reset(new std::byte[frameBytes]);
    fill(out, kind, channel, parts);
    enqueue(std::move(out));
    return {};
  }

  void post(int peer, FrameKind kind, std::uint64_t channel, Part payload) override {
    Outgoing out;
    out.peer = peer;
    out.buffer.reset(new std::byte[sizeof(FrameHeader) + payload.size()]);
    fill(out, kind, channel, std::span(&payload, 1));
    enqueue(std::move(out));
  }

  void abandonSends() override {
    std::lock_guard lock(mutex);
    failed = true;
    bufferFreed.notify_all();
  }

  void stop(bool orderly) override {
    if (!thread.joinable())
      return;
    {
      std::lock_guard lock(mutex);
      stopping = true;
      bufferFreed.notify_all();
      queued.notify_all();
    }
    thread.join();
    // Requests that MPI still has after the world failed are leaked with it.
    if (orderly && comm != mpi.world)
      mpi.commFree(&comm);
    else if (!orderly)
      for (Outgoing &out : sending)
        out.buffer.release();
  }

private:
  static void fill(Outgoing &out, FrameKind kind, std::uint64_t channel, std::span<const Part> parts) {
    FrameHeader header{channel, 0, kind, {}, 0};
    std::byte *to = out.buffer.get() + sizeof header;
    for (const Part &part : parts) {
      if (!part.empty())
        std::memcpy(to, part.data(), part.size());
      to += part.size();
      header.bytes += static_cast<std::uint32_t>(part.size());
    }
    header.checksum = frameChecksum(header, parts);
    std::memcpy(out.buffer.get(), &header, sizeof header);
    out.bytes = sizeof header + header.bytes;
  }

  void enqueue(Outgoing out) {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(out));
    queued.notify_one();
  }

  void postReceive(Incoming &incoming) {
    mpi.irecv(incoming.buffer.get(), static_cast<int>(frameBytes), mpi.byte, MPI_ANY_SOURCE, tag, comm,
              &incoming.request);
  }

  void work() {
    for (Incoming &incoming : ring)
      postReceive(incoming);
    Clock::time_point nextTick = Clock::now() + tickInterval;
    int idle = 0;
    auto sleep = shortestSleep;
    while (true) {
      const bool busy = takeQueuedFrames() | progressSends() | receive();
      if (Clock::now() >= nextTick) {
        sink->onTick();
        nextTick = Clock::now() + tickInterval;
      }
      std::unique_lock lock(mutex);
      if (stopping)
        break;
      if (busy || !queue.empty()) {
        idle = 0;
        sleep = shortestSleep;
      } else if (++idle < eagerRounds) {
        lock.unlock();
        std::this_thread::yield();
      } else {
        queued.wait_for(lock, sleep);
        sleep = std::min(2 * sleep, longestSleep);
      }
    }
    finish();
  }

  bool takeQueuedFrames() {
    std::lock_guard lock(mutex);
    if (queue.empty())
      return false;
    while (!queue.empty()) {
      sending.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    return true;
  }

  bool progressSends() {
    bool any = false;
    for (Outgoing &out : sending)
      if (!out.begun) {
        mpi.isend(out.buffer.get(), static_cast<int>(out.bytes), mpi.byte, out.peer, tag, comm, &out.request);
        out.begun = any = true;
      }
    for (std::size_t i = 0; i < sending.size();) {
      int done = 0;
      mpi.test(&sending[i].request, &done, MPI_STATUS_IGNORE);
      if (!done) {
        ++i;
        continue;
      }
      any = true;
      if (sending[i].counted) {
        std::lock_guard lock(mutex);
        --used;
        freeBuffers.push_back(std::move(sending[i].buffer));
        bufferFreed.notify_one();
      }
      sending.erase(sending.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return any;
  }

  bool receive() {
    bool any = false;
    while (true) {
      Incoming &incoming = ring[next];
      int done = 0;
      MPI_Status status;
      mpi.test(&incoming.request, &done, &status);
      if (!done)
        return any;
      any = true;
      int bytes = 0;
      mpi.getCount(&status, mpi.byte, &bytes);
      FrameHeader header;
      std::memcpy(&header, incoming.buffer.get(), sizeof header);
      const bool good = bytes >= static_cast<int>(sizeof header) && header.kind <= FrameKind::goodbye &&
                        header.bytes == static_cast<std::uint32_t>(bytes) - sizeof header;
      const Part payload(incoming.buffer.get() + sizeof header, good ? header.bytes : 0);
      if (!good)
        sink->onLost(status.MPI_SOURCE, "it sent an invalid frame");
      else if (frameChecksum(header, std::span(&payload, 1)) != header.checksum)
        sink->onLost(status.MPI_SOURCE, changedFrame);
      else
        sink->onFrame(status.MPI_SOURCE, header, payload);
      postReceive(incoming);
      next = (next + 1) % ringSize;
    }
  }

  /// Waits until the last messages are sent, and cancels the posted receives. After a failure those to the process that
  /// ended are never sent, and the others leave at once.
  void finish() {
    takeQueuedFrames();
    std::unique_lock lock(mutex);
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(failed ? 100 : 1000);
    lock.unlock();
    while (progressSends(), !sending.empty() && Clock::now() < deadline)
      std::this_thread::yield();
    for (Incoming &incoming : ring) {
      mpi.cancel(&incoming.request);
      int done = 0;
      while (!done && Clock::now() < deadline)
        mpi.test(&incoming.request, &done, MPI_STATUS_IGNORE);
      if (!done)
        incoming.buffer.release();
    }
  }

  const MpiTable &mpi;
  MPI_Comm comm;
  int ownRank = 0;
  int ranks = 1;
  FrameSink *sink = nullptr;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable queued;
  std::condition_variable bufferFreed;
  std::deque<Outgoing> queue;
  std::vector<Buffer> freeBuffers;
  int used = 0;
  bool stopping = false;
  bool failed = false;

  /// Only for the thread.
  std::vector<Outgoing> sending;
  std::array<Incoming, ringSize> ring;
  std::size_t next = 0;
};

} // namespace

std::string_view absence() { return {}; }

Result<std::string> libraryVersion() {
  Result<MpiTable> table = MpiTable::open();
  if (!table.isOk())
    return table.takeStatus();
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  table->getLibraryVersion(text, &length);
  // The rest describes the package.
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find(','));
}

/// Calls endProcess unless it is destroyed within the limit.
class StartWatch {
public:
  explicit StartWatch(const StartLimit &limit) : limit(limit) {}
  ~StartWatch() {
    {
      std::lock_guard lock(mutex);
      ended = true;
      changed.notify_all();
    }
    if (thread.joinable())
      thread.join();
  }

  Status start() {
    if (!limit.endProcess)
      return Status::ok();
    return startThread(thread, "the start of mpi", [this] {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, std::chrono::duration<double>(limit.seconds), [&] { return ended; }))
        limit.endProcess(failedError(concat("mpi did not start within ", formatNumber(limit.seconds),
                                            " s: a different rank did not start, or has died")));
    });
  }

private:
  const StartLimit &limit;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::thread thread;
};

Status begin(const StartLimit &limit) {
  StartWatch watch(limit);
  SLUICE_RETURN_IF_ERROR(watch.start());
  Process &process = self();
  SLUICE_ASSIGN_OR_RETURN(process.table, MpiTable::open());
  // Frames are small enough to be copied; single copies need a permission that containers do not have.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  int got = 0;
  if (const int error = process.table->initThread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &got); error != MPI_SUCCESS)
    return failedError("mpi cannot start: error " + std::to_string(error));
  if (got < MPI_THREAD_SERIALIZED)
    return failedError("mpi, expected support of threads but got level " + std::to_string(got));
  process.table->setErrorHandler(process.table->world, process.table->returnErrors);
  process.table->commRank(process.table->world, &process.rank);
  process.table->commSize(process.table->world, &process.size);
  return {};
}

int worldRank() { return self().rank; }
int worldSize() { return self().size; }
void end() { self().table->finalize(); }

Result<std::unique_ptr<process::Link>> createMpiLink(int size) {
  Process &process = self();
  MPI_Comm comm = nullptr;
  const int colour = process.rank < size ? 0 : MPI_UNDEFINED;
  if (const int error = process.table->commSplit(process.table->world, colour, process.rank, &comm);
      error != MPI_SUCCESS)
    return failedError("mpi cannot create a group of processes: " + process.table->errorText(error));
  if (comm == process.table->noComm)
    return std::unique_ptr<process::Link>();
  process.table->setErrorHandler(comm, process.table->returnErrors);
  return std::unique_ptr<process::Link>(std::make_unique<MpiLink>(*process.table, comm));
}

} // namespace sluice::mpi

#endif // SLUICE_HAVE_MPI
