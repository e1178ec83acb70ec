//===- Parts.h - parts of a root whose elements have indices of their own ------------------===//
//
// A rank's part of a parameter, or a value that a view repeats, is often divided again, by chunks that no digits of the
// root describe: the chunk of a rank's rows of Q, K and V ends within one of them. The elements of such a part have the
// indices 0, 1, .. in row-major order, and chunks of these are affine. A part says which element of the root each of
// them is, on each rank.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_PARTS_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_PARTS_H

#include "runtime/plan/check/proof/Sharding.h"

#include <map>

namespace sluice::check::proof {

/// Position in Parts, from 1; 0: no part.
using PartId = std::uint32_t;

/// One dim: the elements in order.
struct Part {
  Shard shard;
  std::int64_t elements() const { return extentOf(shard.at.dims.front()); }
};

class Parts {
public:
  /// The part with the elements of `shard` in row-major order; equal ones have one id.
  PartId of(const Shard &shard);
  const Part &operator[](PartId id) const { return parts[id - 1]; }
  /// The elements of a shard of the part, as those of the root of `elements` elements; nullopt if no digits describe
  /// them. `ends`, if given, gets the ends of padding in the root, by those in the part.
  std::optional<Shard> inRoot(PartId id, const Shard &shard, std::int64_t elements,
                              std::span<const std::uint32_t> sizes,
                              std::map<std::int64_t, std::int64_t> *ends = nullptr) const;

private:
  std::vector<Part> parts;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_PARTS_H
