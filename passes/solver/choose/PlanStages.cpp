//===- PlanStages.cpp - the blocks of a plan and their alternatives --------------------------===//
#include "passes/solver/choose/PlanStages.h"

#include "passes/solver/OffloadRule.h"
#include "passes/solver/choose/BlockGraph.h"
#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>

namespace sluice {
namespace {

/// Names of ops of which all subsets are alternatives: those that take most time.
constexpr std::size_t mostNames = 6;

std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

/// What stages keep, and the launches that recomputing them repeats.
class Recomputation {
public:
  Recomputation(const BlockGraph &graph, const plan::PlanT &plan, const Machine *machine) : graph(graph) {
    if (machine)
      costs.emplace(plan, *machine);
    for (std::size_t b = 0; b < graph.blocks().size(); ++b)
      for (std::uint32_t op : graph.blocks()[b].backward)
        for (std::uint32_t value : graph.operandsOf(op))
          if (const BlockGraph::Computed *computed = graph.computed(value)) {
            auto [reader, isNew] = readers.try_emplace(computed->value, b);
            if (!isNew && reader->second != b)
              reader->second = severalBlocks;
          }
  }

  struct Effect {
    std::int64_t keptBytes = 0;
    std::int64_t time = 0;
    /// The part of the kept bytes that can be copied to host memory.
    std::int64_t movableBytes = 0;
  };
  /// Nothing is recomputed.
  Effect ofBase(std::size_t block) const { return effectOf(block, {}, 0); }

  /// All is recomputed except the results of the named ops.
  Effect of(std::size_t block, const std::set<std::string> &save) {
    const Ops recomputed = recomputedOps(block, save);
    std::int64_t time = 0;
    for (const plan::InstructionT *launch : launchesOf(recomputed))
      time += timeOf(*launch);
    return effectOf(block, recomputed, time);
  }

  /// The time of copies of a block's values to the host and back that the next block's forward and backward do not
  /// hide.
  std::int64_t exposedTime(std::int64_t bytes, std::size_t next) {
    const std::int64_t copy =
        picoseconds(costs->copySeconds(static_cast<std::uint64_t>(bytes), plan::Space::device, plan::Space::host));
    std::int64_t exposed = 0;
    for (const std::vector<std::uint32_t> *ops : {&graph.blocks()[next].forward, &graph.blocks()[next].backward}) {
      std::int64_t hidden = 0;
      for (const plan::InstructionT *launch : launchesOf(Ops(ops->begin(), ops->end())))
        hidden += timeOf(*launch);
      exposed += std::max<std::int64_t>(copy - hidden, 0);
    }
    return exposed;
  }

  /// Names of recomputed ops by falling time, at most `mostNames`.
  std::vector<std::string> names(std::size_t block) {
    std::map<std::string, std::int64_t> times;
    for (std::uint32_t op : recomputedOps(block, {}))
      for (const plan::InstructionT *launch : launchesOf({op}))
        times[std::string(graph.nameOf(op))] += timeOf(*launch);
    std::vector<std::string> names;
    for (const auto &[name, time] : times)
      names.push_back(name);
    std::ranges::stable_sort(names, [&](const auto &a, const auto &b) { return times[a] > times[b]; });
    names.resize(std::min(names.size(), mostNames));
    return names;
  }

private:
  using Ops = std::set<std::uint32_t>;
  static constexpr std::size_t severalBlocks = ~std::size_t(0);

  /// As model-recompute: the ops that the backward needs, directly or for another one of them.
  Ops recomputedOps(std::size_t block, const std::set<std::string> &save) const {
    const BlockOps &ops = graph.blocks()[block];
    const std::unordered_set<std::uint32_t> backward(ops.backward.begin(), ops.backward.end());
    Ops needed;
    for (std::size_t k = ops.forward.size(); k-- > 0;) {
      const std::uint32_t op = ops.forward[k];
      const std::string name(graph.nameOf(op));
      if (name == "read" || save.contains(name))
        continue;
      for (std::uint32_t value : graph.resultsOf(op))
        for (std::uint32_t user : graph.usersOf(value))
          if (backward.contains(user) || needed.contains(user))
            needed.insert(op);
    }
    return needed;
  }

  /// Computed values that are live from the forward to the backward of the block.
  std::map<std::uint32_t, std::int64_t> keptBy(std::size_t block, const Ops &recomputed) const {
    std::map<std::uint32_t, std::int64_t> kept;
    const auto addOperands = [&](std::uint32_t op) {
      for (std::uint32_t value : graph.operandsOf(op)) {
        const BlockGraph::Computed *computed = graph.computed(value);
        if (!computed)
          continue;
        const std::uint32_t source = graph.opOf(computed->value);
        if (!recomputed.contains(source) && graph.phaseOf(source) == plan::Phase::forward)
          kept.emplace(computed->value, computed->bytes);
      }
    };
    for (std::uint32_t op : graph.blocks()[block].backward)
      addOperands(op);
    for (std::uint32_t op : recomputed)
      addOperands(op);
    return kept;
  }

  /// Without values that the backward of another block reads too: these are live in any case.
  Effect effectOf(std::size_t block, const Ops &recomputed, std::int64_t time) const {
    Effect effect{0, time};
    for (const auto &[value, bytes] : keptBy(block, recomputed)) {
      const auto reader = readers.find(value);
      if (reader != readers.end() && reader->second != block)
        continue;
      effect.keptBytes += bytes;
      if (bytes >= leastOffloadedBytes)
        effect.movableBytes += bytes;
    }
    return effect;
  }

  std::set<const plan::InstructionT *> launchesOf(const Ops &ops) const {
    std::set<const plan::InstructionT *> launches;
    for (std::uint32_t op : ops)
      for (std::uint32_t value : graph.resultsOf(op))
        if (const BlockGraph::Computed *computed = graph.computed(value); computed && computed->value == value)
          launches.insert(computed->instruction);
    return launches;
  }

  std::int64_t timeOf(const plan::InstructionT &launch) {
    const auto [known, isNew] = times.try_emplace(&launch, 0);
    if (isNew && costs) {
      const InstructionCost cost = costs->cost(launch);
      known->second = picoseconds(cost.latency + cost.work);
    } else if (isNew) {
      known->second = static_cast<std::int64_t>(launch.operation.AsLaunch()->flops);
    }
    return known->second;
  }

  const BlockGraph &graph;
  std::optional<CostModel> costs;
  std::map<const plan::InstructionT *, std::int64_t> times;
  /// By computed value, the block whose backward reads it.
  std::map<std::uint32_t, std::size_t> readers;
};

/// The gather of a unit in the backward.
struct Gather {
  std::int64_t bytes = 0, traffic = 0, time = 0;
};

/// By unit, for units that are released after the forward.
std::map<std::string, Gather> backwardGathers(const plan::PlanT &plan, const plan::EntryT &entry,
                                              const std::optional<PredictedStep> &step) {
  std::map<std::string, Gather> gathers;
  std::map<const plan::InstructionT *, Gather *> byInstruction;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t section) {
    const plan::CollectiveT *collective = instruction.operation.AsCollective();
    if (!collective || collective->kind != plan::CollectiveKind::all_gather || instruction.unit < 0 ||
        instruction.phase != plan::Phase::backward)
      return;
    const plan::UnitT &unit = *plan.units[static_cast<std::size_t>(instruction.unit)];
    if (!unit.reshard_after_forward)
      return;
    Gather &gather = gathers[unit.name];
    gather.bytes += static_cast<std::int64_t>(collectiveBytes(*collective));
    gather.traffic += static_cast<std::int64_t>(collectiveBytes(*collective) *
                                                timesIssued(instruction, entry.sections[section]->repeat));
    byInstruction[&instruction] = &gather;
  });
  for (std::size_t c = 0; step && c < step->collectives.size(); ++c) {
    const PredictedCollective &collective = step->collectives[c];
    const auto found = byInstruction.find(step->instructions[collective.instruction].issued.instruction);
    if (found != byInstruction.end())
      found->second->time += picoseconds(collective.exposed);
  }
  return gathers;
}

/// Adds an alternative. Its cost is relative to the first one, the base plan.
void addAlternative(PlanStage &stage, BudgetStage &problem, StageAlternative alternative, BudgetCost cost) {
  const std::int64_t base = stage.alternatives.empty() ? alternative.keptBytes : stage.alternatives[0].keptBytes;
  problem.alternatives.push_back({base - alternative.keptBytes, cost, alternative.hostBytes});
  stage.alternatives.push_back(std::move(alternative));
}

/// Removes alternatives that keep no less and cost no less than another one; the base plan stays.
void removeDominated(PlanStage &stage, BudgetStage &problem) {
  std::vector<std::size_t> order;
  for (std::size_t a = 1; a < stage.alternatives.size(); ++a)
    order.push_back(a);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const BudgetAlternative &x = problem.alternatives[a], &y = problem.alternatives[b];
    return x.savedBytes != y.savedBytes ? x.savedBytes > y.savedBytes : x.cost < y.cost;
  });
  std::vector<std::size_t> kept = {0};
  const auto savedAtOnce = [](const BudgetAlternative &alternative) {
    return alternative.savedBytes - alternative.inFlightBytes;
  };
  for (std::size_t a : order) {
    const BudgetAlternative &alternative = problem.alternatives[a];
    const bool isWorseThanBase = alternative.savedBytes <= 0 && !(alternative.cost < BudgetCost());
    // Those that are kept save as much in the end.
    const bool isWorse = std::any_of(kept.begin() + 1, kept.end(), [&](std::size_t other) {
      return !(alternative.cost < problem.alternatives[other].cost) &&
             savedAtOnce(problem.alternatives[other]) >= savedAtOnce(alternative);
    });
    if (!isWorseThanBase && !isWorse)
      kept.push_back(a);
  }
  PlanStage reducedStage{stage.block, {}};
  BudgetStage reduced;
  for (std::size_t a : kept) {
    reducedStage.alternatives.push_back(std::move(stage.alternatives[a]));
    reduced.alternatives.push_back(problem.alternatives[a]);
  }
  stage = std::move(reducedStage);
  problem = std::move(reduced);
}

/// Blocks whose forward ends after that of the blocks before, and whose backward begins before theirs.
std::vector<std::size_t> nestedBlocks(const std::vector<BlockOps> &blocks) {
  std::vector<std::size_t> nested;
  std::uint32_t end = 0, begin = ~std::uint32_t(0);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].forwardEnd > end && blocks[b].backwardBegin < begin &&
        blocks[b].forwardEnd <= blocks[b].backwardBegin) {
      nested.push_back(b);
      end = blocks[b].forwardEnd;
      begin = blocks[b].backwardBegin;
    }
  return nested;
}

} // namespace

std::optional<std::uint32_t> trainedEntry(const plan::PlanT &plan) {
  std::optional<std::uint32_t> best;
  std::uint64_t most = 0;
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    bool hasBackward = false;
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      hasBackward = hasBackward || instruction.phase == plan::Phase::backward;
    });
    const std::uint64_t bytes = hasBackward ? profileEntry(plan, e, plan::Space::device).peakBytes : 0;
    if (bytes > most) {
      best = e;
      most = bytes;
    }
  }
  return best;
}

Result<PlanStages> readStages(const plan::PlanT &plan, const StageFreedom &freedom, const Machine *machine) {
  PlanStages result;
  result.problem.live = {static_cast<std::int64_t>(findPeak(plan, plan::Space::device).bytes)};
  const std::optional<std::uint32_t> entry = trainedEntry(plan);
  if (!entry)
    return result;
  std::optional<PredictedStep> step;
  if (machine) {
    SLUICE_ASSIGN_OR_RETURN(step, predictStep(plan, *machine, *entry));
    if (!step->isComplete)
      return inputError(concat("machine '", machine->name, "' has no value for: ",
                               join(step->unknown, ", ", [](const auto &missing) { return missing.first; })))
          .withNote("without a machine, choices are compared by FLOPs");
  }
  const BlockGraph graph(plan, *entry);
  Recomputation recomputation(graph, plan, machine);
  const std::map<std::string, Gather> gathers = backwardGathers(plan, *plan.entries[*entry], step);
  const std::vector<std::size_t> nested = nestedBlocks(graph.blocks());
  for (std::size_t index = 0; index < nested.size(); ++index) {
    const std::size_t block = nested[index];
    PlanStage stage{graph.blocks()[block].name, {}};
    BudgetStage problem;
    const bool mayOffload = index + 1 < nested.size() && freedom.mayOffload.contains(stage.block);
    const auto add = [&](StageAlternative alternative, const Recomputation::Effect &effect) {
      alternative.keptBytes = effect.keptBytes;
      addAlternative(stage, problem, alternative, {effect.time, 0});
      if (!mayOffload || effect.movableBytes == 0)
        return;
      alternative.hostBytes = effect.movableBytes;
      alternative.keptBytes -= effect.movableBytes;
      const std::int64_t exposed = recomputation.exposedTime(effect.movableBytes, nested[index + 1]);
      addAlternative(stage, problem, std::move(alternative), {effect.time + exposed, 0});
    };
    add({}, recomputation.ofBase(block));
    const std::vector<std::string> names = recomputation.names(block);
    for (std::size_t subset = 0; subset < std::size_t(1) << names.size(); ++subset) {
      std::set<std::string> save;
      for (std::size_t n = 0; n < names.size(); ++n)
        if (subset >> n & 1)
          save.insert(names[n]);
      const Recomputation::Effect effect = recomputation.of(block, save);
      add({.recomputes = true, .save = std::move(save)}, effect);
    }
    removeDominated(stage, problem);
    if (const auto gather = gathers.find(stage.block);
        gather != gathers.end() && freedom.mayStayGathered.contains(stage.block)) {
      for (std::size_t a = 0, count = stage.alternatives.size(); a < count; ++a) {
        StageAlternative gathered = stage.alternatives[a];
        gathered.staysGathered = true;
        gathered.keptBytes += gather->second.bytes;
        const BudgetCost saved{-gather->second.time, -gather->second.traffic};
        addAlternative(stage, problem, std::move(gathered), problem.alternatives[a].cost + saved);
      }
      removeDominated(stage, problem);
    }
    result.stages.push_back(std::move(stage));
    result.problem.stages.push_back(std::move(problem));
  }

  const EntryProfile profile = profileEntry(plan, *entry, plan::Space::device);
  result.problem.live.assign(nested.size() + 1, 0);
  for (std::uint32_t i = 0; i < profile.live.size(); ++i) {
    std::size_t saving = 0;
    while (saving < nested.size() && graph.blocks()[nested[saving]].forwardEnd <= i &&
           i < graph.blocks()[nested[saving]].backwardBegin)
      ++saving;
    result.problem.live[saving] = std::max(result.problem.live[saving], static_cast<std::int64_t>(profile.live[i]));
  }
  return result;
}

} // namespace sluice
