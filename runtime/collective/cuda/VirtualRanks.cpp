//===- VirtualRanks.cpp - ranks that are threads of this process and share one GPU ----===//
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/base/cuda/Code.h"
#include "runtime/collective/Call.h"
#include "runtime/collective/cuda/Reduce.h"

#include <algorithm>

namespace sluice {
namespace {

using namespace cuda;

static_assert(reduceMean == static_cast<int>(Reduction::mean) &&
              reducePremulSum == static_cast<int>(Reduction::premulSum) &&
              reduceMax == static_cast<int>(Reduction::max));

/// Data of a member that the others read; it does not change until all have read it.
struct Shown {
  const Call *call;
  Event ready, done;
  std::uint64_t failed;
};

class VirtualCommunicator final : public Communicator {
public:
  VirtualCommunicator(std::unique_ptr<Communicator> host, std::vector<int> members, std::string channel)
      : host(std::move(host)), members(std::move(members)), channel(std::move(channel)) {}
  ~VirtualCommunicator() override {
    if (!functions)
      return;
    for (Event event : {ready, done})
      if (event)
        functions->driver.eventDestroy(event);
  }

  int rank() const override { return host->rank(); }
  int size() const override { return host->size(); }

  Status run(const Call &call, void *stream) override {
    return stream ? runOnStream(call, stream) : host->run(call, nullptr);
  }
  void abort(const Status &reason) override { host->abort(reason); }

private:
  Status check(Code code, std::string_view call) const { return driverStatus(*functions, code, call); }

  /// Needs the device's context, which is not current when the communicator is created.
  Status prepare() {
    if (functions)
      return {};
    if (size() > maxMembers)
      return refusedError("virtual ranks of one group, expected at most " + std::to_string(maxMembers) + " but got " +
                          std::to_string(size()));
    SLUICE_ASSIGN_OR_RETURN(functions, cuda::table());
    SLUICE_RETURN_IF_ERROR(check(functions->driver.eventCreate(&ready, eventDisableTiming), "cuEventCreate"));
    SLUICE_RETURN_IF_ERROR(check(functions->driver.eventCreate(&done, eventDisableTiming), "cuEventCreate"));
    SLUICE_ASSIGN_OR_RETURN(code, DeviceCode::share(*functions));
    SLUICE_ASSIGN_OR_RETURN(reduce, code->find("sluice_memberReduce"));
    shown.resize(members.size());
    return {};
  }

  Status runOnStream(const Call &call, Stream stream) {
    Status status = perform(call, stream);
    // A capture that fails has run nothing; the ranks discard it together.
    if (!status.isOk() && !isCaptured(stream))
      host->abort(status);
    return status;
  }

  bool isCaptured(Stream stream) const {
    int state = 0;
    return functions && functions->driver.streamCapturing(stream, &state) == 0 && state != 0;
  }

  Status perform(const Call &call, Stream stream) {
    SLUICE_RETURN_IF_ERROR(prepare());
    SLUICE_RETURN_IF_ERROR(checkCall(call, size()));
    Status status = check(functions->driver.eventRecord(ready, stream), "cuEventRecord");
    SLUICE_RETURN_IF_ERROR(meet({&call, ready, done, !status.isOk()}, call.label));
    std::vector<const Call *> calls;
    for (const Shown &of : shown)
      calls.push_back(of.call);
    if (status.isOk())
      status = failureOfOthers();
    if (status.isOk())
      status = compareCalls(channel, members, calls);
    if (status.isOk())
      status = takePart(call, stream);
    // No rank continues before all have read the data of the others and have recorded `done`.
    SLUICE_RETURN_IF_ERROR(meet({&call, ready, done, !status.isOk()}, call.label));
    SLUICE_RETURN_IF_ERROR(status);
    SLUICE_RETURN_IF_ERROR(failureOfOthers());
    return waitFor(&Shown::done, stream);
  }

  /// This rank's part, after the earlier work on the streams of all members.
  Status takePart(const Call &call, Stream stream) {
    SLUICE_RETURN_IF_ERROR(waitFor(&Shown::ready, stream));
    SLUICE_RETURN_IF_ERROR(ownPart(call, stream));
    return check(functions->driver.eventRecord(done, stream), "cuEventRecord");
  }

  Status waitFor(Event Shown::*event, Stream stream) const {
    for (int m = 0; m < size(); ++m)
      if (m != rank())
        SLUICE_RETURN_IF_ERROR(check(functions->driver.streamWait(stream, shown[static_cast<std::size_t>(m)].*event, 0),
                                     "cuStreamWaitEvent"));
    return {};
  }

  Status failureOfOthers() const {
    return std::ranges::any_of(shown, [](const Shown &of) { return of.failed != 0; })
               ? failedError("a different rank of the collective failed")
               : Status();
  }

  Status meet(Shown own, const CallLabel &label) {
    const SegmentPointers segment{&own, shown.data(), sizeof(Shown)};
    return host->allGather({&segment, 1}, DType::u8, {label.instruction, "the meeting of virtual ranks"}, nullptr);
  }

  Status ownPart(const Call &call, Stream stream) {
    const std::uint64_t bytes = dtypeBytes(call.dtype);
    for (std::size_t s = 0; s < call.segments.size(); ++s) {
      const SegmentPointers &own = call.segments[s];
      switch (call.kind) {
      case CallKind::allGather:
        for (int m = 0; m < size(); ++m)
          SLUICE_RETURN_IF_ERROR(copy(own.destinationAt(static_cast<std::uint64_t>(m) * own.count * bytes),
                                      of(m, s).source, own.count * bytes, stream));
        break;
      case CallKind::reduceScatter:
      case CallKind::allReduce:
        SLUICE_RETURN_IF_ERROR(reduceRange(call, s, stream));
        break;
      case CallKind::allToAll: {
        const std::uint64_t chunk = own.count * bytes, receiver = static_cast<std::uint64_t>(rank());
        for (int m = 0; m < size(); ++m)
          SLUICE_RETURN_IF_ERROR(copy(own.destinationAt(static_cast<std::uint64_t>(m) * chunk),
                                      of(m, s).sourceAt(receiver * chunk), chunk, stream));
        break;
      }
      case CallKind::broadcast:
        SLUICE_RETURN_IF_ERROR(copy(own.destination, of(call.root, s).source, own.count * bytes, stream));
        break;
      case CallKind::barrier:
        break;
      }
    }
    return {};
  }

  const SegmentPointers &of(int member, std::size_t segment) const {
    return shown[static_cast<std::size_t>(member)].call->segments[segment];
  }

  Status copy(void *to, const void *from, std::uint64_t bytes, Stream stream) const {
    if (to == from || bytes == 0)
      return {};
    return check(functions->driver.copy(reinterpret_cast<DevicePointer>(to), reinterpret_cast<DevicePointer>(from),
                                        bytes, stream),
                 "cuMemcpyAsync");
  }

  /// This rank's range of all members' sources, into its destination or into the same range of all destinations.
  Status reduceRange(const Call &call, std::size_t segment, Stream stream) const {
    const std::uint64_t begin = rangeFrom(call, segment, rank(), size());
    const std::uint64_t count = rangeFrom(call, segment, rank() + 1, size()) - begin;
    if (count == 0)
      return {};
    const std::uint64_t offset = begin * dtypeBytes(call.dtype);
    const bool scatters = call.kind == CallKind::reduceScatter;
    MemberReduceArgs args;
    args.sources = size();
    args.destinations = scatters ? 1 : size();
    for (int m = 0; m < size(); ++m) {
      args.source[m] = const_cast<std::byte *>(of(m, segment).sourceAt(offset));
      args.destination[m] = of(m, segment).destinationAt(scatters ? 0 : offset);
    }
    if (scatters)
      args.destination[0] = of(rank(), segment).destination;
    args.count = static_cast<Index>(count);
    args.type = static_cast<int>(call.dtype);
    args.op = static_cast<int>(call.op);
    args.scale = call.scale;
    constexpr int threads = 256;
    return code->launch(reduce, {std::min<std::uint64_t>((count + threads - 1) / threads, 1024), threads, 0}, &args,
                        stream);
  }

  const std::unique_ptr<Communicator> host;
  const std::vector<int> members;
  const std::string channel;
  const Table *functions = nullptr;
  std::shared_ptr<DeviceCode> code;
  Function reduce = nullptr;
  Event ready = nullptr, done = nullptr;
  /// By member, of the current call.
  std::vector<Shown> shown;
};

class VirtualWorld final : public World {
public:
  explicit VirtualWorld(int size) : host(createLocalWorld(size)) {}
  int size() const override { return host->size(); }
  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                               std::string_view channel) override {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> inner, host->create(rank, members, channel));
    return std::unique_ptr<Communicator>(std::make_unique<VirtualCommunicator>(
        std::move(inner), std::vector<int>(members.begin(), members.end()), std::string(channel)));
  }
  void abort(const Status &reason) override { host->abort(reason); }
  Status state() const override { return host->state(); }

private:
  const std::shared_ptr<World> host;
};

} // namespace

std::shared_ptr<World> createVirtualRanks(int size) { return std::make_shared<VirtualWorld>(size); }

} // namespace sluice
