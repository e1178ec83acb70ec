//===- PlaceDestinations.cpp - plan-place-destinations ------------------------------===//
//
// Replaces a launch and a copy of its result into a window by a launch that writes the window, and a product and its
// accumulation by a product that adds to the sum.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"

namespace sluice {
#define GEN_PASS_DEF_PLACEDESTINATIONS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

struct Use {
  Operation *op;
  int64_t position;
  ViewAttr view;
  bool writes;
};
using Uses = llvm::DenseMap<StringAttr, llvm::SmallVector<Use>>;

Uses usesOf(EntryOp entry) {
  Uses uses;
  forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
    for (const Access &access : accessesOf(op))
      uses[access.view.getBuffer().getAttr()].push_back({op, position, access.view, access.writes});
  });
  return uses;
}

/// True if no access of the window's buffer between the two positions touches the window, given in two shapes.
bool windowIsFree(const llvm::SmallVector<Use> &uses, ViewAttr window, ViewAttr target, int64_t from, int64_t to) {
  return llvm::all_of(uses, [&](const Use &use) {
    return use.position < from || use.position >= to || windowsDisjoint(use.view, window) ||
           windowsDisjoint(use.view, target);
  });
}

/// The window with another shape of as many elements, read in the same order; null if no strides exist for it.
ViewAttr reshaped(ViewAttr window, llvm::ArrayRef<int64_t> shape) {
  llvm::ArrayRef<int64_t> old = window.getShape();
  if (old == shape)
    return window;
  if (old.empty() || window.getValid())
    return {};
  const llvm::SmallVector<int64_t> strides = window.getOrComputeStrides();
  llvm::SmallVector<int64_t> result(shape.size());
  // Innermost first: dims of the window without a gap between them are split by the shape.
  std::size_t left = shape.size();
  int64_t stride = strides.back(), elements = 1;
  for (std::size_t dim = old.size(); dim-- > 0;) {
    elements *= old[dim];
    if (dim > 0 && (old[dim - 1] == 1 || strides[dim - 1] == elements * stride))
      continue;
    int64_t covered = 1;
    while (left > 0 && (covered < elements || shape[left - 1] == 1)) {
      result[--left] = covered * stride;
      covered *= shape[left];
    }
    if (covered != elements)
      return {};
    if (dim > 0)
      stride = strides[dim - 1];
    elements = 1;
  }
  if (left > 0)
    return {};
  return ViewAttr::get(window.getContext(), window.getBuffer(), window.getElementType(), shape, window.getOffset(),
                       result, window.getStep(), {});
}

/// True if both are the same elements from the same byte on, in order, whatever their dims.
bool isSameRange(ViewAttr a, ViewAttr b) {
  return a == b || (a.getStrides().empty() && b.getStrides().empty() && a.getOffset() == b.getOffset() &&
                    a.getElementType() == b.getElementType() && !a.getStep() && !b.getStep() && !a.getValid() &&
                    !b.getValid() && a.elements() == b.elements());
}

struct PlaceDestinations : sluice::impl::PlaceDestinationsBase<PlaceDestinations> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto entry : module.getOps<EntryOp>()) {
      Uses uses = usesOf(entry);
      llvm::SmallVector<LaunchOp> copies;
      entry.walk([&](LaunchOp op) {
        if (op.getKernel() == "copy")
          copies.push_back(op);
      });
      for (LaunchOp copy : copies)
        forward(copy, uses, symbols);
      llvm::SmallVector<LaunchOp> accumulations;
      entry.walk([&](LaunchOp op) {
        if (op.getKernel() == "accumulate" && isSet(op, "first"))
          accumulations.push_back(op);
      });
      for (LaunchOp begin : accumulations)
        addInProduct(begin, uses, symbols);
    }
  }

  void forward(LaunchOp copy, Uses &uses, SymbolTable &symbols) {
    auto source = cast<ViewAttr>(copy.getInputs()[0]);
    auto window = cast<ViewAttr>(copy.getOutputs()[0]);
    auto &ofSource = uses[source.getBuffer().getAttr()];
    auto buffer = symbols.lookup<BufferOp>(source.getBuffer().getAttr());
    if (ofSource.size() != 2 || source.getBuffer() == window.getBuffer() || !buffer.getEntry() || buffer.getCarried())
      return;
    const Use &writer = ofSource[0], &reader = ofSource[1];
    auto launch = dyn_cast<LaunchOp>(writer.op);
    if (!launch || !writer.writes || reader.op != copy || launch->getBlock() != copy->getBlock() ||
        launch.getWhenAttr() != copy.getWhenAttr() || !isSameRange(writer.view, source) ||
        source.getShape() != window.getShape() || source.getElementType() != window.getElementType())
      return;
    // The dims of the launch's view and of the copy's may differ.
    const ViewAttr written = writer.view, target = reshaped(window, written.getShape());
    if (!target)
      return;
    auto &ofWindow = uses[window.getBuffer().getAttr()];
    if (!windowIsFree(ofWindow, window, target, writer.position, reader.position))
      return;
    replaceViews(launch, [&](ViewAttr view) { return view == written ? target : view; });
    for (Use &use : ofWindow)
      if (use.op == copy.getOperation())
        use = {launch, writer.position, target, true};
    uses.erase(source.getBuffer().getAttr());
    symbols.erase(buffer);
    copy.erase();
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
  void addInProduct(LaunchOp begin, Uses &uses, SymbolTable &symbols) {
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
