//===- Ranks.h - threads as ranks, and their memory --------------------------------===//
#ifndef SLUICE_TEST_CONFORMANCE_RANKS_H
#define SLUICE_TEST_CONFORMANCE_RANKS_H

#include "test/conformance/Backends.h"

#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace sluice::test {

/// Runs `body(rank)` on a thread for each rank of this process and returns when all have returned.
template <typename Body> void forRanks(const CommunicatorBackend &backend, int size, Body &&body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    if (backend.isLocal(r))
      threads.emplace_back([&body, r] { body(r); });
  for (std::thread &thread : threads)
    thread.join();
}

inline std::vector<int> allRanks(int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// Elements in a backend's memory.
template <typename T> class RankArray {
public:
  RankArray(const CommunicatorBackend &backend, const std::vector<T> &values)
      : backend(backend), count(values.size()), memory(backend.allocate(bytes() + 1)) {
    backend.write(memory, values.data(), bytes());
  }
  RankArray(const RankArray &) = delete;
  RankArray &operator=(const RankArray &) = delete;
  ~RankArray() { backend.release(memory); }

  T *data() const { return static_cast<T *>(memory); }
  std::vector<T> values() const {
    EXPECT_TRUE(backend.synchronize().isOk());
    std::vector<T> result(count);
    backend.read(result.data(), memory, bytes());
    return result;
  }

private:
  std::size_t bytes() const { return count * sizeof(T); }
  const CommunicatorBackend &backend;
  const std::size_t count;
  void *const memory;
};

/// A communicator suite.
class CommunicatorTest : public testing::TestWithParam<const CommunicatorBackend *> {
protected:
  const CommunicatorBackend &backend() const { return *GetParam(); }

  /// The communicator of all ranks.
  std::unique_ptr<Communicator> join(World &world, int rank, std::string_view channel = "gather") const {
    Result<std::unique_ptr<Communicator>> created = world.create(rank, allRanks(world.size()), channel);
    EXPECT_TRUE(created.isOk()) << created.status().message();
    return created.isOk() ? std::move(*created) : nullptr;
  }
};

} // namespace sluice::test

// Skips the test if the machine is too small for `ranks`.
#define SLUICE_NEEDS_RANKS(ranks)                                                                                      \
  if (backend().maxRanks() < (ranks))                                                                                  \
  GTEST_SKIP() << backend().name() << ": needs " << (ranks) << " ranks, this machine runs " << backend().maxRanks()

#endif // SLUICE_TEST_CONFORMANCE_RANKS_H
