//===- Offload.cpp - work in host memory, and copies between the memory spaces -------------===//
//
// Arguments with `spmd.space` are in host memory. A parameter whose states are in host memory, or which is there itself
// and has no states, is updated there. Ops of the update that are of several parameters, such as the norm of all
// gradients, run there too if one of these parameters is updated there: then the device keeps no gradient of it. Sums
// of reduced gradients run there if only the host reads them, and so do the ops that compute initial values in host
// memory. A value that is read in the other memory space is copied: a section's results after the op that computes them
// (a unit's gradients together), other values before the op that reads them.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Units.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sluice {
#define GEN_PASS_DEF_OFFLOAD
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Offloads one entry point.
class EntryOffloader {
public:
  explicit EntryOffloader(func::FuncOp function)
      : function(function), builder(function.getContext()), units(function->getParentOfType<ModuleOp>()),
        sections(llvm::to_vector(function.getOps<spmd::SectionOp>())) {}

  void run() {
    if (llvm::DenseSet<Value> onDevice; findUpdatedOnDevice(onDevice))
      for (spmd::SectionOp section : sections)
        if (section.getKind() == SectionKind::update)
          runUpdatesOnHost(section, onDevice);
    runInitializersOnHost();
    for (spmd::SectionOp &section : sections)
      separateGradients(section);
    runSumsOnHost();
    placeInputs();
    for (spmd::SectionOp section : sections) {
      copyResults(section);
      copyOperands(section);
      chainCopies(section);
    }
  }

private:
  bool findUpdatedOnDevice(llvm::DenseSet<Value> &onDevice);
  void runUpdatesOnHost(spmd::SectionOp section, const llvm::DenseSet<Value> &onDevice);
  bool isDonatedOnDevice(Value result, const llvm::DenseSet<Value> &onDevice);
  void runInitializersOnHost();
  void separateGradients(spmd::SectionOp &section);
  void runSumsOnHost();
  void placeInputs();
  void copyResults(spmd::SectionOp section);
  void copyOperands(spmd::SectionOp section);
  void chainCopies(spmd::SectionOp section);
  std::optional<bool> isReadInHost(OpResult result);

  /// Collectives are the device's; waits, releases and ends of sections run nowhere.
  void runOnHost(Operation *op) {
    if (!isa<spmd::CollectiveOpInterface, spmd::WaitOp, spmd::ReleaseOp, spmd::YieldOp>(op))
      spmd::setStream(op, StreamKind::host);
  }
  /// Copies the values at the insertion point, in the phase of `like`.
  ValueRange copy(ValueRange values, bool toHost, Operation *like, StringRef unit, When when);
  /// The wait for the unit's reduction from which a gradient is computed by ops of one operand; null without one.
  static spmd::WaitOp reductionOf(Value value);

  func::FuncOp function;
  OpBuilder builder;
  spmd::UnitBlocks units;
  SmallVector<spmd::SectionOp> sections;
};

} // namespace

/// Adds the arguments that belong to parameters updated on the device. False if the host updates no parameter.
bool EntryOffloader::findUpdatedOnDevice(llvm::DenseSet<Value> &onDevice) {
  struct Parameter {
    SmallVector<BlockArgument> arguments;
    bool hasStates = false, isInHost = false, isUpdated = false;
  };
  llvm::MapVector<StringRef, Parameter> parameters;
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), spmd::parameterName);
    if (!name)
      continue;
    Parameter &parameter = parameters[name.getValue()];
    parameter.arguments.push_back(argument);
    const bool isState = function.getArgAttr(argument.getArgNumber(), spmd::stateName) != nullptr;
    if (isState || !parameter.hasStates)
      parameter.isInHost = spmd::isInHost(argument);
    parameter.hasStates |= isState;
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto donates = function.getResultAttrOfType<IntegerAttr>(i, spmd::donatesName))
      if (auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(donates.getInt(), spmd::parameterName))
        parameters[name.getValue()].isUpdated = true;
  bool any = false;
  for (auto &[name, parameter] : parameters) {
    // Running statistics follow the other parameters.
    auto op = function->getParentOfType<ModuleOp>().lookupSymbol<model::ParameterOp>(name);
    if (!parameter.isUpdated || (op && op.isState()))
      continue;
    if (parameter.isInHost)
      any = true;
    else
      onDevice.insert_range(parameter.arguments);
  }
  return any;
}

/// True for a result of a section that is the new value of an argument of `onDevice`.
bool EntryOffloader::isDonatedOnDevice(Value result, const llvm::DenseSet<Value> &onDevice) {
  return llvm::any_of(result.getUses(), [&](OpOperand &use) {
    auto donates = isa<func::ReturnOp>(use.getOwner())
                       ? function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), spmd::donatesName)
                       : IntegerAttr();
    return donates && onDevice.contains(function.getArgument(donates.getInt()));
  });
}

/// All ops run on the host, except those that read an argument of `onDevice`, and those whose results only such ops
/// read.
void EntryOffloader::runUpdatesOnHost(spmd::SectionOp section, const llvm::DenseSet<Value> &onDevice) {
  llvm::DenseSet<Operation *> ofDevice;
  const auto isReadOnDevice = [&](OpOperand &use) {
    return isa<spmd::YieldOp>(use.getOwner()) ? isDonatedOnDevice(section->getResult(use.getOperandNumber()), onDevice)
                                              : ofDevice.contains(use.getOwner());
  };
  for (Operation &op : llvm::reverse(section.getBody().front())) {
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return onDevice.contains(operand); }) ||
        (!op.use_empty() && llvm::all_of(op.getUses(), isReadOnDevice)))
      ofDevice.insert(&op);
    else
      runOnHost(&op);
  }
}

/// Initial values are computed in the memory space of their argument.
void EntryOffloader::runInitializersOnHost() {
  if (model::entryOf(function) != EntryKind::init)
    return;
  Operation *end = function.front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    auto donates = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), spmd::donatesName);
    auto section = operand.get().getDefiningOp<spmd::SectionOp>();
    if (!donates || !section || !spmd::isInHost(function.getArgument(donates.getInt())))
      continue;
    SmallVector<Value> pending = {spmd::yieldedValue(operand.get())};
    while (!pending.empty())
      if (Operation *op = pending.pop_back_val().getDefiningOp()) {
        runOnHost(op);
        llvm::append_range(pending, op->getOperands());
      }
  }
}

spmd::WaitOp EntryOffloader::reductionOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto wait = dyn_cast<spmd::WaitOp>(op))
      return wait.getStart().isReduction() && !spmd::unitOf(wait.getStart()).empty() ? wait : spmd::WaitOp();
    if (op->getNumOperands() != 1)
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// True where later sections, or the argument whose memory it donates, require a section's result in host memory;
/// nothing where they require both spaces or none.
std::optional<bool> EntryOffloader::isReadInHost(OpResult result) {
  std::optional<bool> required;
  for (OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    bool host = spmd::streamOf(user) == StreamKind::host;
    if (isa<func::ReturnOp>(user)) {
      auto donates = function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), spmd::donatesName);
      if (!donates)
        continue;
      host = spmd::isInHost(function.getArgument(donates.getInt()));
    }
    if (required && *required != host)
      return std::nullopt;
    required = host;
  }
  return required;
}

/// A gradient that is read in both memory spaces (the host computes the norm, the device an update) becomes two results
/// of its section, so that the one for the host is copied directly after its reduction, as gradients that only the host
/// reads are.
void EntryOffloader::separateGradients(spmd::SectionOp &section) {
  Operation *yield = section.getYield();
  const auto isReadOnHost = [](OpOperand &use) { return spmd::streamOf(use.getOwner()) == StreamKind::host; };
  SmallVector<OpResult> both;
  for (OpResult result : section->getResults()) {
    const auto count = llvm::count_if(result.getUses(), isReadOnHost);
    if (count > 0 && !isReadInHost(result) && reductionOf(yield->getOperand(result.getResultNumber())))
      both.push_back(result);
  }
  if (both.empty())
    return;
  SmallVector<Type> types(section->getResultTypes());
  SmallVector<Value> yielded(yield->getOperands());
  for (OpResult result : both) {
    types.push_back(result.getType());
    yielded.push_back(yield->getOperand(result.getResultNumber()));
  }
  yield->setOperands(yielded);
  builder.setInsertionPoint(section);
  auto separated = spmd::SectionOp::create(builder, section.getLoc(), types, section.getName(), section.getKind(),
                                           section.getRepeat());
  separated->setDiscardableAttrs(section->getDiscardableAttrDictionary());
  separated.getBody().takeBody(section.getBody());
  for (auto [index, result] : llvm::enumerate(both))
    result.replaceUsesWithIf(separated->getResult(section->getNumResults() + index), isReadOnHost);
  section->replaceAllUsesWith(separated->getResults().take_front(section->getNumResults()));
  section->erase();
  section = separated;
}

/// Reduced gradients are accumulated in host memory.
void EntryOffloader::runSumsOnHost() {
  for (spmd::SectionOp section : sections)
    for (auto sum : section.getBody().front().getOps<spmd::AccumulateOp>()) {
      if (!sum->hasOneUse() || !isa<spmd::YieldOp>(*sum->user_begin()) || !reductionOf(sum.getOperand()))
        continue;
      OpResult result = section->getResult(sum->use_begin()->getOperandNumber());
      if (isReadInHost(result).value_or(false))
        runOnHost(sum);
    }
}

/// An input that only the host reads is in host memory.
void EntryOffloader::placeInputs() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), spmd::inputName) && !argument.use_empty() &&
        llvm::all_of(argument.getUsers(), [](Operation *user) { return spmd::streamOf(user) == StreamKind::host; }))
      function.setArgAttr(argument.getArgNumber(), spmd::spaceName,
                          builder.getAttr<spmd::MemorySpaceAttr>(MemorySpace::host));
}

ValueRange EntryOffloader::copy(ValueRange values, bool toHost, Operation *like, StringRef unit, When when) {
  Location loc = builder.getFusedLoc(llvm::map_to_vector(values, [](Value value) { return value.getLoc(); }));
  auto start = spmd::CopyStartOp::create(builder, loc, values, toHost ? MemorySpace::host : MemorySpace::device,
                                         unit.empty() ? StringAttr() : builder.getStringAttr(unit));
  auto wait = spmd::WaitOp::create(builder, loc, start);
  for (Operation *op : {start.getOperation(), wait.getOperation()}) {
    model::setPhase(op, model::phaseOf(like));
    spmd::setWhen(op, when);
  }
  return wait.getValues();
}

/// Copies the results that are required in the other memory space.
void EntryOffloader::copyResults(spmd::SectionOp section) {
  Operation *yield = section.getYield();
  struct Group {
    Operation *last = nullptr;
    StringRef unit;
    SmallVector<unsigned> results;
  };
  // By the op that computes them and the memory space to which they are copied.
  llvm::MapVector<std::pair<Operation *, unsigned>, Group> groups;
  for (OpResult result : section->getResults()) {
    Value value = yield->getOperand(result.getResultNumber());
    Operation *op = value.getDefiningOp();
    std::optional<bool> host = isReadInHost(result);
    if (!host || !op || spmd::isInHost(value) == *host)
      continue;
    spmd::WaitOp reduction = reductionOf(value);
    Group &group = groups[{reduction ? reduction.getOperation() : op, unsigned(*host)}];
    if (reduction)
      group.unit = spmd::unitOf(reduction.getStart());
    else if (model::phaseOf(op) == Phase::backward && op->hasAttr(model::blockName))
      group.unit = units.innermost(model::blockOf(op));
    if (!group.last || group.last->isBeforeInBlock(op))
      group.last = op;
    group.results.push_back(result.getResultNumber());
  }
  for (auto &[key, group] : groups) {
    builder.setInsertionPointAfter(group.last);
    SmallVector<Value> values;
    for (unsigned index : group.results)
      if (!llvm::is_contained(values, yield->getOperand(index)))
        values.push_back(yield->getOperand(index));
    ValueRange copies =
        copy(values, key.second != 0, group.last, group.unit, section.getRepeat() > 1 ? WhenKind::last : WhenKind::all);
    for (unsigned index : group.results)
      yield->setOperand(index, copies[llvm::find(values, yield->getOperand(index)) - values.begin()]);
  }
}

/// Copies the operands that are in the other memory space.
void EntryOffloader::copyOperands(spmd::SectionOp section) {
  Block &body = section.getBody().front();
  // Copies by value and repetitions.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> known;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (isa<spmd::WaitOp, spmd::ReleaseOp, spmd::YieldOp>(op) || (start && start.isCopy()))
      continue;
    const bool onHost = spmd::streamOf(&op) == StreamKind::host;
    Attribute when = op.getAttr(spmd::whenName);
    llvm::SetVector<Value> missing;
    for (Value operand : op.getOperands()) {
      if (spmd::isInHost(operand) == onHost || known.contains({operand, when}))
        continue;
      missing.insert(operand);
      // One copy for all gradients of a unit that are accumulated in the same repetitions.
      if (spmd::WaitOp reduction = isa<spmd::AccumulateOp>(op) && onHost ? reductionOf(operand) : spmd::WaitOp())
        for (auto sum : body.getOps<spmd::AccumulateOp>())
          if (spmd::streamOf(sum) == StreamKind::host && sum->getAttr(spmd::whenName) == when &&
              reductionOf(sum.getOperand()) == reduction && sum.getOperand().getDefiningOp()->isBeforeInBlock(&op))
            missing.insert(sum.getOperand());
    }
    if (!missing.empty()) {
      StringRef unit;
      if (spmd::WaitOp reduction = reductionOf(missing.front()))
        unit = spmd::unitOf(reduction.getStart());
      builder.setInsertionPoint(&op);
      ValueRange copies = copy(missing.getArrayRef(), onHost, &op, unit, spmd::whenOf(&op));
      for (auto [value, copied] : llvm::zip(missing, copies))
        known[{value, when}] = copied;
    }
    for (OpOperand &operand : op.getOpOperands())
      if (auto found = known.find({operand.get(), when});
          found != known.end() && spmd::isInHost(operand.get()) != onHost)
        operand.set(found->second);
  }
}

/// Copies reduced gradients that the device does not read directly after their reduction, for which the stream of
/// copies waits. Compute waits only for the copy. So the gradients of one unit at a time are in device memory.
void EntryOffloader::chainCopies(spmd::SectionOp section) {
  for (auto start : llvm::make_early_inc_range(section.getBody().front().getOps<spmd::CollectiveOpInterface>())) {
    auto wait = start->getOperand(0).getDefiningOp<spmd::WaitOp>();
    if (start.getDestinationSpace() != MemorySpace::host || !wait || spmd::unitOf(start).empty() ||
        reductionOf(start->getOperand(0)) != wait || wait->getAttr(spmd::whenName) != start->getAttr(spmd::whenName) ||
        !llvm::all_of(start->getOperands(), [&](Value operand) { return operand.getDefiningOp() == wait; }) ||
        !llvm::all_of(wait->getUsers(), [&](Operation *user) { return user == start; }))
      continue;
    wait.setChained(true);
    start->moveAfter(wait);
  }
}

namespace {

struct Offload : sluice::impl::OffloadBase<Offload> {
  using OffloadBase::OffloadBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), offload);
    if (failed(recipe))
      return signalPassFailure();
    if (!recipe->memory.offloadsState())
      return;
    for (func::FuncOp entry : entriesOf(getOperation()))
      EntryOffloader(entry).run();
  }
};

} // namespace
