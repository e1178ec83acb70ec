//===- SplitModule.cpp - a module as one rank of an axis computes it ------------------------===//

#include "passes/sharding/tensor/SplitModule.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Inline.h"

using namespace mlir;

namespace sluice::tensor {

llvm::SmallVector<func::FuncOp> entriesOf(ModuleOp module) {
  llvm::SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(model::entryName) && !function.isExternal())
      entries.push_back(function);
  return entries;
}

LogicalResult splitEntry(func::FuncOp entry, const Wishes &wishes, Reasons &reasons) {
  inlineRecompute(entry.front());
  return propagate(entry, wishes, reasons);
}

void splitParameters(ModuleOp module, const ParameterSplits &splits, StringRef axis) {
  Builder builder(module.getContext());
  for (auto parameter : module.getOps<model::ParameterOp>()) {
    auto found = splits.find(parameter.getSymName());
    if (found == splits.end())
      continue;
    const Layout &layout = found->second;
    RankedTensorType whole = cast<RankedTensorType>(parameter.getType());
    SmallVector<NamedAttribute> split = {
        builder.getNamedAttr("dim", builder.getI64IntegerAttr(layout.dim)),
        builder.getNamedAttr("segments", builder.getI64IntegerAttr(layout.segments)),
        builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(whole.getShape()))};
    if (axis != tensorAxis)
      split.push_back(builder.getNamedAttr(splitAxisName, builder.getStringAttr(axis)));
    parameter->setAttr(spmd::tensorName, builder.getDictionaryAttr(split));
    parameter.setTypeAttr(TypeAttr::get(localType(whole, layout)));
  }
}

bool isSplitAlong(ModuleOp module, StringRef axis) {
  return llvm::any_of(module.getOps<model::ParameterOp>(), [&](model::ParameterOp parameter) {
    auto split = parameter->getAttrOfType<DictionaryAttr>(spmd::tensorName);
    return split && axisOf(split) == axis;
  });
}

void remark(const Reasons &reasons) {
  for (const auto &[text, reason] : reasons.list)
    emitRemark(reason.where) << text << " (" << reason.times << (reason.times == 1 ? " time)" : " times)");
}

} // namespace sluice::tensor
