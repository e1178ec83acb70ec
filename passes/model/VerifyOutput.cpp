//===- VerifyOutput.cpp - model-verify-output -----------------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYOUTPUT
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

class FunctionVerifier {
public:
  explicit FunctionVerifier(func::FuncOp function) : function(function) {}

  LogicalResult run() {
    Phase reached = Phase::forward;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (failed(verifyOp(op)))
        return failure();
      Phase phase = model::phaseOf(&op);
      if (phase < reached)
        return op.emitError("op of phase '") << stringifyPhase(model::phaseOf(&op)) << "' after a later phase";
      reached = phase;
      if (auto region = dyn_cast<model::RecomputeOp>(op))
        for (Operation &inner : region.getBody().front().without_terminator())
          if (failed(verifyOp(inner)))
            return failure();
    }
    if (model::entryOf(function) == EntryKind::train && reached != Phase::update)
      return function.emitError("train entry point '@") << function.getName() << "' has no update";
    return success();
  }

private:
  func::FuncOp function;
  /// By parameter and backward pass.
  llvm::DenseSet<std::pair<StringAttr, std::int64_t>> gradients;
  llvm::StringSet<> writes;

  LogicalResult verifyOp(Operation &op) {
    bool isStructure = isa<model::ReadOp, model::WriteOp, model::GradientOp, model::StepMeanOp>(op) ||
                       (isa<model::RecomputeOp>(op) && op.getParentOp() == function);
    bool isComputeOp = isa<ShardingRuleOpInterface>(op) && isa<CostOpInterface>(op) && isa<KernelOpInterface>(op);
    if (!isStructure && !isComputeOp)
      return op.emitError("op '") << op.getName() << "' has no sharding rule, cost or kernel";
    for (llvm::StringRef attribute : {model::blockName, model::phaseName})
      if (!op.hasAttr(attribute))
        return op.emitError("missing '") << attribute << "' on op '" << op.getName() << "'";
    auto ids = op.getAttrOfType<DenseI64ArrayAttr>(model::idsName);
    if (!ids || ids.size() != op.getNumResults())
      return op.emitError("op '") << op.getName() << "' requires a number in 'model.ids' for each result";
    if (auto gradient = dyn_cast<model::GradientOp>(op))
      if (!gradients.insert({gradient.getParameterAttr().getAttr(), model::invocationOf(&op)}).second)
        return op.emitError("second gradient of '@") << gradient.getParameter() << "' in one backward pass";
    if (auto write = dyn_cast<model::WriteOp>(op)) {
      std::string key = (write.getParameter() + " " + write.getState().value_or("")).str();
      if (!writes.insert(key).second)
        return op.emitError("second write of '@") << write.getParameter() << "'";
    }
    return success();
  }
};

struct VerifyOutputPass : sluice::impl::VerifyOutputBase<VerifyOutputPass> {
  void runOnOperation() override {
    for (func::FuncOp function : entryFunctions(getOperation()))
      if (failed(FunctionVerifier(function).run()))
        return signalPassFailure();
  }
};

} // namespace
