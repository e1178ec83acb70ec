//===- AssignStreams.cpp - plan-assign-streams --------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/LaunchOperands.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

namespace sluice {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

uint64_t workspaceOf(LaunchOp op, const sluice::KernelTarget &target) {
  return sluice::workspaceCap(op.getKernel(), sluice::launchOperands(op.getInputs()),
                              sluice::launchOperands(op.getOutputs()),
                              sluice::launchAttributes(op.getSettings().getValue()), target);
}

/// Collectives that use SMs, from their start to their await in issue order.
class CollectivesInFlight {
public:
  explicit CollectivesInFlight(const sluice::Recipe::Collective &settings) : settings(settings) {}

  void visit(Operation *op) {
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      const bool byCopyEngines = settings.copyEngines && collective.getKind() == CollectiveKind::all_gather;
      if (collective.getToken() && !byCopyEngines)
        tokens.insert(*collective.getToken());
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      tokens.erase(await.getToken());
    }
  }
  /// The SMs that a matrix product leaves to them.
  int64_t smMargin() const { return tokens.empty() ? 0 : settings.maxCtas; }

private:
  const sluice::Recipe::Collective &settings;
  llvm::SmallSet<int64_t, 8> tokens;
};

struct AssignStreams : sluice::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<sluice::Recipe> recipe =
        sluice::recipeFor(module, deviceKind, threadCount, instructionSet, maxCtas, copyEngines);
    if (failed(recipe))
      return signalPassFailure();
    const int threads = recipe->target.threads;
    const std::string isa = stringifyEnum(*recipe->target.isa).str(),
                      device = stringifyEnum(recipe->target.device).str();
    std::map<StreamKind, uint64_t> workspace;
    std::set<StreamKind> used = {StreamKind::compute};
    llvm::StringSet<> inHost;
    for (auto buffer : module.getOps<BufferOp>())
      if (buffer.getSpace() == MemorySpace::host)
        inHost.insert(buffer.getSymName());
    const Streams streams(module);
    for (auto entry : module.getOps<EntryOp>()) {
      CollectivesInFlight inFlight{recipe->collective};
      forEachInstruction(entry, [&](Operation *op, int64_t, SectionOp) {
        inFlight.visit(op);
        // The lowering has assigned streams to collectives, transfers, host work and casts before gathers.
        StreamKind stream = streams.kindOf(op).value_or(StreamKind::compute);
        if (auto copy = dyn_cast<CopyOp>(op); copy && streamOf(op).empty() &&
                                              inHost.contains(copy.getSource().getBuffer().getValue()) &&
                                              inHost.contains(copy.getDestination().getBuffer().getValue()))
          stream = StreamKind::host;
        used.insert(stream);
        op->setAttr("stream", FlatSymbolRefAttr::get(&getContext(), stringifyStreamKind(stream)));
        if (auto launch = dyn_cast<LaunchOp>(op)) {
          // Host work uses CPU kernels for every device.
          launch.setWorkspace(
              workspaceOf(launch, {stream == StreamKind::host ? std::string_view("cpu") : device, threads, isa}));
          uint64_t &largest = workspace[stream];
          largest = std::max<uint64_t>(largest, launch.getWorkspace());
          if (recipe->target.device == TargetDevice::cuda && findKernelRecord(launch.getKernel())->isLibraryProduct())
            launch.setSmMargin(inFlight.smMargin());
        }
      });
    }
    addStreams(module, used, workspace);
  }

  static void addStreams(ModuleOp module, const std::set<StreamKind> &used, std::map<StreamKind, uint64_t> &workspace) {
    for (auto old : llvm::make_early_inc_range(module.getOps<StreamOp>()))
      old.erase();
    auto entries = module.getOps<EntryOp>();
    if (entries.empty())
      return;
    OpBuilder builder(*entries.begin());
    auto buffers = module.getOps<BufferOp>();
    if (!buffers.empty())
      builder.setInsertionPoint(*buffers.begin());
    // Collectives and copies have a higher priority: other streams wait for them.
    for (StreamKind kind : used) {
      const bool onHost = kind == StreamKind::host;
      auto stream = StreamOp::create(builder, module.getLoc(), stringifyStreamKind(kind), kind,
                                     onHost ? Processor::host : Processor::device);
      stream.setPriority(kind == StreamKind::compute || onHost ? 0 : 1);
      stream.setWorkspace(workspace[kind]);
    }
  }
};

} // namespace
