//===- UnitKnobs.cpp - what the recipe says of each unit ---------------------------------===//

#include "passes/sharding/UnitKnobs.h"

#include "dialect/rules/When.h"
#include "dialect/spmd/Names.h"

#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;
using namespace sluice;

namespace {

constexpr llvm::StringLiteral afterForward = "sharding.reshard_after_forward";
constexpr llvm::StringLiteral afterBackward = "sharding.reshard_after_backward";
constexpr llvm::StringLiteral gradientSync = "gradient.sync";
/// What a plan's instruction may list.
constexpr std::size_t maxListed = 64;

Status wrong(const RecipeView &recipe, StringRef key, StringRef unit, const std::string &rest) {
  return inputError(recipe.origin(key) + ": value of '" + key.str() + "' for unit '" + unit.str() + "', " + rest);
}

std::string divisorsOf(std::int64_t number) {
  std::string text;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(divisor);
  return text;
}

/// The ranks over which a unit keeps a piece; nothing where it keeps all or none.
std::optional<std::int64_t> pieceRanks(const RecipeView &recipe, StringRef unit) {
  auto ranks = dyn_cast_or_null<IntegerAttr>(recipe.forName(afterForward, unit));
  if (!ranks || isa<BoolAttr>(recipe.forName(afterForward, unit)) || ranks.getInt() == 1 ||
      ranks.getInt() == recipe.integer("mesh.shard"))
    return std::nullopt;
  return ranks.getInt();
}

bool reshards(const RecipeView &recipe, StringRef unit) {
  Attribute value = recipe.forName(afterForward, unit);
  if (auto flag = dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  if (auto ranks = dyn_cast_or_null<IntegerAttr>(value))
    return ranks.getInt() != 1;
  return !StringRef(recipe.string("sharding.strategy")).ends_with("shard_grad_op") && unit != spmd::rootUnit;
}

std::string words(Attribute value) {
  auto text = dyn_cast_or_null<StringAttr>(value);
  return text ? text.getValue().str() : std::string();
}

/// The spmd.unit's `sync`; empty: in the last micro-batch.
Result<std::string> syncOf(const RecipeView &recipe, StringRef unit) {
  Attribute value = recipe.forName(gradientSync, unit);
  std::int64_t count = recipe.integer("gradient.microbatches");
  auto list = dyn_cast_or_null<ArrayAttr>(value);
  if (!list)
    return count == 1 || words(value) == "last" ? std::string() : words(value);
  if (static_cast<std::int64_t>(list.size()) != count)
    return wrong(recipe, gradientSync, unit, "expected one of true and false for each of " + std::to_string(count) +
                                         " micro-batches but got " + std::to_string(list.size()));
  SmallVector<std::int64_t> reduces;
  for (auto [index, element] : llvm::enumerate(list))
    if (auto flag = dyn_cast<BoolAttr>(element); flag && flag.getValue())
      reduces.push_back(static_cast<std::int64_t>(index));
  if (reduces.empty() || reduces.back() != count - 1)
    return wrong(recipe, gradientSync, unit, "expected true for the last micro-batch but got false");
  if (static_cast<std::int64_t>(reduces.size()) == count)
    return count == 1 ? std::string() : std::string("every");
  // Gradients that some micro-batches reduce and others leave are added up from two sides, which the host is not.
  if (reduces.size() > 1 && !recipe.strings("memory.offload").empty())
    return wrong(recipe, gradientSync, unit,
                 "expected \"last\" or \"every\" with 'memory.offload' but got a list that reduces in some micro-batches "
                 "before the last");
  std::string text = writeWhen(reduces, count);
  if (text == "last")
    return std::string();
  // Those that reduce are listed, and those that go on adding up.
  if (std::size_t others = list.size() - reduces.size(); std::max(reduces.size(), others) > maxListed)
    return wrong(recipe, gradientSync, unit,
                 "expected at most " + std::to_string(maxListed) + " micro-batches that reduce and as many that do not, or \"last\" or "
                 "\"every\", but got " + std::to_string(reduces.size()) + " and " + std::to_string(others));
  if (listedRepetitions(text))
    return text;
  // As a list, whatever word there is for it.
  text.clear();
  for (std::int64_t repetition : reduces) {
    if (!text.empty())
      text += ',';
    text += std::to_string(repetition);
  }
  return text;
}

} // namespace

Result<llvm::SmallVector<std::int64_t>> sluice::shardParts(const RecipeView &recipe, ArrayRef<std::string> units) {
  std::int64_t ranks = recipe.integer("mesh.shard");
  std::set<std::int64_t> pieces;
  for (const std::string &unit : units)
    if (std::optional<std::int64_t> piece = pieceRanks(recipe, unit)) {
      if (ranks % *piece != 0)
        return wrong(recipe, afterForward, unit, "expected a divisor of 'mesh.shard' (" + divisorsOf(ranks) +
                                                     ") but got " + std::to_string(*piece));
      for (std::int64_t other : pieces)
        if (*piece % other != 0 && other % *piece != 0)
          return wrong(recipe, afterForward, unit, "expected a number that divides or is divided by " +
                                                       std::to_string(other) + " of another unit but got " +
                                                       std::to_string(*piece));
      pieces.insert(*piece);
    }
  // From the innermost part outwards, then turned round.
  SmallVector<std::int64_t> parts;
  std::int64_t inside = 1;
  for (std::int64_t piece : pieces) {
    parts.push_back(piece / inside);
    inside = piece;
  }
  parts.push_back(ranks / inside);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

llvm::SmallVector<std::string> sluice::shardPartNames(std::size_t count) {
  SmallVector<std::string> names;
  for (std::size_t part = 0; part < count; ++part)
    names.push_back(count == 1 ? std::string("shard") : "shard." + std::to_string(part));
  return names;
}

Status sluice::setUnitKnobs(spmd::UnitOp unit, const RecipeView &recipe, ArrayRef<std::int64_t> parts) {
  Builder builder(unit.getContext());
  StringRef name = unit.getSymName();
  bool sharded = recipe.string("sharding.strategy") != "no_shard";
  unit.setReshardAfterForward(reshards(recipe, name));
  if (std::optional<std::int64_t> ranks = pieceRanks(recipe, name)) {
    if (!sharded)
      return wrong(recipe, afterForward, name,
                   "expected a sharding strategy that shards parameters but got 'sharding.strategy' = \"no_shard\"");
    SmallVector<std::string> names = shardPartNames(parts.size());
    SmallVector<Attribute> axes;
    std::int64_t inside = 1;
    for (std::size_t part = parts.size(); part-- > 0 && inside < *ranks;) {
      axes.insert(axes.begin(), builder.getStringAttr(names[part]));
      inside *= parts[part];
    }
    unit.setPieceAttr(builder.getArrayAttr(axes));
  }
  unit.setReshardBeforeBackward(recipe.boolean("sharding.reshard_before_backward"));
  if (words(recipe.forName(afterBackward, name)) == "last" && recipe.integer("gradient.microbatches") > 1) {
    if (unit.getReshardAfterForward())
      return wrong(recipe, afterBackward, name,
                   "expected \"always\", or 'sharding.reshard_after_forward' = false for the unit, but got \"last\"");
    if (unit.getReshardBeforeBackward())
      return wrong(recipe, afterBackward, name,
                   "expected \"always\", or 'sharding.reshard_before_backward' = false, but got \"last\"");
    unit.setKeepAfterBackward(true);
  }
  if (auto gathers = dyn_cast_or_null<BoolAttr>(recipe.forName("sharding.unshard_in_backward", name)))
    unit.setSkipBackward(!gathers.getValue());
  SLUICE_ASSIGN_OR_RETURN(std::string reduces, syncOf(recipe, name));
  if (!reduces.empty())
    unit.setSync(reduces);
  Attribute divide = recipe.forName("gradient.divide", name);
  if (auto number = dyn_cast_or_null<FloatAttr>(divide))
    unit.setDivideAttr(builder.getF64FloatAttr(number.getValueAsDouble()));
  else if (auto integer = dyn_cast_or_null<IntegerAttr>(divide))
    unit.setDivideAttr(builder.getF64FloatAttr(static_cast<double>(integer.getInt())));
  return Status::ok();
}

std::vector<std::string> sluice::uselessKnobs(const RecipeView &recipe) {
  std::vector<std::string> remarks;
  auto useless = [&](StringRef key, const std::string &why) {
    remarks.push_back(recipe.origin(key) + ": '" + key.str() + "' has no effect " + why);
  };
  auto isGiven = [&](StringRef key, StringRef normal) { return words(recipe.raw(key)) != normal; };
  if (recipe.integer("gradient.microbatches") == 1) {
    if (isGiven(gradientSync, "last"))
      useless(gradientSync, "with one micro-batch");
    if (isGiven(afterBackward, "always"))
      useless(afterBackward, "with one micro-batch");
  } else if (words(recipe.raw(gradientSync)) == "reduce_scatter_only" && recipe.integer("mesh.replicate") == 1) {
    useless(gradientSync, "beyond \"every\" with one replica");
  }
  std::vector<std::string> offloaded = recipe.strings("memory.offload");
  if (offloaded.empty() && !recipe.boolean("memory.pinned"))
    useless("memory.pinned", "without 'memory.offload'");
  if (offloaded == std::vector<std::string>{"optimizer"} && recipe.string("optimizer.name") == "sgd" &&
      recipe.number("optimizer.momentum") == 0)
    useless("memory.offload", "on an optimizer without state");
  bool fetches = llvm::is_contained(offloaded, "parameters");
  bool gathers = recipe.integer("mesh.shard") > 1 && recipe.string("sharding.strategy") != "no_shard";
  if (!gathers) {
    if (isGiven(afterForward, "default") && !fetches)
      useless(afterForward, "where nothing is sharded");
    if (recipe.boolean("sharding.reshard_before_backward"))
      useless("sharding.reshard_before_backward", "where nothing is sharded");
    if (isGiven("sharding.dim", "first"))
      useless("sharding.dim", "where nothing is sharded");
    if (!recipe.strings("sharding.replicated").empty())
      useless("sharding.replicated", "where nothing is sharded");
    for (StringRef key : {"schedule.forward_prefetch", "schedule.backward_prefetch"})
      if (auto depth = dyn_cast_or_null<IntegerAttr>(recipe.raw(key)); !fetches && (!depth || depth.getInt() != 1))
        useless(key, "where nothing is gathered");
  }
  if (gathers && recipe.boolean("sharding.reshard_before_backward"))
    if (auto all = dyn_cast_or_null<BoolAttr>(recipe.raw(afterForward)); all && all.getValue())
      useless("sharding.reshard_before_backward", "where everything is released behind the forward");
  if (!recipe.has("gradient.clip_norm") && recipe.number("gradient.clip_type") != 2)
    useless("gradient.clip_type", "without 'gradient.clip_norm'");
  if (recipe.integer("mesh.shard") == 1 && isGiven("sharding.strategy", "full_shard"))
    useless("sharding.strategy", "where nothing is sharded");
  if (recipe.integer("mesh.shard") * recipe.integer("mesh.replicate") == 1) {
    if (recipe.boolean("gradient.force_sum"))
      useless("gradient.force_sum", "on one rank");
    if (recipe.integer("schedule.reduce_buffers") != 1)
      useless("schedule.reduce_buffers", "on one rank");
    if (isGiven("statistics.sync", "never"))
      useless("statistics.sync", "on one rank");
    bool isAlone = recipe.integer("mesh.tensor") == 1;
    if (isAlone && isGiven("sharding.units", "block") && offloaded.empty())
      useless("sharding.units", "on one rank");
    if (isAlone && isGiven("loss.mean", "rank") && recipe.integer("gradient.microbatches") == 1)
      useless("loss.mean", "on one rank with one micro-batch");
  }
  return remarks;
}
