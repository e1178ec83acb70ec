//===- FitSearch.h - finds the settings of a job that fit ---------------------------------------===//
//
// For each combination of mesh, recomputation, offload and precision, plans of one and of two rows are compiled, or of
// the two smallest powers of two that the model can have. The line through their bytes estimates the largest power of
// two of rows that fits, up to 256; plans of it and of its double confirm it. Its half is compiled too, and with
// assertions all smaller powers of two. Plans of equal rows and precision share the phases before recomputation. The
// order of the rows and every number do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_FITSEARCH_H
#define SLUICE_PASSES_DRIVER_FIT_FITSEARCH_H

#include "passes/driver/fit/FitResult.h"

namespace sluice {

/// Compares the settings of a job. A usage or input error for a request that has no answer, whatever fits; otherwise a
/// result, whose status() says whether a setting was found. Prints nothing. Uses up to four threads.
Result<FitResult> findFit(const FitRequest &request);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_FITSEARCH_H
