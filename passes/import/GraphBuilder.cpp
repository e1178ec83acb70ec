//===- GraphBuilder.cpp - builds the models of a family ----------------------------------===//

#include "passes/import/GraphBuilder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sluice;

std::vector<ModelEntry> sluice::entriesOf(const ImportOptions &options) {
  const RowShape first = {options.batch, options.sequence};
  std::vector<ModelEntry> entries = {{"train_step", EntryKind::train, first}};
  for (const RowShape &shape : options.moreShapes)
    entries.push_back({entryNameOf("train_step", shape), EntryKind::train, shape});
  if (options.evaluation)
    entries.push_back({"eval_step", EntryKind::eval, *options.evaluation});
  if (options.trainOnly)
    return entries;
  entries.push_back({"logits", EntryKind::forward, options.oneRowLogits ? RowShape{1, first.sequence} : first});
  // A shorter row costs about as much as a row of this length.
  constexpr std::int64_t shortest = 8;
  if (options.oneRowLogits)
    for (std::int64_t length = first.sequence / 2; length >= shortest; length /= 2)
      entries.push_back({entryNameOf("logits", {1, length}), EntryKind::forward, {1, length}});
  return entries;
}

GraphBuilder::GraphBuilder(MLIRContext *context, const ImportOptions &options, llvm::StringRef name,
                           std::int64_t vocabulary)
    : ModelBuilder(NameLoc::get(StringAttr::get(context, "model")), name, options.batch), sequence(options.sequence),
      vocabulary(vocabulary), options(options) {}

llvm::SmallVector<Value> GraphBuilder::begin(const ModelEntry &entry) {
  const bool hasLoss = entry.kind != EntryKind::forward;
  sequence = entry.shape.sequence;
  setBatch(entry.shape.batch);
  selectSequence();
  llvm::SmallVector<Input> inputs = {{"tokens", {sequence}, vocabulary}};
  if (hasLoss)
    inputs.push_back({"targets", {sequence}, vocabulary});
  if (hasLoss && options.packed)
    inputs.push_back({"documents", {sequence}, sequence});
  llvm::SmallVector<Value> values =
      beginEntry(NameLoc::get(builder.getStringAttr("model")), entry.name, entry.kind, inputs,
                 hasLoss ? tensor({}) : tensor({batch(), sequence, vocabulary}), hasLoss ? "loss" : "logits");
  if (sequence != options.sequence)
    this->entry()->setAttr(model::sequenceName, builder.getI64IntegerAttr(sequence));
  builder.setLoc(builder.getUnknownLoc());
  return values;
}

Result<OwningOpRef<ModuleOp>> GraphBuilder::build(llvm::StringRef configText) {
  module.get()->setAttr(model::configName, builder.getStringAttr(configText));
  module.get()->setAttr(model::sequenceName, builder.getI64IntegerAttr(sequence));
  declareParameters();
  for (const ModelEntry &entry : entriesOf(options)) {
    const llvm::SmallVector<Value> inputs = begin(entry);
    if (entry.kind == EntryKind::train && drops())
      beginDropout();
    if (entry.kind == EntryKind::forward) {
      finishEntry(forward(inputs[0], /*documents=*/{}));
      continue;
    }
    Value logits = forward(inputs[0], options.packed ? inputs[2] : Value());
    at("loss");
    finishEntry(crossEntropy(logits, inputs[1], LossReduction::mean));
  }
  if (failed(verify(module.get())))
    return internalError("imported model that does not verify");
  return std::move(module);
}

Value GraphBuilder::attendCausally(Value q, Value k, Value v, double scale, std::int64_t window, Value documents,
                                   double dropoutRate, double cap) {
  // A window of at least the sequence is no window.
  return attend(q, k, v, scale, {/*causal=*/true, window < sequence ? window : 0, documents}, dropoutRate, cap);
}
