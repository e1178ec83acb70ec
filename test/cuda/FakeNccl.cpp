//===- FakeNccl.cpp - NCCL between threads of one process ------------------------------------===//
//
// Ranks find each other by their unique id. Collectives meet when the streams run them, as NCCL's kernels do; a
// group is one meeting. The arithmetic is the local communicator's. Communicators are in FakeNcclComm.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Half.h"
#include "test/cuda/FakeNcclComm.h"
#include "test/cuda/FakeState.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <unistd.h>

namespace sluice::test {
namespace {

using namespace cuda;

struct Registration {
  const void *comm;
  const void *buffer;
  std::size_t bytes;
};

std::mutex mutex;
std::set<Registration *> registrations;
int nextId = 0;
std::atomic<Code> networkError = 0;
std::atomic<int> networkRank = 0;

/// The calls of the thread since ncclGroupStart.
struct Group {
  int depth = 0;
  FakeCall call;
  FakeComm *comm = nullptr;
  std::vector<SegmentPointers> segments;
  /// Of ncclSend (no destination) and ncclRecv (no source): the other member of each segment.
  std::vector<int> peers;
};
thread_local Group group;

/// A line as NCCL 2.28 writes it with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL,REG, to the end of the file that
/// NCCL_DEBUG_FILE names; the thread's number distinguishes ranks that are threads of one process.
[[gnu::format(printf, 1, 2)]] void log(const char *format, ...) {
  static std::mutex writing;
  const char *path = std::getenv("NCCL_DEBUG_FILE");
  if (!path)
    return;
  std::lock_guard lock(writing);
  std::FILE *file = std::fopen(path, "a");
  if (!file)
    return;
  std::fprintf(file, "fake:%d:%d [0] NCCL INFO ", getpid(), gettid());
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputc('\n', file);
  std::fclose(file);
}

DType elementTypeOf(int type) {
  switch (type) {
  case nccl::typeU8:
    return DType::u8;
  case nccl::typeI32:
    return DType::i32;
  case nccl::typeI64:
    return DType::i64;
  case nccl::typeF16:
    return DType::f16;
  case nccl::typeF64:
    return DType::f64;
  case nccl::typeBf16:
    return DType::bf16;
  default:
    return DType::f32;
  }
}

/// The sends and receives of a member.
struct Transfers {
  std::vector<SegmentPointers> segments;
  std::vector<int> peers;

  /// The segment of the send (or receive) number `index` to (or from) a peer; null without one.
  const SegmentPointers *find(int peer, std::size_t index, bool isSend) const {
    for (std::size_t s = 0; s < segments.size(); ++s)
      if (peers[s] == peer && (segments[s].source != nullptr) == isSend && index-- == 0)
        return &segments[s];
    return nullptr;
  }
};

/// As NCCL: the receives from a peer take its sends in order.
Status transfer(FakeComm &comm, const Transfers &own, DType dtype) {
  const Transfers *mine = &own;
  std::vector<const Transfers *> all(comm.members.size());
  const SegmentPointers shown{&mine, all.data(), sizeof mine};
  SLUICE_RETURN_IF_ERROR(comm.way->allGather({&shown, 1}, DType::u8, {0, "ncclSend"}, nullptr));
  Status status;
  for (int peer = 0; peer < comm.way->size(); ++peer)
    for (std::size_t index = 0;; ++index) {
      const SegmentPointers *to = own.find(peer, index, false),
                            *from = all[static_cast<std::size_t>(peer)]->find(comm.way->rank(), index, true);
      if (!to && !from)
        break;
      if (!to || !from || to->count != from->count) {
        status = failedError("a send and a receive do not match");
        break;
      }
      std::memcpy(to->destination, from->source, to->count * dtypeBytes(dtype));
    }
  SLUICE_RETURN_IF_ERROR(comm.way->barrier({0, "ncclSend"}));
  return status;
}

Code flush() {
  if (!group.comm)
    return 0;
  FakeComm *comm = group.comm;
  if (const Code code = connect(*comm))
    return group.comm = nullptr, group.segments = {}, group.peers = {}, code;
  const FakeCall call = group.call;
  const auto transfers = std::make_shared<Transfers>(Transfers{std::move(group.segments), std::move(group.peers)});
  const auto segments = std::shared_ptr<std::vector<SegmentPointers>>(transfers, &transfers->segments);
  Stream stream = call.stream;
  group.comm = nullptr;
  group.segments = {};
  group.peers = {};
  ++comm->launches;
  double scale = 1;
  Reduction op = call.op == nccl::sum       ? Reduction::sum
                 : call.op == nccl::max     ? Reduction::max
                 : call.op == nccl::average ? Reduction::mean
                                            : Reduction::premulSum;
  if (op == Reduction::premulSum)
    scale = comm->scales[call.op];
  FakeCall noted = call;
  noted.scale = scale;
  const auto ref = std::make_shared<CountRef>(streamOf(stream)->graph ? comm->persistentRefs : comm->running);
  return fakeEnqueue(stream, noted, [comm, ref, call, transfers, segments, op, scale] {
    if (!meet(*comm))
      return;
    const DType dtype = elementTypeOf(call.type);
    const CallLabel label{0, call.name};
    Status status = call.name == "ncclAllGather" ? comm->way->allGather(*segments, dtype, label, nullptr)
                    : call.name == "ncclReduceScatter"
                        ? comm->way->reduceScatter(*segments, dtype, op, scale, label, nullptr)
                    : call.name == "ncclSend"      ? transfer(*comm, *transfers, dtype)
                    : call.name == "ncclAllReduce" ? comm->way->allReduce(*segments, dtype, op, scale, label, nullptr)
                                                   : comm->way->broadcast(*segments, dtype, call.op, label, nullptr);
    if (!status.isOk())
      fakeComplain("collectives of one communicator do not match: " + status.message());
  });
}

Code collect(const char *name, const void *source, void *destination, std::size_t count, int type, int op,
             nccl::Comm handle, Stream stream, int peer = -1) {
  auto *comm = static_cast<FakeComm *>(handle);
  if (group.comm && (group.comm != comm || group.call.name != name || group.call.type != type || group.call.op != op ||
                     group.call.stream != stream))
    if (const Code code = flush())
      return code;
  if (!group.comm) {
    group.comm = comm;
    group.call = {};
    group.call.kind = FakeCall::Kind::collective;
    group.call.name = name;
    group.call.stream = stream;
    group.call.type = type;
    group.call.op = op;
    group.call.communicator = comm;
  }
  if (peer >= 0)
    group.peers.push_back(peer);
  log("%s: opCount %lx sendbuff %p recvbuff %p count %zu datatype %d op %d root 0 comm %p [nranks=%zu] stream %p",
      name + 4, comm->launches, source, destination, count, type, op, static_cast<void *>(comm), comm->members.size(),
      static_cast<void *>(stream));
  group.call.counts.push_back(count);
  group.call.addresses.push_back(source);
  group.call.addresses.push_back(destination);
  group.segments.push_back({source, destination, count});
  return group.depth ? 0 : flush();
}

} // namespace

void fillFakeNccl(Nccl &n) {
  n.version = [](int *version) -> Code { return *version = 22809, 0; };
  n.uniqueId = [](nccl::UniqueId *id) -> Code {
    std::lock_guard lock(mutex);
    *id = {};
    std::snprintf(id->bytes, sizeof id->bytes, "fake-%d", nextId++);
    return 0;
  };
  n.initRank = [](nccl::Comm *made, int ranks, nccl::UniqueId id, int rank, nccl::Config *config) -> Code {
    if (config->size != sizeof(nccl::Config) || config->magic != 0xcafebeef)
      return 4;
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    std::unique_ptr<FakeComm> comm = join(rootOf(id.bytes, ranks), rank, std::move(members), "root");
    if (!comm)
      return 2;
    std::vector<std::int32_t> devices(static_cast<std::size_t>(ranks));
    std::int32_t own = fakeDevice();
    const SegmentPointers segment{&own, devices.data(), 1};
    if (!comm->way->allGather({&segment, 1}, DType::i32, {0, "devices"}, nullptr).isOk())
      return 2;
    if (std::ranges::count(devices, own) != 1)
      return 5;
    comm->splitShare = config->splitShare == 1;
    comm->maxCtas = config->maxCTAs;
    comm->ctaPolicy = config->CTAPolicy;
    *made = keepUntilTestEnds(std::move(comm));
    return 0;
  };
  n.split = [](nccl::Comm parent, int color, int key, nccl::Comm *made, nccl::Config *config) -> Code {
    auto &from = *static_cast<FakeComm *>(parent);
    const int number = from.splits++;
    std::vector<std::int32_t> all(from.members.size() * 2);
    std::int32_t own[2] = {color, key};
    const SegmentPointers segment{own, all.data(), 2};
    if (!from.way->allGather({&segment, 1}, DType::i32, {0, "split"}, nullptr).isOk())
      return 2;
    *made = nullptr;
    if (color == noColor)
      return 0;
    std::vector<std::pair<int, int>> chosen;
    for (std::size_t m = 0; m < from.members.size(); ++m)
      if (all[2 * m] == color)
        chosen.push_back({all[2 * m + 1], from.members[m]});
    std::ranges::sort(chosen);
    std::vector<int> members;
    for (const auto &[order, member] : chosen)
      members.push_back(member);
    std::unique_ptr<FakeComm> comm = join(from.root, from.rank, std::move(members), "split " + std::to_string(number));
    if (!comm)
      return 2;
    comm->splitShare = from.splitShare;
    comm->maxCtas = config->maxCTAs;
    comm->ctaPolicy = config->CTAPolicy;
    *made = keepUntilTestEnds(std::move(comm));
    return 0;
  };
  n.destroy = [](nccl::Comm comm) -> Code { return retire(static_cast<FakeComm *>(comm), "ncclCommDestroy"); };
  n.abort = [](nccl::Comm handle) -> Code {
    auto *comm = static_cast<FakeComm *>(handle);
    endCollectives(*comm);
    return retire(comm, "ncclCommAbort");
  };
  n.asyncError = [](nccl::Comm comm, Code *error) -> Code {
    return *error = static_cast<FakeComm *>(comm)->rank == networkRank ? networkError.load() : 0, 0;
  };
  n.memoryAllocate = allocateShareable;
  n.memoryRelease = releaseShareable;
  // All members register ranges of one size, in memory that they can map (cuMemRetainAllocationHandle).
  n.registerWindow = [](nccl::Comm handle, void *buffer, std::size_t bytes, nccl::Window *window, int flags) -> Code {
    auto &comm = *static_cast<FakeComm *>(handle);
    log("register comm %p buffer %p size %zi", handle, buffer, static_cast<ssize_t>(bytes));
    std::vector<std::int64_t> sizes(comm.members.size());
    std::int64_t own = static_cast<std::int64_t>(bytes);
    const SegmentPointers segment{&own, sizes.data(), 1};
    if (!comm.way->allGather({&segment, 1}, DType::i64, {0, "window"}, nullptr).isOk())
      return 2;
    if (flags != nccl::windowSymmetric || std::ranges::count(sizes, own) != std::ssize(sizes))
      return 4;
    if (!hasHandle(buffer, bytes) && !state->options.ncclWithoutHandles) {
      log("rank %d failed to IPC register userbuff %p buffSize %zi nPeers %zu isLegacyIpc 0 type POSIX_FD", comm.rank,
          buffer, static_cast<ssize_t>(bytes), comm.members.size() - 1);
      return 1;
    }
    auto *made = new Registration{handle, buffer, bytes};
    std::lock_guard lock(mutex);
    registrations.insert(made);
    return *window = made, 0;
  };
  n.deregisterWindow = [](nccl::Comm, nccl::Window window) -> Code {
    std::lock_guard lock(mutex);
    if (!registrations.erase(static_cast<Registration *>(window)))
      return 4;
    return delete static_cast<Registration *>(window), 0;
  };
  n.makePremulSum = [](int *op, void *scalar, int type, int, nccl::Comm comm) -> Code {
    auto &of = *static_cast<FakeComm *>(comm);
    double scale = 0;
    if (type == nccl::typeF32)
      scale = *static_cast<float *>(scalar);
    else if (type == nccl::typeF64)
      scale = *static_cast<double *>(scalar);
    else {
      std::uint16_t bits;
      std::memcpy(&bits, scalar, 2);
      if (type != nccl::typeBf16)
        return 4;
      scale = bf16ToFloat(bits);
    }
    *op = of.nextOp++;
    of.scales[*op] = scale;
    return 0;
  };
  n.destroyOp = [](int op, nccl::Comm comm) -> Code { return static_cast<FakeComm *>(comm)->scales.erase(op) ? 0 : 4; };
  n.groupStart = []() -> Code { return ++group.depth, 0; };
  n.groupEnd = []() -> Code { return --group.depth == 0 ? flush() : 0; };
  n.allGather = [](const void *source, void *destination, std::size_t count, int type, nccl::Comm comm,
                   Stream stream) -> Code {
    return collect("ncclAllGather", source, destination, count, type, 0, comm, stream);
  };
  n.reduceScatter = [](const void *source, void *destination, std::size_t count, int type, int op, nccl::Comm comm,
                       Stream stream) -> Code {
    return collect("ncclReduceScatter", source, destination, count, type, op, comm, stream);
  };
  n.allReduce = [](const void *source, void *destination, std::size_t count, int type, int op, nccl::Comm comm,
                   Stream stream) -> Code {
    return collect("ncclAllReduce", source, destination, count, type, op, comm, stream);
  };
  n.broadcast = [](const void *source, void *destination, std::size_t count, int type, int root, nccl::Comm comm,
                   Stream stream) -> Code {
    return collect("ncclBroadcast", source, destination, count, type, root, comm, stream);
  };
  // One group with the receives.
  n.send = [](const void *source, std::size_t count, int type, int peer, nccl::Comm comm, Stream stream) -> Code {
    return collect("ncclSend", source, nullptr, count, type, 0, comm, stream, peer);
  };
  n.receive = [](void *destination, std::size_t count, int type, int peer, nccl::Comm comm, Stream stream) -> Code {
    return collect("ncclSend", nullptr, destination, count, type, 0, comm, stream, peer);
  };
}

void FakeCuda::setNcclError(Code error, int rank) {
  networkRank = rank;
  networkError = error;
}

void forgetRegistrations() {
  std::lock_guard lock(mutex);
  for (const Registration *one : registrations)
    delete one;
  registrations.clear();
  networkError = 0;
}

std::vector<std::pair<const void *, std::size_t>> FakeCuda::registered() {
  std::lock_guard lock(mutex);
  std::vector<std::pair<const void *, std::size_t>> found;
  for (const Registration *one : registrations)
    found.push_back({one->buffer, one->bytes});
  return found;
}

std::vector<std::pair<const void *, std::size_t>> FakeCuda::registeredWith(const void *communicator) {
  std::lock_guard lock(mutex);
  std::vector<std::pair<const void *, std::size_t>> found;
  for (const Registration *one : registrations)
    if (one->comm == communicator)
      found.push_back({one->buffer, one->bytes});
  return found;
}

bool FakeCuda::sharesResources(const void *communicator) {
  return static_cast<const FakeComm *>(communicator)->splitShare;
}
std::pair<int, int> FakeCuda::ctasOf(const void *communicator) {
  const auto *comm = static_cast<const FakeComm *>(communicator);
  return {comm->maxCtas, comm->ctaPolicy};
}
std::vector<int> FakeCuda::membersOf(const void *communicator) {
  return static_cast<const FakeComm *>(communicator)->members;
}

} // namespace sluice::test
