//===- Fsdp2Account.cpp - the memory that PyTorch FSDP2 would hold -------------------------===//
//
// The order of allocations is that of torch.distributed.fsdp.fully_shard of PyTorch 2.15 (_fsdp_param_group.py,
// _fsdp_collectives.py).
//
//===----------------------------------------------------------------------===//
#include "runtime/report/accounts/EagerAccount.h"

#include "runtime/base/Text.h"
#include "runtime/report/Describe.h"
#include "runtime/report/accounts/CachingAllocator.h"
#include "runtime/report/accounts/EagerTensors.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace sluice {
namespace {

using plan::Phase;

enum Purpose : std::size_t {
  parameters,
  optimizerStates,
  inputs,
  stagedShards,
  gatherBuffers,
  gatheredCopies,
  gradients,
  reduceBuffers,
  gradientShards,
  activations,
  outputs,
  optimizerTemporaries,
  purposes
};
constexpr std::array<const char *, purposes> purposeNames = {
    "parameter",         "optimizer",  "input",    "staged_shard",
    "all_gather_output", "gathered",   "gradient", "reduce_scatter_input",
    "gradient_shard",    "activation", "output",   "optimizer_temporary"};

/// The stream in whose pool of the allocator tensors are: the current one, or one of the two of FSDP2.
std::uint32_t streamOf(std::size_t purpose) {
  return purpose == gatherBuffers || purpose == stagedShards ? 1 : purpose == gradientShards ? 2 : 0;
}

class Fsdp2Step {
public:
  Fsdp2Step(const EagerProgram &program, const Fsdp2Options &options)
      : program(program), offloads(options.offloads), live(purposes, BytesOverTime(before(opCount()))) {
    const EagerTensors tensors = eagerTensors(program, options.hasLossInModel);
    for (const EagerUnit &unit : program.units)
      measure(unit);
    findOrder();
    addForward();
    addBackward();
    live[activations] = tensors.activations;
    live[outputs] = tensors.outputs;
    for (const BytesOverTime &bytes : live)
      values.push_back(bytes.values());
  }

  struct Sums {
    std::uint64_t shards = 0, gradientShards = 0, states = 0, temporaries = 0;
  };
  const Sums &sums() const { return total; }
  /// Bytes of the shard of each parameter.
  const std::vector<std::uint64_t> &shards() const { return shardBytes; }

  /// Live bytes by purpose between the last op of `phase` and the next op; without shards, states and the batch.
  std::array<std::uint64_t, purposes> savedAfter(Phase phase) const { return at(instantAfter(program, phase)); }

  std::array<std::uint64_t, purposes> at(std::size_t instant) const {
    std::array<std::uint64_t, purposes> bytes = {};
    for (std::size_t p = 0; p < purposes; ++p)
      bytes[p] = values[p][instant];
    return bytes;
  }

  std::size_t instants() const { return values[0].size(); }

  /// Bytes that the allocator has reserved after three iterations. `persistent`: tensors that exist throughout.
  std::uint64_t reserved(bool hasExpandableSegments, const std::vector<std::uint64_t> &persistent) const {
    CachingAllocator allocator(hasExpandableSegments);
    for (const std::uint64_t bytes : persistent)
      allocator.allocate(0, bytes);
    // By instant: tensors that begin, in the order of the purposes, and those that end.
    struct Allocation {
      std::uint32_t stream = 0;
      std::uint64_t bytes = 0, block = 0;
    };
    std::vector<Allocation> allocations;
    std::vector<std::vector<std::size_t>> begins(instants()), ends(instants());
    for (std::size_t p = 0; p < purposes; ++p)
      for (const BytesOverTime::Tensor &tensor : live[p].tensors()) {
        begins[tensor.begin].push_back(allocations.size());
        ends[tensor.end].push_back(allocations.size());
        allocations.push_back({streamOf(p), tensor.bytes});
      }
    const std::size_t update = instantAfter(program, Phase::backward);
    for (int iteration = 0; iteration < 3; ++iteration)
      for (std::size_t instant = 0; instant < instants(); ++instant) {
        if (instant == update)
          addUpdate(allocator, iteration == 0);
        for (const std::size_t a : begins[instant])
          allocations[a].block = allocator.allocate(allocations[a].stream, allocations[a].bytes);
        for (const std::size_t a : ends[instant])
          allocator.free(allocations[a].block);
      }
    return allocator.reserved();
  }

private:
  /// States and temporaries of the optimizer of a GPU, which updates all parameters at once (foreach).
  void addUpdate(CachingAllocator &allocator, bool isFirst) const {
    if (offloads)
      return;
    std::vector<std::uint64_t> blocks;
    for (const auto &[bytes, states] : updated) {
      for (std::uint64_t s = 0; isFirst && s < states; ++s)
        allocator.allocate(0, bytes);
      if (states > 1)
        blocks.push_back(allocator.allocate(0, bytes));
    }
    for (const std::uint64_t block : blocks)
      allocator.free(block);
  }

  std::uint32_t opCount() const { return std::uint32_t(program.ops.size()); }
  std::size_t end() const { return after(opCount() - 1); }

  struct Unit {
    /// Bytes of the output of an all-gather and as many of copies, of the input and output of a reduce-scatter, of the
    /// gradient shards, and, if they have a different type, of the output again.
    std::uint64_t shards = 0, gathered = 0, reduced = 0, gradientShard = 0, castShard = 0;
    /// By parameter.
    std::vector<std::uint64_t> copies;
  };

  void addCopies(std::size_t begin, std::size_t end, std::size_t u) {
    for (const std::uint64_t bytes : units[u].copies)
      live[gatheredCopies].add(begin, end, bytes);
  }
  /// With offload the shards of a unit are on the GPU from before its gather to the end of it.
  void addStaged(std::size_t begin, std::size_t end, std::size_t u) {
    if (offloads)
      live[stagedShards].add(begin, end, units[u].shards);
  }

  /// FSDP2 shards each parameter on its dim, padded to equal shards.
  void measure(const EagerUnit &unit) {
    Unit bytes;
    for (std::uint32_t p : unit.parameters) {
      const EagerParameter &own = program.parameters[p];
      const plan::ParameterT &parameter = *own.parameter;
      const std::uint64_t elements = elementCount(parameter.shape).value_or(0);
      const bool isSharded = parameter.dim >= 0 && !parameter.shape.empty();
      const std::size_t dim = std::size_t(parameter.dim) < parameter.shape.size() ? std::size_t(parameter.dim) : 0;
      const std::uint64_t extent = isSharded ? std::uint64_t(parameter.shape[dim]) : 1,
                          ranks = isSharded ? program.shardRanks : 1;
      const std::uint64_t shard = extent == 0 ? 0 : (extent + ranks - 1) / ranks * (elements / extent);
      const std::uint64_t stored = shard * dtypeBytes(baseType(parameter.dtype));
      total.shards += stored;
      shardBytes.push_back(stored);
      total.states += parameter.states.size() * stored;
      bytes.shards += stored;
      bytes.gathered += shard * ranks * dtypeBytes(own.compute);
      bytes.copies.push_back(shard * ranks * dtypeBytes(own.compute));
      if (own.gradient == noOp)
        continue;
      total.gradientShards += stored;
      updated.emplace_back(stored, parameter.states.size());
      // Adam: the root of the second moment, of all parameters at once on CUDA (foreach), else of one and its
      // quotient.
      if (parameter.states.size() > 1)
        total.temporaries = program.isCuda ? total.temporaries + stored : std::max(total.temporaries, 2 * stored);
      bytes.gradientShard += stored;
      bytes.reduced += shard * ranks * dtypeBytes(own.reduce);
      if (own.reduce != baseType(parameter.dtype))
        bytes.castShard += shard * dtypeBytes(own.reduce);
    }
    units.push_back(bytes);
  }

  void findOrder() {
    for (std::size_t u = 0; u < units.size(); ++u)
      if (program.units[u].isRead() && units[u].gathered > 0)
        order.push_back(u);
    // The root is entered first and left last.
    std::ranges::stable_sort(order, {}, [&](std::size_t u) { return program.units[u].begin; });
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      if (program.ops[i].phase == Phase::forward)
        forwardEnd = i;
      if (program.ops[i].phase == Phase::backward)
        backwardEnd = i;
    }
  }

  bool isRoot(std::size_t u) const { return program.units[u].unit->root; }
  bool staysGathered(std::size_t u) const {
    return !program.units[u].unit->reshard_after_forward || !program.units[u].hasBackward();
  }

  /// The output of an all-gather exists until the next unit's copies, or the end of the forward.
  void addForward() {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const EagerUnit &unit = program.units[order[k]];
      const std::size_t next = k + 1 < order.size() ? hooks(program.units[order[k + 1]].begin) : during(forwardEnd);
      live[gatherBuffers].add(hooks(unit.begin), next, units[order[k]].gathered);
      const std::size_t released = staysGathered(order[k]) && unit.hasBackward() ? during(endOfBackward(order[k]))
                                   : isRoot(order[k])                            ? during(forwardEnd)
                                                                                 : during(unit.end);
      addStaged(hooks(unit.begin), next, order[k]);
      addCopies(hooks(unit.begin), released, order[k]);
    }
  }

  /// The root ends with the backward.
  std::uint32_t endOfBackward(std::size_t u) const { return isRoot(u) ? backwardEnd : program.units[u].backwardEnd; }

  void addBackward() {
    std::vector<std::size_t> backward;
    for (std::size_t u : order)
      if (program.units[u].hasBackward())
        backward.push_back(u);
    std::ranges::stable_sort(backward, {}, [&](std::size_t u) { return endOfBackward(u); });
    for (std::size_t k = 0; k < backward.size(); ++k) {
      const std::size_t u = backward[k];
      const EagerUnit &unit = program.units[u];
      if (!staysGathered(u)) {
        live[gatherBuffers].add(prefetchedAt(u), hooks(unit.backwardBegin), units[u].gathered);
        addStaged(prefetchedAt(u), hooks(unit.backwardBegin), u);
        addCopies(hooks(unit.backwardBegin), during(endOfBackward(u)), u);
      }
      for (std::uint32_t p : unit.parameters)
        if (const EagerParameter &own = program.parameters[p]; own.gradient != noOp)
          live[gradients].add(during(own.gradient), after(endOfBackward(u)),
                              elementCount(own.parameter->shape).value_or(0) * dtypeBytes(own.compute));
      // One input of a reduce-scatter is in flight, until that of the next unit or the end of the backward.
      const std::size_t reduced = after(endOfBackward(u));
      const std::size_t next = k + 1 < backward.size() && endOfBackward(backward[k + 1]) > endOfBackward(u)
                                   ? during(endOfBackward(backward[k + 1]))
                                   : after(backwardEnd);
      live[reduceBuffers].add(reduced, std::max(next, reduced), units[u].reduced);
      live[reduceBuffers].add(reduced, reduced, units[u].castShard);
      // With offload it is copied to the host, until the next unit's is reduced.
      live[gradientShards].add(reduced, offloads ? std::max(next, reduced) : end(), units[u].gradientShard);
    }
  }

  /// When the unit is gathered in the backward: after the copies of the unit before it in the backward.
  std::size_t prefetchedAt(std::size_t u) const {
    const std::uint32_t own = program.units[u].backwardBegin;
    std::optional<std::uint32_t> previous;
    for (std::size_t other : order)
      if (const EagerUnit &unit = program.units[other]; unit.hasBackward() && unit.backwardBegin < own)
        previous = std::max(previous.value_or(0), unit.backwardBegin);
    return previous ? during(*previous) : hooks(own);
  }

  const EagerProgram &program;
  const bool offloads;
  std::vector<Unit> units;
  /// Bytes of a shard that is updated, and the number of its states.
  std::vector<std::pair<std::uint64_t, std::size_t>> updated;
  std::vector<std::uint64_t> shardBytes;
  /// Units in the order of their forward.
  std::vector<std::size_t> order;
  std::uint32_t forwardEnd = 0, backwardEnd = 0;
  Sums total;
  std::vector<BytesOverTime> live;
  std::vector<std::vector<std::uint64_t>> values;
};

/// The loss belongs to the forward of the root, and its derivative to the backward.
void addLossToRoot(EagerProgram &program) {
  const auto loss = std::ranges::find(program.ops, Phase::loss, &EagerOp::phase);
  const auto derivative = std::find_if(loss, program.ops.end(), [](const EagerOp &op) {
    return op.phase >= Phase::backward || op.name.ends_with("_grad");
  });
  if (loss == derivative)
    return;
  for (auto op = loss; op != derivative; ++op)
    op->phase = Phase::forward;
  const auto begin = std::uint32_t(derivative - program.ops.begin());
  for (EagerUnit &unit : program.units)
    if (unit.unit->root && unit.hasBackward())
      unit.backwardBegin = std::min(unit.backwardBegin, begin);
}

} // namespace

Result<EagerAccount> accountFsdp2(const plan::PlanT &plan, const Fsdp2Options &options) {
  SLUICE_ASSIGN_OR_RETURN(EagerProgram program, readEagerProgram(plan, "FSDP2"));
  if (options.shardRanks > 0)
    program.shardRanks = options.shardRanks;
  if (options.hasLossInModel)
    addLossToRoot(program);
  if (plan.microbatches != 1)
    return inputError(concat("the account of FSDP2 is of one micro-batch, but the plan has ", plan.microbatches))
        .withNote("compile with 'gradient.microbatches' = 1");
  using Bytes = std::array<std::uint64_t, purposes>;
  const Fsdp2Step step(program, options);
  Bytes constant = {};
  constant[parameters] = options.offloads ? 0 : step.sums().shards;
  constant[inputs] = program.batchBytes;
  for (const auto &variable : plan.variables)
    constant[parameters] += plan.buffers[variable->buffer]->bytes;
  const auto withConstant = [&](bool hasStates, Bytes bytes) {
    for (std::size_t p = 0; p < purposes; ++p)
      bytes[p] += constant[p];
    bytes[optimizerStates] += hasStates && !options.offloads ? step.sums().states : 0;
    return bytes;
  };
  const auto sum = [](const Bytes &bytes) { return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t(0)); };

  EagerAccount account;
  account.name = "fsdp2";
  const Bytes updated = step.savedAfter(Phase::update);
  for (int i = 0; i < accountIterations; ++i) {
    const auto add = [&](const char *name, bool hasStates, const Bytes &bytes) {
      account.points.push_back({i, name, sum(withConstant(hasStates, bytes))});
    };
    add("start", i > 0, {});
    add("after_forward", i > 0, step.savedAfter(Phase::forward));
    add("after_loss", i > 0, step.savedAfter(Phase::loss));
    add("after_backward", i > 0, step.savedAfter(Phase::backward));
    add("after_update", true, updated);
    add("end", true, {});
  }
  Bytes largest = withConstant(true, updated);
  largest[optimizerTemporaries] = options.offloads ? 0 : step.sums().temporaries;
  for (std::size_t instant = 0; instant < step.instants(); ++instant)
    if (const Bytes bytes = withConstant(true, step.at(instant)); sum(bytes) > sum(largest))
      largest = bytes;
  account.peak = sum(largest);
  for (std::size_t p = 0; p < purposes; ++p)
    account.peakByPurpose.emplace_back(purposeNames[p], largest[p]);
  if (program.isCuda) {
    std::vector<std::uint64_t> persistent = {program.batchBytes};
    for (const auto &variable : plan.variables)
      persistent.push_back(plan.buffers[variable->buffer]->bytes);
    if (!options.offloads)
      persistent.insert(persistent.end(), step.shards().begin(), step.shards().end());
    account.reserved = step.reserved(false, persistent);
    account.reservedExpandable = step.reserved(true, persistent);
  }
  return account;
}

} // namespace sluice
