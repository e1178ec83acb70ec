//===- Patterns.h - the rewrites that op families contribute ---------------------===//
//
// A family that can absorb its neighbours says so in its own file; the fuse pass only runs what stands here.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_PATTERNS_H
#define SLUICE_DIALECT_MODEL_PATTERNS_H

#include <cstdint>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace sluice::model {

/// Fusions into the matrix product: bias, then residual.
void populateMatmulFusionPatterns(mlir::RewritePatternSet &patterns);

/// silu and the product with it, into swiglu.
void populateGateFusionPatterns(mlir::RewritePatternSet &patterns);

/// gelu and its derivative into the products before them, once the backward is there: into those of train functions.
void populateBackwardFusionPatterns(mlir::RewritePatternSet &patterns);

/// A loss and the product that gives its logits, into one op that makes `rows` rows of them at a time. `made` counts them.
void populateChunkPatterns(mlir::RewritePatternSet &patterns, std::int64_t rows, unsigned &made);

/// The fusions of all families that always pay. Each keeps the attributes of the op that it replaces.
void populateFusionPatterns(mlir::RewritePatternSet &patterns);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_PATTERNS_H
