//===- Arena.cpp - the packing problem of an entry point ----------------------------===//
#include "passes/memory/Arena.h"

using namespace mlir;

namespace sluice {

llvm::SmallVector<plan_ir::BufferOp> buffersOf(ModuleOp module, MemorySpace space, llvm::StringRef entry) {
  llvm::SmallVector<plan_ir::BufferOp> buffers;
  for (auto buffer : module.getOps<plan_ir::BufferOp>())
    if (buffer.getSpace() == space && buffer.getEntry().value_or("") == entry)
      buffers.push_back(buffer);
  return buffers;
}

PackingProblem problemOf(llvm::ArrayRef<plan_ir::BufferOp> buffers) {
  PackingProblem problem;
  problem.alignment = arenaAlignment;
  for (plan_ir::BufferOp buffer : buffers)
    problem.buffers.push_back({buffer.getSymName().str(), buffer.getBytes(), uint32_t(buffer.getBegin().value_or(0)),
                               uint32_t(buffer.getEnd().value_or(0)), uint32_t(buffer.getReservedFrom().value_or(0))});
  return problem;
}

} // namespace sluice
