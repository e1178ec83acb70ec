//===- Description.cpp - what a run does, before its first step ---------------------------===//
#include "tools/train/Description.h"

#include "runtime/base/Text.h"
#include "runtime/plan/EntryShape.h"
#include "runtime/plan/ProcessMemory.h"

namespace sluice {
namespace {

std::string line(std::string_view name, std::string_view text) {
  return concat(padRight(concat(name, ":"), 13), text, "\n");
}

std::string quantity(std::uint64_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

} // namespace

std::string describeRun(const TrainCommand &command, const plan::PlanT &plan, const std::optional<Launch> &launched) {
  const TrainOptions &train = command.train;
  const std::string axes = join(plan.mesh, ", ", [](const auto &axis) { return concat(axis->name, " ", axis->size); });
  const std::uint64_t ranks = meshSize(plan);
  const std::uint64_t threads =
      command.ranks.threads > 0 ? static_cast<std::uint64_t>(command.ranks.threads) : plan.target->threads;
  std::string text =
      line("plan", concat("'", plan.name, "' for ", quantity(ranks, "rank"), " (", axes, ") on ", plan.target->device,
                          plan.target->isa.empty() ? "" : " with " + plan.target->isa));
  text += line("ranks", concat(launched ? "one process per rank, started by " + launched->launcher
                                        : std::string("threads of this process"),
                               ", ", quantity(threads, "compute thread"), " each"));
  text += line("weights", train.init.empty() ? concat("initialized with seed ", train.seed)
                                             : concat("read from '", train.init, "'"));
  std::uint64_t tokens = 0;
  for (const std::string &name : train.entries)
    if (const int index = findEntry(plan, name); index >= 0)
      tokens += tokensOfRun(plan, *plan.entries[static_cast<std::size_t>(index)]);
  const bool isByLength = train.files.packing && train.files.packing->isSeparate;
  const std::string entries =
      isByLength               ? "buckets of lengths"
      : train.shapesAt.empty() ? join(train.entries, ", ") + (tokens != 0 ? " with " + quantity(tokens, "token") : "")
                               : "the shapes " + join(train.shapesAt, ", ");
  if (!train.data.empty())
    text += line("training", concat(quantity(train.steps, "step"), " of ", entries, ", from ", join(train.data, ", "),
                                    train.shuffled ? ", shuffled" : ""));
  if (!train.evaluation.data.empty())
    text += line("evaluation",
                 "on " + join(train.evaluation.data, ", ") +
                     (train.evaluation.every ? concat(", every ", quantity(train.evaluation.every, "step")) : ""));
  if (command.generate.count != 0)
    text += line("generation", quantity(command.generate.count, "token") +
                                   (command.prompts.empty() ? "" : " for each prompt of '" + command.prompts + "'"));
  const auto process = predictedProcess(plan, launched ? 1 : ranks, !command.checkpoint.folder.empty());
  text += line("memory", join(plan.arenas, ", ",
                              [](const auto &arena) {
                                return concat(plan::EnumNameSpace(arena->space), " ",
                                              formatBytes(arena->bytes + arena->workspace));
                              }) +
                             " on each rank" + (process ? "; this process about " + formatBytes(*process) : ""));
  for (const auto &[name, path] : {std::pair("log", &train.log), std::pair("tensorboard", &train.tensorboard),
                                   std::pair("save", &train.save), std::pair("trace", &command.trace)})
    if (!path->empty())
      text += line(name, *path);
  return text;
}

} // namespace sluice
