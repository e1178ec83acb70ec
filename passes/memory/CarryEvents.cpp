//===- CarryEvents.cpp - plan-carry-events ------------------------------------------===//
//
// The first gathers of a step are before all compute work on parameters. They depend only on the updates of their
// parameters in the step before, but wait for the compute position at which they are issued, so for the end of that
// step. The pass lets them wait for a record of the step before instead, after the last update of their parameters.
//
// The memory of such a gather is then reserved while the step before still runs. If that would raise the peak of the
// entry point, or the arena that the solver finds, the gather and all later ones are not changed.
//
//===----------------------------------------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"
#include "passes/memory/Arena.h"
#include "passes/memory/Lifespans.h"
#include "passes/memory/RunOrder.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {
#define GEN_PASS_DEF_CARRYEVENTS
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;
using sluice::StreamKind;

namespace {

/// A gather with the instructions that only compute its operands: casts, and copies from the host; and those on its
/// streams that copy parameters which are not gathered.
struct Group {
  CollectiveOp gather;
  /// In order; launches among them may be on compute.
  llvm::SmallVector<Operation *> before;
  /// Persistent buffers that the group reads, and buffers of the entry point that it writes.
  llvm::SmallVector<StringAttr> reads, writes;
  /// The last instruction of the entry point that writes one of `reads`, its position, and the streams of such writes.
  Operation *updated = nullptr;
  int64_t updatedAt = -1;
  llvm::SmallVector<StringRef> streams;
};

/// An entry point whose first gathers may start before the end of the previous run.
class Carrier {
public:
  Carrier(EntryOp entry, ModuleOp module)
      : entry(entry), module(module), symbols(module), streams(module),
        section(*entry.getBody().getOps<SectionOp>().begin()) {
    forEachInstruction(entry, [&](Operation *op, int64_t at, SectionOp of) {
      places[op] = at;
      for (const Access &access : accessesOf(op)) {
        users[access.view.getBuffer().getAttr()].push_back(op);
        if (access.writes && isPersistent(access.view.getBuffer().getAttr()))
          writers[access.view.getBuffer().getAttr()].push_back({op, of});
      }
    });
  }

  /// `most`: bytes that live at once in some entry point, and that the arena needs for one.
  void run(uint64_t mostLive, uint64_t mostHeight) {
    findGroups();
    findUpdates();
    keepFitting(mostLive, mostHeight);
    if (!groups.empty())
      rewrite();
  }

private:
  struct Writer {
    Operation *op;
    SectionOp section;
  };

  BufferOp bufferOf(StringAttr name) { return symbols.lookup<BufferOp>(name); }
  bool isPersistent(StringAttr name) { return !bufferOf(name).getEntry(); }
  bool isInput(Operation *op) {
    auto copy = dyn_cast<CopyOp>(op);
    return copy && bufferOf(copy.getSource().getBuffer().getAttr()).getSpace() == sluice::MemorySpace::host &&
           !isPersistent(copy.getSource().getBuffer().getAttr());
  }
  bool readsOnlyPersistent(Operation *op) {
    return llvm::all_of(accessesOf(op), [&](const Access &access) {
      return access.writes || isPersistent(access.view.getBuffer().getAttr());
    });
  }
  static bool isEarly(std::optional<StreamKind> stream) {
    return stream == StreamKind::gather || stream == StreamKind::fetch;
  }

  /// All gathers before the first instruction that neither computes their operands nor copies inputs.
  void findGroups() {
    llvm::SmallVector<Operation *> pending;
    for (Operation &op : section.getBody().front()) {
      const std::optional<StreamKind> stream = streams.kindOf(&op);
      if (isa<RecordOp, WaitOp>(op) || (stream == StreamKind::compute && isInput(&op)))
        continue;
      if (isa<LaunchOp, CopyOp>(op) &&
          (isEarly(stream) || (stream == StreamKind::compute && readsOnlyPersistent(&op)))) {
        pending.push_back(&op);
        continue;
      }
      auto gather = dyn_cast<CollectiveOp>(op);
      if (!gather || stream != StreamKind::gather || !makeGroup(gather, pending))
        return;
    }
  }

  /// Moves the instructions that compute the gather's operands from `pending` to the group.
  bool makeGroup(CollectiveOp gather, llvm::SmallVector<Operation *> &pending) {
    Group group;
    group.gather = gather;
    if (!whenOf(gather).isAll() && whenOf(gather) != sluice::WhenKind::first)
      return false;
    llvm::SmallVector<StringAttr> wanted;
    const auto note = [&](Operation *op) {
      for (const Access &access : accessesOf(op)) {
        const StringAttr name = access.view.getBuffer().getAttr();
        if (access.writes)
          group.writes.push_back(name);
        else
          (isPersistent(name) ? group.reads : wanted).push_back(name);
        if (access.writes && isPersistent(name))
          return false;
      }
      // A stream's workspace is measured by the launches that it had.
      auto launch = dyn_cast<LaunchOp>(op);
      return whenOf(op) == whenOf(gather) && (!launch || launch.getWorkspace() == 0);
    };
    if (!note(gather))
      return false;
    llvm::SmallVector<Operation *> rest;
    for (Operation *op : llvm::reverse(pending)) {
      const bool feeds = llvm::any_of(accessesOf(op), [&](const Access &access) {
        return access.writes && llvm::is_contained(wanted, access.view.getBuffer().getAttr());
      });
      // Copies of parameters that are not gathered start as early as the gather, which is after them on its streams.
      if (!feeds && !isEarly(streams.kindOf(op)))
        rest.push_back(op);
      else if (!note(op))
        return false;
      else
        group.before.insert(group.before.begin(), op);
    }
    // Every operand is computed from persistent buffers.
    if (llvm::any_of(wanted, [&](StringAttr name) { return !llvm::is_contained(group.writes, name); }) ||
        group.reads.empty())
      return false;
    // No other instruction reads the values computed for it.
    for (StringAttr name : wanted)
      for (Operation *user : users.lookup(name))
        if (user != gather.getOperation() && !llvm::is_contained(group.before, user))
          return false;
    pending.assign(rest.rbegin(), rest.rend());
    groups.push_back(std::move(group));
    return true;
  }

  /// For each group the last instruction of the run before that updates its operands; the groups after one without such
  /// an instruction are dropped.
  void findUpdates() {
    Operation *first = nullptr;
    for (auto &[name, of] : writers)
      for (Writer &writer : of)
        if (!first || places.lookup(writer.op) < places.lookup(first))
          first = writer.op;
    Operation *latest = nullptr;
    for (size_t g = 0; g < groups.size(); ++g) {
      Group &group = groups[g];
      // Parameters without update may be gathered as soon as updates begin.
      group.updated = first;
      group.streams = {streams.nameOf(StreamKind::compute)};
      bool isKnown = first != nullptr;
      for (StringAttr name : group.reads)
        for (Writer writer : writers.lookup(name)) {
          isKnown &= writer.section.getRepeat() == 1 && whenOf(writer.op).isAll() && writer.section != section;
          if (places.lookup(writer.op) > places.lookup(group.updated))
            group.updated = writer.op;
          if (!llvm::is_contained(group.streams, streamOf(writer.op)))
            group.streams.push_back(streamOf(writer.op));
        }
      // Gathers follow one another on their stream.
      if (isKnown && latest && places.lookup(latest) > places.lookup(group.updated))
        group.updated = latest;
      if (!isKnown) {
        groups.resize(g);
        return;
      }
      latest = group.updated;
      group.updatedAt = places.lookup(group.updated);
    }
  }

  void keepFitting(uint64_t mostLive, uint64_t mostHeight) {
    auto buffers = sluice::buffersOf(module, sluice::MemorySpace::device, entry.getSymName());
    sluice::PackingProblem problem = sluice::problemOf(buffers);
    size_t kept = 0;
    for (; kept < groups.size(); ++kept) {
      sluice::PackingProblem tried = problem;
      mark(tried, buffers, kept);
      if (sluice::largestLiveSum(tried, 1) > mostLive)
        break;
      problem = std::move(tried);
    }
    // The solver may need more than the live bytes: then the last ones are not changed.
    while (kept > 0 && sluice::solvePacking(problem, {.height = mostHeight}).height > mostHeight) {
      --kept;
      problem = sluice::problemOf(buffers);
      for (size_t g = 0; g < kept; ++g)
        mark(problem, buffers, g);
    }
    groups.resize(kept);
  }

  void mark(sluice::PackingProblem &problem, llvm::ArrayRef<BufferOp> buffers, size_t g) {
    for (auto [index, buffer] : llvm::enumerate(buffers))
      if (llvm::is_contained(groups[g].writes, BufferOp(buffer).getSymNameAttr()))
        problem.buffers[index].reservedFrom = groups[g].updatedAt + 1;
  }

  //===--- Rewriting ---===//

  FlatSymbolRefAttr symbol(StringRef stream) { return FlatSymbolRefAttr::get(entry.getContext(), stream); }
  template <typename Op> void describe(Op op, Group &group, sluice::When when) {
    if (auto unit = group.gather->getAttrOfType<StringAttr>("unit"))
      op->setAttr("unit", unit);
    if (!when.isAll())
      op.setWhen(when);
  }

  void rewrite() {
    // The last instruction of those that are early on each of their streams.
    sluice::LastEarly last;
    for (Group &group : groups) {
      // Casts on compute would wait for all earlier work of compute.
      for (Operation *op : group.before)
        if (streams.kindOf(op) != StreamKind::fetch) {
          op->setAttr("stream", streams.find(StreamKind::gather));
          op->moveBefore(group.gather);
        } else {
          last[StreamKind::fetch] = op;
        }
      last[StreamKind::gather] = group.gather;
    }
    dropWaits(last);
    int64_t events = entry.getEvents();
    llvm::DenseMap<std::pair<Operation *, StringRef>, int64_t> recorded;
    for (Group &group : groups) {
      for (StringRef stream : group.streams) {
        auto [it, isNew] = recorded.try_emplace({group.updated, stream}, events);
        if (isNew) {
          ++events;
          OpBuilder builder(group.updated->getContext());
          builder.setInsertionPointAfter(group.updated);
          auto record = RecordOp::create(builder, group.gather.getLoc(), it->second, symbol(stream), WhenAttr(),
                                         phaseOf(group.updated), StringAttr());
          describe(record, group, {});
        }
        waitOn(group, it->second);
      }
    }
    sluice::orderAfterPreviousRun(entry, symbols, streams, last, events);
    dropRecords();
    entry.setEvents(events);
  }

  /// Before the group's first instruction on each of its streams.
  void waitOn(Group &group, int64_t event) {
    llvm::SmallVector<Operation *> firsts;
    llvm::SmallVector<Operation *> all = group.before;
    all.push_back(group.gather);
    for (Operation *op : all)
      if (llvm::none_of(firsts, [&](Operation *other) { return streamOf(other) == streamOf(op); }))
        firsts.push_back(op);
    for (Operation *op : firsts) {
      OpBuilder builder(op);
      auto wait = WaitOp::create(builder, op->getLoc(), event, /*carried=*/true, symbol(streamOf(op)), WhenAttr(),
                                 phaseOf(group.gather), StringAttr());
      describe(wait, group, section.getRepeat() > 1 ? sluice::WhenKind::first : sluice::WhenKind::all);
    }
  }

  /// Waits for compute and the host that early instructions do not need: in the first repetition.
  void dropWaits(const sluice::LastEarly &last) {
    const llvm::DenseMap<int64_t, StringRef> recordedOn = sluice::recordingStreams(section);
    for (auto wait : llvm::make_early_inc_range(section.getBody().getOps<WaitOp>())) {
      const std::optional<StreamKind> from = streams.kindOf(recordedOn.lookup(wait.getEvent()));
      const std::optional<StreamKind> on = streams.kindOf(wait);
      auto it = on ? last.find(*on) : last.end();
      if (it == last.end() || !wait->isBeforeInBlock(it->second) ||
          (from != StreamKind::compute && from != StreamKind::host))
        continue;
      if (section.getRepeat() == 1 || whenOf(wait) == sluice::WhenKind::first)
        wait.erase();
      else if (whenOf(wait).isAll())
        wait.setWhen(sluice::WhenKind::not_first);
    }
  }

  void dropRecords() {
    llvm::DenseSet<int64_t> awaited;
    entry.walk([&](WaitOp wait) { awaited.insert(wait.getEvent()); });
    for (auto record : llvm::make_early_inc_range(section.getBody().getOps<RecordOp>()))
      if (!awaited.contains(record.getEvent()))
        record.erase();
  }

  EntryOp entry;
  ModuleOp module;
  SymbolTable symbols;
  Streams streams;
  SectionOp section;
  llvm::DenseMap<Operation *, int64_t> places;
  llvm::DenseMap<StringAttr, llvm::SmallVector<Operation *>> users;
  llvm::MapVector<StringAttr, llvm::SmallVector<Writer>> writers;
  std::vector<Group> groups;
};

struct CarryEvents : sluice::impl::CarryEventsBase<CarryEvents> {
  using CarryEventsBase::CarryEventsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<sluice::Recipe> recipe = sluice::recipeFor(module, overlapSteps);
    if (failed(recipe))
      return signalPassFailure();
    if (!recipe->schedule.overlapSteps)
      return;
    // Only entry points that gather and write persistent buffers have early gathers.
    const Streams streams(module);
    llvm::SmallVector<EntryOp> candidates;
    for (auto entry : module.getOps<EntryOp>()) {
      auto sections = entry.getBody().getOps<SectionOp>();
      if (sections.empty() || std::next(sections.begin()) == sections.end())
        continue;
      SectionOp first = *sections.begin();
      // The pass has run on this entry point already.
      if (llvm::any_of(first.getBody().getOps<WaitOp>(), [](WaitOp wait) { return wait.getCarried(); }))
        continue;
      if (llvm::any_of(first.getBody().getOps<CollectiveOp>(),
                       [&](CollectiveOp op) { return streams.kindOf(op) == StreamKind::gather; }))
        candidates.push_back(entry);
    }
    if (candidates.empty())
      return;
    sluice::setLifespans(module);
    std::vector<std::pair<uint64_t, sluice::PackingProblem>> problems;
    for (auto entry : module.getOps<EntryOp>()) {
      sluice::PackingProblem problem =
          sluice::problemOf(sluice::buffersOf(module, sluice::MemorySpace::device, entry.getSymName()));
      const uint64_t live = sluice::largestLiveSum(problem, 1);
      problems.emplace_back(live, std::move(problem));
    }
    llvm::stable_sort(problems, [](const auto &a, const auto &b) { return a.first > b.first; });
    const uint64_t mostLive = problems.front().first;
    uint64_t persistent = 0;
    for (BufferOp buffer : sluice::buffersOf(module, sluice::MemorySpace::device, ""))
      persistent += buffer.getBytes();
    // A plan over the budget is not executed.
    if (recipe->memory.budget && persistent + mostLive > uint64_t(*recipe->memory.budget))
      return;
    uint64_t mostHeight = 0;
    // A placement that is not higher ends the search for the next entry point.
    for (const auto &[live, problem] : problems)
      mostHeight = std::max(mostHeight, sluice::solvePacking(problem, {.height = mostHeight}).height);
    for (EntryOp entry : candidates)
      Carrier(entry, module).run(mostLive, mostHeight);
  }
};

} // namespace
