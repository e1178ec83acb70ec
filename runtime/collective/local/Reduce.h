//===- Reduce.h - the arithmetic of the local collectives -----------------------===//
//
// One formula for every reduction: ((x0 + x1) + x2) + ... in order of rank, in the element's own type for f32, f64 and
// integers, in f32 for bf16 and f16 (rounded once, at the end). mean multiplies the sum by 1 / members (integers:
// divides); premul_sum multiplies each addend by the scale first; max keeps NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_LOCAL_REDUCE_H
#define SLUICE_RUNTIME_COLLECTIVE_LOCAL_REDUCE_H

#include "runtime/collective/Communicator.h"

namespace sluice::local {

/// The address of element 0 of a member's range: nothing is collected into a list.
using SourceOf = std::function<const void *(int member)>;
using DestinationOf = std::function<void *(int member)>;

/// Reduces `count` elements of `sources` members by the call's reduction and writes the result to `destinations`
/// members. An element of a destination may be the same element of a source.
void reduce(const Call &call, std::uint64_t count, int sources, const SourceOf &sourceOf, int destinations,
            const DestinationOf &destinationOf);

} // namespace sluice::local

#endif // SLUICE_RUNTIME_COLLECTIVE_LOCAL_REDUCE_H
