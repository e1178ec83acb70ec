//===- Layout.h - fewer transposes of images ------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_LAYOUT_H
#define SLUICE_PASSES_IMPORT_EXPORT_LAYOUT_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace sluice::exported {

/// torch has the channels first, and the ops of images have them last, between two transposes. The patterns move the
/// second transpose to the users of its result, until it meets the first transpose of another op and both cancel.
void populateLayoutPatterns(mlir::RewritePatternSet &patterns);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_LAYOUT_H
