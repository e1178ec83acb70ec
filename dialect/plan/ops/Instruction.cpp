//===- Instruction.cpp - verifiers of instructions ------------------------------------===//
#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

/// `isAtLeast`: `expected` is the least number.
llvm::LogicalResult verifyOperands(Operation *op, llvm::StringRef name, ArrayAttr views, size_t expected,
                                   bool isAtLeast = false) {
  if (isAtLeast ? views.size() < expected : views.size() != expected)
    return op->emitOpError() << name << ", expected " << (isAtLeast ? "at least " : "") << expected << " but got "
                             << views.size();
  return success();
}

bool hasKind(Attribute value, sluice::AttributeKind kind) {
  switch (kind) {
  case sluice::AttributeKind::integer:
  case sluice::AttributeKind::flag:
  case sluice::AttributeKind::choice:
    return llvm::isa<IntegerAttr>(value);
  case sluice::AttributeKind::number:
    return llvm::isa<FloatAttr>(value);
  case sluice::AttributeKind::list:
    return llvm::isa<DenseI64ArrayAttr>(value);
  }
  return false;
}

llvm::LogicalResult verifySettings(LaunchOp launch, const sluice::KernelRecord &record,
                                   const sluice::Attributes &settings) {
  if (const std::string problem = sluice::attributeProblem(record, settings); !problem.empty())
    return launch.emitOpError("kernel '") << launch.getKernel() << "' " << problem;
  for (NamedAttribute setting : launch.getSettings()) {
    const std::string_view name = setting.getName().strref();
    const auto *known = llvm::find_if(record.attributes, [&](const auto &attribute) { return attribute.name == name; });
    if (!hasKind(setting.getValue(), known->kind))
      return launch.emitOpError("kernel '")
             << launch.getKernel() << "' attribute " << setting.getName() << ", expected "
             << sluice::kindText(known->kind) << " but got " << setting.getValue();
  }
  return success();
}

/// The repeat count of the section around an instruction.
int64_t repeatOf(Operation *op) {
  auto section = llvm::dyn_cast_or_null<SectionOp>(op->getParentOp());
  return section ? section.getRepeat() : 1;
}

llvm::LogicalResult verifyView(Operation *op, ViewAttr view, SymbolTableCollection &tables) {
  // view_c1
  auto buffer = tables.lookupNearestSymbolFrom<BufferOp>(op, view.getBuffer());
  if (!buffer)
    return op->emitOpError("unknown buffer '") << view.getBuffer().getValue() << "' of a view";
  // view_c2
  const int64_t end = view.getOffset() + view.getStep() * (repeatOf(op) - 1) + view.spanBytes();
  if (view.getOffset() < 0 || end > static_cast<int64_t>(buffer.getBytes()))
    return op->emitOpError("end of a view of '")
           << view.getBuffer().getValue() << "', expected at most " << buffer.getBytes() << " but got " << end;
  return success();
}

} // namespace

llvm::LogicalResult sluice::plan_ir::verifyInstruction(Operation *op, SymbolTableCollection &tables) {
  // Not by a walk of the op's attribute dictionary: the context would keep one for each op.
  for (const Access &access : accessesOf(op))
    if (failed(verifyView(op, access.view, tables)))
      return failure();
  return success();
}

llvm::LogicalResult LaunchOp::verify() {
  // launch_c1
  const sluice::KernelRecord *record = sluice::findKernelRecord(getKernel());
  if (!record)
    return emitOpError("kernel '") << getKernel() << "' is not in the catalogue";
  // launch_c2, launch_c3
  const sluice::Attributes settings = sluice::launchAttributes(getSettings().getValue());
  const sluice::OperandCounts counts =
      sluice::expectedOperands(*record, settings, getInputs().size(), getOutputs().size());
  if (failed(verifyOperands(*this, "inputs", getInputs(), counts.inputs, counts.isAtLeast)) ||
      failed(verifyOperands(*this, "outputs", getOutputs(), counts.outputs)) ||
      failed(verifySettings(*this, *record, settings)))
    return failure();
  // launch_c4
  for (int64_t index : llvm::seq<int64_t>(0, getMayAlias().size())) {
    const int64_t bound = index % 2 == 0 ? getInputs().size() : getOutputs().size();
    if (getMayAlias()[index] < 0 || getMayAlias()[index] >= bound || getMayAlias().size() % 2 != 0)
      return emitOpError("may_alias, expected pairs of an input and an output but got [") << getMayAlias() << "]";
  }
  return success();
}

llvm::LogicalResult CollectiveOp::verify() {
  // collective_c2
  if (failed(verifyOperands(*this, "sources", getSources(), 0, /*isAtLeast=*/true)) ||
      failed(verifyOperands(*this, "destinations", getDestinations(), getSources().size())))
    return failure();
  // collective_c3
  for (ArrayAttr views : {getSources(), getDestinations()})
    for (auto view : views.getAsRange<ViewAttr>())
      if (!view.isDense())
        return emitOpError("segments, expected dense views but got ") << view;
  return success();
}
