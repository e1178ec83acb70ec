//===- AccumulateInProducts.cpp - plan-accumulate-in-products ----------------------===//
//
// Replaces a product and its accumulation by a product that adds to the sum.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"
#include "passes/schedule/BufferUses.h"

namespace sluice {
#define GEN_PASS_DEF_ACCUMULATEINPRODUCTS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

struct AccumulateInProducts : sluice::impl::AccumulateInProductsBase<AccumulateInProducts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto entry : module.getOps<EntryOp>()) {
      BufferUses uses = usesOf(entry);
      llvm::SmallVector<LaunchOp> accumulations;
      entry.walk([&](LaunchOp op) {
        if (op.getKernel() == "accumulate" && isSet(op, "first"))
          accumulations.push_back(op);
      });
      for (LaunchOp begin : accumulations)
        addInProduct(begin, uses, symbols);
    }
  }

  static bool isSet(LaunchOp launch, llvm::StringRef flag) {
    auto setting = launch.getSettings().getAs<IntegerAttr>(flag);
    return setting && !setting.getValue().isZero();
  }

  /// A launch without residual of a kernel that can have one.
  static bool takesResidual(LaunchOp launch) {
    const KernelRecord *record = findKernelRecord(launch.getKernel());
    return record &&
           llvm::any_of(record->inputs, [](const OperandRecord &input) { return input.name == "residual"; }) &&
           !isSet(launch, "residual");
  }

  /// True if each repetition of the product is in the sum, once.
  static bool isSummedOnce(LaunchOp product, LaunchOp begin, LaunchOp later) {
    const When all = whenOf(product), first = whenOf(begin), next = whenOf(later);
    if (all.isAll() && first == When(WhenKind::first) && next == When(WhenKind::not_first))
      return true;
    const int64_t repeat = product->getParentOfType<SectionOp>().getRepeat();
    return llvm::all_of(llvm::seq<int64_t>(0, repeat), [&](int64_t repetition) {
      return all.includes(repetition, repeat) ==
             (first.includes(repetition, repeat) != next.includes(repetition, repeat));
    });
  }

  /// `begin`: the accumulation in the repetitions in which the sum begins.
  void addInProduct(LaunchOp begin, BufferUses &uses, SymbolTable &symbols) {
    auto source = cast<ViewAttr>(begin.getInputs()[0]);
    auto sum = cast<ViewAttr>(begin.getOutputs()[0]);
    const auto &ofSource = uses[source.getBuffer().getAttr()];
    auto buffer = symbols.lookup<BufferOp>(source.getBuffer().getAttr());
    if (ofSource.size() != 3 || !ofSource[0].writes || ofSource[1].op != begin || !buffer.getEntry() ||
        buffer.getCarried())
      return;
    auto product = dyn_cast<LaunchOp>(ofSource[0].op), later = dyn_cast<LaunchOp>(ofSource[2].op);
    const ViewAttr written = ofSource[0].view;
    if (!product || !takesResidual(product) || !later || later.getKernel() != "accumulate" ||
        later.getInputs() != begin.getInputs() || later.getOutputs() != begin.getOutputs() ||
        product->getBlock() != begin->getBlock() || product->getBlock() != later->getBlock() ||
        streamOf(product) != streamOf(begin) || !isSameRange(written, source) ||
        source.getElementType() != sum.getElementType() || product.getOutputs().size() != 1)
      return;
    if (!isSummedOnce(product, begin, later))
      return;
    const ViewAttr target = reshaped(sum, written.getShape());
    const auto &ofSum = uses[sum.getBuffer().getAttr()];
    if (!target || !windowIsFree(ofSum, sum, target, ofSource[0].position, ofSource[1].position) ||
        !windowIsFree(ofSum, sum, target, ofSource[1].position + 1, ofSource[2].position))
      return;
    Builder builder(product.getContext());
    auto adding = cast<LaunchOp>(product->clone());
    product->getBlock()->getOperations().insertAfter(product->getIterator(), adding);
    product.setOutputsAttr(builder.getArrayAttr({target}));
    product.setWhen(whenOf(begin));
    adding.setOutputsAttr(builder.getArrayAttr({target}));
    adding.setWhen(whenOf(later));
    NamedAttrList settings(adding.getSettings());
    settings.set("residual", builder.getI64IntegerAttr(1));
    adding.setSettingsAttr(settings.getDictionary(adding.getContext()));
    llvm::SmallVector<Attribute> inputs(adding.getInputs().begin(), adding.getInputs().end());
    llvm::SmallVector<int64_t> values(adding.getInputValues());
    const auto residual = static_cast<int64_t>(inputs.size());
    inputs.push_back(target);
    values.push_back(0);
    adding.setInputsAttr(builder.getArrayAttr(inputs));
    adding.setInputValues(values);
    adding.setMayAlias({residual, 0});
    adding.setFlops(adding.getFlops() + static_cast<std::uint64_t>(target.elements()));
    adding.setTraffic(adding.getTraffic() +
                      static_cast<std::uint64_t>(target.elements() * ViewAttr::elementBytes(target.getElementType())));
    uses.erase(source.getBuffer().getAttr());
    symbols.erase(buffer);
    begin.erase();
    later.erase();
  }
};

} // namespace
