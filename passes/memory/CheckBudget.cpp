//===- CheckBudget.cpp - plan-check-budget -----------------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Plan.h"
#include "passes/memory/Arena.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PackingIntervals.h"

#include "mlir/IR/Diagnostics.h"

#include <map>

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_CHECKBUDGET
#include "passes/memory/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral overBudget = "over the memory budget of one rank";

using Classes = std::map<BufferClass, uint64_t>;

struct Peak {
  std::string entry;
  int64_t at = 0;
  uint64_t bytes = 0;
  Classes classes;
};

uint64_t sumOf(const Classes &classes) {
  uint64_t sum = 0;
  for (const auto &[name, bytes] : classes)
    sum += bytes;
  return sum;
}

/// A buffer that is reserved in the run before is live from the first instant on, and again from `reserved_from`.
bool isLiveAt(plan_ir::BufferOp buffer, int64_t instant) {
  const int64_t reservedFrom = buffer.getReservedFrom().value_or(0), begin = reservedFrom ? 0 : *buffer.getBegin();
  return (begin <= instant && instant < static_cast<int64_t>(*buffer.getEnd())) ||
         (reservedFrom && instant >= reservedFrom);
}

/// The instant of the peak over all entry points.
Peak findPeak(ModuleOp module) {
  Classes persistent;
  for (plan_ir::BufferOp buffer : buffersOf(module, MemorySpace::device, ""))
    persistent[buffer.getBufferClass()] += buffer.getBytes();
  Peak peak{"", 0, sumOf(persistent), persistent};
  for (auto entry : module.getOps<plan_ir::EntryOp>()) {
    auto buffers = buffersOf(module, MemorySpace::device, entry.getSymName());
    const PackingProblem problem = problemOf(buffers);
    const std::vector<uint64_t> live = liveBytes(problem, intervalsOf(problem), /*alignment=*/1);
    const auto most = llvm::max_element(live);
    if (sumOf(persistent) + *most <= peak.bytes)
      continue;
    peak = {entry.getSymName().str(), most - live.begin(), sumOf(persistent) + *most, persistent};
    for (plan_ir::BufferOp buffer : buffers)
      if (isLiveAt(buffer, peak.at))
        peak.classes[buffer.getBufferClass()] += buffer.getBytes();
  }
  return peak;
}

std::string sizeText(uint64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[64];
  snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text;
}

std::string exactSize(uint64_t bytes) {
  return std::to_string(bytes) + " bytes" + (bytes < 1024 ? "" : " (" + sizeText(bytes) + ")");
}

/// An error with its notes if the placed device arena and workspace need more than `budget` bytes.
LogicalResult checkBudget(ModuleOp module, uint64_t budget) {
  uint64_t total = 0, workspace = 0;
  for (auto arena : module.getOps<plan_ir::ArenaOp>())
    if (arena.getSpace() == MemorySpace::device) {
      workspace = arena.getWorkspace();
      total = arena.getBytes() + workspace;
    }
  if (total <= budget)
    return success();
  Peak peak = findPeak(module);
  InFlightDiagnostic error = emitError(module.getLoc(), overBudget)
                             << ", expected at most " << exactSize(budget) << " but got " << exactSize(total);
  std::vector<std::pair<uint64_t, std::string>> holders;
  for (const auto &[name, bytes] : peak.classes)
    if (bytes > 0)
      holders.push_back({bytes, stringifyBufferClass(name).str()});
  if (workspace > 0)
    holders.push_back({workspace, "workspace"});
  std::stable_sort(holders.begin(), holders.end(), [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  for (const auto &[bytes, name] : holders)
    text += (text.empty() ? "" : ", ") + name + " " + sizeText(bytes);
  error.attachNote() << "the peak is at instruction " << peak.at << " of '" << peak.entry << "': " << text;
  return error;
}

struct CheckBudget : impl::CheckBudgetBase<CheckBudget> {
  using CheckBudgetBase::CheckBudgetBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), budget);
    if (failed(recipe) || (recipe->memory.budget && failed(checkBudget(getOperation(), *recipe->memory.budget))))
      signalPassFailure();
  }
};

} // namespace

bool isOverBudgetError(const Diagnostic &diagnostic) {
  return llvm::StringRef(diagnostic.str()).starts_with(overBudget);
}

} // namespace sluice
