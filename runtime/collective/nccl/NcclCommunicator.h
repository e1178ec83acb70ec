//===- NcclCommunicator.h - one rank's place in one group of NCCL -----------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/base/cuda/Table.h"
#include "runtime/collective/Call.h"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>

namespace sluice::nccl {

/// A call with a stream goes to NCCL, one without to the communicator of the host.
class NcclCommunicator final : public Communicator {
public:
  NcclCommunicator(const cuda::Table &table, cuda::nccl::Comm comm, std::unique_ptr<Communicator> host, int worldRank,
                   std::string channel, std::function<void(NcclCommunicator *)> leave)
      : table(table), comm(comm), host(std::move(host)), worldRank(worldRank), channel(std::move(channel)), leave(std::move(leave)) {}
  ~NcclCommunicator() override;

  int rank() const override { return host->rank(); }
  int size() const override { return host->size(); }
  Status allGather(std::span<const SegmentPointers> segments, DType dtype, const CallLabel &label, void *stream) override;
  Status reduceScatter(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale,
                       const CallLabel &label, void *stream) override;
  Status allReduce(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale, const CallLabel &label,
                   void *stream) override;
  Status broadcast(std::span<const SegmentPointers> segments, DType dtype, int root, const CallLabel &label,
                   void *stream) override;
  Status barrier(const CallLabel &label) override { return host->barrier(label); }
  void abort(const Status &reason) override;

  Status registerMemory(void *memory, std::uint64_t bytes);
  /// What is wrong with the group: NCCL's word, or a call that takes longer than so many seconds (0: no matter how long).
  Status inspect(double limit);
  /// Ends what is under way.
  void end();
  /// Takes no call any more; what is under way goes on until the end.
  void refuse();

private:
  Status run(const Call &call, cuda::Stream stream);
  Status issue(const Call &call, int type, int op, cuda::Stream stream) const;
  /// NCCL's number of an operation; a pre-multiplied sum is made once for each factor and type.
  Result<int> operationOf(const Call &call, int type);
  Status note(const Call &call, cuda::Stream stream);

  const cuda::Table &table;
  cuda::nccl::Comm comm;
  const std::unique_ptr<Communicator> host;
  const int worldRank;
  const std::string channel;
  const std::function<void(NcclCommunicator *)> leave;
  std::map<std::pair<double, int>, int> operations;
  std::vector<void *> registrations;

  /// Of the watch and the rank's thread.
  std::mutex mutex;
  bool refuses = false, ended = false;
  cuda::Event done = nullptr;
  bool underWay = false;
  std::chrono::steady_clock::time_point since;
  std::uint32_t instruction = 0;
  std::string what;
};

} // namespace sluice::nccl

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
