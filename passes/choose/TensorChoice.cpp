//===- TensorChoice.cpp - which parameters are sharded along the axis tensor --------------===//

#include "passes/choose/TensorChoice.h"

#include "passes/recipe/Keys.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/AxisPasses.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "runtime/base/Text.h"

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mlir;

namespace sluice {

static llvm::StringRef axisName() { return stringifyAxisRole(AxisRole::tensor); }

/// Without diagnostics.
static bool runQuietly(PassManager &manager, ModuleOp module) {
  ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &) { return success(); });
  manager.enableVerifier(false);
  return succeeded(manager.run(module));
}

Result<TensorChoice> TensorChoice::create(ModuleOp module) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, recipeOf(module));
  TensorChoice choice;
  choice.ranks = recipe.mesh.tensor;
  choice.step = module.clone();
  for (auto function : llvm::make_early_inc_range(choice.step->getOps<func::FuncOp>()))
    if (model::entryOf(function) != EntryKind::train)
      function.erase();
  // The axis expert is divided before the axis tensor.
  PassManager manager(module.getContext());
  const std::string expert = stringifyAxisRole(AxisRole::expert).str();
  addAxisSharding(manager, expert);
  addAxisLocalization(manager, expert);
  // A refusal is repeated, with its message, by the pipeline.
  if (!runQuietly(manager, choice.step.get()))
    choice.ranks = 1;
  choice.step->walk([&](CostOpInterface op) { choice.undividedFlops += static_cast<double>(op.getCost().flops); });
  choice.findVariables();
  choice.findMoves();
  return choice;
}

namespace {

/// The names and result types of a block's ops in the forward, and its parameters in the order of their reads.
struct BlockForward {
  std::vector<const void *> ops;
  std::vector<std::string> parameters;
};

std::string moduleOf(llvm::StringRef parameter) { return parameter.rsplit('.').first.str(); }

} // namespace

void TensorChoice::findVariables() {
  std::map<std::string, BlockForward> blocks;
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> readers;
  std::vector<std::string> reads;
  for (auto function : step->getOps<func::FuncOp>())
    for (Operation &op : function.front()) {
      if (model::phaseOf(&op) > Phase::loss)
        continue;
      const std::string block = model::outermostBlock(model::blockOf(&op)).str();
      auto [entry, isNew] = blocks.try_emplace(block);
      if (isNew)
        order.push_back(block);
      entry->second.ops.push_back(op.getName().getAsOpaquePointer());
      for (Type type : op.getResultTypes())
        entry->second.ops.push_back(type.getAsOpaquePointer());
      auto read = dyn_cast<model::ReadOp>(op);
      if (!read || read.getState())
        continue;
      const std::string name = read.getParameter().str();
      auto [known, isFirst] = readers.try_emplace(name);
      if (isFirst)
        reads.push_back(name);
      known->second.insert(block);
    }
  for (const std::string &name : reads)
    if (readers[name].size() == 1)
      blocks[*readers[name].begin()].parameters.push_back(name);
    else
      blocks[""].parameters.push_back(name);
  if (!llvm::is_contained(order, ""))
    order.emplace_back();

  const auto rankOf = [&](const std::string &name) {
    auto parameter = step->lookupSymbol<model::ParameterOp>(name);
    return !parameter || parameter.isState() ? 0 : cast<RankedTensorType>(parameter.getType()).getRank();
  };
  // The kinds of blocks, by the ops and the parameters without the block's name.
  using Kind = std::pair<std::vector<const void *>, std::string>;
  std::map<Kind, std::vector<std::string>> kindsOf;
  std::vector<Kind> keys;
  for (const std::string &block : order) {
    Kind key(blocks[block].ops, "");
    for (const std::string &name : blocks[block].parameters)
      key.second += concat(" ", llvm::StringRef(name).starts_with(block) ? name.substr(block.size()) : name);
    auto [entry, isNew] = kindsOf.try_emplace(key);
    if (isNew)
      keys.push_back(key);
    entry->second.push_back(block);
  }
  for (const Kind &key : keys) {
    std::vector<unsigned> kind;
    const std::vector<std::string> &equal = kindsOf[key];
    const std::vector<std::string> &first = blocks[equal.front()].parameters;
    std::set<std::string> biased;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (rankOf(first[i]) < 2)
        continue;
      SplitVariable variable;
      variable.name = concat("'", first[i], "'",
                             equal.size() > 1 ? concat(" and those of ", equal.size() - 1, " equal blocks") : "");
      for (const std::string &block : equal)
        variable.weights.push_back(blocks[block].parameters[i]);
      const bool hasBias = biased.insert(moduleOf(first[i])).second;
      for (std::size_t j = 0; j < first.size(); ++j)
        if (hasBias && rankOf(first[j]) == 1 && moduleOf(first[j]) == moduleOf(first[i]))
          for (const std::string &block : equal)
            variable.biases.push_back(blocks[block].parameters[j]);
      kind.push_back(static_cast<unsigned>(all.size()));
      all.push_back(std::move(variable));
    }
    if (!kind.empty())
      kinds.push_back(std::move(kind));
  }
}

/// The parameter that a value is another form of; empty for other values.
static llvm::StringRef parameterOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->getNumOperands() == 1 && isa<ViewOpInterface, model::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto read = dyn_cast_or_null<model::ReadOp>(op);
  return read && !read.getState() ? read.getParameter() : llvm::StringRef();
}

void TensorChoice::findMoves() {
  llvm::StringMap<unsigned> variableOf;
  for (auto [number, variable] : llvm::enumerate(all))
    for (const std::string &name : variable.weights)
      variableOf[name] = static_cast<unsigned>(number);
  // The variable of the op's parameter.
  const auto productOf = [&](Operation *op) -> std::optional<unsigned> {
    for (Value operand : op->getOperands())
      if (auto found = variableOf.find(parameterOf(operand)); found != variableOf.end())
        return found->second;
    return std::nullopt;
  };
  std::set<unsigned> done;
  for (auto function : step.get().getOps<func::FuncOp>())
    for (Operation &op : function.front()) {
      const std::optional<unsigned> row = model::phaseOf(&op) <= Phase::loss ? productOf(&op) : std::nullopt;
      if (!row || isa<ViewOpInterface, model::CastOp>(op) || !done.insert(*row).second)
        continue;
      std::set<unsigned> columns;
      llvm::SmallVector<Value> pending(op.getOperands());
      llvm::SmallPtrSet<Operation *, 16> visited;
      while (!pending.empty()) {
        Operation *from = pending.pop_back_val().getDefiningOp();
        if (!from || from->getBlock() != op.getBlock() || !visited.insert(from).second ||
            model::blockOf(from) != model::blockOf(&op))
          continue;
        if (const std::optional<unsigned> column = productOf(from); column && column != row)
          columns.insert(*column);
        else
          llvm::append_range(pending, from->getOperands());
      }
      if (columns.empty())
        continue;
      SplitMove move = {{*row, 2}};
      for (unsigned column : columns)
        move.emplace_back(column, 1);
      moves.push_back(std::move(move));
    }
}

RecipeValue TensorChoice::valueOf(const std::vector<unsigned> &values) const {
  RecipeTable table;
  for (auto [variable, value] : llvm::zip_equal(all, values)) {
    const std::string split = stringifyTensorSplit(splits[value]).str();
    if (splits[value] != TensorSplit::replicated)
      for (const std::string &name : variable.weights)
        table.entries.push_back({name, split});
    if (splits[value] == TensorSplit::column)
      for (const std::string &name : variable.biases)
        table.entries.push_back({name, split});
  }
  std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
  return table.entries.empty() ? RecipeValue(std::vector<std::string>()) : RecipeValue(std::move(table));
}

static double bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return static_cast<double>(tensor.getNumElements()) *
         static_cast<double>(llvm::divideCeil(tensor.getElementTypeBitWidth(), 8));
}

std::optional<TensorCost> TensorChoice::cost(const std::vector<unsigned> &values) const {
  OwningOpRef<ModuleOp> trial = step.get().clone();
  Result<Recipe> recipe = attachedRecipe(*trial);
  if (!recipe.isOk() || !recipe->add(keys::tensor, valueOf(values), model::recipeName.str()).isOk())
    return std::nullopt;
  attachRecipe(*trial, *recipe);
  PassManager manager(trial->getContext());
  addAxisSharding(manager, axisName());
  addAxisLocalization(manager, axisName());
  if (!runQuietly(manager, *trial))
    return std::nullopt;
  TensorCost cost;
  double flops = 0;
  const auto others = static_cast<double>(ranks - 1);
  // Sums that are reduced and then added become one sum that is reduced (spmd-join-reductions).
  llvm::DenseSet<Value> reduced;
  trial->walk([&](Operation *op) {
    if (auto wait = dyn_cast<spmd::WaitOp>(op)) {
      auto start = wait.getStart();
      if (start && start.isReduction() && start.isInPlace() && start->getNumOperands() == 1)
        reduced.insert(wait.getValues()[0]);
    } else if (auto add = dyn_cast<model::AddOp>(op)) {
      const auto isReduced = [&](Value value) { return value.hasOneUse() && reduced.contains(value); };
      if (isReduced(add->getOperand(0)) && isReduced(add->getOperand(1))) {
        reduced.insert(add->getResult(0));
        cost.sentBytes -= 2 * bytesOf(add->getResultTypes()[0]) * others / static_cast<double>(ranks);
      }
    }
    if (auto parameter = dyn_cast<model::ParameterOp>(op)) {
      // The parameter, its gradient and two moments.
      if (!parameter.isState() && !tensor::isSharded(parameter, axisName()))
        cost.heldBytes += 4 * bytesOf(parameter.getType()) * others / static_cast<double>(ranks);
      return;
    }
    auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (collective && !collective.isCopy() &&
        llvm::is_contained(collective.getAxes().getAsValueRange<StringAttr>(), axisName())) {
      double bytes = 0;
      for (Type type : op->getOperandTypes())
        bytes += bytesOf(type);
      // Of a ring: the chunks of the others, or a chunk to each of them, or both.
      const bool isGather = collective.isUnshard(), isAllReduce = collective.isInPlace();
      cost.sentBytes += bytes * others * (isGather ? 1 : (isAllReduce ? 2 : 1) / static_cast<double>(ranks));
    } else if (auto priced = dyn_cast<CostOpInterface>(op)) {
      flops += static_cast<double>(priced.getCost().flops);
    }
  });
  cost.repeatedFlops = std::max(0.0, flops - undividedFlops / static_cast<double>(ranks));
  return cost;
}

SplitProblem TensorChoice::problem() const {
  SplitProblem problem;
  problem.groups = kinds;
  problem.moves = moves;
  problem.values = std::size(splits);
  problem.cost = [this](const std::vector<unsigned> &values) -> std::optional<double> {
    const std::optional<TensorCost> found = cost(values);
    return found ? std::optional(found->total()) : std::nullopt;
  };
  return problem;
}

Result<RecipeValue> TensorChoice::choose() const {
  const SplitProblem problem = this->problem();
  if (ranks == 1 || all.empty() || !problem.cost(std::vector<unsigned>(all.size(), 0)))
    return RecipeValue(std::vector<std::string>());
  const SplitSolution solution = searchSplits(problem);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string text = concat("'sharding.tensor' = \"auto\": ", stringifyTensorSplit(splits[solution.values[i]]).str(),
                              " for ", all[i].name);
    for (unsigned value = 0; value < std::size(splits); ++value) {
      std::vector<unsigned> other = solution.values;
      other[i] = value;
      const std::optional<double> total = value == solution.values[i] ? solution.cost : problem.cost(other);
      text += concat(value == 0 ? ": " : ", ", stringifyTensorSplit(splits[value]).str(), " ",
                     total ? formatBytes(static_cast<std::uint64_t>(*total)) : "is not possible");
    }
    emitRemark(UnknownLoc::get(step.get().getContext())) << text;
  }
  return valueOf(solution.values);
}

} // namespace sluice
