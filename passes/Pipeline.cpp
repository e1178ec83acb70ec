//===- Pipeline.cpp - from an imported model to a plan, phase by phase ------------------===//

#include "passes/Pipeline.h"

#include "dialect/model/Attributes.h"
#include "dialect/plan/Plan.h"
#include "dialect/spmd/Spmd.h"
#include "passes/memory/Passes.h"
#include "passes/model/Passes.h"
#include "passes/recipe/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/sharding/Passes.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"

using namespace sluice;

static const PipelinePhase table[] = {
    {"input", "the imported model, verified", buildInput},
    {"prepare", "flat ops in compute precision, fused", buildPrepare},
    {"differentiate", "loss and backward appended, fused with the forward", buildDifferentiate},
    {"optimize", "update appended: the full train step", buildOptimize},
    {"recompute", "forward ops repeated in backward; values numbered, the unsharded program recorded", buildRecompute},
    {"partition", "local tensors on a mesh, gathers and reductions", buildPartition},
    {"prefetch", "gathers issued early, reductions awaited late", buildPrefetch},
    {"lower", "instructions on buffers", buildLower},
    {"streams", "streams and events", buildStreams},
    {"memory", "lifespans and offsets of buffers", buildMemory},
};

llvm::ArrayRef<PipelinePhase> sluice::pipelinePhases() { return table; }

const PipelinePhase *sluice::findPhase(llvm::StringRef name) {
  for (const PipelinePhase &phase : pipelinePhases())
    if (phase.name == name)
      return &phase;
  return nullptr;
}

llvm::StringRef sluice::compiledTo(mlir::ModuleOp module) {
  auto phase = module->getAttrOfType<mlir::StringAttr>(model::compiledToName);
  return phase ? phase.getValue() : llvm::StringRef();
}

Status sluice::runPhases(mlir::ModuleOp module, const PipelinePhase *last,
                         llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase,
                         bool verifiesEachPhase) {
  llvm::ArrayRef<PipelinePhase> all = pipelinePhases();
  unsigned first = 0;
  if (llvm::StringRef done = compiledTo(module); !done.empty()) {
    const PipelinePhase *phase = findPhase(done);
    if (!phase)
      return inputError("'" + model::compiledToName.str() + "', expected a phase but got '" + done.str() + "'");
    first = phase - all.begin() + 1;
  }
  for (unsigned i = first; i < all.size() && (!last || &all[i] <= last); ++i) {
    mlir::PassManager manager(module.getContext());
    // Verified once per phase; sluice-opt verifies after each pass.
    manager.enableVerifier(false);
    all[i].build(manager);
    if (llvm::failed(manager.run(module)))
      return inputError("cannot compile the module: phase '" + all[i].name.str() + "' refuses it");
    const bool isLast = i + 1 == all.size() || &all[i] == last;
    if ((verifiesEachPhase || isLast) && llvm::failed(mlir::verify(module))) {
      const std::string message = "phase '" + all[i].name.str() + "' leaves IR that does not verify";
      return first == 0 ? internalError(message + ", please report it") : editedDump(message);
    }
    module->setAttr(model::compiledToName, mlir::StringAttr::get(module.getContext(), all[i].name));
    if (afterPhase)
      SLUICE_RETURN_IF_ERROR(afterPhase(i + 1, all[i]));
  }
  return Status::ok();
}

/// The note of errors in a module that was a dump.
static constexpr const char *ofDump = "the input is the dump of a phase, which may have been edited";

Status sluice::editedDump(const std::string &message) { return inputError(message).withNote(ofDump); }

Status sluice::checkEmitted(const PlanBytes &bytes, const std::string &dump) {
  const auto refuse = [&](const char *reader, const Status &status) {
    const std::string message = std::string(reader) + " refuses the plan: " + status.message();
    Status error = dump.empty() ? internalError("internal error: " + message) : inputError(dump + ": " + message);
    for (const std::string &note : status.notes())
      error.addNote(note);
    return std::move(error).withNote(dump.empty() ? "this is a bug in Sluice, please report it" : ofDump);
  };
  Result<PlanFile> file = parsePlan(bytes.span(), "plan");
  if (!file.isOk())
    return refuse("the reader", file.status());
  Status status = checkPlan(file->plan);
  return status.isOk() ? status : refuse("the checker", status);
}

void sluice::registerSluiceDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, model::ModelDialect, spmd::SpmdDialect, plan_ir::PlanDialect>();
}

namespace {
/// The settings that a phase's pipeline adds to the module's recipe before its passes.
struct PhaseOptions : mlir::PassPipelineOptions<PhaseOptions> {
  ListOption<std::string> settings{*this, "set", llvm::cl::desc("settings of the recipe, each key=value")};
};
} // namespace

void sluice::registerSluicePasses() {
  registerModelPasses();
  registerShardingPasses();
  registerSchedulePasses();
  registerMemoryPasses();
  registerRecipePasses();
  for (const PipelinePhase &phase : pipelinePhases())
    mlir::PassPipelineRegistration<PhaseOptions>(
        ("sluice-" + phase.name).str(), phase.doc, [&phase](mlir::OpPassManager &manager, const PhaseOptions &options) {
          if (!options.settings.empty())
            manager.addPass(createAttachRecipe({{options.settings.begin(), options.settings.end()}}));
          phase.build(manager);
        });
}
