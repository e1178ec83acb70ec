//===- PlaceDestinations.cpp - plan-place-destinations ------------------------------===//
//
// Turns "make it, then copy it into a window" into "make it in the window".
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"

#include "llvm/ADT/MapVector.h"

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

/// True where no access of the window's buffer between the two positions touches the window.
bool windowIsFree(const llvm::SmallVector<Use> &uses, ViewAttr window, int64_t from, int64_t to) {
  return llvm::all_of(uses, [&](const Use &use) {
    return use.position < from || use.position >= to || windowsDisjoint(use.view, window);
  });
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
        launch.getWhenAttr() != copy.getWhenAttr() || writer.view != source || source.getShape() != window.getShape() ||
        source.getElementType() != window.getElementType())
      return;
    auto &ofWindow = uses[window.getBuffer().getAttr()];
    if (!windowIsFree(ofWindow, window, writer.position, reader.position))
      return;
    replaceViews(launch, [&](ViewAttr view) { return view == source ? window : view; });
    for (Use &use : ofWindow)
      if (use.op == copy.getOperation())
        use = {launch, writer.position, window, true};
    uses.erase(source.getBuffer().getAttr());
    symbols.erase(buffer);
    copy.erase();
  }
};

} // namespace
