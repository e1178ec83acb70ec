//===- Remedies.cpp - settings that reduce the memory of a rank -------------------------------===//
#include "passes/driver/Remedies.h"

#include "dialect/model/Attributes.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/recipe/Keys.h"

#include <algorithm>
#include <tuple>

namespace sluice {
namespace {

/// Settings that leave optimizer and element types as they are.
std::vector<Variant> candidates(const Recipe &recipe, const VariantCompiler &compiler, bool hasMachine) {
  std::vector<Variant> variants;
  const auto add = [&](const char *key, const std::string &value) { variants.push_back({{key, value}}); };
  if (!recipe.recompute.policy.isEverywhere(RecomputePolicy::budget))
    add(keys::recomputePolicy, "budget");
  if (recipe.sharding.strategy != ShardingStrategy::full_shard)
    add("sharding.strategy", "full_shard");
  if (!recipe.loss.chunkRows)
    add("loss.chunk_rows", "1024");
  const bool hasActivations = recipe.memory.offloads(Offloaded::activations);
  const bool chooses = recipe.memory.choosesOffload();
  // As many units as the budget requires.
  if (hasMachine && !recipe.memory.offloads() && !chooses)
    variants.push_back({{keys::recomputePolicy, "budget"}, {keys::memoryOffload, "auto"}});
  if (!recipe.memory.offloads(Offloaded::optimizer) && !hasActivations && !chooses)
    add(keys::memoryOffload, R"(["optimizer"])");
  if (!recipe.memory.offloads(Offloaded::parameters) && !hasActivations && !chooses)
    add(keys::memoryOffload, R"(["parameters", "optimizer"])");
  if (!recipe.memory.offloads() && !chooses)
    add(keys::memoryOffload, R"(["activations"])");
  add("mesh.shard", std::to_string(2 * recipe.mesh.shard));
  for (const char *key : {"batch", "sequence"})
    if (const std::int64_t extent = compiler.extent(key); extent > 1)
      add(key, std::to_string(extent / 2));
  return variants;
}

struct Remedy {
  std::string text;
  std::uint64_t peak = 0;
  bool isFeasible = false;
  double seconds = 0;
  /// In a step of a rank.
  std::uint64_t flops = 0, traffic = 0;

  /// The cheapest first.
  auto order() const { return std::tuple(!isFeasible, seconds, flops, traffic, peak); }
};

/// Adds FLOPs and traffic of the entry points together.
void addCosts(const PlanBytes &bytes, Remedy &remedy) {
  const Result<PlanFile> file = parsePlan(bytes.span(), "plan");
  for (std::size_t e = 0; file.isOk() && e < file->plan.entries.size(); ++e) {
    const plan::EntryT &entry = *file->plan.entries[e];
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t section) {
      const std::uint64_t times = timesIssued(instruction, entry.sections[section]->repeat);
      if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
        remedy.flops += times * launch->flops;
      else if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
        remedy.traffic += times * collectiveBytes(*collective);
      else if (const plan::CopyT *copy = instruction.operation.AsCopy())
        remedy.traffic += times * viewBytes(*copy->source).value_or(0);
    });
  }
}

std::optional<Remedy> attempt(VariantCompiler &compiler, const Variant &variant, std::string text) {
  const CompiledVariant compiled = compiler.compile(variant);
  if (!compiled.peak)
    return std::nullopt;
  Remedy remedy{std::move(text), *compiled.peak, compiled.isFeasible(), compiled.seconds.value_or(0)};
  addCosts(compiled.plan, remedy);
  return remedy;
}

} // namespace

std::vector<std::string> findRemedies(const CompileOptions &options, mlir::ModuleOp module, const Recipe &recipe,
                                      const Machine *machine, std::uint64_t peak) {
  VariantCompiler compiler(options, module, machine);
  std::vector<Remedy> remedies;
  const auto add = [&](std::optional<Remedy> remedy) {
    if (remedy && remedy->peak < peak)
      remedies.push_back(std::move(*remedy));
  };
  for (const Variant &variant : candidates(recipe, compiler, machine != nullptr))
    add(attempt(compiler, variant,
                join(variant, ", ", [](const auto &setting) { return setting.key + " = " + setting.value; })));
  mlir::OwningOpRef<mlir::ModuleOp> trained = module.clone();
  bool hasForward = false;
  for (auto function : llvm::make_early_inc_range(trained->getOps<mlir::func::FuncOp>()))
    if (model::entryOf(function) == EntryKind::forward) {
      hasForward = true;
      function.erase();
    }
  VariantCompiler ofTrained(options, *trained, machine);
  if (hasForward)
    add(attempt(ofTrained, {}, "a model without the entry point for --generate (sluice-import --train-only)"));
  std::ranges::stable_sort(remedies, {}, &Remedy::order);
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < std::min<std::size_t>(remedies.size(), 3); ++r) {
    const Remedy &remedy = remedies[r];
    lines.push_back(concat(remedy.text, ": ", formatBytesExact(remedy.peak),
                           remedy.isFeasible ? ", within the budget" : ", still over the budget",
                           remedy.seconds > 0 ? ", step " + formatSeconds(remedy.seconds) : ""));
  }
  return lines;
}

} // namespace sluice
