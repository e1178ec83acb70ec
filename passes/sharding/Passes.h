//===- Passes.h - the sharding stage: from global tensors to shards -------------------===//
#ifndef SLUICE_PASSES_SHARDING_PASSES_H
#define SLUICE_PASSES_SHARDING_PASSES_H

#include "dialect/spmd/Spmd.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace sluice {

/// One creator for each pass, and registerShardingPasses().
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/sharding/Passes.h.inc"

/// The phase partition: from model to spmd.
void buildPartition(mlir::OpPassManager &manager);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_PASSES_H
