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

/// The element type and operation of a reduction.
struct Reducer {
  DType dtype = DType::f32;
  Reduction op = Reduction::sum;
  double scale = 1;
};

/// Pointers of all members to the same elements, by an accessor, so that nothing is collected into a list.
/// `member(context, m)` gives the address of element 0 of the range.
struct MemberPointers {
  void *(*member)(const void *context, int m);
  const void *context;
  int count;
  void *operator()(int m) const { return member(context, m); }
};

/// Reduces `count` elements of all `sources` and writes the result to all `destinations`. An element of a destination
/// may be the same element of a source.
void reduce(const Reducer &reducer, std::uint64_t count, const MemberPointers &sources,
            const MemberPointers &destinations);

} // namespace sluice::local

#endif // SLUICE_RUNTIME_COLLECTIVE_LOCAL_REDUCE_H
