//===- ComputeLifespans.cpp - plan-compute-lifespans --------------------------------===//
#include "passes/memory/Lifespans.h"
#include "passes/memory/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_COMPUTELIFESPANS
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

struct ComputeLifespans : sluice::impl::ComputeLifespansBase<ComputeLifespans> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    sluice::setLifespans(module);
    for (auto buffer : llvm::make_early_inc_range(module.getOps<BufferOp>()))
      if (buffer.getEntry() && !buffer.getEnd())
        buffer.erase();
  }
};

} // namespace
