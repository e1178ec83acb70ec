//===- RecipeKeys.cpp - the table of the recipe's keys ----------------------------===//

#include "passes/recipe/RecipeKeys.h"
#include "passes/recipe/Keys.h"

#include "passes/recipe/RecipeField.h"

#include <limits>

using namespace sluice;

namespace {

using Texts = std::vector<std::string>;
const double infinity = std::numeric_limits<double>::infinity();

RecipeKey size(std::string name, std::string doc) {
  return {.name = std::move(name), .kinds = recipeInteger, .doc = std::move(doc), .least = 1, .most = 1 << 20};
}
RecipeKey unsupportedSize(std::string name, std::string doc) {
  RecipeKey key = size(std::move(name), std::move(doc));
  key.onlyDefault = true;
  return key;
}
template <typename E> RecipeKey choice(std::string name, std::string doc, Texts later = {}) {
  return {.name = std::move(name),
          .kinds = recipeChoice,
          .doc = std::move(doc),
          .choices = enumCases<E>(),
          .laterChoices = std::move(later)};
}
/// Also accepts a table by unit.
RecipeKey byUnit(RecipeKey key) {
  key.tableKinds = key.kinds;
  key.kinds |= recipeTable;
  return key;
}
RecipeKey flag(std::string name, std::string doc) {
  return {.name = std::move(name), .kinds = recipeBoolean, .doc = std::move(doc)};
}
RecipeKey globs(std::string name, std::string doc) {
  return {.name = std::move(name), .kinds = recipeStrings, .doc = std::move(doc)};
}
RecipeKey number(std::string name, double least, double most, std::string doc, bool openBelow = false) {
  return {.name = std::move(name),
          .kinds = recipeNumber,
          .doc = std::move(doc),
          .least = least,
          .most = most,
          .openBelow = openBelow};
}
RecipeKey count(std::string name, std::string doc) {
  return {.name = std::move(name), .kinds = recipeInteger, .doc = std::move(doc)};
}
/// Adds the value "off", the default.
RecipeKey withOff(RecipeKey key) {
  key.kinds |= recipeChoice;
  key.choices = {"off"};
  return key;
}
RecipeKey withMost(RecipeKey key, double most) {
  key.most = most;
  return key;
}

/// Binds the key to the field of a recipe that `field` returns.
template <typename Field> RecipeKey bind(RecipeKey key, Field field) {
  key.assign = [field](Recipe &recipe, const RecipeValue &value) {
    // Reset the field, so that nothing of an earlier value remains.
    Recipe defaults;
    field(recipe) = field(defaults);
    return readField(value, field(recipe));
  };
  key.read = [field](const Recipe &recipe) { return writeField(field(recipe)); };
  key.defaultValue = key.read(Recipe());
  return key;
}
#define FIELD(member) [](auto &recipe) -> auto & { return recipe.member; }

std::vector<RecipeKey> makeKeys() {
  std::vector<RecipeKey> keys;
  auto add = [&](RecipeKey key, auto field) { keys.push_back(bind(std::move(key), field)); };

  add(size("mesh.shard", "number of ranks over which parameters are sharded"), FIELD(mesh.shard));
  add(size("mesh.replicate", "number of replicas of the shards (outermost in rank order)"), FIELD(mesh.replicate));
  add(size("mesh.tensor", "number of ranks that divide single operations (innermost in rank order)"),
      FIELD(mesh.tensor));
  add(unsupportedSize("mesh.context", "number of ranks that divide the sequence"), FIELD(mesh.context));
  add(unsupportedSize("mesh.pipeline", "number of ranks that divide the layers"), FIELD(mesh.pipeline));
  add(size("mesh.expert",
           "number of ranks that divide the experts and the rows of each micro-batch (next to `tensor` in rank order)"),
      FIELD(mesh.expert));

  add({.name = keys::tensor,
       .kinds = recipeStrings | recipeChoice | recipeTable,
       .doc = "sharding along the axis `tensor`, by parameter: none, output features (`column`) or input features "
              "(`row`); or `megatron`, the layout of Megatron-LM for a Hugging Face family; or `auto`, the cheapest "
              "that is found",
       .choices = enumCases<TensorSplit>(),
       .tableKinds = recipeChoice,
       .tableOf = "parameter globs"},
      FIELD(sharding.tensor));
  add(globs("sharding.expert",
            "globs of parameters whose first dim has experts: this dim is sharded over the axis `expert`"),
      FIELD(sharding.expert));
  add(flag("sharding.sequence", "sequence parallelism: activations between tensor-parallel layers are sharded along "
                                "the sequence, with reduce_scatter and all_gather instead of all_reduce"),
      FIELD(sharding.sequence));
  add({.name = keys::units,
       .kinds = recipeChoice | recipeTable,
       .doc = "parameters that are gathered together: those of each outermost block, and the rest as `root`; all as "
              "one unit; parameters in order of use up to N bytes; or lists of globs over blocks or parameters (the "
              "rest is `root`). `auto` makes the parameters before the first block and those after the last one units, "
              "if that is better than `block`",
       .choices = {"block", "root", "bytes:", "auto"},
       .tableKinds = recipeStrings | recipeText,
       .tableOf = "unit names"},
      FIELD(sharding.units));
  add(globs("sharding.replicated",
            "globs of parameters that are not sharded: replicated on every rank, gradients all-reduced"),
      FIELD(sharding.replicated));
  add(globs("parameters.frozen", "globs of parameters without gradient and optimizer state"), FIELD(parameters.frozen));
  add(choice<ShardingStrategy>("sharding.strategy",
                               "`shard_grad_op` keeps parameters gathered after forward; `no_shard` shards nothing; "
                               "the hybrid strategies require `mesh.replicate` above 1"),
      FIELD(sharding.strategy));
  add({.name = keys::reshardAfterForward,
       .kinds = recipeBoolean | recipeChoice | recipeInteger | recipeTable,
       .doc = "reshard parameters after forward. The default depends on the strategy: for `full_shard` true for blocks "
              "and false for `root`, else false. An integer keeps them sharded over that many ranks, a divisor of "
              "`mesh.shard`: 1 is false, `mesh.shard` is true. `auto` keeps blocks gathered where `memory.budget` "
              "allows it "
              "(`recompute.policy` = `budget`)",
       .choices = enumCases<ReshardRule>(),
       .least = 1,
       .most = 1 << 20,
       .tableKinds = recipeBoolean | recipeChoice | recipeInteger},
      FIELD(sharding.reshardAfterForward));
  add(flag(keys::reshardBeforeBackward,
           "reshard parameters that stayed gathered after forward, and gather them again when backward begins"),
      FIELD(sharding.reshardBeforeBackward));
  add({.name = keys::reshardAfterBackward,
       .kinds = recipeChoice | recipeTable,
       .doc = "when parameters are resharded after backward; `last` keeps them gathered between micro-batches. `auto` "
              "chooses the units that stay gathered from the first micro-batch to the last one, for the machine of "
              "`sluice-compile --machine`, within `memory.budget`",
       .choices = enumCases<ReshardAfterBackward>(),
       .tableKinds = recipeChoice},
      FIELD(sharding.reshardAfterBackward));
  add({.name = keys::unshardInBackward,
       .kinds = recipeBoolean | recipeTable,
       .doc = "gather for backward; false for units whose parameters backward does not read",
       .tableKinds = recipeBoolean},
      FIELD(sharding.unshardInBackward));
  add({.name = keys::shardingDim,
       .kinds = recipeChoice | recipeInteger | recipeTable,
       .doc = "the dim that is sharded, by number or as `first` or `largest`, or `flat`: by elements, with the least "
              "padding. On dims other than the first, a gather and a reduction each copy the parameter once, and "
              "uneven extents are padded",
       .choices = enumCases<ShardDim>(),
       .most = 7,
       .tableKinds = recipeChoice | recipeInteger,
       .tableOf = "parameter globs"},
      FIELD(sharding.dim));

  add(byUnit(choice<Precision>("precision.compute",
                               "element type of forward and backward; values from other units are cast to it")),
      FIELD(precision.compute));
  add(byUnit(choice<Precision>("precision.reduce",
                               "element type in which gradients are accumulated and reduced; `f64` by default "
                               "if `precision.parameter` is")),
      FIELD(precision.reduce));
  add(byUnit(choice<Precision>("precision.output",
                               "element type of the results of an entry point (at least f32 for a loss), in a table "
                               "those of `root`, and of values that other units read from a unit of the table; `f64` "
                               "by default if `precision.parameter` is")),
      FIELD(precision.output));
  add({.name = "precision.parameter",
       .kinds = recipeChoice,
       .doc = "element type of parameters and optimizer states",
       .choices = {"f32", "f64"}},
      FIELD(precision.parameter));
  add({.name = "precision.loss_scale",
       .kinds = recipeChoice | recipeNumber,
       .doc = "factor on the loss before backward, by which gradients are divided again; `dynamic` is halved when a "
              "gradient is not finite and doubled after 2000 steps; required by `f16`",
       .choices = {"none", "dynamic"},
       .least = 0,
       .most = 1e30,
       .openBelow = true},
      FIELD(precision.lossScale));

  add({.name = keys::microbatches,
       .kinds = recipeInteger | recipeTable,
       .doc = "micro-batches per step; in a table those of each train entry point",
       .least = 1,
       .most = 1 << 20,
       .tableKinds = recipeInteger,
       .tableOf = "globs of train entry points"},
      FIELD(gradient.microbatches));
  add(choice<LossMean>("loss.mean",
                       "the mean of the means of ranks and micro-batches, or over all targets that count in the "
                       "step"),
      FIELD(loss.mean));
  add(withOff(size("loss.chunk_rows",
                   "chunked cross entropy: the output projection and its cross entropy become one op that "
                   "computes the logits of this many rows at a time")),
      FIELD(loss.chunkRows));
  add(flag("loss.per_rank",
           "each rank's loss is an output, which sluice-train --log-ranks all writes; requires loss.mean = "
           "\"rank\""),
      FIELD(loss.perRank));
  add({.name = "gradient.sync",
       .kinds = recipeChoice | recipeBooleans | recipeTable,
       .doc = "in which micro-batches gradients are reduced: the last; every one; every one within the shard axis and "
              "the last over replicas; or true (reduce) and false (defer) for each micro-batch, the last true",
       .choices = enumCases<GradientSync>(),
       .tableKinds = recipeChoice | recipeBooleans},
      FIELD(gradient.sync));
  add({.name = "gradient.divide",
       .kinds = recipeChoice | recipeNumber | recipeTable,
       .doc = "the divisor of summed gradients: the number of data-parallel ranks, or the given number (micro-batches "
              "are averaged in either case)",
       .choices = enumCases<GradientDivide>(),
       .most = 1e30,
       .openBelow = true,
       .tableKinds = recipeChoice | recipeNumber},
      FIELD(gradient.divide));
  add(flag("gradient.reduce_per_pass",
           "one reduction per backward pass that adds to a unit's gradient, and one backward pass for each term of the "
           "loss, as in PyTorch; false: one reduction, after the last of them"),
      FIELD(gradient.reducePerPass));
  add(flag("gradient.force_sum", "collectives only sum; the mean is a separate scaling"), FIELD(gradient.forceSum));
  add(withOff(number("gradient.clip_norm", 0, infinity, "clip gradients to this global norm", true)),
      FIELD(gradient.clipNorm));
  add(number("gradient.clip_type", 1, infinity, "the p of the norm; `inf` for the largest magnitude"),
      FIELD(gradient.clipType));

  Texts optimizers;
  for (const OptimizerInfo &optimizer : model::optimizers())
    optimizers.push_back(optimizer.name);
  add({.name = "optimizer.name", .kinds = recipeChoice, .doc = "as torch.optim defines them", .choices = optimizers},
      FIELD(optimizer.name));
  add(number("optimizer.lr", 0, 1e30, "peak learning rate"), FIELD(optimizer.lr));
  for (const HyperParameter &parameter : hyperParameters())
    keys.push_back(keyOf(parameter));
  add({.name = "optimizer.no_decay",
       .kinds = recipeStrings | recipeChoice,
       .doc = "parameters without weight decay: globs, or `norms-and-biases`: those that ops read as scales and biases "
              "of norms, and as biases",
       .choices = enumCases<NoDecay>()},
      FIELD(optimizer.noDecay));
  add(flag("optimizer.in_backward",
           "a unit is updated in the backward of the last micro-batch, as soon as its gradients are reduced; without a "
           "guard, so a loss or gradient that is not finite ends the run after the update"),
      FIELD(optimizer.inBackward));

  add(choice<StatisticsSync>("statistics.sync",
                             "running statistics (of batch norm) are local to each rank, or averaged over the "
                             "data-parallel ranks in the last micro-batch of a step"),
      FIELD(statistics.sync));

  add(choice<LearningRateSchedule>("lr_schedule.name",
                                   "learning-rate schedule; the learning rate is an input of the step"),
      FIELD(lrSchedule.name));
  add(count("lr_schedule.warmup_steps", "steps of linear warm-up; the rate is at the peak in the last one"),
      FIELD(lrSchedule.warmupSteps));
  add(count("lr_schedule.total_steps", "total steps of the learning-rate schedule; required unless it is constant"),
      FIELD(lrSchedule.totalSteps));
  add({.name = "lr_schedule.decay_steps",
       .kinds = recipeInteger,
       .doc =
           "steps of `wsd`, the last ones, in which the learning rate decreases; default: a fifth of the total steps",
       .least = 1},
      FIELD(lrSchedule.decaySteps));
  add(number("lr_schedule.min_lr", 0, 1e30, "learning rate in the last step of the schedule"), FIELD(lrSchedule.minLr));

  add({.name = keys::recomputePolicy,
       .kinds = recipeChoice | recipeTable,
       .doc =
           "recomputed in the backward: nothing; `model.checkpoint` regions; each block; each block except the results "
           "of the ops in `recompute.save`; or what `memory.budget` requires, at least cost. A policy without a table "
           "is for outermost blocks",
       .choices = enumCases<RecomputePolicy>(),
       .tableKinds = recipeChoice,
       .tableOf = "block globs"},
      FIELD(recompute.policy));
  add({.name = keys::recomputeSave,
       .kinds = recipeStrings | recipeTable,
       .doc = "globs of ops whose results `selective` keeps, by their names in the `model` dialect after fusion",
       .tableKinds = recipeStrings,
       .tableOf = "block globs"},
      FIELD(recompute.save));

  add(choice<ScheduleOrder>("schedule.order", "forward and backward of each micro-batch in turn", {"1f1b"}),
      FIELD(schedule.order));
  add({.name = keys::reduceBuffers,
       .kinds = recipeInteger | recipeChoice,
       .doc = "how many units' reduction inputs may be in flight; `auto` chooses the number for the machine of "
              "`sluice-compile --machine`, within `memory.budget`",
       .choices = enumCases<ScheduleRule>(),
       .least = 1,
       .most = 1024},
      FIELD(schedule.reduceBuffers));
  add(flag("schedule.overlap_steps",
           "the first gathers of a step wait for the updates of their operands, not for all of the previous step"),
      FIELD(schedule.overlapSteps));
  add({.name = keys::forwardPrefetch,
       .kinds = recipeInteger | recipeChoice | recipeTable,
       .doc = "number of units that are gathered before their use in forward; in a table, the units whose gathers are "
              "issued at the use of a unit. `auto` chooses the table for the machine of `sluice-compile --machine`, "
              "within `memory.budget`",
       .choices = enumCases<ScheduleRule>(),
       .most = 1 << 20,
       .tableKinds = recipeStrings,
       .tableOf = "units"},
      FIELD(schedule.forwardPrefetch));
  Texts prefetchModes = enumCases<BackwardPrefetch>();
  prefetchModes.push_back(stringifyEnum(ScheduleRule::automatic).str());
  add({.name = keys::backwardPrefetch,
       .kinds = recipeInteger | recipeChoice | recipeTable,
       .doc = "number of units that are gathered before their use in backward; `none` is 0, `pre` 1; `post` gathers "
              "the next unit when the previous one is resharded; `auto` as in forward",
       .choices = prefetchModes,
       .most = 1 << 20,
       .tableKinds = recipeStrings,
       .tableOf = "units"},
      FIELD(schedule.backwardPrefetch));

  add({.name = keys::memoryBudget,
       .kinds = recipeBytes | recipeChoice,
       .doc = "most bytes that a rank may need; above it compilation ends with exit code 3",
       .choices = {"none"},
       .least = 1},
      FIELD(memory.budget));
  add({.name = keys::memoryOffload,
       .kinds = recipeStrings | recipeChoice | recipeTable,
       .doc = "values in host memory: parameters are copied to the device before each use of their unit; with "
              "`optimizer`, gradients are copied to the host and the update runs there; with `activations`, a block's "
              "activations are copied to the host after its forward and back before its backward. In a table, "
              "`parameters` and `optimizer` are of units and `activations` of outermost blocks. `auto` chooses within "
              "`memory.budget` for the machine of `sluice-compile --machine` (`recompute.policy` = `budget`)",
       .choices = enumCases<OffloadRule>(),
       .tableKinds = recipeStrings,
       .tableOf = "unit and block globs",
       .elements = enumCases<Offloaded>()},
      FIELD(memory.offload));
  add(flag("memory.pinned", "host memory of offloading is pinned"), FIELD(memory.pinned));
  add(flag("collective.register", "register collective buffers with communicators that support it"),
      FIELD(collective.registerBuffers));
  add(withMost(count("collective.max_ctas",
                     "most SMs that an NCCL kernel uses; matrix products that run at the same time leave them free. 0: "
                     "NCCL's choice"),
               64),
      FIELD(collective.maxCtas));
  add(flag("collective.copy_engines", "NCCL gathers within a node by copy engines, without SMs"),
      FIELD(collective.copyEngines));

  add(choice<AttentionKernels>(
          keys::attentionKernels,
          "library of attention on a GPU: cuDNN, Sluice, or with `target.arch = \"sm_90\"` cuDNN where it supports the "
          "shapes and `memory.budget` has room for its workspace"),
      FIELD(kernels.attention));
  add(choice<TargetDevice>("target.device", "the device of the plan"), FIELD(target.device));
  add(withMost(size("target.threads", "threads per rank"), 1024), FIELD(target.threads));
  add({.name = "target.isa",
       .kinds = recipeChoice,
       .doc = "instruction set of the CPU kernels; default: that of the compiling machine",
       .choices = enumCases<InstructionSet>()},
      FIELD(target.isa));
  std::vector<std::string> architectures = enumCases<GpuArchitecture>();
  architectures.insert(architectures.begin(), "none");
  add({.name = "target.arch",
       .kinds = recipeChoice,
       .doc = "minimum GPU architecture of the plan",
       .choices = architectures,
       .laterChoices = {"sm_"}},
      FIELD(target.arch));
  return keys;
}

} // namespace

const std::vector<RecipeKey> &sluice::recipeKeys() {
  static const std::vector<RecipeKey> keys = makeKeys();
  return keys;
}
