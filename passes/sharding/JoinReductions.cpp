//===- JoinReductions.cpp - terms are combined before they are reduced ------------------------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/tensor/Collectives.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_JOINREDUCTIONS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace sluice;

namespace {

struct JoinReductions : sluice::impl::JoinReductionsBase<JoinReductions> {
  void runOnOperation() override {
    getOperation().walk([](spmd::SectionOp section) { tensor::joinReductions(section.getBody().front()); });
  }
};

} // namespace
