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
  add(onlyOne("mesh.tensor", "ranks that split single operations (innermost in rank order)"));
  add(onlyOne("mesh.context", "ranks that split the sequence"));
  add(onlyOne("mesh.pipeline", "ranks that split the layers"));
  add(onlyOne("mesh.expert", "ranks that split experts"));

  add(later("sharding.tensor", "tensor-parallel split by parameter glob"));
  add(choice("sharding.units", {"block", "root"},
             "what is gathered together: each outermost block and the rest as `root`, or all as one unit",
             {"auto", "bytes:"}, recipeTable));
  add(later("sharding.replicated", "globs of parameters that are not sharded"));
  add(later("parameters.frozen", "globs of parameters without gradient and optimizer state"));
  add(choice("sharding.strategy", {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_grad_op"},
             "`shard_grad_op` keeps parameters gathered after forward; `no_shard` keeps everything whole on each rank. "
             "The hybrid names say that `mesh.replicate` is above 1"));
  add({.name = "sharding.reshard_after_forward", .kinds = recipeBoolean | recipeChoice,
       .defaultValue = std::string("default"),
       .doc = "release gathered parameters after forward. The default goes by the strategy: for `full_shard` blocks yes "
              "and root no, else no",
       .choices = {"default"}, .laterKinds = recipeInteger | recipeTable, .laterChoices = {"auto"}});
  add(flag("sharding.reshard_before_backward", false, "release before backward what stayed gathered", true));
  add(choice("sharding.reshard_after_backward", {"always"}, "when gathered parameters are released after backward",
             {"last"}, recipeTable));
  add(flag("sharding.unshard_in_backward", true, "gather in backward", true, recipeTable));
  add(choice("sharding.dim", {"first"}, "the dim that is split", {"largest", "flat"}, recipeTable | recipeInteger));

  add(choice("precision.compute", {"f32", "bf16"}, "element type of forward and backward", {"f16", "f64"}));
  add(choice("precision.reduce", {"f32"}, "element type in which gradients are reduced", {"bf16", "f16", "f64"}));
  add(choice("precision.output", {"f32"}, "element type of what an entry point returns", {"bf16", "f16", "f64"}));
  add(choice("precision.parameter", {"f32"}, "element type of parameters and optimizer states", {"f64"}));
  add({.name = "precision.loss_scale", .kinds = recipeChoice, .defaultValue = {},
       .doc = "factor on the loss before backward", .choices = {"none"}, .laterKinds = recipeNumber | recipeInteger,
       .laterChoices = {"dynamic"}});

  add(size("gradient.microbatches", "micro-batches a step"));
  add(choice("loss.mean", {"rank"}, "the mean of the ranks' and micro-batches' means", {"tokens"}));
  add(choice("gradient.sync", {"last"}, "reduce at the last micro-batch", {"every", "reduce_scatter_only"},
             recipeTable | recipeStrings));
  add(choice("gradient.divide", {"mean"}, "divide by the number of data-parallel ranks", {},
             recipeTable | recipeNumber | recipeInteger));
  add(flag("gradient.force_sum", false, "only sums on the wire, scaled explicitly", true));
  {
    RecipeKey key = number("gradient.clip_norm", {}, 0, infinity, "clip gradients to this global norm", true);
    key.kinds |= recipeChoice;
    key.choices = {"off"};
    add(std::move(key));
  }
  add(number("gradient.clip_type", 2.0, 0, infinity, "the p of the norm; `inf` for the largest magnitude", true));

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
  add({.name = "schedule.forward_prefetch", .kinds = recipeInteger, .defaultValue = std::int64_t(1),
       .doc = "units that are gathered ahead of use in forward", .laterKinds = recipeTable, .laterChoices = {"auto"},
       .most = 1 << 20});
  add({.name = "schedule.backward_prefetch", .kinds = recipeInteger | recipeChoice, .defaultValue = std::int64_t(1),
       .doc = "units that are gathered ahead of use in backward; `none` is 0", .choices = {"none"},
       .laterKinds = recipeTable, .laterChoices = {"auto", "pre", "post"}, .most = 1 << 20});

  add({.name = "memory.budget", .kinds = recipeBytes | recipeChoice, .defaultValue = {},
       .doc = "most bytes that a rank may need; over it compilation ends with exit code 3", .choices = {"none"},
       .least = 1});
  add(later("memory.offload", "what is kept in host memory", recipeText));
  add(flag("memory.pinned", true, "host memory of offloading is pinned"));
  add(flag("collective.register", true, "register buffers with communicators that can"));

  add(choice("target.device", {"cpu"}, "what the plan runs on", {"cuda"}));
  {
    RecipeKey key = size("target.threads", "threads a rank");
    key.most = 1024;
    add(std::move(key));
  }
  add({.name = "target.isa", .kinds = recipeChoice, .defaultValue = {},
       .doc = "instruction set; default that of the compiling machine", .choices = {"avx512", "avx2"}});
  add({.name = "target.arch", .kinds = recipeChoice, .defaultValue = {},
       .doc = "GPU architecture", .choices = {"none"}, .laterChoices = {"sm_"}});
  return keys;
}

} // namespace

const std::vector<RecipeKey> &sluice::recipeKeys() {
  static const std::vector<RecipeKey> keys = makeKeys();
  return keys;
}
