//===- ParameterPlan.cpp - which parameters are split, and how ----------------------------===//

#include "passes/sharding/tensor/ParameterPlan.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/Heads.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sluice::tensor {

namespace {

/// The reads of each parameter in what runs forward, by its name; in one walk for all.
using Reads = llvm::StringMap<SmallVector<Value>>;
Reads readsOf(ModuleOp module) {
  Reads reads;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](model::ReadOp read) {
      if (!read.getState() && model::phaseOf(read) != Phase::update)
        reads[read.getParameter()].push_back(read.getValue());
    });
  return reads;
}

/// The dims of a parameter that an op sums over, and those that become dims of its result.
struct Dims {
  SmallVector<std::int64_t> inputs, outputs;
};

/// Follows a value through ops that leave its dims as they are, to the first that contracts some of them. `dims`: where
/// the parameter's dims are in the value.
std::optional<Dims> contracted(Value value, SmallVector<std::int64_t> dims, unsigned depth = 0) {
  for (OpOperand &use : value.getUses()) {
    std::optional<ShardingRule> rule = forwardRuleOf(use.getOwner());
    if (!rule)
      continue;
    const TensorFactors &operand = rule->operands[use.getOperandNumber()];
    Dims found;
    SmallVector<std::int64_t> next;
    bool isPlain = true;
    for (auto [dim, at] : llvm::enumerate(dims)) {
      isPlain &= operand[at].size() == 1;
      if (operand[at].size() != 1)
        continue;
      FactorSplit split{operand[at].front(), 1};
      std::optional<AxisSharding> inResult = shardingOf(*rule, rule->results[0], split);
      // A dim that is cut, and not summed over, has no result either.
      isPlain &= inResult || rule->reduction != PartialReduction::none;
      (inResult ? found.outputs : found.inputs).push_back(static_cast<std::int64_t>(dim));
      next.push_back(inResult ? inResult->dim : 0);
    }
    if (!isPlain)
      continue;
    if (!found.inputs.empty())
      return found;
    Value result = use.getOwner()->getResult(0);
    if (depth < 8 && cast<ShapedType>(result.getType()).getRank() == static_cast<std::int64_t>(dims.size()))
      if (auto further = contracted(result, next, depth + 1))
        return further;
  }
  return std::nullopt;
}

/// How many more segments a sharding needs for the first op that splits the dim: the product of its unshardable factors
/// outside of a shardable one; 1 where there is none.
std::int64_t moreSegments(Value value, const AxisSharding &sharding, unsigned depth = 0) {
  for (OpOperand &use : value.getUses()) {
    std::optional<ShardingRule> rule = forwardRuleOf(use.getOwner());
    if (!rule)
      continue;
    const TensorFactors &operand = rule->operands[use.getOperandNumber()];
    std::optional<FactorSplit> split = factorOf(*rule, operand, sharding);
    if (!split)
      continue;
    if (rule->factors[split->factor].whole) {
      const auto &dim = operand[sharding.dim];
      bool isOutside = false, hasInside = false;
      for (unsigned factor : dim) {
        hasInside |= isOutside && !rule->factors[factor].whole;
        isOutside |= factor == split->factor;
      }
      if (hasInside)
        return rule->factors[split->factor].size;
      continue;
    }
    for (auto [index, result] : llvm::enumerate(use.getOwner()->getResults()))
      if (auto further = shardingOf(*rule, rule->results[index], *split); further && depth < 16)
        if (std::int64_t more = moreSegments(result, *further, depth + 1); more != 1)
          return more;
  }
  return 1;
}

/// The sharding of one parameter; nothing for a replicated one.
Result<std::optional<AxisSharding>> planParameter(model::ParameterOp parameter, ArrayRef<Value> reads, StringRef word,
                                                  const Recipe &recipe, std::int64_t ranks) {
  auto wrong = [&](const std::string &rest) {
    return inputError(recipe.origin("sharding.tensor") + ": value of 'sharding.tensor' for parameter '" +
                      parameter.getSymName().str() + "', " + rest);
  };
  ArrayRef<std::int64_t> shape = parameter.getType().getShape();
  if (shape.empty())
    return wrong("expected a parameter with dims but got a scalar");
  AxisSharding sharding;
  sharding.kind = AxisSharding::Kind::sharded;
  if (shape.size() == 1) {
    // A bias is added to an output, and sharded where the output is.
    if (word == "row")
      return std::optional<AxisSharding>();
  } else {
    std::optional<Dims> dims;
    for (Value read : reads)
      if (!dims)
        dims = contracted(read, llvm::to_vector(llvm::seq<std::int64_t>(0, shape.size())));
    if (!dims)
      return wrong("expected one that a product or a table reads but got one that none does");
    const SmallVector<std::int64_t> &candidates = word == "row" ? dims->inputs : dims->outputs;
    if (candidates.size() != 1)
      return wrong("expected one dim of " + std::string(word == "row" ? "input" : "output") + " features but got " +
                   std::to_string(candidates.size()));
    sharding.dim = candidates.front();
  }
  for (bool grows = true; grows;) {
    std::int64_t more = 1;
    for (Value read : reads)
      more = std::max(more, moreSegments(read, sharding));
    sharding.segments *= more;
    grows = more != 1;
  }
  std::int64_t extent = shape[sharding.dim] / sharding.segments, grain = 1;
  for (Value read : reads)
    if (grain == 1)
      grain = grainOf(read, sharding, ranks);
  if (extent % grain != 0)
    grain = 1;
  sharding.chunk = chunkOf(extent / grain, ranks) * grain;
  return std::optional<AxisSharding>(sharding);
}

SmallVector<model::ParameterOp> parametersOf(ModuleOp module) {
  return llvm::to_vector(llvm::make_filter_range(module.getOps<model::ParameterOp>(),
                                                 [](model::ParameterOp parameter) { return !parameter.isState(); }));
}

std::vector<std::string> namesOf(ArrayRef<model::ParameterOp> parameters) {
  std::vector<std::string> names;
  for (model::ParameterOp parameter : parameters)
    names.push_back(parameter.getSymName().str());
  return names;
}

} // namespace

bool shardsParameters(const Recipe &recipe) {
  auto *plan = std::get_if<TensorSplit>(&recipe.sharding.tensor);
  return plan ? *plan != TensorSplit::replicated : !std::holds_alternative<Strings>(recipe.sharding.tensor);
}

Result<ParameterShardings> planParameters(ModuleOp module, const Recipe &recipe, std::int64_t ranks) {
  ParameterShardings splits;
  if (!shardsParameters(recipe))
    return splits;
  auto *table = std::get_if<NamedValues<TensorSplit>>(&recipe.sharding.tensor);
  if (auto *plan = std::get_if<TensorSplit>(&recipe.sharding.tensor); plan && *plan != TensorSplit::megatron)
    return inputError(recipe.origin("sharding.tensor") +
                      ": value of 'sharding.tensor', expected a table by parameter glob or 'megatron' but got " +
                      stringifyEnum(*plan).str());
  auto parameters = parametersOf(module);
  std::vector<std::string> names = namesOf(parameters);
  if (Status status = recipe.checkNames("sharding.tensor", "parameter", names); !status.isOk())
    return status;
  Reads reads = readsOf(module);
  for (model::ParameterOp parameter : parameters) {
    std::string split = megatronSplit(parameter.getSymName()).str();
    if (table) {
      const TensorSplit *named = findByName(*table, parameter.getSymName());
      split = named ? stringifyEnum(*named).str() : "";
      if (split == "megatron")
        return inputError(recipe.origin("sharding.tensor") + ": value of 'sharding.tensor' for parameter '" +
                          parameter.getSymName().str() + "', expected column, row or replicated but got megatron");
    }
    if (split.empty() || split == "replicated")
      continue;
    if (isSharded(parameter, expertAxis)) {
      if (!table)
        continue;
      return inputError(recipe.origin("sharding.tensor") + ": value of 'sharding.tensor' for parameter '" +
                        parameter.getSymName().str() +
                        "', expected replicated for one that 'sharding.expert' splits but "
                        "got " +
                        split);
    }
    SLUICE_ASSIGN_OR_RETURN(std::optional<AxisSharding> sharding,
                            planParameter(parameter, reads[parameter.getSymName()], split, recipe, ranks));
    if (sharding)
      splits[parameter.getSymName()] = *sharding;
  }
  if (splits.empty())
    return inputError(recipe.origin("sharding.tensor") +
                      ": value of 'sharding.tensor', expected a plan that splits a "
                      "parameter of the model but got one that splits none; a table by parameter glob fits any model");
  return splits;
}

Result<ParameterShardings> planExperts(ModuleOp module, const Recipe &recipe, std::int64_t ranks) {
  ParameterShardings splits;
  auto parameters = parametersOf(module);
  if (Status status = recipe.checkNames("sharding.expert", "parameter", namesOf(parameters)); !status.isOk())
    return status;
  const Strings &globs = recipe.sharding.expert;
  for (model::ParameterOp parameter : parameters) {
    auto matches = [&](const std::string &glob) { return matchesGlob(glob, parameter.getSymName()); };
    if (llvm::none_of(globs, matches))
      continue;
    ArrayRef<std::int64_t> shape = parameter.getType().getShape();
    auto wrong = [&](const std::string &rest) {
      return inputError(recipe.origin("sharding.expert") + ": value of 'sharding.expert' for parameter '" +
                        parameter.getSymName().str() + "', " + rest);
    };
    if (shape.size() < 2)
      return wrong("expected one with a dim of experts before others but got " + std::to_string(shape.size()) +
                   (shape.size() == 1 ? " dim" : " dims"));
    if (shape[0] % ranks != 0)
      return wrong("expected a number of experts that 'mesh.expert' (" + std::to_string(ranks) + ") divides but got " +
                   std::to_string(shape[0]));
    AxisSharding sharding;
    sharding.kind = AxisSharding::Kind::sharded;
    sharding.chunk = shape[0] / ranks;
    splits[parameter.getSymName()] = sharding;
  }
  return splits;
}

} // namespace sluice::tensor
