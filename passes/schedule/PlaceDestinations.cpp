//===- PlaceDestinations.cpp - plan-place-destinations ------------------------------===//
//
// Replaces a launch and a copy of its result into a window by a launch that writes the window.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"

namespace sluice {
#define GEN_PASS_DEF_PLACEDESTINATIONS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
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
};

} // namespace
