//===- Partition.cpp - arguments and sections of entry points ---------------------------------===//
//
// The frame of the spmd program: arguments and donated results in place of reads and writes, sections in place of
// phases. Types stay global, and the sharding of an argument is `spmd.sharding`: spmd-localize-update makes types
// local. In the forward and backward parameters are still read by name, and gradients still name theirs:
// spmd-insert-reshards replaces both.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/AuthorReductions.h"
#include "passes/sharding/InitEntry.h"
#include "passes/sharding/Inline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

namespace sluice {
#define GEN_PASS_DEF_PARTITION
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

bool isUpdate(Operation *op) { return model::phaseOf(op) == Phase::update; }

/// Parameters and states of all entries, in the order of arguments: parameters as in the module, then states by name.
SmallVector<Persistent> findPersistent(ModuleOp module, const Placement &placement, const Recipe::Memory &memory) {
  std::map<std::string, std::map<std::string, RankedTensorType>> states;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](model::ReadOp read) {
      if (read.getState())
        states[read.getParameter().str()][read.getState()->str()] = cast<RankedTensorType>(read.getType());
    });
  bool parametersInHost = memory.offloads(Offloaded::parameters), statesInHost = memory.offloads(Offloaded::optimizer);
  SmallVector<Persistent> persistent;
  for (model::ParameterOp parameter : placement.parameters()) {
    StringRef name = parameter.getSymName();
    RankedTensorType type = parameter.getType();
    persistent.push_back({parameter, "", type, placement.local(name, type), parametersInHost && !parameter.isState()});
    for (auto &[state, type] : states[name.str()])
      persistent.push_back({parameter, state, type, placement.local(name, type), statesInHost});
  }
  return persistent;
}

/// One entry function on its way.
class Entry {
public:
  Entry(func::FuncOp function, const Placement &placement, ArrayRef<Persistent> all, std::int64_t microbatches)
      : function(function), placement(placement), microbatches(microbatches),
        train(model::entryOf(function) == EntryKind::train), block(function.front()) {
    // States are read by entries that update.
    for (const Persistent &piece : all)
      if (train || piece.state.empty()) {
        places[{model::ParameterOp(piece.parameter).getSymName(), piece.state}] = persistent.size();
        persistent.push_back(piece);
      }
  }

  void run() {
    // The mean over a step is known when its last micro-batch is through.
    for (auto mean : block.getOps<model::StepMeanOp>())
      model::setPhase(mean, Phase::update);
    inlineRecompute(block);
    lowerAllReduces(block, placement);
    hoistGradients();
    addArguments();
    readStates();
    readInUpdate();
    takeWrites();
    cutSections();
  }

private:
  void hoistGradients();
  void addArguments();
  void readStates();
  void readInUpdate();
  void takeWrites();
  void cutSections();
  spmd::SectionOp makeSection(StringRef name, std::int64_t repeat, ArrayRef<Operation *> ops, Operation *before);
  std::optional<unsigned> argumentOf(StringRef parameter, StringRef state) const;

  func::FuncOp function;
  const Placement &placement;
  std::int64_t microbatches;
  bool train;
  Block &block;
  SmallVector<Persistent> persistent;
  /// By parameter and state, which of them.
  llvm::DenseMap<std::pair<StringRef, StringRef>, unsigned> places;
};

} // namespace

void sluice::inlineRecompute(Block &block) {
  for (auto region : llvm::make_early_inc_range(block.getOps<model::RecomputeOp>())) {
    Block &body = region.getBody().front();
    auto yield = cast<model::YieldOp>(body.getTerminator());
    Builder builder(region.getContext());
    for (Operation &op : body.without_terminator()) {
      model::setPhase(&op, Phase::backward);
      op.setAttr(model::recomputeName, builder.getUnitAttr());
    }
    region.replaceAllUsesWith(yield.getValues());
    yield.erase();
    block.getOperations().splice(Block::iterator(region), body.getOperations());
    region.erase();
  }
}

/// A gradient is directly after the op that computes it and its cast to the type of reduction, so that it can be
/// reduced when its unit's backward ends.
void Entry::hoistGradients() {
  for (auto gradient : llvm::make_early_inc_range(block.getOps<model::GradientOp>())) {
    Operation *maker = gradient.getLocal().getDefiningOp();
    if (!maker || maker->getBlock() != &block)
      continue;
    if (isa<model::CastOp>(maker) && maker->hasOneUse())
      if (Operation *source = maker->getOperand(0).getDefiningOp(); source && source->getBlock() == &block)
        maker->moveAfter(source);
    gradient->moveAfter(maker);
  }
}

void Entry::addArguments() {
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, model::inputName);
    if (!name)
      continue;
    function.removeArgAttr(i, builder.getStringAttr(model::inputName));
    function.setArgAttr(i, spmd::inputName, name);
    BlockArgument argument = function.getArgument(i);
    // Tensors of a micro-batch, and the number of its first row, come once for each; scalars of the step once.
    bool isOfRows = cast<RankedTensorType>(argument.getType()).getRank() > 0 || name.getValue() == "row";
    bool ofMicrobatch =
        train && isOfRows && llvm::any_of(argument.getUsers(), [](Operation *user) { return !isUpdate(user); });
    if (ofMicrobatch)
      function.setArgAttr(i, spmd::perRepetitionName, builder.getUnitAttr());
  }
  SmallVector<unsigned> places(persistent.size(), 0);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  for (const Persistent &piece : persistent) {
    types.push_back(piece.type);
    attributes.push_back(piece.argumentAttributes());
    locations.push_back(model::ParameterOp(piece.parameter).getLoc());
  }
  (void)function.insertArguments(places, types, attributes, locations);
}

std::optional<unsigned> Entry::argumentOf(StringRef parameter, StringRef state) const {
  auto place = places.find({parameter, state});
  return place == places.end() ? std::nullopt : std::optional<unsigned>(place->second);
}

/// What is no parameter is never gathered: a read of it is the argument, in every phase.
void Entry::readStates() {
  for (auto read : llvm::make_early_inc_range(block.getOps<model::ReadOp>())) {
    model::ParameterOp parameter = placement.find(read.getParameter());
    if (!parameter || !parameter.isState())
      continue;
    read.replaceAllUsesWith(Value(function.getArgument(*argumentOf(read.getParameter(), ""))));
    read.erase();
  }
}

/// Reads of the update become arguments.
void Entry::readInUpdate() {
  for (auto read : llvm::make_early_inc_range(block.getOps<model::ReadOp>())) {
    if (!isUpdate(read))
      continue;
    Value value = function.getArgument(*argumentOf(read.getParameter(), read.getState().value_or("")));
    if (value.getType() != read.getType()) {
      OpBuilder builder(read);
      auto cast = model::CastOp::create(builder, read.getLoc(), read.getType(), value);
      model::setPhase(cast, Phase::update);
      value = cast.getResult();
    }
    read.replaceAllUsesWith(value);
    read.erase();
  }
}

/// Writes become results, before the outputs, that take over their arguments' memory.
void Entry::takeWrites() {
  Builder builder(function.getContext());
  llvm::DenseMap<unsigned, Value> written;
  for (auto write : llvm::make_early_inc_range(block.getOps<model::WriteOp>())) {
    written[*argumentOf(write.getParameter(), write.getState().value_or(""))] = write.getValue();
    write.erase();
  }
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < persistent.size(); ++i)
    if (Value value = written.lookup(i)) {
      values.push_back(value);
      attributes.push_back(
          builder.getDictionaryAttr(builder.getNamedAttr(spmd::donatesName, builder.getI64IntegerAttr(i))));
    }
  Operation *end = block.getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    values.push_back(value);
    NamedAttrList list(function.getResultAttrs(index));
    if (Attribute name = list.erase(model::outputName))
      list.set(spmd::outputName, name);
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  end->setOperands(values);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
  function.setAllResultAttrs(attributes);
}

spmd::SectionOp Entry::makeSection(StringRef name, std::int64_t repeat, ArrayRef<Operation *> ops, Operation *before) {
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  SmallVector<Value> escaping;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        escaping.push_back(result);
  OpBuilder builder(before);
  auto section = spmd::SectionOp::create(builder, function.getLoc(), ValueRange(escaping).getTypes(), name, repeat);
  Block *body = builder.createBlock(&section.getBody());
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  for (auto [value, result] : llvm::zip(escaping, section.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  builder.setInsertionPointToEnd(body);
  spmd::YieldOp::create(builder, function.getLoc(), escaping);
  return section;
}

void Entry::cutSections() {
  SmallVector<Operation *> first, update;
  for (Operation &op : block.without_terminator())
    (isUpdate(&op) ? update : first).push_back(&op);
  Operation *end = block.getTerminator();
  if (!train) {
    first.append(update);
    makeSection("forward", 1, first, end);
    return;
  }
  // Constants that both read are made in both.
  llvm::SmallPtrSet<Operation *, 32> inUpdate(update.begin(), update.end());
  OpBuilder builder(end);
  for (Operation *op : first) {
    if (op->getNumOperands() != 0 || isa<model::ReadOp>(op) || !isMemoryEffectFree(op) ||
        llvm::none_of(op->getUsers(), [&](Operation *user) { return inUpdate.contains(user); }))
      continue;
    builder.setInsertionPoint(update.front());
    Operation *copy = builder.clone(*op);
    model::setPhase(copy, Phase::update);
    op->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) { return inUpdate.contains(use.getOwner()); });
    update.insert(update.begin(), copy);
  }
  makeSection("microbatch", microbatches, first, end);
  makeSection("update", 1, update, end);
}

namespace {

struct Partition : sluice::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Placement placement(module);
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>()) {
      // Partitioned before.
      if (!function.getOps<spmd::SectionOp>().empty())
        return;
      if (function->hasAttr(model::entryName) && !function.isExternal())
        entries.push_back(function);
    }
    if (entries.empty())
      return;
    if (!placement.mesh()) {
      module.emitError("mesh, expected one of spmd-assign-units but got none");
      return signalPassFailure();
    }
    if (SymbolTable::lookupSymbolIn(module, "init")) {
      module.emitError("symbol 'init', expected it free for the entry point that makes the weights but got one");
      return signalPassFailure();
    }
    FailureOr<Recipe> recipe = recipeFor(module, microbatches, offload);
    if (failed(recipe))
      return signalPassFailure();
    SmallVector<Persistent> persistent = findPersistent(module, placement, recipe->memory);
    for (func::FuncOp function : entries)
      Entry(function, placement, persistent, recipe->gradient.microbatches).run();
    // A program without parameters has nothing to make.
    if (!persistent.empty())
      addInitEntry(module, placement, persistent);
  }
};

} // namespace
