//===- ShardParameters.cpp - the recipe's shardings of parameters and inputs ----------------===//
//
// Sets `spmd.sharding` along one axis: of parameters as `sharding.tensor` or `sharding.expert` states, and along the
// axis expert also of inputs, by rows. Types stay global.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "passes/sharding/tensor/Heads.h"
#include "passes/sharding/tensor/Rows.h"

namespace sluice {
#define GEN_PASS_DEF_SHARDPARAMETERS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

struct ShardParameters : sluice::impl::ShardParametersBase<ShardParameters> {
  using ShardParametersBase::ShardParametersBase;
  void runOnOperation() override;

private:
  /// Remarks on keys without effect; false where the axis has one rank.
  bool hasRanks(const Recipe &recipe, bool isExpert, std::int64_t ranks, bool shardsParameters);
  LogicalResult shardInputs(const Recipe &recipe, std::int64_t ranks);
};

/// Megatron's plan, by the parameter names of the Hugging Face families: the projections to heads and to hidden
/// features are sharded by column, those from them by row, and the vocabulary is sharded in the embedding and in the
/// output.
constexpr std::pair<const char *, TensorSplit> megatronPlan[] = {
    {"*.attn.c_attn.*", TensorSplit::column},
    {"*.attn.c_proj.*", TensorSplit::row},
    {"*.mlp.c_fc.*", TensorSplit::column},
    {"*.mlp.c_proj.*", TensorSplit::row},
    {"*.q_proj.*", TensorSplit::column},
    {"*.k_proj.*", TensorSplit::column},
    {"*.v_proj.*", TensorSplit::column},
    {"*.o_proj.*", TensorSplit::row},
    {"*.gate_proj.*", TensorSplit::column},
    {"*.up_proj.*", TensorSplit::column},
    {"*.down_proj.*", TensorSplit::row},
    {"wte.weight", TensorSplit::row},
    {"*embed_tokens.weight", TensorSplit::row},
    {"lm_head.weight", TensorSplit::column},
    {"*.qkv_proj.*", TensorSplit::column},
    {"*.gate_up_proj.*", TensorSplit::column},
    {"*.query_key_value.*", TensorSplit::column},
    {"*.attention.dense.*", TensorSplit::row},
    {"*.dense_h_to_4h.*", TensorSplit::column},
    {"*.dense_4h_to_h.*", TensorSplit::row},
    {"*.embed_in.weight", TensorSplit::row},
    {"embed_out.weight", TensorSplit::column},
    {"*.self_attn.out_proj.*", TensorSplit::row},
    {"*.fc1.*", TensorSplit::column},
    {"*.fc2.*", TensorSplit::row},
};

TensorSplit megatronSplit(StringRef parameter) {
  for (auto [glob, split] : megatronPlan)
    if (matchesGlob(glob, parameter))
      return split;
  return TensorSplit::replicated;
}

/// The values that the forward reads of each parameter, by its name; in one walk for all.
llvm::StringMap<SmallVector<Value>> readsOf(ModuleOp module) {
  llvm::StringMap<SmallVector<Value>> reads;
  for (func::FuncOp entry : entriesOf(module))
    entry.walk([&](model::ReadOp read) {
      if (!read.getState() && model::phaseOf(read) != Phase::update)
        reads[read.getParameter()].push_back(read.getValue());
    });
  return reads;
}

/// The dims of a parameter that an op sums over, and those that become dims of its result.
struct ContractedDims {
  SmallVector<std::int64_t> inputs, outputs;
};

/// Follows a value through ops that keep its dims to the first that contracts some of them. `dims`: the positions of
/// the parameter's dims in the value.
std::optional<ContractedDims> findContraction(Value value, SmallVector<std::int64_t> dims, unsigned depth = 0) {
  for (const ForwardReader &reader : forwardReadersOf(value)) {
    ContractedDims found;
    SmallVector<std::int64_t> next;
    bool isPlain = true;
    for (auto [dim, at] : llvm::enumerate(dims)) {
      const auto &factors = reader.factors()[at];
      isPlain &= factors.size() == 1;
      if (!isPlain)
        break;
      std::optional<AxisSharding> inResult = shardingOf(reader.rule, reader.rule.results[0], {factors.front()});
      // A sliced dim has no factor in the result either, but is not summed over: no other operand has it.
      const bool isSummed = reader.rule.reduction != PartialReduction::none ||
                            llvm::count_if(reader.rule.operands, [&](const TensorFactors &operand) {
                              return hasFactor(operand, factors.front());
                            }) > 1;
      isPlain = inResult || isSummed;
      (inResult ? found.outputs : found.inputs).push_back(static_cast<std::int64_t>(dim));
      next.push_back(inResult ? inResult->dim : 0);
    }
    if (!isPlain)
      continue;
    if (!found.inputs.empty())
      return found;
    Value result = reader.op->getResult(0);
    if (depth < 8 && cast<ShapedType>(result.getType()).getRank() == static_cast<std::int64_t>(dims.size()))
      if (auto further = findContraction(result, next, depth + 1))
        return further;
  }
  return std::nullopt;
}

/// The factor by which the segments of a sharding must grow for the first op that separates the dim: the size of an
/// unshardable factor with a shardable inner one; 1 without such an op.
std::int64_t moreSegments(Value value, const AxisSharding &sharding, unsigned depth = 0) {
  for (const ForwardReader &reader : forwardReadersOf(value)) {
    const ShardingRule &rule = reader.rule;
    std::optional<FactorSharding> factor = factorOf(rule, reader.factors(), sharding);
    if (!factor)
      continue;
    if (rule.factors[factor->index].replicated) {
      ArrayRef<unsigned> dim = reader.factors()[sharding.dim];
      if (llvm::any_of(dim.drop_front(llvm::find(dim, factor->index) - dim.begin()),
                       [&](unsigned inner) { return !rule.factors[inner].replicated; }))
        return rule.factors[factor->index].size;
      continue;
    }
    for (const auto &[result, further] : reader.resultsWith(*factor))
      if (depth < 16)
        if (std::int64_t more = moreSegments(result, further, depth + 1); more != 1)
          return more;
  }
  return 1;
}

std::string ownerText(model::ParameterOp parameter) { return "parameter '" + parameter.getSymName().str() + "'"; }

/// The sharding of one parameter; replicated for a bias that is added to an unsharded output.
Result<AxisSharding> planParameter(model::ParameterOp parameter, ArrayRef<Value> reads, TensorSplit split,
                                   const Recipe &recipe, std::int64_t ranks) {
  ArrayRef<std::int64_t> shape = parameter.getType().getShape();
  const bool isRow = split == TensorSplit::row;
  if (shape.empty())
    return recipe.refuse("sharding.tensor", ownerText(parameter), ": a scalar has no dim to shard");
  if (shape.size() == 1 && isRow)
    return AxisSharding();
  AxisSharding sharding = AxisSharding::sharded(/*dim=*/0, /*segments=*/1, /*chunk=*/0);
  if (shape.size() > 1) {
    std::optional<ContractedDims> dims;
    for (Value read : reads)
      if (!dims)
        dims = findContraction(read, llvm::to_vector(llvm::seq<std::int64_t>(0, shape.size())));
    if (!dims)
      return recipe.refuse("sharding.tensor", ownerText(parameter), ": no product and no embedding reads it");
    const SmallVector<std::int64_t> &candidates = isRow ? dims->inputs : dims->outputs;
    if (candidates.size() != 1)
      return recipe.refuse("sharding.tensor", ownerText(parameter),
                           ", expected one dim of " + std::string(isRow ? "input" : "output") + " features but got " +
                               std::to_string(candidates.size()));
    sharding.dim = candidates.front();
  }
  for (std::int64_t more = 0; more != 1; sharding.segments *= more) {
    more = 1;
    for (Value read : reads)
      more = std::max(more, moreSegments(read, sharding));
  }
  std::int64_t extent = shape[sharding.dim] / sharding.segments, multiple = 1;
  for (Value read : reads)
    if (multiple == 1)
      multiple = chunkMultipleOf(read, sharding, ranks);
  if (extent % multiple != 0)
    multiple = 1;
  sharding.chunk = chunkOf(extent / multiple, ranks) * multiple;
  return sharding;
}

/// The parameters that are no states. A glob of the key that matches none is an error in a table, a warning in a list.
Result<SmallVector<model::ParameterOp>> parametersFor(StringRef key, ModuleOp module, const Recipe &recipe) {
  SmallVector<model::ParameterOp> parameters;
  std::vector<std::string> names;
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (!parameter.isState()) {
      parameters.push_back(parameter);
      names.push_back(parameter.getSymName().str());
    }
  SLUICE_RETURN_IF_ERROR(recipe.checkNames(key, "parameter", names));
  for (const std::string &warning : recipe.uselessGlobs(key, "parameter", names))
    emitWarning(UnknownLoc::get(module.getContext())) << warning;
  return parameters;
}

/// True where `sharding.tensor` shards a parameter.
bool shardsParameters(const Recipe &recipe) {
  auto *plan = std::get_if<TensorSplit>(&recipe.sharding.tensor);
  return plan ? *plan != TensorSplit::replicated : !std::holds_alternative<Strings>(recipe.sharding.tensor);
}

/// The shardings that `sharding.tensor` states. The dim follows from the rule of the op that contracts the parameter,
/// the segments from ops that separate a dim (a fused Q|K|V).
Result<ParameterShardings> planParameters(ModuleOp module, const Recipe &recipe, std::int64_t ranks) {
  ParameterShardings shardings;
  if (!shardsParameters(recipe))
    return shardings;
  auto *table = std::get_if<NamedValues<TensorSplit>>(&recipe.sharding.tensor);
  if (auto *plan = std::get_if<TensorSplit>(&recipe.sharding.tensor); plan && *plan != TensorSplit::megatron)
    return inputError(
        recipe.origin("sharding.tensor") +
        ": value of 'sharding.tensor', expected a table by parameter glob, 'megatron', or in sluice-compile "
        "'auto', but got " +
        stringifyEnum(*plan).str());
  SLUICE_ASSIGN_OR_RETURN(auto parameters, parametersFor("sharding.tensor", module, recipe));
  auto reads = readsOf(module);
  for (model::ParameterOp parameter : parameters) {
    StringRef name = parameter.getSymName();
    const TensorSplit *named = table ? findByName(*table, name) : nullptr;
    TensorSplit split = named ? *named : table ? TensorSplit::replicated : megatronSplit(name);
    if (split == TensorSplit::megatron || split == TensorSplit::automatic)
      return recipe.refuse("sharding.tensor", ownerText(parameter),
                           ", expected column, row or replicated but got " + stringifyEnum(split).str());
    if (split == TensorSplit::replicated || (!table && isSharded(parameter, AxisRole::expert)))
      continue;
    if (isSharded(parameter, AxisRole::expert))
      return recipe.refuse("sharding.tensor", ownerText(parameter),
                           ", expected replicated for a parameter that 'sharding.expert' shards but got " +
                               stringifyEnum(split).str());
    SLUICE_ASSIGN_OR_RETURN(AxisSharding sharding, planParameter(parameter, reads[name], split, recipe, ranks));
    if (sharding.isSharded())
      shardings[name] = sharding;
  }
  if (shardings.empty())
    return inputError(recipe.origin("sharding.tensor") +
                      ": value of 'sharding.tensor' shards no parameter of the model; a table by parameter glob fits "
                      "any model");
  return shardings;
}

/// The shardings that `sharding.expert` states: along dim 0, the experts.
Result<ParameterShardings> planExperts(ModuleOp module, const Recipe &recipe, std::int64_t ranks) {
  ParameterShardings shardings;
  SLUICE_ASSIGN_OR_RETURN(auto parameters, parametersFor("sharding.expert", module, recipe));
  for (model::ParameterOp parameter : parameters) {
    if (llvm::none_of(recipe.sharding.expert,
                      [&](const std::string &glob) { return matchesGlob(glob, parameter.getSymName()); }))
      continue;
    ArrayRef<std::int64_t> shape = parameter.getType().getShape();
    if (shape.size() < 2)
      return recipe.refuse("sharding.expert", ownerText(parameter),
                           ", expected a rank of at least 2, with the experts as dim 0, but got rank " +
                               std::to_string(shape.size()));
    if (shape[0] % ranks != 0)
      return recipe.refuse("sharding.expert", ownerText(parameter),
                           ", expected a multiple of 'mesh.expert' (" + std::to_string(ranks) +
                               ") as the number of experts but got " + std::to_string(shape[0]));
    shardings[parameter.getSymName()] = AxisSharding::sharded(/*dim=*/0, /*segments=*/1, shape[0] / ranks);
  }
  return shardings;
}

/// The rows of a micro-batch, from the entry's inputs; 0 without such inputs.
std::int64_t rowsOf(func::FuncOp entry) {
  auto inputs = inputsOfRows(entry);
  return inputs.empty() ? 0 : cast<RankedTensorType>(inputs.front().getType()).getDimSize(0);
}

} // namespace

bool ShardParameters::hasRanks(const Recipe &recipe, bool isExpert, std::int64_t ranks, bool shardsParameters) {
  auto unknown = UnknownLoc::get(&getContext());
  std::string key = "sharding." + axis.getValue(), size = "mesh." + axis.getValue();
  if (ranks == 1) {
    if (!isExpert && recipe.sharding.sequence)
      emitRemark(unknown) << recipe.origin("sharding.sequence")
                          << ": 'sharding.sequence' has no effect where 'mesh.tensor' is 1";
    if (shardsParameters)
      emitRemark(unknown) << recipe.origin(key) << ": '" << key << "' has no effect where '" << size << "' is 1";
    return false;
  }
  if (!shardsParameters && !isExpert)
    emitRemark(unknown)
        << recipe.origin(size)
        << ": 'mesh.tensor' shards nothing where 'sharding.tensor' names no parameter: its ranks all compute the same";
  if (!shardsParameters && isExpert)
    emitRemark(unknown) << recipe.origin(size)
                        << ": 'mesh.expert' shards only rows where 'sharding.expert' names no parameter";
  return true;
}

LogicalResult ShardParameters::shardInputs(const Recipe &recipe, std::int64_t ranks) {
  for (func::FuncOp entry : entriesOf(getOperation())) {
    std::int64_t rows = rowsOf(entry);
    if (rows != 0 && rows % ranks == 0) {
      auto sharding = AxisSharding::sharded(/*dim=*/0, /*segments=*/1, rows / ranks, /*priority=*/1);
      for (BlockArgument input : inputsOfRows(entry))
        entry.setArgAttr(input.getArgNumber(), spmd::shardingName,
                         withAxis(nullptr, sharding, axis, cast<RankedTensorType>(input.getType())));
      continue;
    }
    if (model::entryOf(entry) == EntryKind::train)
      return emitError(UnknownLoc::get(&getContext()))
             << recipe.origin("mesh.expert")
             << ": value of 'mesh.expert', expected a divisor of the rows of entry point '" << entry.getSymName()
             << "' (" << rows << ") but got " << ranks;
    emitRemark(entry.getLoc()) << recipe.origin("mesh.expert") << ": entry point '" << entry.getSymName() << "' has "
                               << rows << " rows, which the " << ranks
                               << " ranks of 'expert' do not divide: every rank computes all rows";
  }
  return success();
}

void ShardParameters::runOnOperation() {
  ModuleOp module = getOperation();
  const std::optional<AxisRole> role = impliedAxisRole(axis.getValue());
  if (!role || !dividesOps(*role)) {
    emitError(module.getLoc()) << "option 'axis', expected tensor or expert but got " << axis;
    return signalPassFailure();
  }
  // A second run changes nothing.
  if (spmd::meshOf(module) || isLocal(module, axis) || isToPartition(module, axis))
    return;
  FailureOr<Recipe> found = recipeFor(module, meshTensor, meshExpert, tensorPlan, sequence, experts);
  if (failed(found))
    return signalPassFailure();
  const Recipe &recipe = *found;
  const bool isExpert = role == AxisRole::expert;
  std::int64_t ranks = isExpert ? recipe.mesh.expert : recipe.mesh.tensor;
  if (!hasRanks(recipe, isExpert, ranks, isExpert ? !recipe.sharding.expert.empty() : shardsParameters(recipe)))
    return;
  Result<ParameterShardings> shardings =
      isExpert ? planExperts(module, recipe, ranks) : planParameters(module, recipe, ranks);
  if (!shardings.isOk()) {
    emitError(UnknownLoc::get(&getContext())) << shardings.status().message();
    return signalPassFailure();
  }
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (auto planned = shardings->find(parameter.getSymName()); planned != shardings->end())
      parameter->setAttr(spmd::shardingName, withAxis(parameterSharding(parameter), planned->second, axis,
                                                      cast<RankedTensorType>(parameter.getType())));
  if (isExpert && failed(shardInputs(recipe, ranks)))
    signalPassFailure();
}
