//===- ChooseKernels.cpp - plan-choose-kernels --------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/LaunchOperands.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/kernel/catalogue/DnnAttention.h"

namespace sluice {
#define GEN_PASS_DEF_CHOOSEKERNELS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

/// True if the kernel has an attribute of this name.
bool hasAttribute(LaunchOp launch, std::string_view name) {
  const KernelRecord *record = findKernelRecord(launch.getKernel());
  return record && llvm::any_of(record->attributes, [&](const AttributeRecord &own) { return own.name == name; });
}

/// The reason why cuDNN does not compute the launch, or empty.
std::string problemOf(LaunchOp launch) {
  for (ArrayAttr views : {launch.getInputs(), launch.getOutputs()})
    for (ViewAttr view : views.getAsRange<ViewAttr>()) {
      if (view.getValid())
        return "operands that are padded on some ranks";
      if (view.getOffset() % 16 != 0 || view.getStep() % 16 != 0 ||
          view.elements() * ViewAttr::elementBytes(view.getElementType()) % 16 != 0)
        return "address and length of an operand, expected multiples of 16 bytes";
      if (view.elements() == 0)
        return "operands without elements";
    }
  return cuda::dnnAttentionProblem(launchOperands(launch.getInputs()), launchOperands(launch.getOutputs()));
}

struct ChooseKernels : sluice::impl::ChooseKernelsBase<ChooseKernels> {
  using ChooseKernelsBase::ChooseKernelsBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), attention, deviceKind, architecture);
    if (failed(recipe))
      return signalPassFailure();
    const bool isRequired = recipe->kernels.attention == AttentionKernels::cudnn;
    if (!isRequired && !recipe->choosesAttention())
      return;
    for (auto entry : getOperation().getOps<EntryOp>())
      forEachInstruction(entry, [&](Operation *op, int64_t, SectionOp) {
        auto launch = dyn_cast<LaunchOp>(op);
        if (!launch || !hasAttribute(launch, "cudnn"))
          return;
        if (const std::string problem = problemOf(launch); problem.empty()) {
          useDnn(launch);
        } else if (isRequired) {
          InFlightDiagnostic error = launch.emitError()
                                     << "cuDNN has no kernel for '" << launch.getKernel() << "': " << problem;
          error.attachNote() << "'kernels.attention' = \"auto\" computes it with Sluice's kernel";
          signalPassFailure();
        }
      });
  }

  static void useDnn(LaunchOp launch) {
    Builder builder(launch.getContext());
    NamedAttrList settings(launch.getSettings());
    settings.set("cudnn", builder.getI64IntegerAttr(1));
    if (hasAttribute(launch, "rows")) {
      const std::vector<sluice::Operand> inputs = launchOperands(launch.getInputs());
      settings.set("rows", builder.getI64IntegerAttr(cuda::dnnAttentionGradRows(inputs[1], inputs[2])));
    }
    launch.setSettingsAttr(settings.getDictionary(launch.getContext()));
  }
};

} // namespace
