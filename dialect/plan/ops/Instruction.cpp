//===- Instruction.cpp - verifiers of instructions ------------------------------------===//
#include "dialect/plan/Accesses.h"

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

struct KernelRow {
  llvm::StringLiteral name;
  int inputs;
  int outputs;
};

constexpr KernelRow kernelRows[] = {
#define SLUICE_KERNEL(name, inputs, outputs, reduction) {#name, inputs, outputs},
#include "runtime/kernel/catalogue.def"
#undef SLUICE_KERNEL
};

llvm::LogicalResult verifyOperands(Operation *op, llvm::StringRef what, ArrayAttr views, int expected) {
  for (Attribute view : views)
    if (!llvm::isa<ViewAttr>(view))
      return op->emitOpError() << what << ", expected views but got " << view;
  if (expected >= 0 ? int64_t(views.size()) != expected : what == "inputs" && views.empty())
    return op->emitOpError() << what << ", expected " << (expected >= 0 ? std::to_string(expected) : "at least 1")
                             << " but got " << views.size();
  return success();
}

/// The repeat count of the section around an instruction.
int64_t repeatOf(Operation *op) {
  auto section = llvm::dyn_cast_or_null<SectionOp>(op->getParentOp());
  return section ? section.getRepeat() : 1;
}

llvm::LogicalResult verifyView(Operation *op, ViewAttr view, SymbolTableCollection &tables) {
  auto buffer = tables.lookupNearestSymbolFrom<BufferOp>(op, view.getBuffer());
  if (!buffer)
    return op->emitOpError("view, there is no buffer '") << view.getBuffer().getValue() << "'";
  const int64_t end = view.getOffset() + view.getStep() * (repeatOf(op) - 1) + view.spanBytes();
  if (view.getOffset() < 0 || end > static_cast<int64_t>(buffer.getBytes()))
    return op->emitOpError("view of '") << view.getBuffer().getValue() << "', expected it within " << buffer.getBytes()
                                        << " bytes but it ends at " << end;
  return success();
}

} // namespace

llvm::LogicalResult sluice::plan_ir::verifyInstruction(Operation *op, SymbolTableCollection &tables) {
  // Not by a walk of the op's attribute dictionary: the context would keep one for each op.
  for (const Access &access : accessesOf(op))
    if (failed(verifyView(op, access.view, tables)))
      return failure();
  if (auto stream = op->getAttrOfType<FlatSymbolRefAttr>("stream"))
    if (!tables.lookupNearestSymbolFrom<StreamOp>(op, stream))
      return op->emitOpError("stream, there is no stream '") << stream.getValue() << "'";
  return success();
}

llvm::LogicalResult LaunchOp::verify() {
  const auto *row = llvm::find_if(kernelRows, [&](const KernelRow &r) { return r.name == getKernel(); });
  if (row == std::end(kernelRows))
    return emitOpError("kernel '") << getKernel() << "' is not in the catalogue";
  if (failed(verifyOperands(*this, "inputs", getInputs(), row->inputs)) ||
      failed(verifyOperands(*this, "outputs", getOutputs(), row->outputs)))
    return failure();
  for (int64_t index : llvm::seq<int64_t>(0, getMayAlias().size())) {
    const int64_t bound = index % 2 == 0 ? getInputs().size() : getOutputs().size();
    if (getMayAlias()[index] < 0 || getMayAlias()[index] >= bound || getMayAlias().size() % 2 != 0)
      return emitOpError("may_alias, expected pairs of an input and an output but got [") << getMayAlias() << "]";
  }
  return success();
}

llvm::LogicalResult CollectiveOp::verify() {
  if (failed(verifyOperands(*this, "sources", getSources(), -1)) ||
      failed(verifyOperands(*this, "destinations", getDestinations(), getSources().size())))
    return failure();
  for (ArrayAttr views : {getSources(), getDestinations()})
    for (auto view : views.getAsRange<ViewAttr>())
      if (!view.isDense())
        return emitOpError("segments, expected dense views but got ") << view;
  return success();
}
