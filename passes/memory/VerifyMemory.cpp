//===- VerifyMemory.cpp - plan-verify-memory ----------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Plan.h"
#include "passes/memory/Arena.h"
#include "passes/solver/PackingChecker.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYMEMORY
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct VerifyMemory : sluice::impl::VerifyMemoryBase<VerifyMemory> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    for (auto buffer : module.getOps<plan_ir::BufferOp>())
      if (!buffer.getOffset()) {
        buffer.emitOpError("has no offset after memory planning");
        return signalPassFailure();
      }
    for (auto arena : module.getOps<plan_ir::ArenaOp>()) {
      // Persistent buffers are live in every entry point.
      auto persistent = buffersOf(module, arena.getSpace(), "");
      for (auto entry : module.getOps<plan_ir::EntryOp>()) {
        auto buffers = persistent;
        buffers.append(buffersOf(module, arena.getSpace(), entry.getSymName()));
        PackingProblem problem = problemOf(buffers);
        PackingSolution solution;
        solution.height = arena.getBytes();
        uint32_t end = 1;
        for (const PackingBuffer &buffer : problem.buffers)
          end = std::max(end, buffer.end);
        for (auto [index, buffer] : llvm::enumerate(buffers)) {
          solution.offsets.push_back(*buffer.getOffset());
          if (index < persistent.size())
            problem.buffers[index].end = end;
        }
        if (Status status = checkPacking(problem, solution); !status.isOk()) {
          emitError(entry.getLoc(), "memory of entry '") << entry.getSymName() << "': " << status.message();
          return signalPassFailure();
        }
      }
    }
  }
};

} // namespace
