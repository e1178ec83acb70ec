//===- PlaceDestinations.cpp - plan-place-destinations ------------------------------===//
//
// Replaces a launch and a copy of its result into a window by a launch that writes the window.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "passes/schedule/BufferUses.h"

namespace sluice {
#define GEN_PASS_DEF_PLACEDESTINATIONS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

struct PlaceDestinations : sluice::impl::PlaceDestinationsBase<PlaceDestinations> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto entry : module.getOps<EntryOp>()) {
      BufferUses uses = usesOf(entry);
      llvm::SmallVector<LaunchOp> copies;
      entry.walk([&](LaunchOp op) {
        if (op.getKernel() == "copy")
          copies.push_back(op);
      });
      for (LaunchOp copy : copies)
        forward(copy, uses, symbols);
    }
  }

  void forward(LaunchOp copy, BufferUses &uses, SymbolTable &symbols) {
    auto source = cast<ViewAttr>(copy.getInputs()[0]);
    auto window = cast<ViewAttr>(copy.getOutputs()[0]);
    auto &ofSource = uses[source.getBuffer().getAttr()];
    auto buffer = symbols.lookup<BufferOp>(source.getBuffer().getAttr());
    if (ofSource.size() != 2 || source.getBuffer() == window.getBuffer() || !buffer.getEntry() || buffer.getCarried())
      return;
    const BufferUse &writer = ofSource[0], &reader = ofSource[1];
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
    for (BufferUse &use : ofWindow)
      if (use.op == copy.getOperation())
        use = {launch, writer.position, target, true};
    uses.erase(source.getBuffer().getAttr());
    symbols.erase(buffer);
    copy.erase();
  }
};

} // namespace
