//===- RecomputeRules.cpp - which forward ops the backward recomputes ------------------------===//

#include "passes/model/RecomputeRules.h"

#include "passes/model/Common.h"

#include "passes/recipe/Keys.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sluice;

/// The path that ends before the separator at or after `from`.
static StringRef prefixAfter(StringRef path, std::size_t from) { return path.take_front(path.find('/', from)); }

RecomputeRules::BlockRules &RecomputeRules::rulesOf(StringRef path) {
  auto [found, isNew] = known.try_emplace(path);
  BlockRules &rules = found->second;
  if (!isNew)
    return rules;
  if (!settings.policy.table)
    rules.policy = settings.policy.value;
  if (path.empty())
    return rules;
  StringRef kept = found->first();
  for (StringRef block = prefixAfter(kept, 0);; block = prefixAfter(kept, block.size() + 1)) {
    const RecomputePolicy *policy =
        settings.policy.table ? findByName(*settings.policy.table, block) : &settings.policy.value;
    if (policy)
      rules.policy = *policy;
    if (policy && rules.region.empty() && (*policy == RecomputePolicy::block || *policy == RecomputePolicy::selective))
      rules.region = block;
    const Strings *save = settings.save.table ? findByName(*settings.save.table, block) : &settings.save.value;
    if (save)
      rules.save = save;
    if (block.size() == kept.size())
      return rules;
  }
}

RecomputeRules::Region RecomputeRules::regionOf(Operation *op) {
  BlockRules &rules = rulesOf(model::blockOf(op));
  if (!rules.region.empty())
    return {rules.region, false};
  if (rules.policy != RecomputePolicy::marked)
    return {};
  return {model::outermostBlock(textAttribute(op, model::checkpointName)), true};
}

bool RecomputeRules::isKept(Operation *op) {
  BlockRules &rules = rulesOf(model::blockOf(op));
  switch (rules.policy) {
  case RecomputePolicy::none:
  case RecomputePolicy::budget:
    return true;
  case RecomputePolicy::marked:
    return !op->hasAttr(model::checkpointName);
  case RecomputePolicy::block:
    return false;
  case RecomputePolicy::selective:
    break;
  }
  auto [found, isNew] = rules.kept.try_emplace(op->getName());
  if (isNew && rules.save)
    found->second = llvm::any_of(
        *rules.save, [&](const std::string &glob) { return matchesGlob(glob, op->getName().stripDialect()); });
  return found->second;
}

/// The globs of `recompute.save`, in order.
static llvm::SetVector<StringRef> globsOf(const Recipe::Recompute &settings) {
  llvm::SetVector<StringRef> globs;
  if (!settings.save.table)
    globs.insert_range(settings.save.value);
  else
    for (const auto &[block, ops] : *settings.save.table)
      globs.insert_range(ops);
  return globs;
}

Status sluice::checkRecomputeNames(ModuleOp module, const Recipe &recipe) {
  constexpr llvm::StringRef save = keys::recomputeSave;
  RecomputeRules rules(recipe.recompute);
  llvm::SetVector<StringRef> paths, present;
  for (func::FuncOp function : entryFunctions(module, EntryKind::train))
    for (Operation &op : function.getBody().front()) {
      StringRef path = model::blockOf(&op);
      for (StringRef block = prefixAfter(path, 0); !path.empty(); block = prefixAfter(path, block.size() + 1)) {
        paths.insert(block);
        if (block.size() == path.size())
          break;
      }
      if (model::isOfPhase(&op, Phase::forward) && !rules.regionOf(&op).path.empty())
        present.insert(op.getName().stripDialect());
    }
  std::vector<std::string> blocks;
  for (StringRef path : paths)
    blocks.push_back(path.str());
  for (StringRef key : {StringRef(keys::recomputePolicy), StringRef(save)})
    SLUICE_RETURN_IF_ERROR(recipe.checkNames(key, "block", blocks));

  llvm::SmallVector<StringRef> ops;
  for (RegisteredOperationName name : module.getContext()->getRegisteredOperationsByDialect("model"))
    ops.push_back(name.stripDialect());
  for (StringRef glob : globsOf(recipe.recompute)) {
    const auto isMatch = [&](StringRef name) { return matchesGlob(glob, name); };
    if (llvm::none_of(ops, isMatch)) {
      StringRef nearest = *llvm::min_element(
          ops, [&](StringRef a, StringRef b) { return glob.edit_distance(a) < glob.edit_distance(b); });
      return inputError(recipe.origin(save) + ": unknown op in 'recompute.save', expected '" + nearest.str() +
                        "' or another op of the model dialect but got '" + glob.str() + "'");
    }
    if (llvm::none_of(present, isMatch))
      emitWarning(UnknownLoc::get(module.getContext()))
          << recipe.origin(save) << ": '" << glob << "' in 'recompute.save' matches no op of a recomputed block";
  }
  return Status::ok();
}
