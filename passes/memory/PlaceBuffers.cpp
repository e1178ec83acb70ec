//===- PlaceBuffers.cpp - plan-place-buffers ----------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Plan.h"
#include "passes/memory/Arena.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PackingByPressure.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"

namespace sluice {
#define GEN_PASS_DEF_PLACEBUFFERS
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Comparisons of two buffers, at most some seconds: for each capacity that is tried, and within a budget for all of
/// them. The planner compiles several plans within a budget, so there the work grows as the buffers do.
constexpr uint64_t pressureSteps = 50'000'000, mostStepsWithinBudget = 100'000'000, stepsOfABuffer = 7'000;

/// The buffers of an entry point in one memory space.
struct Placed {
  SmallVector<plan_ir::BufferOp> buffers;
  PackingProblem problem;
  PackingSolution solution;
};

struct PlaceBuffers : sluice::impl::PlaceBuffersBase<PlaceBuffers> {
  using PlaceBuffersBase::PlaceBuffersBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto arena : llvm::make_early_inc_range(module.getOps<plan_ir::ArenaOp>()))
      arena.erase();
    FailureOr<Recipe> recipe = recipeFor(module, budget, offload, pinned);
    if (failed(recipe))
      return signalPassFailure();
    for (MemorySpace space : {MemorySpace::device, MemorySpace::host})
      if (failed(placeSpace(module, space, recipe->memory)))
        return signalPassFailure();
  }

  /// A placement within the budget is low enough, and none can be within a budget below the live bytes. Higher
  /// capacities need fewer steps; the planner leaves room for the gaps of a plan that is over its budget because of
  /// them.
  static void lower(Placed &entry, uint64_t least, std::optional<int64_t> room) {
    if (!room) {
      entry.solution = lowerByPressure(entry.problem, std::move(entry.solution), least, pressureSteps);
      return;
    }
    const auto height = static_cast<int64_t>(entry.solution.height);
    if (height <= *room || static_cast<int64_t>(least) > *room)
      return;
    uint64_t steps = std::min(mostStepsWithinBudget, stepsOfABuffer * entry.buffers.size());
    const auto lowest = static_cast<uint64_t>(*room);
    for (const uint64_t capacity : {least + least / 50, least + least / 100, lowest})
      if (lowest <= capacity && capacity < entry.solution.height)
        if (std::optional<PackingSolution> lower = packByPressure(entry.problem, capacity, steps))
          entry.solution = std::move(*lower);
  }

  static LogicalResult placeSpace(ModuleOp module, MemorySpace space, const Recipe::Memory &memory) {
    uint64_t top = 0, persistentBytes = 0;
    for (plan_ir::BufferOp buffer : buffersOf(module, space, "")) {
      top = llvm::alignTo(top, arenaAlignment);
      buffer.setOffset(top);
      top += buffer.getBytes();
      persistentBytes += buffer.getBytes();
    }
    const uint64_t persistent = llvm::alignTo(top, arenaAlignment);
    uint64_t height = 0, live = 0, least = 0;
    SmallVector<Placed> entries;
    for (auto entry : module.getOps<plan_ir::EntryOp>()) {
      auto buffers = buffersOf(module, space, entry.getSymName());
      for (plan_ir::BufferOp buffer : buffers)
        if (!buffer.getBegin())
          return buffer.emitOpError("has no lifespan before placement");
      PackingProblem problem = problemOf(buffers);
      PackingSolution solution = solvePacking(problem);
      live = std::max(live, largestLiveSum(problem, 1));
      least = std::max(least, largestLiveSum(problem, problem.alignment));
      entries.push_back({std::move(buffers), std::move(problem), std::move(solution)});
    }
    uint64_t workspace = 0;
    for (auto stream : module.getOps<plan_ir::StreamOp>())
      if ((stream.getProcessor() == Processor::host) == (space == MemorySpace::host))
        workspace += stream.getWorkspace();
    const auto taken = static_cast<int64_t>(persistent + workspace);
    std::optional<int64_t> room;
    if (memory.budget && space == MemorySpace::device)
      room = *memory.budget - taken;
    // Only the highest entry point decides the size of the arena.
    for (Placed &entry : entries) {
      lower(entry, least, room);
      for (auto [buffer, offset] : llvm::zip(entry.buffers, entry.solution.offsets))
        buffer.setOffset(persistent + offset);
      height = std::max(height, entry.solution.height);
    }
    if (persistent + height > maxArenaBytes)
      return module.emitError("memory of one rank, expected at most 256 TiB in space '")
             << stringifyMemorySpace(space) << "' but got " << persistent + height
             << " bytes; fewer rows or tokens, or more ranks, take less of each";
    OpBuilder builder(module.getContext());
    auto all = module.getOps<plan_ir::BufferOp>();
    builder.setInsertionPointToEnd(module.getBody());
    if (!all.empty())
      builder.setInsertionPoint(*all.begin());
    const bool pinned = space == MemorySpace::host && memory.offloads() && memory.pinned;
    plan_ir::ArenaOp::create(builder, module.getLoc(), space, persistent + height, persistent, persistentBytes + live,
                             workspace, arenaAlignment, pinned);
    return success();
  }
};

} // namespace
