//===- Report.cpp - what became of an imported program --------------------------------===//

#include "passes/import/export/Report.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Model.h"
#include "runtime/base/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

static std::string placeOf(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place
             ? printable(concat(llvm::sys::path::filename(place.getFilename().getValue()).str(), ":", place.getLine()))
             : std::string();
}

/// The composite that the op is a part of in the usual models; empty for other ops.
static llvm::StringRef compositeAround(Operation *op) {
  if (isa<model::SoftmaxOp>(op))
    return "attention";
  if (isa<model::RsqrtOp>(op))
    return "a norm";
  return isa<model::ErfOp>(op) ? "gelu" : "";
}

static std::int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * static_cast<std::int64_t>(llvm::divideCeil(tensor.getElementTypeBitWidth(), 8));
}

void ExportReport::describe(ModuleOp module) {
  std::map<std::string, std::int64_t> computing;
  std::map<std::pair<std::string, std::string>, MissedComposite> found;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<func::FuncOp>(op) && model::entryOf(op) != EntryKind::train)
      return WalkResult::skip();
    std::string name = op->getName().stripDialect().str();
    if (auto attention = dyn_cast<model::AttentionOp>(op)) {
      name += attention.getWindow() ? " with a window" : attention.getCausal() ? ", causal" : " to all keys";
      name += attention.getMasked() ? ", mask" : "";
      name += attention.getBiased() ? ", bias" : "";
      name += attention.getDropout() ? ", dropout" : "";
    }
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (function.getArgAttr(i, model::valuesName)) {
          ++constants;
          constantBytes += bytesOf(function.getArgumentTypes()[i]);
        }
    } else if (auto block = dyn_cast<model::BlockOp>(op)) {
      blocks.push_back(block.getName().str());
    } else if (auto parameter = dyn_cast<model::ParameterOp>(op)) {
      states += parameter.isState() ? 1 : 0;
      parameters += parameter.isState() ? 0 : 1;
      elements += parameter.isState() ? 0 : cast<RankedTensorType>(parameter.getType()).getNumElements();
      frozen += parameter.getFrozen() ? 1 : 0;
      ties += parameter.getAliases() ? static_cast<std::int64_t>(parameter.getAliases()->size()) : 0;
    } else if (isa<model::AttentionOp, model::RopeOp, model::RmsNormOp, model::LayerNormOp, model::BatchNormOp,
                   model::GeluOp, model::SwigluOp, model::SiluOp, model::CrossEntropyOp, model::MatmulOp,
                   model::Conv2dOp, model::EmbeddingOp, model::DropoutOp>(op)) {
      ++composites[name];
    }
    if (op->getNumOperands() == 0 || op->getNumResults() == 0 || isa<model::ReshapeOp, model::TransposeOp>(op))
      return WalkResult::advance();
    const std::string place = placeOf(op);
    ++computing[place];
    if (const llvm::StringRef composite = compositeAround(op); !composite.empty()) {
      MissedComposite &each = found[{place, name}];
      each.op = name;
      each.composite = composite.str();
      each.place = place;
      ++each.count;
      each.bytes += bytesOf(op->getResult(0).getType());
    }
    return WalkResult::advance();
  });
  for (auto &[key, each] : found) {
    each.launches = computing[each.place];
    missed.push_back(each);
  }
}

std::vector<std::string> ExportReport::lines() const {
  std::vector<std::string> lines = {
      concat("parameters  ", parameters, " with ", elements, " elements, ", ties, " other names of tied ones, ", frozen,
             " frozen"),
      concat("states      ", states),
      concat("constants   ", constants, " in ", formatBytes(static_cast<std::uint64_t>(constantBytes))),
      concat("blocks      ", blocks.size(),
             blocks.empty() ? ""
                            : concat(": ", printable(blocks.front()),
                                     blocks.size() > 1 ? concat(" to ", printable(blocks.back())) : ""))};
  for (const auto &[name, type] : outputs)
    lines.push_back(concat("output      ", printable(name), ", ", formatShape(type.getShape()), ": ",
                           formatBytes(static_cast<std::uint64_t>(bytesOf(type)))));
  for (const auto &[name, count] : composites)
    lines.push_back(concat(padLeft(concat(count), 10), "  ", name));
  for (const MissedComposite &each : missed)
    lines.push_back(concat(each.place, each.place.empty() ? "" : ": ", each.op, " in no ", each.composite, ", ",
                           each.count, " times: ", formatBytes(static_cast<std::uint64_t>(each.bytes)),
                           " for the backward, ", each.launches, " ops on this line"));
  return lines;
}

llvm::json::Value ExportReport::json() const {
  llvm::json::Object counts;
  for (const auto &[name, count] : composites)
    counts[name] = count;
  llvm::json::Array rest;
  for (const MissedComposite &each : missed)
    rest.push_back(llvm::json::Object{{"op", each.op},
                                      {"composite", each.composite},
                                      {"place", each.place},
                                      {"count", each.count},
                                      {"bytes", each.bytes},
                                      {"launches", each.launches}});
  llvm::json::Array others;
  for (const auto &[name, type] : outputs)
    others.push_back(
        llvm::json::Object{{"name", name}, {"shape", llvm::json::Array(type.getShape())}, {"bytes", bytesOf(type)}});
  return llvm::json::Object{
      {"parameters",
       llvm::json::Object{{"count", parameters}, {"elements", elements}, {"frozen", frozen}, {"ties", ties}}},
      {"states", states},
      {"constants", llvm::json::Object{{"count", constants}, {"bytes", constantBytes}}},
      {"blocks", llvm::json::Array(blocks)},
      {"outputs", std::move(others)},
      {"composites", std::move(counts)},
      {"missed", std::move(rest)},
      {"warnings", llvm::json::Array(warnings)}};
}
