//===- PrintShardings.cpp - prints the shardings that the IR states -------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "runtime/base/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"

namespace sluice {
#define GEN_PASS_DEF_PRINTSHARDINGS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct PrintShardings : sluice::impl::PrintShardingsBase<PrintShardings> {
  void runOnOperation() override;
};

/// One line for each operand whose required sharding the op states, and for each result.
void printOp(Operation &op, AsmState &state, raw_ostream &os) {
  auto print = [&](ArrayAttr shardings, ValueRange values, StringRef role) {
    for (auto [value, sharding] : llvm::zip(values, shardings ? shardings.getValue() : ArrayRef<Attribute>())) {
      os << "  " << op.getName() << ": " << role << ' ';
      value.printAsOperand(os, state);
      os << ' ' << sharding << '\n';
    }
  };
  print(op.getAttrOfType<ArrayAttr>(spmd::operandShardingsName), op.getOperands(), "operand");
  auto reshard = dyn_cast<spmd::ReshardOp>(op);
  print(reshard ? reshard.getDestinations() : op.getAttrOfType<ArrayAttr>(spmd::shardingsName), op.getResults(),
        "result");
}

} // namespace

void PrintShardings::runOnOperation() {
  ModuleOp module = getOperation();
  raw_ostream &os = llvm::outs();
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (Attribute sharding = parameter->getAttr(spmd::shardingName))
      os << '@' << printable(parameter.getSymName()) << ' ' << sharding << '\n';
  for (auto function : module.getOps<func::FuncOp>()) {
    AsmState state(function);
    os << '@' << printable(function.getSymName()) << '\n';
    for (BlockArgument argument : function.getArguments())
      if (Attribute sharding = function.getArgAttr(argument.getArgNumber(), spmd::shardingName)) {
        os << "  argument ";
        argument.printAsOperand(os, state);
        os << ' ' << sharding << '\n';
      }
    function.walk([&](Operation *op) { printOp(*op, state, os); });
  }
  markAllAnalysesPreserved();
}
