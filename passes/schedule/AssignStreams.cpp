//===- AssignStreams.cpp - plan-assign-streams --------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "passes/recipe/RecipeAttr.h"
#include "runtime/kernel/Kernel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace sluice {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

sluice::DType dtypeOf(Type type) {
  if (type.isF64())
    return sluice::DType::f64;
  if (type.isBF16())
    return sluice::DType::bf16;
  if (type.isF16())
    return sluice::DType::f16;
  if (type.isF32())
    return sluice::DType::f32;
  const unsigned width = type.getIntOrFloatBitWidth();
  return width == 64 ? sluice::DType::i64 : width == 32 ? sluice::DType::i32 : sluice::DType::u8;
}

sluice::Operand operandOf(ViewAttr view) {
  sluice::Operand operand;
  operand.dtype = dtypeOf(view.getElementType());
  operand.rank = view.getShape().size();
  int64_t stride = 1;
  for (int d = operand.rank - 1; d >= 0; --d) {
    operand.shape[d] = operand.extent[d] = operand.global[d] = view.getShape()[d];
    operand.strides[d] = view.getStrides().empty() ? stride : view.getStrides()[d];
    stride *= view.getShape()[d];
  }
  return operand;
}

sluice::Attributes attributesOf(DictionaryAttr settings) {
  std::vector<sluice::Attributes::Item> items;
  for (NamedAttribute attribute : settings) {
    sluice::Attributes::Item item;
    item.name = std::string_view(attribute.getName().data(), attribute.getName().size());
    if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue()))
      item.integer = integer.getValue().getZExtValue();
    else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      item.number = number.getValueAsDouble();
    else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      item.list.assign(list.asArrayRef().begin(), list.asArrayRef().end());
    items.push_back(std::move(item));
  }
  return sluice::Attributes(std::move(items));
}

uint64_t workspaceOf(LaunchOp op, const sluice::KernelTarget &target) {
  std::vector<sluice::Operand> inputs, outputs;
  for (ViewAttr view : op.getInputs().getAsRange<ViewAttr>())
    inputs.push_back(operandOf(view));
  for (ViewAttr view : op.getOutputs().getAsRange<ViewAttr>())
    outputs.push_back(operandOf(view));
  return sluice::workspaceCap(op.getKernel(), inputs, outputs, attributesOf(op.getSettings()), target);
}

struct AssignStreams : sluice::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<sluice::Recipe> recipe = sluice::recipeFor(module, deviceKind, threadCount, instructionSet);
    if (failed(recipe))
      return signalPassFailure();
    const int threads = recipe->target.threads;
    const std::string isa = stringifyEnum(*recipe->target.isa).str(), device = stringifyEnum(recipe->target.device).str();
    llvm::StringMap<uint64_t> workspace;
    llvm::StringSet<> used, inHost;
    for (auto buffer : module.getOps<BufferOp>())
      if (buffer.getSpace() == "host")
        inHost.insert(buffer.getSymName());
    used.insert("compute");
    for (auto entry : module.getOps<EntryOp>())
      forEachInstruction(entry, [&](Operation *op, int64_t, SectionOp) {
        // What the lowering has placed stays: work of the host, and casts before gathers.
        StringRef stream = streamOf(op).empty() ? "compute" : streamOf(op);
        if (auto copy = dyn_cast<CopyOp>(op)) {
          const bool fromHost = inHost.contains(copy.getSource().getBuffer().getValue());
          const bool toHost = inHost.contains(copy.getDestination().getBuffer().getValue());
          stream = copy.getToken() ? (toHost ? "offload" : "fetch") : fromHost && toHost ? "host" : "compute";
        }
        if (auto collective = dyn_cast<CollectiveOp>(op))
          // Compute waits for what crosses ranks of one micro-batch: it does not queue behind gathers and reductions of units.
          stream = isOfParts(collective)                   ? "tensor"
                   : collective.getKind() == "all_gather" ? "gather"
                                                           : "reduce";
        used.insert(stream);
        op->setAttr("stream", FlatSymbolRefAttr::get(&getContext(), stream));
        if (auto launch = dyn_cast<LaunchOp>(op)) {
          // What the host runs has the kernels of a CPU, whatever the device.
          launch.setWorkspace(workspaceOf(launch, {stream == "host" ? std::string_view("cpu") : device, threads, isa}));
          uint64_t &largest = workspace[stream];
          largest = std::max<uint64_t>(largest, launch.getWorkspace());
        }
      });
    addStreams(module, used, workspace);
  }

  static bool isOfParts(CollectiveOp collective) {
    // Units are sharded over experts' ranks as well.
    bool isOfUnit = collective.getUnit() != std::nullopt;
    return llvm::all_of(collective.getAxes(), [&](Attribute axis) {
      StringRef name = cast<StringAttr>(axis).getValue();
      return name == "tensor" || (name == "expert" && !isOfUnit);
    });
  }

  static void addStreams(ModuleOp module, const llvm::StringSet<> &used, const llvm::StringMap<uint64_t> &workspace) {
    for (auto old : llvm::make_early_inc_range(module.getOps<StreamOp>()))
      old.erase();
    auto entries = module.getOps<EntryOp>();
    if (entries.empty())
      return;
    OpBuilder builder(*entries.begin());
    auto buffers = module.getOps<BufferOp>();
    if (!buffers.empty())
      builder.setInsertionPoint(*buffers.begin());
    // Collectives and copies first where a processor must choose: others wait for them.
    for (auto [name, priority] :
         {std::pair("compute", 0), std::pair("gather", 1), std::pair("reduce", 1), std::pair("tensor", 1),
          std::pair("fetch", 1), std::pair("offload", 1), std::pair("host", 0)})
      if (used.contains(name)) {
        auto stream = StreamOp::create(builder, module.getLoc(), name, StringRef(name) == "host" ? "host" : "device");
        stream.setPriority(priority);
        stream.setWorkspace(workspace.lookup(name));
      }
  }
};

} // namespace
