//===- NcclCommunicator.cpp - one rank's communicator of NCCL ---------------------------===//
#include "runtime/collective/nccl/NcclCommunicator.h"
#include "runtime/base/Half.h"

#include <cstring>

namespace sluice::nccl {

using namespace cuda::nccl;
using cuda::ncclStatus;

/// By DType.
static constexpr int types[dtypeCount] = {typeF32, typeF64, typeBf16, typeF16, typeI32, typeI64, typeU8};

NcclCommunicator::~NcclCommunicator() {
  leave(this);
  if (group->hasFailed)
    return;
  for (cuda::nccl::Window window : windows)
    table.nccl.deregisterWindow(comm, window);
  for (const auto &[key, operation] : operations)
    table.nccl.destroyOp(operation, comm);
  table.nccl.destroy(comm);
}

Result<int> NcclCommunicator::operationOf(const Call &call, int type) {
  switch (call.op) {
  case Reduction::mean:
    return average;
  case Reduction::max:
    return cuda::nccl::max;
  case Reduction::premulSum: {
    const auto [found, isNew] = operations.try_emplace({call.scale, type}, 0);
    if (!isNew)
      return found->second;
    // The factor has the elements' type.
    alignas(8) std::byte factor[8] = {};
    const auto put = [&](auto value) { std::memcpy(factor, &value, sizeof value); };
    if (call.dtype == DType::f64)
      put(call.scale);
    else if (call.dtype == DType::bf16)
      put(floatToBf16(static_cast<float>(call.scale)));
    else if (call.dtype == DType::f16)
      put(floatToF16(static_cast<float>(call.scale)));
    else
      put(static_cast<float>(call.scale));
    SLUICE_RETURN_IF_ERROR(ncclStatus(table.nccl.makePremulSum(&found->second, factor, type, scalarOnHost, comm),
                                      "ncclRedOpCreatePreMulSum"));
    return found->second;
  }
  default:
    return sum;
  }
}

Status NcclCommunicator::runOnStream(const Call &call, cuda::Stream stream) {
  if (group->hasFailed)
    return failedError("channel '" + channel + "' was ended by an earlier failure");
  SLUICE_RETURN_IF_ERROR(checkCall(call, size()));
  const int type = types[static_cast<std::size_t>(call.dtype)];
  SLUICE_ASSIGN_OR_RETURN(int op, operationOf(call, type));
  const auto [position, isNew] =
      positions.try_emplace({call.label.instruction, call.label.what}, static_cast<std::uint32_t>(labels.size() + 1));
  if (isNew) {
    std::lock_guard lock(mutex);
    labels.push_back(call.label);
  }
  SLUICE_RETURN_IF_ERROR(writeMark(position->second, stream));
  Status status = ncclStatus(table.nccl.groupStart(), "ncclGroupStart");
  if (status.isOk())
    status = issue(call, type, op, stream);
  // The group is ended also after a failure in it.
  Status grouped = ncclStatus(table.nccl.groupEnd(), "ncclGroupEnd");
  SLUICE_RETURN_IF_ERROR(status);
  SLUICE_RETURN_IF_ERROR(grouped);
  return writeMark(0, stream);
}

/// The stream writes it in order; a graph repeats it.
Status NcclCommunicator::writeMark(std::uint32_t position, cuda::Stream stream) const {
  if (!mark)
    return {};
  return driverStatus(table, table.driver.writeValue(stream, reinterpret_cast<cuda::DevicePointer>(mark), position, 0),
                      "cuStreamWriteValue32");
}

Status NcclCommunicator::issue(const Call &call, int type, int op, cuda::Stream stream) const {
  constexpr std::string_view names[] = {"ncclAllGather", "ncclReduceScatter", "ncclAllReduce", "ncclBroadcast",
                                        "ncclSend"};
  for (const SegmentPointers &segment : call.segments) {
    const auto &[source, destination, count] = segment;
    cuda::Code code = 0;
    switch (call.kind) {
    case CallKind::allGather:
      code = table.nccl.allGather(source, destination, count, type, comm, stream);
      break;
    case CallKind::reduceScatter:
      code = table.nccl.reduceScatter(source, destination, count, type, op, comm, stream);
      break;
    case CallKind::allReduce:
      code = table.nccl.allReduce(source, destination, count, type, op, comm, stream);
      break;
    case CallKind::broadcast:
      code = table.nccl.broadcast(source, destination, count, type, call.root, comm, stream);
      break;
    case CallKind::allToAll: {
      const std::uint64_t bytes = count * dtypeBytes(call.dtype);
      for (int peer = 0; peer < size() && code == 0; ++peer) {
        const std::uint64_t chunk = static_cast<std::uint64_t>(peer) * bytes;
        code = table.nccl.send(segment.sourceAt(chunk), count, type, peer, comm, stream);
        if (code == 0)
          code = table.nccl.receive(segment.destinationAt(chunk), count, type, peer, comm, stream);
      }
      break;
    }
    case CallKind::barrier:
      return {};
    }
    SLUICE_RETURN_IF_ERROR(ncclStatus(code, names[static_cast<std::size_t>(call.kind)]));
  }
  return {};
}

Status NcclCommunicator::asyncError() const {
  cuda::Code error = 0;
  if (table.nccl.asyncError(comm, &error) != 0 || error == 0 || error == inProgress)
    return {};
  return failedError("rank " + std::to_string(group->worldRank) + ", " + describePosition(position()) + ": " +
                     ncclStatus(error, "nccl").message());
}

std::string NcclCommunicator::describePosition(std::uint32_t position) const {
  std::string text = "channel '" + channel + "'";
  std::lock_guard lock(mutex);
  if (position != 0 && position <= labels.size())
    text += " at instruction " + std::to_string(labels[position - 1].instruction) + " (" +
            std::string(labels[position - 1].what) + ")";
  return text;
}

} // namespace sluice::nccl
