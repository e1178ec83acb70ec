//===- RecipeKeys.cpp - the one table of the recipe's keys ------------------------===//

#include "passes/recipe/RecipeKeys.h"

#include <limits>

using namespace sluice;

namespace {

using Texts = std::vector<std::string>;
const double infinity = std::numeric_limits<double>::infinity();

RecipeKey size(std::string name, std::string doc) {
  return {.name = std::move(name), .kinds = recipeInteger, .defaultValue = std::int64_t(1), .doc = std::move(doc),
          .least = 1, .most = 1 << 20};
}
RecipeKey onlyOne(std::string name, std::string doc) {
  RecipeKey key = size(std::move(name), std::move(doc));
  key.onlyDefault = true;
  return key;
}
RecipeKey choice(std::string name, Texts choices, std::string doc, Texts later = {}, unsigned laterKinds = 0) {
  std::string first = choices.front();
  return {.name = std::move(name), .kinds = recipeChoice, .defaultValue = first, .doc = std::move(doc),
          .choices = std::move(choices), .laterKinds = laterKinds, .laterChoices = std::move(later)};
}
RecipeKey flag(std::string name, bool value, std::string doc, bool onlyDefault = false, unsigned laterKinds = 0) {
  return {.name = std::move(name), .kinds = recipeBoolean, .defaultValue = value, .doc = std::move(doc),
          .laterKinds = laterKinds, .onlyDefault = onlyDefault};
}
/// A list of globs, a table, or a text that this version has no use for: only the empty list is taken.
RecipeKey later(std::string name, std::string doc, unsigned laterKinds = recipeTable | recipeText) {
  return {.name = std::move(name), .kinds = recipeStrings, .defaultValue = Texts(), .doc = std::move(doc),
          .laterKinds = laterKinds, .onlyDefault = true};
}
RecipeKey number(std::string name, RecipeValue value, double least, double most, std::string doc,
                 bool openBelow = false) {
  return {.name = std::move(name), .kinds = recipeNumber, .defaultValue = std::move(value), .doc = std::move(doc),
          .least = least, .most = most, .openBelow = openBelow};
}
RecipeKey count(std::string name, RecipeValue value, double least, std::string doc) {
  return {.name = std::move(name), .kinds = recipeInteger, .defaultValue = std::move(value), .doc = std::move(doc),
          .least = least};
}

std::vector<RecipeKey> makeKeys() {
  std::vector<RecipeKey> keys;
  auto add = [&](RecipeKey key) { keys.push_back(std::move(key)); };

  add(size("mesh.shard", "ranks that parameters are sharded over"));
  add(size("mesh.replicate", "groups of ranks that hold the same shards (outermost in rank order)"));
  add(size("mesh.tensor", "ranks that split single operations (innermost in rank order)"));
  add(onlyOne("mesh.context", "ranks that split the sequence"));
  add(onlyOne("mesh.pipeline", "ranks that split the layers"));
  add(size("mesh.expert", "ranks that split experts, and the rows of each micro-batch (just outside of `tensor`)"));

  add({.name = "sharding.tensor", .kinds = recipeStrings | recipeChoice | recipeTable, .defaultValue = Texts(),
       .doc = "split over the axis `tensor`: none; of output features (`column`) or of input features (`row`), by parameter; or "
              "`megatron`, the usual plan of a Hugging Face family",
       .choices = {"replicated", "megatron", "column", "row"}, .tableKinds = recipeChoice, .tableOf = "parameter globs"});
  add({.name = "sharding.expert", .kinds = recipeStrings, .defaultValue = Texts(),
       .doc = "globs of parameters whose first dim is experts: it is split over the axis `expert`, and shards are of the parts"});
  add(flag("sharding.sequence", false,
           "between what is split over the axis `tensor`, values lie in parts of the sequence, and norms are computed on them: "
           "reduce_scatter and all_gather in the place of all_reduce"));
  add({.name = "sharding.units", .kinds = recipeChoice | recipeTable, .defaultValue = std::string("block"),
       .doc = "what is gathered together: each outermost block and the rest as `root`; all as one unit; parameters in "
              "order of use up to N bytes; or lists of globs over blocks or parameters (what none names is `root`)",
       .choices = {"block", "root", "bytes:"}, .laterChoices = {"auto"}, .tableKinds = recipeStrings | recipeText,
       .tableOf = "unit names"});
  add({.name = "sharding.replicated", .kinds = recipeStrings, .defaultValue = Texts(),
       .doc = "globs of parameters that are not sharded: whole on every rank, gradients all-reduced"});
  add({.name = "parameters.frozen", .kinds = recipeStrings, .defaultValue = Texts(),
       .doc = "globs of parameters without gradient and optimizer state"});
  add(choice("sharding.strategy", {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_grad_op"},
             "`shard_grad_op` keeps parameters gathered after forward; `no_shard` keeps everything whole on each rank. "
             "The hybrid names say that `mesh.replicate` is above 1"));
  add({.name = "sharding.reshard_after_forward", .kinds = recipeBoolean | recipeChoice | recipeInteger | recipeTable,
       .defaultValue = std::string("default"),
       .doc = "release gathered parameters after forward. The default goes by the strategy: for `full_shard` blocks yes "
              "and root no, else no. An integer keeps them sharded over that many ranks, a divisor of `mesh.shard`: 1 is "
              "false, `mesh.shard` is true",
       .choices = {"default"}, .laterChoices = {"auto"}, .least = 1, .most = 1 << 20,
       .tableKinds = recipeBoolean | recipeChoice | recipeInteger});
  add(flag("sharding.reshard_before_backward", false,
           "release what stayed gathered after forward, and gather it again when backward begins"));
  add({.name = "sharding.reshard_after_backward", .kinds = recipeChoice | recipeTable,
       .defaultValue = std::string("always"),
       .doc = "when gathered parameters are released after backward; `last` keeps them gathered between micro-batches",
       .choices = {"always", "last"}, .tableKinds = recipeChoice});
  add({.name = "sharding.unshard_in_backward", .kinds = recipeBoolean | recipeTable, .defaultValue = true,
       .doc = "gather for backward; false for units whose parameters backward does not read",
       .tableKinds = recipeBoolean});
  add({.name = "sharding.dim", .kinds = recipeChoice | recipeInteger | recipeTable, .defaultValue = std::string("first"),
       .doc = "the dim that is split, by number or as `first` or `largest`, or `flat`: by elements, with the least padding. "
              "Behind the first dim a gather and a reduction each copy the parameter once, and uneven extents are padded",
       .choices = {"first", "largest", "flat"}, .most = 7, .tableKinds = recipeChoice | recipeInteger,
       .tableOf = "parameter globs"});

  add(choice("precision.compute", {"f32", "bf16", "f16", "f64"}, "element type of forward and backward"));
  add(choice("precision.reduce", {"f32", "bf16", "f16", "f64"},
             "element type in which gradients are added up and reduced; `f64` unless given where parameters are"));
  add(choice("precision.output", {"f32", "bf16", "f16", "f64"},
             "element type of what an entry point returns (a loss no less than f32); `f64` unless given where parameters "
             "are"));
  add(choice("precision.parameter", {"f32", "f64"}, "element type of parameters and optimizer states"));
  add({.name = "precision.loss_scale", .kinds = recipeChoice | recipeNumber, .defaultValue = {},
       .doc = "factor on the loss before backward, taken from the gradients again; `dynamic` is halved when a gradient is "
              "not finite and doubled after 2000 steps; `f16` needs one",
       .choices = {"none", "dynamic"}, .least = 0, .most = 1e30, .openBelow = true});

  add(size("gradient.microbatches", "micro-batches a step"));
  add(choice("loss.mean", {"rank", "tokens"},
             "the mean of the ranks' and micro-batches' means, or over all targets that count in the step"));
  {
    RecipeKey key = size("loss.chunk_rows", "make the logits of so many rows at a time in forward and again in backward: "
                                            "one op in place of the output projection and its cross entropy");
    key.kinds |= recipeChoice;
    key.defaultValue = {};
    key.choices = {"off"};
    add(std::move(key));
  }
  add({.name = "gradient.sync", .kinds = recipeChoice | recipeBooleans | recipeTable,
       .defaultValue = std::string("last"),
       .doc = "in which micro-batches gradients are reduced: the last; every one; every one within the shard axis and the "
              "last over replicas; or true (reduce) and false (defer) for each micro-batch, the last true",
       .choices = {"last", "every", "reduce_scatter_only"}, .tableKinds = recipeChoice | recipeBooleans});
  add({.name = "gradient.divide", .kinds = recipeChoice | recipeNumber | recipeTable, .defaultValue = std::string("mean"),
       .doc = "what summed gradients are divided by: the number of data-parallel ranks, or a number in its place "
              "(micro-batches are averaged in either case)",
       .choices = {"mean"}, .most = 1e30, .openBelow = true, .tableKinds = recipeChoice | recipeNumber});
  add(flag("gradient.force_sum", false, "only sums on the wire, scaled explicitly"));
  {
    RecipeKey key = number("gradient.clip_norm", {}, 0, infinity, "clip gradients to this global norm", true);
    key.kinds |= recipeChoice;
    key.choices = {"off"};
    add(std::move(key));
  }
  add(number("gradient.clip_type", 2.0, 1, infinity, "the p of the norm; `inf` for the largest magnitude"));

  add(choice("optimizer.name", {"adamw", "adam", "sgd"}, "as torch.optim defines them"));
  add(number("optimizer.lr", 1e-3, 0, 1e30, "peak learning rate"));
  add({.name = "optimizer.betas", .kinds = recipeNumbers, .defaultValue = std::vector<double>{0.9, 0.999},
       .doc = "decay of the two moments (`adamw`, `adam`)", .least = 0, .most = 1, .length = 2});
  add(number("optimizer.eps", 1e-8, 0, 1e30, "added to the denominator (`adamw`, `adam`)"));
  add(number("optimizer.weight_decay", {}, 0, 1e30, "default 0.01 for `adamw`, 0 for `adam` and `sgd`"));
  add(number("optimizer.momentum", 0.0, 0, 1e30, "momentum (`sgd`)"));
  add(flag("optimizer.nesterov", false, "Nesterov momentum (`sgd`)"));
  add({.name = "optimizer.no_decay", .kinds = recipeStrings, .defaultValue = Texts(),
       .doc = "globs of parameters without weight decay"});

  add(choice("statistics.sync", {"never", "last"},
             "running statistics (of batch norm) are each rank's own, or averaged over the data-parallel ranks in the last "
             "micro-batch of a step"));

  add(choice("schedule.lr", {"constant", "linear", "cosine", "wsd"},
             "course of the learning rate, which is an input of the step"));
  add(count("schedule.warmup_steps", std::int64_t(0), 0, "steps of linear warm-up"));
  add(count("schedule.total_steps", std::int64_t(0), 0,
            "steps over which the rate runs its course; needed unless it is constant"));
  add(number("schedule.min_lr", 0.0, 0, 1e30, "the rate at the end"));

  add(choice("recompute.policy", {"none", "marked", "block"},
             "what backward computes again: nothing, `model.checkpoint` regions, or each outermost block",
             {"selective", "budget"}, recipeTable));
  add(later("recompute.save", "names of ops whose results are kept (`selective`)"));

  add(choice("schedule.order", {"loop"}, "forward and backward of each micro-batch in turn", {"1f1b"}));
  {
    RecipeKey key = size("schedule.reduce_buffers", "how many units' reduction inputs may be in flight");
    key.most = 1024;
    add(std::move(key));
  }
  add(flag("schedule.overlap_steps", true,
           "a step's first gathers wait for the updates of what they gather, not for the whole step before"));
  add({.name = "schedule.forward_prefetch", .kinds = recipeInteger | recipeTable, .defaultValue = std::int64_t(1),
       .doc = "units that are gathered ahead of use in forward; in a table, the units that a unit's use prefetches",
       .laterChoices = {"auto"}, .most = 1 << 20, .tableKinds = recipeStrings, .tableOf = "units"});
  add({.name = "schedule.backward_prefetch", .kinds = recipeInteger | recipeChoice | recipeTable,
       .defaultValue = std::int64_t(1),
       .doc = "units that are gathered ahead of use in backward; `none` is 0, `pre` 1; `post` gathers the next unit when "
              "the one before is released",
       .choices = {"none", "pre", "post"}, .laterChoices = {"auto"}, .most = 1 << 20, .tableKinds = recipeStrings,
       .tableOf = "units"});

  add({.name = "memory.budget", .kinds = recipeBytes | recipeChoice, .defaultValue = {},
       .doc = "most bytes that a rank may need; over it compilation ends with exit code 3", .choices = {"none"},
       .least = 1});
  add({.name = "memory.offload", .kinds = recipeStrings, .defaultValue = Texts(),
       .doc = "what is kept in host memory: parameters are copied to the device before each use of their unit; where the "
              "optimizer's states are, gradients are copied and the update runs",
       .laterKinds = recipeText, .elements = {"parameters", "optimizer"}, .laterElements = {"activations"}});
  add(flag("memory.pinned", true, "host memory of offloading is pinned"));
  add(flag("collective.register", true, "register buffers with communicators that can"));

  add(choice("target.device", {"cpu", "cuda"}, "what the plan runs on"));
  {
    RecipeKey key = size("target.threads", "threads a rank");
    key.most = 1024;
    add(std::move(key));
  }
  add({.name = "target.isa", .kinds = recipeChoice, .defaultValue = {},
       .doc = "instruction set that every run keeps to; default that of the compiling machine", .choices = {"avx512", "avx2"}});
  add({.name = "target.arch", .kinds = recipeChoice, .defaultValue = {},
       .doc = "least GPU architecture that the plan is for", .choices = {"none", "sm_80", "sm_90", "sm_100"},
       .laterChoices = {"sm_"}});
  return keys;
}

} // namespace

const std::vector<RecipeKey> &sluice::recipeKeys() {
  static const std::vector<RecipeKey> keys = makeKeys();
  return keys;
}
