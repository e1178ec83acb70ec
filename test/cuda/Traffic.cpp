//===- Traffic.cpp - counts of the memory accesses of emulated kernels --------------------===//
#include "test/cuda/Traffic.h"

#include "runtime/base/cuda/Lane.h"

#include <algorithm>
#include <bit>

namespace sluice::test {

using cuda::warpSize;

bool Traffic::isAvailable() {
#ifdef SLUICE_ACCESS_HOOKS
  return true;
#else
  return false;
#endif
}

void Traffic::track(const void *begin, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  ranges.push_back({at, at + bytes});
}

void Traffic::beginLaunch(const std::string &kernel, std::uint64_t blocks, int threads) {
  LaunchTraffic &launch = counted.emplace_back();
  launch.kernel = kernel;
  launch.blocks = blocks;
  launch.threads = threads;
  executions.assign(static_cast<std::size_t>(threads), {});
  requests.assign(static_cast<std::size_t>(threads / warpSize), {});
}

void Traffic::beginBlock(const void *shared, std::size_t bytes) {
  sharedBegin = reinterpret_cast<std::uintptr_t>(shared);
  sharedEnd = sharedBegin + bytes;
}

void Traffic::access(const void *instruction, const void *address, std::size_t bytes, bool writes, int thread) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const bool isShared = at >= sharedBegin && at < sharedEnd;
  if (!isShared &&
      std::ranges::none_of(ranges, [&](const Range &range) { return at >= range.begin && at < range.end; }))
    return;
  const std::size_t number = numbers.try_emplace(instruction, numbers.size()).first->second;
  std::vector<std::size_t> &executed = executions[static_cast<std::size_t>(thread)];
  std::vector<std::vector<Request>> &ofWarp = requests[static_cast<std::size_t>(thread / warpSize)];
  if (executed.size() <= number)
    executed.resize(number + 1);
  if (ofWarp.size() <= number)
    ofWarp.resize(number + 1);
  const std::size_t execution = executed[number]++;
  if (ofWarp[number].size() <= execution)
    ofWarp[number].resize(execution + 1);
  Request &request = ofWarp[number][execution];
  request.bytes = bytes;
  request.writes = writes;
  request.isShared = isShared;
  request.addresses.push_back(at);
}

void Traffic::barrier(bool ofBlock, int thread) {
  if (counted.empty() || thread % warpSize != 0)
    return;
  ++(ofBlock ? counted.back().blockBarriers : counted.back().warpBarriers);
}

namespace {

/// Cycles of one access of shared memory, and the least number for as many different words.
struct Cycles {
  std::uint64_t taken = 0, least = 0;
};

/// `addresses`: those of the threads that are served together.
void addCycles(const std::vector<std::uintptr_t> &addresses, std::size_t begin, std::size_t end, std::size_t bytes,
               Cycles &cycles) {
  constexpr std::size_t banks = 32, bankBytes = 4;
  std::vector<std::uintptr_t> words;
  for (std::size_t i = begin; i < end; ++i)
    for (std::uintptr_t word = addresses[i] / bankBytes; word <= (addresses[i] + bytes - 1) / bankBytes; ++word)
      words.push_back(word);
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::uint64_t, banks> ofBank{};
  for (std::uintptr_t word : words)
    ++ofBank[word % banks];
  cycles.taken += std::ranges::max(ofBank);
  cycles.least += (words.size() + banks - 1) / banks;
}

} // namespace

void Traffic::count(Request &request) {
  LaunchTraffic &launch = counted.back();
  if (request.isShared) {
    const std::size_t together = warpSize / std::max<std::size_t>(request.bytes / 4, 1);
    Cycles cycles;
    for (std::size_t i = 0; i < request.addresses.size(); i += together)
      addCycles(request.addresses, i, std::min(i + together, request.addresses.size()), request.bytes, cycles);
    ++launch.sharedRequests;
    launch.conflicts += cycles.taken - cycles.least;
    return;
  }
  std::vector<std::uintptr_t> sectors;
  for (std::uintptr_t at : request.addresses)
    for (std::uintptr_t sector = at / sectorBytes; sector <= (at + request.bytes - 1) / sectorBytes; ++sector)
      sectors.push_back(sector);
  std::ranges::sort(sectors);
  GlobalTraffic &to = request.writes ? launch.stores : launch.loads;
  const auto different = static_cast<std::uint64_t>(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
  ++to.requests;
  to.sectors += different;
  to.byWidth[static_cast<std::size_t>(std::bit_width(std::min<std::size_t>(request.bytes, 16)) - 1)] += different;
}

void Traffic::endBlock() {
  for (std::vector<std::vector<Request>> &ofWarp : requests)
    for (std::vector<Request> &ofInstruction : ofWarp) {
      for (Request &request : ofInstruction)
        count(request);
      ofInstruction.clear();
    }
  for (std::vector<std::size_t> &executed : executions)
    std::ranges::fill(executed, 0);
}

} // namespace sluice::test
