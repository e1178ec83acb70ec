//===- AlgorithmFile.cpp - a run's file of measured algorithms -------------------===//
#include "runtime/train/AlgorithmFile.h"
#include "runtime/executor/Backend.h"

#include <numeric>

namespace sluice {

/// Broadcasts rank 0's text.
static Status shareText(Communicator &all, std::string &text) {
  std::uint64_t bytes = text.size();
  const SegmentPointers length{&bytes, &bytes, sizeof bytes};
  SLUICE_RETURN_IF_ERROR(all.broadcast({&length, 1}, DType::u8, 0, {0, "length of the algorithms"}, nullptr));
  text.resize(bytes);
  const SegmentPointers segment{text.data(), text.data(), bytes};
  return all.broadcast({&segment, 1}, DType::u8, 0, {0, "algorithms"}, nullptr);
}

Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const plan::PlanT &plan, const RanksOptions &options,
                                                         World *world) {
  if (options.algorithms.empty())
    return std::shared_ptr<cuda::Algorithms>();
  if (!isCudaPlan(plan))
    return Status(StatusCode::usage, "'--algorithms' requires a plan for cuda, but this plan is for " +
                                         (plan.target ? plan.target->device : "no device"));
  if (!world || world->size() == 1)
    return std::make_shared<cuda::Algorithms>(options.algorithms);
  std::vector<int> allRanks(static_cast<std::size_t>(world->size()));
  std::iota(allRanks.begin(), allRanks.end(), 0);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> all, world->create(options.rank, allRanks, "algorithms"));
  return std::make_shared<cuda::Algorithms>(
      options.algorithms,
      [all = std::shared_ptr<Communicator>(std::move(all))](std::string &text) { return shareText(*all, text); },
      options.rank == 0);
}

Status closeAlgorithms(cuda::Algorithms *algorithms, const RanksOptions &options) {
  if (!algorithms)
    return {};
  if (const std::string why = algorithms->whyUnused(); !why.empty() && options.note)
    options.note(why);
  return algorithms->finish();
}

} // namespace sluice
