//===- Inline.h - recompute regions join the backward ---------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_INLINE_H
#define SLUICE_PASSES_SHARDING_INLINE_H

#include "mlir/IR/Block.h"

namespace sluice {

/// The ops of recompute regions join the backward, where the regions stand.
void inlineRecompute(mlir::Block &block);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_INLINE_H
