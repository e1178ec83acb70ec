//===- Partition.cpp - arguments and sections of entry points ---------------------------------===//
//
// The frame of the spmd program: arguments and donated results replace reads and writes, and sections contain the ops.
// Types stay global, and the sharding of an argument is `spmd.sharding`; spmd-localize-update makes types local. The
// forward and backward still have model.read and model.gradient, which spmd-insert-data-reshards replaces.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/AuthorCollectives.h"
#include "passes/sharding/InitEntry.h"
#include "passes/sharding/Utils.h"

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

/// The parameters and states of all entries in the order of arguments: parameters as in the module, each with its
/// states by name.
SmallVector<PersistentTensor> findPersistent(ModuleOp module, const Placement &placement,
                                             const Recipe::Memory &memory) {
  std::map<std::string, std::map<std::string, RankedTensorType>> states;
  for (func::FuncOp entry : entriesOf(module))
    entry.walk([&](model::ReadOp read) {
      if (read.getState())
        states[read.getParameter().str()][read.getState()->str()] = cast<RankedTensorType>(read.getType());
    });
  SmallVector<PersistentTensor> tensors;
  for (model::ParameterOp parameter : placement.parameters()) {
    StringRef name = parameter.getSymName();
    RankedTensorType type = parameter.getType();
    spmd::UnitOp unitOp = placement.units()[placement.unitOf(name)];
    StringRef unit = unitOp.getName();
    const bool inHost = memory.offloads(Offloaded::parameters, unit) && !parameter.isState();
    tensors.push_back({parameter, "", type, placement.local(name, type), inHost});
    for (auto &[state, type] : states[name.str()])
      tensors.push_back(
          {parameter, state, type, placement.local(name, type), memory.offloads(Offloaded::optimizer, unit)});
  }
  return tensors;
}

/// Partitions one entry point.
class EntryPartitioner {
public:
  EntryPartitioner(func::FuncOp function, const Placement &placement, ArrayRef<PersistentTensor> all,
                   std::int64_t microbatches)
      : function(function), placement(placement), microbatches(microbatches),
        isTrain(model::entryOf(function) == EntryKind::train), block(function.front()) {
    // Only entries that update read states.
    for (const PersistentTensor &tensor : all)
      if (isTrain || tensor.state.empty()) {
        indices[{model::ParameterOp(tensor.parameter).getSymName(), tensor.state}] = tensors.size();
        tensors.push_back(tensor);
      }
  }

  void run() {
    // The mean over a step is computed after its last micro-batch.
    for (auto mean : block.getOps<model::StepMeanOp>())
      model::setPhase(mean, Phase::update);
    inlineRecompute(block);
    lowerAuthorCollectives(block, placement);
    hoistGradients();
    addArguments();
    replaceReads();
    replaceWrites();
    createSections();
  }

private:
  void hoistGradients();
  void addArguments();
  void replaceReads();
  void replaceWrites();
  void createSections();
  void createSection(SectionKind kind, std::int64_t repeat, ArrayRef<Operation *> ops);
  unsigned argumentOf(StringRef parameter, std::optional<StringRef> state) const {
    return indices.at({parameter, state.value_or("")});
  }

  func::FuncOp function;
  const Placement &placement;
  std::int64_t microbatches;
  bool isTrain;
  Block &block;
  SmallVector<PersistentTensor> tensors;
  /// By parameter and state, the index in `tensors`.
  llvm::DenseMap<std::pair<StringRef, StringRef>, unsigned> indices;
};

} // namespace

/// A gradient is directly after the op that computes it and its cast to the type of reduction, so that it can be
/// reduced when its unit's backward ends.
void EntryPartitioner::hoistGradients() {
  for (auto gradient : llvm::make_early_inc_range(block.getOps<model::GradientOp>())) {
    Operation *op = gradient.getLocal().getDefiningOp();
    if (!op || op->getBlock() != &block)
      continue;
    if (isa<model::CastOp>(op) && op->hasOneUse())
      if (Operation *source = op->getOperand(0).getDefiningOp(); source && source->getBlock() == &block)
        op->moveAfter(source);
    gradient->moveAfter(op);
  }
}

void EntryPartitioner::addArguments() {
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, model::inputName);
    if (!name)
      continue;
    function.removeArgAttr(i, builder.getStringAttr(model::inputName));
    function.setArgAttr(i, spmd::inputName, name);
    BlockArgument argument = function.getArgument(i);
    // Each micro-batch has its tensors and the number of its first row; other scalars, and constants, are of the step.
    const bool isConstant = function.getArgAttr(i, model::valuesName) != nullptr;
    const bool isOfRows = !isConstant && (cast<RankedTensorType>(argument.getType()).getRank() > 0 ||
                                          impliedPortRole(PortDirection::input, name) == PortRole::row);
    if (isTrain && isOfRows && llvm::any_of(argument.getUsers(), [](Operation *user) { return !isUpdate(user); }))
      function.setArgAttr(i, spmd::perRepetitionName, builder.getUnitAttr());
  }
  SmallVector<unsigned> positions(tensors.size(), 0);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  for (const PersistentTensor &tensor : tensors) {
    types.push_back(tensor.type);
    attributes.push_back(tensor.argumentAttributes());
    locations.push_back(model::ParameterOp(tensor.parameter).getLoc());
  }
  (void)function.insertArguments(positions, types, attributes, locations);
}

/// Reads of the update, and of parameters that are states, become arguments. Other parameters may have to be gathered.
void EntryPartitioner::replaceReads() {
  for (auto read : llvm::make_early_inc_range(block.getOps<model::ReadOp>())) {
    model::ParameterOp parameter = placement.find(read.getParameter());
    if (!isUpdate(read) && !(parameter && parameter.isState()))
      continue;
    Value value = function.getArgument(argumentOf(read.getParameter(), read.getState()));
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

/// Writes become results that donate their arguments' memory, before the outputs.
void EntryPartitioner::replaceWrites() {
  Builder builder(function.getContext());
  llvm::DenseMap<unsigned, Value> written;
  for (auto write : llvm::make_early_inc_range(block.getOps<model::WriteOp>())) {
    written[argumentOf(write.getParameter(), write.getState())] = write.getValue();
    write.erase();
  }
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < tensors.size(); ++i)
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

void EntryPartitioner::createSection(SectionKind kind, std::int64_t repeat, ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  auto isOutside = [&](OpOperand &use) { return !inside.contains(use.getOwner()); };
  SmallVector<Value> escaping;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUses(), isOutside))
        escaping.push_back(result);
  OpBuilder builder(block.getTerminator());
  auto section = spmd::SectionOp::create(builder, function.getLoc(), ValueRange(escaping).getTypes(),
                                         stringifySectionKind(kind), kind, repeat);
  Block *body = builder.createBlock(&section.getBody());
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  for (auto [value, result] : llvm::zip(escaping, section.getResults()))
    value.replaceUsesWithIf(result, isOutside);
  builder.setInsertionPointToEnd(body);
  spmd::YieldOp::create(builder, function.getLoc(), escaping);
}

void EntryPartitioner::createSections() {
  SmallVector<Operation *> first, update;
  for (Operation &op : block.without_terminator())
    (isUpdate(&op) ? update : first).push_back(&op);
  if (!isTrain) {
    first.append(update);
    return createSection(SectionKind::forward, 1, first);
  }
  // A constant that both sections read is copied to the update.
  llvm::SmallPtrSet<Operation *, 32> inUpdate(update.begin(), update.end());
  auto isInUpdate = [&](OpOperand &use) { return inUpdate.contains(use.getOwner()); };
  for (Operation *op : first) {
    if (op->getNumOperands() != 0 || isa<model::ReadOp>(op) || !isMemoryEffectFree(op) ||
        llvm::none_of(op->getUses(), isInUpdate))
      continue;
    Operation *copy = OpBuilder(update.front()).clone(*op);
    model::setPhase(copy, Phase::update);
    op->replaceUsesWithIf(copy->getResults(), isInUpdate);
    update.insert(update.begin(), copy);
  }
  createSection(SectionKind::microbatch, microbatches, first);
  createSection(SectionKind::update, 1, update);
}

namespace {

struct Partition : sluice::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;

  /// The model stage leaves neither of these; a module that was edited may have them.
  static LogicalResult verifyReads(ArrayRef<func::FuncOp> entries) {
    for (func::FuncOp entry : entries) {
      WalkResult result = entry.walk([](model::ReadOp read) -> WalkResult {
        if (read.getState() && !isUpdate(read))
          return read.emitOpError("reads the optimizer state '") << *read.getState() << "' outside of the update";
        for (Operation *user : read->getUsers())
          if (isa<model::GradientOp>(user))
            return user->emitOpError("the gradient is a parameter, not the result of a compute op");
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Placement placement(module);
    SmallVector<func::FuncOp> entries = entriesOf(module);
    // A second run changes nothing.
    if (entries.empty() ||
        llvm::any_of(entries, [](func::FuncOp entry) { return !entry.getOps<spmd::SectionOp>().empty(); }))
      return;
    if (!placement.mesh()) {
      module.emitError("module has no spmd.mesh").attachNote() << "spmd-assign-units creates it";
      return signalPassFailure();
    }
    if (Operation *taken = SymbolTable::lookupSymbolIn(module, "init")) {
      taken->emitError("symbol 'init' is reserved for the entry point that computes the initial weights");
      return signalPassFailure();
    }
    FailureOr<Recipe> recipe = recipeFor(module, microbatches, offload);
    if (failed(recipe))
      return signalPassFailure();
    if (failed(verifyReads(entries)))
      return signalPassFailure();
    for (func::FuncOp entry : entries)
      if (failed(verifyAuthorCollectives(entry, placement)))
        return signalPassFailure();
    SmallVector<PersistentTensor> tensors = findPersistent(module, placement, recipe->memory);
    for (func::FuncOp entry : entries)
      EntryPartitioner(entry, placement, tensors, recipe->gradient.microbatches.at(entry.getSymName())).run();
    // Weights that are loaded have no initial values.
    if (llvm::any_of(tensors,
                     [](PersistentTensor &tensor) { return !tensor.state.empty() || tensor.parameter.getInit(); }))
      addInitEntry(module, placement, tensors);
  }
};

} // namespace
