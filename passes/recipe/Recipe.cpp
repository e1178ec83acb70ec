//===- Recipe.cpp - values of the recipe ---------------------------------------------===//

#include "passes/recipe/Keys.h"
#include "passes/recipe/RecipeKeys.h"

#include <charconv>
#include <cmath>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include "passes/recipe/RecipeEnums.cpp.inc"

using namespace sluice;

InstructionSet sluice::hostInstructionSet() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return InstructionSet::avx512;
#endif
  return InstructionSet::avx2;
}

bool sluice::parseByteCount(std::string_view text, std::int64_t &bytes) {
  double count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !(count >= 0))
    return false;
  std::string_view unit = text.substr(end - text.data());
  while (unit.starts_with(' '))
    unit.remove_prefix(1);
  static const std::pair<std::string_view, double> units[] = {{"", 1},
                                                              {"B", 1},
                                                              {"kB", 1e3},
                                                              {"KB", 1e3},
                                                              {"MB", 1e6},
                                                              {"GB", 1e9},
                                                              {"TB", 1e12},
                                                              {"KiB", 1024.0},
                                                              {"MiB", 1048576.0},
                                                              {"GiB", 1073741824.0},
                                                              {"TiB", 1099511627776.0}};
  for (auto [name, factor] : units)
    if (unit == name) {
      double product = std::floor(count * factor);
      if (product > 9e15)
        return false;
      bytes = static_cast<std::int64_t>(product);
      return true;
    }
  return false;
}

/// Brings the value to its normal form. False if this version does not accept it for the key.
static bool normalize(const RecipeKey &key, RecipeValue &value) {
  auto inBounds = [&](double v) { return (key.openBelow ? v > key.least : v >= key.least) && v <= key.most; };
  if (auto *table = std::get_if<RecipeTable>(&value)) {
    RecipeKey element = key;
    element.kinds = key.tableKinds;
    // Values of a table may be "none" even if the key is absent by default.
    element.defaultValue = std::string();
    // An inner table can repeat a name.
    for (std::size_t i = 0; i < table->entries.size(); ++i)
      if (table->entries[i].name.empty() || (i > 0 && table->entries[i].name == table->entries[i - 1].name))
        return false;
    return key.kinds & recipeTable &&
           llvm::all_of(table->entries, [&](RecipeTableEntry &entry) { return normalize(element, entry.value); });
  }
  if (std::holds_alternative<std::vector<bool>>(value))
    return key.kinds & recipeBooleans;
  if (auto *text = std::get_if<std::string>(&value)) {
    if (key.kinds & recipeText)
      return true;
    if (key.kinds & recipeChoice)
      for (const std::string &choice : key.choices) {
        std::int64_t bytes = 0;
        if (choice.ends_with(':') && text->starts_with(choice))
          return parseByteCount(std::string_view(*text).substr(choice.size()), bytes) && bytes > 0;
      }
    if (key.kinds & recipeChoice && llvm::is_contained(key.choices, *text)) {
      // "off" and "none" remove a value that is absent by default.
      if (*text == "off" || (*text == "none" && std::holds_alternative<std::monostate>(key.defaultValue)))
        value = {};
      return true;
    }
    if (key.kinds & recipeNumber && *text == "inf" && std::isinf(key.most)) {
      value = key.most;
      return true;
    }
    std::int64_t bytes = 0;
    if (key.kinds & recipeBytes && parseByteCount(*text, bytes) && inBounds(static_cast<double>(bytes))) {
      value = bytes;
      return true;
    }
    return false;
  }
  if (std::holds_alternative<bool>(value))
    return key.kinds & recipeBoolean;
  if (auto *integer = std::get_if<std::int64_t>(&value)) {
    if (!inBounds(static_cast<double>(*integer)))
      return false;
    if (key.kinds & (recipeInteger | recipeBytes))
      return true;
    if (!(key.kinds & recipeNumber))
      return false;
    value = static_cast<double>(*integer);
    return true;
  }
  if (auto *number = std::get_if<double>(&value))
    return key.kinds & recipeNumber && inBounds(*number);
  if (auto *numbers = std::get_if<std::vector<double>>(&value)) {
    if (numbers->empty() && key.kinds & recipeStrings) {
      value = std::vector<std::string>();
      return true;
    }
    return key.kinds & recipeNumbers && numbers->size() == key.length &&
           llvm::all_of(*numbers, [](double v) { return v >= 0 && v < 1; });
  }
  const auto *texts = std::get_if<std::vector<std::string>>(&value);
  return texts && key.kinds & recipeStrings &&
         (key.elements.empty() ||
          llvm::all_of(*texts, [&](const std::string &text) { return llvm::is_contained(key.elements, text); }));
}

/// True for values that later versions support.
static bool isLater(const RecipeKey &key, const RecipeValue &value) {
  const auto *text = std::get_if<std::string>(&value);
  return text && llvm::any_of(key.laterChoices, [&](const std::string &choice) {
           bool isPrefix = choice.ends_with(":") || choice.ends_with("_");
           return isPrefix ? text->starts_with(choice) : *text == choice;
         });
}

/// The key that replaced a key of earlier recipes, else empty.
static llvm::StringRef renamedKey(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("schedule.lr", "lr_schedule.name")
      .Case("schedule.warmup_steps", "lr_schedule.warmup_steps")
      .Case("schedule.total_steps", "lr_schedule.total_steps")
      .Case("schedule.min_lr", "lr_schedule.min_lr")
      .Default("");
}

Status Recipe::add(std::string_view name, RecipeValue value, const std::string &origin) {
  const RecipeKey *key = findRecipeKey(name);
  if (llvm::StringRef renamed = renamedKey(name); !renamed.empty())
    return inputError(origin + ": recipe key '" + std::string(name) + "' is renamed to '" + renamed.str() + "'");
  if (!key)
    return inputError(origin + ": unknown recipe key, expected '" + nearestRecipeKey(name).name +
                      "' or another of the recipe's keys but got '" + std::string(name) + "'");
  RecipeValue normal = value;
  bool isValid = normalize(*key, normal);
  if (isValid ? key->onlyDefault && normal != key->defaultValue : isLater(*key, value))
    return inputError(origin + ": value of '" + key->name + "' that this version does not support, expected " +
                      describeRecipeValues(*key) + " but got " + printRecipeValue(value));
  if (!isValid || !key->assign(*this, normal))
    return inputError(origin + ": value of '" + key->name + "', expected " + describeRecipeValues(*key) + " but got " +
                      printRecipeValue(value));
  origins[key->name] = origin;
  return Status::ok();
}

Status Recipe::unset(std::string_view name, const std::string &origin) {
  const RecipeKey *key = findRecipeKey(name);
  if (!key)
    return add(name, {}, origin);
  key->assign(*this, key->defaultValue);
  origins.erase(key->name);
  return Status::ok();
}

RecipeValue Recipe::value(std::string_view key) const {
  const RecipeKey *known = findRecipeKey(key);
  return known ? known->read(*this) : RecipeValue();
}

std::string Recipe::origin(std::string_view key) const {
  auto it = origins.find(key);
  return it == origins.end() ? "default" : it->second;
}

std::map<std::string, RecipeValue> Recipe::given() const {
  std::map<std::string, RecipeValue> out;
  for (const RecipeKey &key : recipeKeys())
    if (RecipeValue given = key.read(*this); given != key.defaultValue)
      out[key.name] = std::move(given);
  return out;
}

std::string Recipe::print() const {
  std::string out;
  for (const RecipeKey &key : recipeKeys()) {
    RecipeValue value = key.read(*this);
    std::string line = key.name + " = " + printRecipeValue(value);
    // A key without a value is a comment, so that the printed recipe can be read again.
    if (std::holds_alternative<std::monostate>(value))
      line = "# " + key.name + " is off";
    line.resize(std::max<std::size_t>(line.size() + 1, 48), ' ');
    out += line + "# " + origin(key.name) + "\n";
  }
  return out;
}

Status Recipe::refuse(llvm::StringRef key, const std::string &owner, const std::string &text) const {
  return inputError(origin(key) + ": value of '" + key.str() + "' for " + owner + text);
}

Status Recipe::refuseOpenChoice(std::string_view key) const {
  return inputError(origin(key) + ": '" + std::string(key) + "' = " + printRecipeValue(value(key)) +
                    " requires the choices of sluice-compile, which replace it");
}

Status Recipe::resolve() {
  // A printed recipe has all keys, so a key with its default value cannot be a contradiction.
  auto isGiven = [&](std::string_view key) { return value(key) != findRecipeKey(key)->defaultValue; };
  auto conflict = [&](std::string_view key, const std::string &reason) {
    return inputError(origin(key) + ": '" + std::string(key) + "' = " + printRecipeValue(value(key)) + reason);
  };

  if (std::int64_t ranks = mesh.shard * mesh.replicate * mesh.expert; ranks > 1 << 20)
    return conflict("mesh.shard", ", expected at most 1048576 ranks in all but got " + std::to_string(ranks));
  if (sharding.strategy == ShardingStrategy::hybrid_shard ||
      sharding.strategy == ShardingStrategy::hybrid_shard_grad_op) {
    if (mesh.replicate == 1)
      return conflict("sharding.strategy", ", expected 'mesh.replicate' above 1 but got 1");
    sharding.strategy = sharding.strategy == ShardingStrategy::hybrid_shard ? ShardingStrategy::full_shard
                                                                            : ShardingStrategy::shard_grad_op;
  }
  if (sharding.strategy == ShardingStrategy::no_shard && sharding.reshardAfterForward.isEverywhere(true))
    return conflict(keys::reshardAfterForward, " cannot be combined with 'sharding.strategy' = \"no_shard\"");

  const OptimizerInfo *chosen = optimizer.info();
  for (const HyperParameter &parameter : hyperParameters())
    if (std::string key = "optimizer." + parameter.name; !chosen->find(parameter.name) && isGiven(key))
      return conflict(key, ", expected the optimizer " + optimizersWith(parameter.name) + " but got \"" +
                               optimizer.name + "\"");
  for (const HyperParameter &parameter : chosen->parameters) {
    std::string key = "optimizer." + parameter.name;
    if (optimizer.settings.try_emplace(parameter.name, parameter.defaultValue).second &&
        std::holds_alternative<std::monostate>(findRecipeKey(key)->defaultValue))
      setOrigin(key, "default of " + optimizer.name);
  }
  if (std::optional<SettingsConflict> found = chosen->findConflict(optimizer.settings))
    return conflict("optimizer." + found->name, ", " + found->message);

  if (precision.parameter == Precision::f64)
    for (auto [key, field] :
         {std::pair("precision.reduce", &precision.reduce), std::pair("precision.output", &precision.output)})
      if (!isAdded(key) || field->table) {
        field->value = Precision::f64;
        if (!field->table)
          setOrigin(key, "as 'precision.parameter'");
      }
  const auto isHalf = [](const auto &entry) { return entry.second == Precision::f16; };
  const bool anyHalf = precision.compute.table ? llvm::any_of(*precision.compute.table, isHalf)
                                               : precision.compute.isEverywhere(Precision::f16);
  if (anyHalf && std::holds_alternative<std::monostate>(precision.lossScale))
    return conflict("precision.compute", " requires 'precision.loss_scale'");

  const auto isBudget = [](const auto &entry) { return entry.second == RecomputePolicy::budget; };
  if (recompute.policy.table && llvm::any_of(*recompute.policy.table, isBudget))
    return conflict(keys::recomputePolicy, ": \"budget\" chooses for all blocks and cannot be in a table");
  const bool choosesByBudget = recompute.policy.isEverywhere(RecomputePolicy::budget);
  if (choosesByBudget && !memory.budget)
    return conflict(keys::recomputePolicy, " requires 'memory.budget'");
  const auto isAutomatic = [](const auto &entry) { return Sharding::isAutomatic(entry.second); };
  const auto &reshard = sharding.reshardAfterForward;
  if (!choosesByBudget &&
      (reshard.table ? llvm::any_of(*reshard.table, isAutomatic) : Sharding::isAutomatic(reshard.value)))
    return conflict(keys::reshardAfterForward, " requires 'recompute.policy' = \"budget\"");
  if (!choosesByBudget && memory.choosesOffload())
    return conflict(keys::memoryOffload, " requires 'recompute.policy' = \"budget\"");

  for (const auto &[key, other] : {std::pair(keys::forwardPrefetch, keys::backwardPrefetch),
                                   std::pair(keys::backwardPrefetch, keys::forwardPrefetch)})
    if (value(key) == RecipeValue("auto") && value(other) != RecipeValue("auto"))
      return conflict(key, ", expected '" + std::string(other) + "' = \"auto\" too but got " +
                               printRecipeValue(value(other)));
  if (sharding.choosesAfterBackward() && sharding.reshardBeforeBackward)
    return conflict(keys::reshardAfterBackward, " cannot be combined with 'sharding.reshard_before_backward'");
  if (sharding.choosesUnits())
    for (std::string_view key : {"precision.compute", "precision.reduce", "precision.output"})
      if (std::holds_alternative<RecipeTable>(value(key)))
        return conflict(keys::units, " cannot be combined with a table by unit in '" + std::string(key) + "'");

  // Each of these needs a value of the full step before the first update.
  if (optimizer.inBackward) {
    constexpr std::string_view refused = " cannot be combined with 'optimizer.in_backward'";
    if (gradient.clipNorm)
      return conflict("gradient.clip_norm", std::string(refused));
    if (std::holds_alternative<LossScaling>(precision.lossScale))
      return conflict("precision.loss_scale", std::string(refused));
    if (loss.mean == LossMean::tokens)
      return conflict("loss.mean", std::string(refused));
    if (memory.offloadsState() || memory.choosesOffload())
      return conflict(keys::memoryOffload, std::string(refused));
  }

  // A rank's share of a mean over all targets is not the mean over its own.
  if (loss.perRank && loss.mean == LossMean::tokens)
    return conflict("loss.per_rank", " cannot be combined with 'loss.mean' = \"tokens\"");

  if (lrSchedule.name != LearningRateSchedule::constant && lrSchedule.totalSteps < 1)
    return conflict("lr_schedule.name", ", expected 'lr_schedule.total_steps' of at least 1 but got " +
                                            std::to_string(lrSchedule.totalSteps));
  if (lrSchedule.totalSteps > 0 && lrSchedule.warmupSteps > lrSchedule.totalSteps)
    return conflict("lr_schedule.warmup_steps", ", expected at most 'lr_schedule.total_steps' but that is " +
                                                    std::to_string(lrSchedule.totalSteps));
  if (lrSchedule.minLr > optimizer.lr)
    return conflict("lr_schedule.min_lr",
                    ", expected at most 'optimizer.lr' but that is " + printRecipeValue(value("optimizer.lr")));

  constexpr std::string_view decay = "lr_schedule.decay_steps";
  const std::int64_t afterWarmup =
      std::max<std::int64_t>(lrSchedule.totalSteps - std::max<std::int64_t>(lrSchedule.warmupSteps, 1), 0);
  if (lrSchedule.name != LearningRateSchedule::wsd && lrSchedule.decaySteps)
    return conflict(decay, ", expected the schedule \"wsd\" but got \"" + stringifyEnum(lrSchedule.name).str() + "\"");
  if (lrSchedule.name == LearningRateSchedule::wsd && !lrSchedule.decaySteps) {
    lrSchedule.decaySteps = std::min((lrSchedule.totalSteps + 4) / 5, afterWarmup);
    setOrigin(decay, "a fifth of 'lr_schedule.total_steps'");
  }
  if (lrSchedule.decaySteps > afterWarmup)
    return conflict(decay, ", expected at most the " + std::to_string(afterWarmup) +
                               " steps of the schedule after its warm-up but got " +
                               std::to_string(*lrSchedule.decaySteps));

  if ((memory.offloads() || memory.choosesOffload()) && target.device == TargetDevice::cuda && !memory.pinned)
    return conflict("memory.pinned", " cannot be combined with 'memory.offload' and 'target.device' = \"cuda\"");

  if (kernels.attention == AttentionKernels::cudnn && target.device != TargetDevice::cuda)
    return conflict(keys::attentionKernels, " requires 'target.device' = \"cuda\"");
  if (kernels.attention == AttentionKernels::cudnn && target.arch != GpuArchitecture::sm_90)
    return conflict(keys::attentionKernels, " requires 'target.arch' = \"sm_90\"");

  if (auto *mode = std::get_if<BackwardPrefetch>(&schedule.backwardPrefetch); mode && *mode != BackwardPrefetch::post)
    schedule.backwardPrefetch = std::int64_t(*mode == BackwardPrefetch::pre);
  if (!target.isa) {
    target.isa = hostInstructionSet();
    setOrigin("target.isa", "this machine");
  }
  return Status::ok();
}
