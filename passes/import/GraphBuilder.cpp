//===- GraphBuilder.cpp - builds the models of a family ----------------------------------===//

#include "passes/import/GraphBuilder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sluice;

GraphBuilder::GraphBuilder(MLIRContext *context, const ImportOptions &options, llvm::StringRef name,
                           std::int64_t vocabulary)
    : ModelBuilder(NameLoc::get(StringAttr::get(context, "model")), name, options.batch), sequence(options.sequence),
      vocabulary(vocabulary), trainOnly(options.trainOnly), packed(options.packed) {}

Result<OwningOpRef<ModuleOp>> GraphBuilder::build(llvm::StringRef configText) {
  module.get()->setAttr(model::configName, builder.getStringAttr(configText));
  module.get()->setAttr(model::sequenceName, builder.getI64IntegerAttr(sequence));
  declareParameters();
  const Location location = builder.getLoc();
  const Input tokens = {"tokens", {sequence}, vocabulary}, targets = {"targets", {sequence}, vocabulary};
  llvm::SmallVector<Input> ofStep = {tokens, targets};
  if (packed)
    ofStep.push_back({"documents", {sequence}, sequence});
  auto inputs = beginEntry(location, "train_step", EntryKind::train, ofStep, tensor({}), "loss");
  builder.setLoc(builder.getUnknownLoc());
  if (drops())
    beginDropout();
  Value logits = forward(inputs[0], packed ? inputs[2] : Value());
  at("loss");
  finishEntry(crossEntropy(logits, inputs[1], LossReduction::mean));
  if (!trainOnly) {
    inputs =
        beginEntry(location, "logits", EntryKind::forward, tokens, tensor({batch(), sequence, vocabulary}), "logits");
    finishEntry(forward(inputs[0], /*documents=*/{}));
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
