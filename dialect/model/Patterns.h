//===- Patterns.h - fusion patterns of the op families ---------------------------===//
//
// Fusions of op families. Each family defines its patterns in its own file; the fuse passes run those declared here.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_PATTERNS_H
#define SLUICE_DIALECT_MODEL_PATTERNS_H

#include <cstdint>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace sluice::model {

/// Fusions into the matrix product: bias, then residual. In the backward the sum of two cotangents.
void populateMatmulFusionPatterns(mlir::RewritePatternSet &patterns, bool inBackward);

/// The sum of two cotangents into the gradient of a norm that computes one of them, in the backward.
void populateNormFusionPatterns(mlir::RewritePatternSet &patterns);

/// The gradient of attention without that of a bias that has no use, in the backward.
void populateAttentionFusionPatterns(mlir::RewritePatternSet &patterns);

/// multiply(silu(gate), up) into swiglu.
void populateGateFusionPatterns(mlir::RewritePatternSet &patterns);

/// A cast to a wider type into the op before it, in the backward: the gradient of a parameter has the type in which it
/// is reduced.
void populateCastFusionPatterns(mlir::RewritePatternSet &patterns);

/// gelu and its derivative into the products before them, in train functions that have a backward.
void populateBackwardFusionPatterns(mlir::RewritePatternSet &patterns);

/// Chunked cross entropy: a loss and the product of its logits into one op that computes `rows` rows at a time.
/// `fusions` counts them.
void populateChunkPatterns(mlir::RewritePatternSet &patterns, std::int64_t rows, unsigned &fusions);

/// The fusions of all families without an option. Each keeps the attributes of the op that it replaces.
void populateFusionPatterns(mlir::RewritePatternSet &patterns);

/// Composites from the primitives of imported graphs. Only importers run them: the order of the operations of an op
/// that is written by hand stays.
void populateMovementRecognitionPatterns(mlir::RewritePatternSet &patterns);
void populatePointwiseRecognitionPatterns(mlir::RewritePatternSet &patterns);
void populateActivationRecognitionPatterns(mlir::RewritePatternSet &patterns);
void populateRmsNormRecognitionPatterns(mlir::RewritePatternSet &patterns);
void populateAttentionRecognitionPatterns(mlir::RewritePatternSet &patterns);
/// Products and losses of rows in their dims, which a graph has joined to one.
void populateMatmulRecognitionPatterns(mlir::RewritePatternSet &patterns);
void populateLossRecognitionPatterns(mlir::RewritePatternSet &patterns);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_PATTERNS_H
