//===- Recipe.h - how a model is trained: the typed recipe --------------------------------===//
//
// A recipe is built up from TOML files and `--set` settings; later ones take precedence over earlier ones. Each value
// is checked against the table of keys when it is added; `resolve` then checks values against each other and sets the
// defaults that depend on other keys. RecipeAttr.h carries a recipe on the IR.
//
// Each field is a key of RecipeKeys.cpp, which gives its bounds and its meaning; its initial value is the default.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPE_H
#define SLUICE_PASSES_RECIPE_RECIPE_H

#include "dialect/model/Optimizers.h"
#include "passes/recipe/RecipeTypes.h"
#include "runtime/base/Status.h"

#include <map>
#include <string_view>

namespace sluice {

using Strings = std::vector<std::string>;

struct Recipe {

  struct Mesh {
    std::int64_t shard = 1, replicate = 1, tensor = 1, context = 1, pipeline = 1, expert = 1;
  } mesh;

  struct Sharding {
    /// The list can only be empty: no parameter is split.
    std::variant<Strings, TensorSplit, NamedValues<TensorSplit>> tensor = {};
    /// Whether the planner chooses.
    bool choosesTensor() const {
      const auto *split = std::get_if<TensorSplit>(&tensor);
      return split && *split == TensorSplit::automatic;
    }
    Strings expert = {};
    bool sequence = false;
    /// "block", "root", "bytes:N" or "auto", or for each unit a glob or globs.
    std::variant<std::string, NamedValues<std::variant<Strings, std::string>>> units = "block";
    Strings replicated = {};
    ShardingStrategy strategy = ShardingStrategy::full_shard;
    /// An integer is a number of ranks that each keep a shard.
    using Reshard = std::variant<ReshardRule, bool, std::int64_t>;
    ByName<Reshard> reshardAfterForward = {};
    /// Whether the planner chooses.
    static bool isAutomatic(const Reshard &setting) { return setting == Reshard(ReshardRule::automatic); }
    bool choosesUnits() const { return units == decltype(units)("auto"); }
    bool reshardBeforeBackward = false;
    ByName<ReshardAfterBackward> reshardAfterBackward = {};
    /// Whether the planner chooses for a unit.
    bool choosesAfterBackward() const {
      const auto isAutomatic = [](const auto &entry) { return entry.second == ReshardAfterBackward::automatic; };
      return reshardAfterBackward.table ? llvm::any_of(*reshardAfterBackward.table, isAutomatic)
                                        : reshardAfterBackward.isEverywhere(ReshardAfterBackward::automatic);
    }
    ByName<bool> unshardInBackward = {true};
    ByName<std::variant<ShardDim, std::int64_t>> dim = {};
  } sharding;

  struct Parameters {
    Strings frozen = {};
  } parameters;

  struct PrecisionSettings {
    ByName<Precision> compute = {}, reduce = {}, output = {};
    Precision parameter = Precision::f32;
    std::variant<std::monostate, LossScaling, double> lossScale = {};
  } precision;

  struct Gradient {
    /// Of each train entry point.
    ByName<std::int64_t> microbatches = {1};
    /// Whether an entry point may have several.
    bool hasMicrobatches() const {
      const auto areSeveral = [](const auto &entry) { return entry.second > 1; };
      return microbatches.table ? llvm::any_of(*microbatches.table, areSeveral) : microbatches.value > 1;
    }
    ByName<std::variant<GradientSync, std::vector<bool>>> sync = {};
    ByName<std::variant<GradientDivide, double>> divide = {};
    bool reducePerPass = false;
    bool forceSum = false;
    std::optional<double> clipNorm = {};
    double clipType = 2;
  } gradient;

  struct Loss {
    LossMean mean = LossMean::rank;
    std::optional<std::int64_t> chunkRows = {};
    bool perRank = false;
  } loss;

  struct Optimizer {
    std::string name = model::defaultOptimizer.str();
    double lr = 1e-3;
    /// Hyper-parameters that are given; all that the optimizer has after `resolve`.
    OptimizerSettings settings = {};
    std::variant<Strings, NoDecay> noDecay = {};
    bool inBackward = false;

    /// Null if there is no optimizer of the name.
    const OptimizerInfo *info() const { return model::findOptimizer(name); }
  } optimizer;

  struct Statistics {
    StatisticsSync sync = StatisticsSync::never;
  } statistics;

  struct LrSchedule {
    LearningRateSchedule name = LearningRateSchedule::constant;
    std::int64_t warmupSteps = 0, totalSteps = 0;
    /// Of wsd. If not given, `resolve` sets it.
    std::optional<std::int64_t> decaySteps = {};
    double minLr = 0;
  } lrSchedule;

  struct Schedule {
    ScheduleOrder order = ScheduleOrder::loop;
    std::variant<std::int64_t, ScheduleRule> reduceBuffers = std::int64_t(1);
    bool overlapSteps = true;
    /// A number of units, or for each unit the units that its use prefetches.
    std::variant<std::int64_t, ScheduleRule, NamedValues<Strings>> forwardPrefetch = std::int64_t(1);
    std::variant<std::int64_t, BackwardPrefetch, ScheduleRule, NamedValues<Strings>> backwardPrefetch = std::int64_t(1);
    /// Whether the planner chooses.
    bool choosesPrefetch() const { return std::holds_alternative<ScheduleRule>(forwardPrefetch); }
    bool choosesReduceBuffers() const { return std::holds_alternative<ScheduleRule>(reduceBuffers); }
  } schedule;

  struct Recompute {
    /// In a table an entry for an inner block takes precedence over one for a block around it.
    ByName<RecomputePolicy> policy = {};
    /// Globs of op names without the dialect.
    ByName<Strings> save = {};
  } recompute;

  struct Memory {
    std::optional<std::int64_t> budget = {};
    /// Parameters and optimizer states by unit, activations by outermost block. A table has lists only.
    ByName<std::variant<std::vector<Offloaded>, OffloadRule>> offload = {};
    bool pinned = true;
    /// True where these tensors of the unit or block are in host memory.
    bool offloads(Offloaded tensors, llvm::StringRef name) const { return isIn(offload.at(name), tensors); }
    /// The same for one unit or block at least.
    bool offloads(Offloaded tensors) const {
      const auto has = [&](const auto &setting) { return isIn(setting, tensors); };
      return offload.table ? llvm::any_of(llvm::make_second_range(*offload.table), has) : has(offload.value);
    }
    bool offloads() const { return offloadsState() || offloads(Offloaded::activations); }
    /// True where parameters or optimizer states, of the unit or of any, are in host memory between steps.
    bool offloadsState(llvm::StringRef unit) const {
      return offloads(Offloaded::parameters, unit) || offloads(Offloaded::optimizer, unit);
    }
    bool offloadsState() const { return offloads(Offloaded::parameters) || offloads(Offloaded::optimizer); }
    /// Whether the planner chooses.
    bool choosesOffload() const { return offload.isEverywhere(OffloadRule::automatic); }

  private:
    static bool isIn(const std::variant<std::vector<Offloaded>, OffloadRule> &setting, Offloaded tensors) {
      const auto *list = std::get_if<std::vector<Offloaded>>(&setting);
      return list && llvm::is_contained(*list, tensors);
    }
  } memory;

  struct Collective {
    bool registerBuffers = true;
    std::int64_t maxCtas = 0;
    bool copyEngines = false;
  } collective;

  struct Kernels {
    AttentionKernels attention = AttentionKernels::automatic;
  } kernels;

  struct Target {
    TargetDevice device = TargetDevice::cpu;
    std::int64_t threads = 1;
    /// If not given, `resolve` sets that of the compiling machine.
    std::optional<InstructionSet> isa = {};
    std::optional<GpuArchitecture> arch = {};
  } target;

  /// Whether the compiler chooses the library of each attention: cuDNN or Sluice.
  bool choosesAttention() const {
    return kernels.attention == AttentionKernels::automatic && target.device == TargetDevice::cuda &&
           target.arch == GpuArchitecture::sm_90;
  }

  /// Reads a TOML file. Errors name file and line.
  Status addFile(const std::string &path);
  /// The same from memory; messages and origins give `name` as the file.
  Status addText(std::string_view text, const std::string &name);
  /// One `key=value`, given through `means`. A value that is not TOML is a string; `default` unsets the key.
  Status addSetting(std::string_view setting, std::string_view means = "--set");
  /// One value, checked and brought to its normal form; `origin` is its source for messages.
  Status add(std::string_view key, RecipeValue value, const std::string &origin);

  /// Gives the key its default again, as if it was never added. An unknown key is an error.
  Status unset(std::string_view key, const std::string &origin);

  /// Checks values against each other, and sets the defaults that depend on other values.
  Status resolve();

  /// The value of a key of the table, or monostate.
  RecipeValue value(std::string_view key) const;
  /// The origin of the value: a file and line, `--set`, `default`, or `default of ...`.
  std::string origin(std::string_view key) const;
  void setOrigin(std::string_view key, std::string origin) { origins[std::string(key)] = std::move(origin); }
  /// The keys that were added, even if with the default.
  bool isAdded(std::string_view key) const { return origins.contains(key); }
  /// For a table by glob: each glob matches one of `names`, and no two globs give one name different values. `kind` is
  /// the kind of the names. Errors name the line.
  Status checkNames(llvm::StringRef key, llvm::StringRef kind, llvm::ArrayRef<std::string> names) const;
  /// For a list of globs: a warning for each that matches none of `names`.
  std::vector<std::string> uselessGlobs(llvm::StringRef key, llvm::StringRef kind,
                                        llvm::ArrayRef<std::string> names) const;
  /// An error in the value that a key gives to `owner`, such as "unit 'h.0'". `text` continues the sentence.
  Status refuse(llvm::StringRef key, const std::string &owner, const std::string &text) const;
  /// The error of a pass that reads a value which the planner replaces.
  Status refuseOpenChoice(std::string_view key) const;
  /// The values that differ from the table's defaults, by key.
  std::map<std::string, RecipeValue> given() const;
  /// All values as TOML, each with its origin as a comment.
  std::string print() const;

private:
  std::map<std::string, std::string, std::less<>> origins;
};

/// The instruction set of this machine.
InstructionSet hostInstructionSet();

/// A number of bytes with an optional unit: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. False if it is not one.
bool parseByteCount(std::string_view text, std::int64_t &bytes);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPE_H
