//===- NcclCommunicator.h - one rank's communicator of NCCL -----------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/base/cuda/Table.h"
#include "runtime/collective/Call.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace sluice::nccl {

/// State that the communicators of a world share.
struct Group {
  const cuda::Table &table;
  const int worldRank;
  /// After a failure no collective is called and no communicator destroyed.
  std::atomic<bool> hasFailed = false;
};

/// A call with a stream goes to NCCL, one without to the communicator of the host. The rank's thread uses it.
class NcclCommunicator final : public Communicator {
public:
  /// `mark`: the address to which the stream writes the number of its current collective; null: none.
  NcclCommunicator(std::shared_ptr<Group> group, cuda::nccl::Comm comm, std::unique_ptr<Communicator> host,
                   std::string channel, std::uint32_t *mark, std::function<void(NcclCommunicator *)> leave)
      : group(std::move(group)), table(this->group->table), comm(comm), host(std::move(host)),
        channel(std::move(channel)), mark(mark), leave(std::move(leave)) {}
  ~NcclCommunicator() override;

  int rank() const override { return host->rank(); }
  int size() const override { return host->size(); }
  Status run(const Call &call, void *stream) override {
    return stream ? runOnStream(call, stream) : host->run(call, nullptr);
  }
  void abort(const Status &reason) override { host->abort(reason); }

  cuda::nccl::Comm handle() const { return comm; }
  /// Deregistered with the communicator.
  void keepWindow(cuda::nccl::Window window) { windows.push_back(window); }
  /// NCCL's asynchronous error; any thread.
  Status asyncError() const;
  /// The number that the stream has written last; 0: it is in no collective.
  std::uint32_t position() const { return mark ? std::atomic_ref(*mark).load(std::memory_order_relaxed) : 0; }
  /// "channel 'gather' at instruction 12 (h.0)" of a position, "channel 'gather'" of 0; any thread.
  std::string describePosition(std::uint32_t position) const;

private:
  Status runOnStream(const Call &call, cuda::Stream stream);
  Status issue(const Call &call, int type, int op, cuda::Stream stream) const;
  /// NCCL's number of an operation; a pre-multiplied sum is created once for each factor and type.
  Result<int> operationOf(const Call &call, int type);
  Status writeMark(std::uint32_t position, cuda::Stream stream) const;

  const std::shared_ptr<Group> group;
  const cuda::Table &table;
  cuda::nccl::Comm comm;
  const std::unique_ptr<Communicator> host;
  const std::string channel;
  std::uint32_t *const mark;
  const std::function<void(NcclCommunicator *)> leave;
  std::map<std::pair<double, int>, int> operations;
  std::vector<cuda::nccl::Window> windows;
  /// Of the labels below, by instruction and name; positions count from 1.
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> positions;
  std::vector<CallLabel> labels;
  /// Guards the labels.
  mutable std::mutex mutex;
};

} // namespace sluice::nccl

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
