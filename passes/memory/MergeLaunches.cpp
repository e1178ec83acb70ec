//===- MergeLaunches.cpp - plan-merge-launches ----------------------------------------===//
//
// A GPU needs some microseconds to start a kernel, longer than the kernel of a bias runs. Only launches that follow one
// another are merged, and only where no operand of one is memory that another writes: their order has no effect.
//
//===----------------------------------------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"

namespace sluice {
#define GEN_PASS_DEF_MERGELAUNCHES
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

/// True if the launches have the same attributes except for those that differ between the tensors of a list.
bool haveCommonAttributes(LaunchOp a, LaunchOp b) {
  const LaunchOp::Properties &of = b.getProperties();
  LaunchOp::Properties common = a.getProperties();
  common.inputs = of.inputs;
  common.outputs = of.outputs;
  common.input_values = of.input_values;
  common.output_values = of.output_values;
  common.flops = of.flops;
  common.traffic = of.traffic;
  common.may_alias = of.may_alias;
  return common == of && a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

/// Launches that one launch can replace, with their accesses by buffer.
struct LaunchList {
  SmallVector<LaunchOp> launches;
  llvm::DenseMap<Attribute, SmallVector<Access, 2>> accesses;

  bool canJoin(LaunchOp next) const {
    if (launches.empty())
      return true;
    LaunchOp first = launches.front();
    const auto type = [](ArrayAttr views) { return cast<ViewAttr>(views[0]).getElementType(); };
    if (!haveCommonAttributes(first, next) || type(first.getInputs()) != type(next.getInputs()) ||
        type(first.getOutputs()) != type(next.getOutputs()))
      return false;
    return llvm::all_of(accessesOf(next), [&](const Access &b) {
      const auto found = accesses.find(b.view.getBuffer());
      return found == accesses.end() || llvm::all_of(found->second, [&](const Access &a) {
               return (!a.writes && !b.writes) || windowsDisjoint(a.view, b.view);
             });
    });
  }
  void add(LaunchOp launch) {
    launches.push_back(launch);
    for (const Access &access : accessesOf(launch))
      accesses[access.view.getBuffer()].push_back(access);
  }
};

struct MergeLaunches : sluice::impl::MergeLaunchesBase<MergeLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](SectionOp section) {
      LaunchList group;
      for (Operation &op : llvm::make_early_inc_range(section.getBody().front())) {
        auto launch = dyn_cast<LaunchOp>(op);
        if (launch && !isMergeable(launch, symbols))
          launch = {};
        if (!launch || !group.canJoin(launch)) {
          merge(group.launches);
          group = LaunchList();
        }
        if (launch)
          group.add(launch);
      }
      merge(group.launches);
    });
  }

  /// True for a launch of a kernel over a list whose input stays live after it: its buffer persists, or has the output.
  static bool isMergeable(LaunchOp launch, SymbolTable &symbols) {
    const KernelRecord *record = findKernelRecord(launch.getKernel());
    if (!record || !computesEach(*record) || launch.getInputs().size() != 1)
      return false;
    auto input = cast<ViewAttr>(launch.getInputs()[0]), output = cast<ViewAttr>(launch.getOutputs()[0]);
    auto buffer = symbols.lookup<BufferOp>(input.getBuffer().getAttr());
    return !buffer.getEntry() || input.getBuffer() == output.getBuffer();
  }

  static void merge(ArrayRef<LaunchOp> group) {
    if (group.size() < 2)
      return;
    LaunchOp first = group.front();
    SmallVector<Location> locations;
    SmallVector<Attribute> inputs, outputs;
    SmallVector<int64_t> inputValues, outputValues, mayAlias;
    std::uint64_t flops = 0, traffic = 0;
    for (auto [index, op] : llvm::enumerate(group)) {
      LaunchOp launch = op;
      locations.push_back(launch.getLoc());
      inputs.push_back(launch.getInputs()[0]);
      outputs.push_back(launch.getOutputs()[0]);
      inputValues.push_back(launch.getInputValues().empty() ? 0 : launch.getInputValues()[0]);
      outputValues.push_back(launch.getOutputValues().empty() ? 0 : launch.getOutputValues()[0]);
      if (!launch.getMayAlias().empty())
        mayAlias.append(2, static_cast<int64_t>(index));
      flops += launch.getFlops();
      traffic += launch.getTraffic();
      if (index != 0)
        launch.erase();
    }
    Builder builder(first.getContext());
    first->setLoc(builder.getFusedLoc(locations));
    first.setInputsAttr(builder.getArrayAttr(inputs));
    first.setOutputsAttr(builder.getArrayAttr(outputs));
    first.setInputValues(inputValues);
    first.setOutputValues(outputValues);
    first.setMayAlias(mayAlias);
    first.setFlops(flops);
    first.setTraffic(traffic);
  }
};

} // namespace
