//===- Shape.cpp - ops of ATen that move elements ----------------------------------------===//

#include "passes/import/export/aten/Elements.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::shape {

using Sizes = llvm::SmallVector<std::int64_t>;

/// The same elements in the shape of the result, which the archive states.
void reshaped(Call &call) { call.set(call.reshape(call.value("self"), call.result().sizes)); }
Value reshapedBack(Call &call, Value base, Value written, unsigned) {
  return call.reshape(written, Call::shapeOf(base));
}

void same(Call &call) { call.set(call.value("self")); }

void detach(Call &call) { call.set(call.make<model::StopGradientOp>(call.value("self"))); }

void swapDims(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self), first = call.dim("dim0", rank), second = call.dim("dim1", rank);
  call.set(first == second ? self : call.swap(self, first, second));
}
Value swapDimsBack(Call &call, Value base, Value written, unsigned) {
  const std::int64_t rank = Call::rankOf(base);
  return call.swap(written, call.dim("dim0", rank), call.dim("dim1", rank));
}

void transposeMatrix(Call &call) {
  Value self = call.value("self");
  call.set(Call::rankOf(self) < 2 ? self : call.swap(self, 0, 1));
}
Value transposeMatrixBack(Call &call, Value, Value written, unsigned) {
  return Call::rankOf(written) < 2 ? written : call.swap(written, 0, 1);
}

void reverseDims(Call &call) {
  Value self = call.value("self");
  Sizes permutation = llvm::to_vector(llvm::reverse(llvm::seq<std::int64_t>(0, Call::rankOf(self))));
  call.set(call.transpose(self, permutation));
}

void swapLastDims(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  call.set(rank < 2 ? self : call.swap(self, rank - 2, rank - 1));
}
Value swapLastDimsBack(Call &call, Value, Value written, unsigned) {
  const std::int64_t rank = Call::rankOf(written);
  return rank < 2 ? written : call.swap(written, rank - 2, rank - 1);
}

/// Dims to other places; the rest keeps its order.
void moveDims(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  Sizes from = call.integers("source"), to = call.integers("destination"),
        permutation(static_cast<std::size_t>(rank), -1);
  if (from.size() != to.size())
    return call.refuse("movedim with another number of places than dims");
  for (auto [source, target] : llvm::zip_equal(from, to)) {
    source = source < 0 ? source + rank : source;
    target = target < 0 ? target + rank : target;
    if (target < 0 || target >= rank || source < 0 || source >= rank)
      return call.refuse("movedim of a dim that the tensor has not");
    permutation[static_cast<std::size_t>(target)] = source;
  }
  std::int64_t next = 0;
  for (std::int64_t &place : permutation) {
    while (llvm::is_contained(from, next))
      ++next;
    place = place < 0 ? next++ : place;
  }
  call.set(call.transpose(self, permutation));
}

void narrow(Call &call) {
  Value self = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self)), size = call.extentOf(self, dim),
                     given = call.integer("start");
  const std::int64_t start = given < 0 ? given + size : given;
  call.set(call.slice(self, dim, start, start + call.integer("length")));
}

Sizes permutationOf(Call &call, std::int64_t rank) {
  Sizes permutation = call.integers("dims");
  for (std::int64_t &dim : permutation)
    dim = dim < 0 ? dim + rank : dim;
  Sizes sorted = permutation;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<std::int64_t>(0, rank))) {
    call.refuse("argument 'dims' is no permutation");
    return llvm::to_vector(llvm::seq<std::int64_t>(0, rank));
  }
  return permutation;
}
void permute(Call &call) {
  Value self = call.value("self");
  call.set(call.transpose(self, permutationOf(call, Call::rankOf(self))));
}
Value permuteBack(Call &call, Value base, Value written, unsigned) {
  Sizes permutation = permutationOf(call, Call::rankOf(base)), inverse(permutation.size());
  for (auto [index, dim] : llvm::enumerate(permutation))
    inverse[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(index);
  return call.transpose(written, inverse);
}

/// A range of a dim, as torch clips it.
struct Range {
  std::int64_t dim, start, limit, step;
};
Range rangeOf(Call &call, Value base) {
  const std::int64_t dim = call.dim("dim", Call::rankOf(base)), size = call.extentOf(base, dim);
  const auto clip = [&](std::optional<double> given, std::int64_t otherwise) {
    if (!given)
      return otherwise;
    // The largest integer means the end.
    const std::int64_t value = *given >= 0x1p62 ? size : static_cast<std::int64_t>(*given);
    return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const std::int64_t start = clip(call.optionalNumber("start"), 0), step = call.integer("step");
  const std::int64_t limit = std::max(start, clip(call.optionalNumber("end"), size));
  if (step < 1)
    call.refuse("slice with a step below 1");
  return {dim, start, limit, std::max<std::int64_t>(step, 1)};
}
void slice(Call &call) {
  Value self = call.value("self");
  const Range range = rangeOf(call, self);
  call.set(call.slice(self, range.dim, range.start, range.limit, range.step));
}

Value sliceBack(Call &call, Value base, Value written, unsigned) {
  const Range range = rangeOf(call, base);
  if (range.step != 1)
    call.refuse("a write to every second element of a dim, or fewer");
  if (Call::shapeOf(written)[static_cast<std::size_t>(range.dim)] == 0)
    return base;
  return replaceRows(call, base, written, range.dim, range.start);
}

struct Position {
  std::int64_t dim, index;
};
Position positionOf(Call &call, Value base) {
  const std::int64_t dim = call.dim("dim", Call::rankOf(base)), size = call.extentOf(base, dim);
  const std::int64_t index = call.integer("index");
  return {dim, index < 0 ? index + size : index};
}
void select(Call &call) {
  Value self = call.value("self");
  const auto [dim, index] = positionOf(call, self);
  call.set(call.reshape(call.slice(self, dim, index, index + 1), call.result().sizes));
}
Value selectBack(Call &call, Value base, Value written, unsigned) {
  const auto [dim, index] = positionOf(call, base);
  if (!call.problem().empty())
    return base;
  Sizes shape(Call::shapeOf(base));
  shape[static_cast<std::size_t>(dim)] = 1;
  return replaceRows(call, base, call.reshape(written, shape), dim, index);
}

void expand(Call &call) { call.set(call.broadcast(call.value("self"), call.result().sizes)); }

/// Each dim of the operand becomes two, of which the first repeats.
void repeat(Call &call) {
  Value self = call.value("self");
  Sizes counts = call.integers(call.has("dims") ? "dims" : "repeats"), separate, repeated;
  // tile has as many numbers as dims, or fewer.
  if (call.has("dims") && counts.size() < Call::shapeOf(self).size())
    counts.insert(counts.begin(), Call::shapeOf(self).size() - counts.size(), 1);
  Sizes sizes(counts.size() - std::min<std::size_t>(counts.size(), Call::shapeOf(self).size()), 1);
  sizes.append(Call::shapeOf(self).begin(), Call::shapeOf(self).end());
  if (sizes.size() != counts.size())
    return call.refuse("argument 'repeats' has fewer numbers than the tensor dims");
  for (auto [count, size] : llvm::zip_equal(counts, sizes)) {
    separate.append({1, size});
    repeated.append({count, size});
  }
  call.set(call.reshape(call.broadcast(call.reshape(self, separate), repeated), call.result().sizes));
}

/// Each element of a dim, or of all elements as one dim, several times.
void repeatEach(Call &call) {
  Value self = call.value("self");
  if (call.isNone("dim"))
    self = call.reshape(self, {cast<RankedTensorType>(self.getType()).getNumElements()});
  const std::int64_t rank = Call::rankOf(self), count = call.integer("repeats");
  if (rank == 0)
    return call.refuse("repeat_interleave of a scalar");
  const auto dim = static_cast<std::ptrdiff_t>(call.isNone("dim") ? 0 : call.dim("dim", rank));
  Sizes separate(Call::shapeOf(self)), repeated = separate;
  separate.insert(separate.begin() + dim + 1, 1);
  repeated.insert(repeated.begin() + dim + 1, count);
  call.set(call.reshape(call.broadcast(call.reshape(self, separate), repeated), call.result().sizes));
}

/// Elements that leave at the end come in at the beginning.
void roll(Call &call) {
  Value self = call.value("self");
  Sizes shifts = call.integers("shifts"), dims = call.integers("dims");
  // Without dims all elements are one dim.
  if (dims.empty() && shifts.size() == 1) {
    dims.push_back(0);
    self = call.reshape(self, {cast<RankedTensorType>(self.getType()).getNumElements()});
  }
  if (dims.size() != shifts.size())
    return call.refuse("roll without a dim for each shift");
  for (auto [shift, given] : llvm::zip_equal(shifts, dims)) {
    const std::int64_t dim = given < 0 ? given + Call::rankOf(self) : given;
    const std::int64_t size = call.extentOf(self, dim);
    const std::int64_t first = size == 0 ? 0 : ((-shift % size) + size) % size;
    if (first != 0)
      self = call.join({call.slice(self, dim, first, size), call.slice(self, dim, 0, first)}, dim);
  }
  call.set(call.reshape(self, call.result().sizes));
}

/// The first half of a dim, gated by the second.
void gatedHalf(Call &call) {
  Value self = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self)), size = call.extentOf(self, dim);
  if (size % 2 != 0)
    return call.refuse("glu of a dim of " + std::to_string(size) + " elements");
  Value gate = call.make<model::SigmoidOp>(call.slice(self, dim, size / 2, size));
  call.set(call.make<model::MultiplyOp>({call.slice(self, dim, 0, size / 2), gate}));
}

constexpr AtenOp table[] = {
    {"_unsafe_view.default", reshaped},
    {"adjoint.default", swapLastDims, Memory::view, swapLastDimsBack},
    {"alias.default", same, Memory::view, sameBack},
    {"alias_copy.default", same},
    {"atleast_1d.default", reshaped, Memory::view, reshapedBack},
    {"atleast_2d.default", reshaped, Memory::view, reshapedBack},
    {"atleast_3d.default", reshaped, Memory::view, reshapedBack},
    {"broadcast_to.default", expand, Memory::view},
    {"clone.default", same},
    {"contiguous.default", same, Memory::viewIfContiguous, sameBack},
    {"detach.default", detach, Memory::view, sameBack},
    {"expand.default", expand, Memory::view},
    {"expand_as.default", expand, Memory::view},
    {"expand_copy.default", expand},
    {"flatten.using_ints", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"glu.default", gatedHalf},
    {"lift_fresh_copy.default", same},
    {"mH.default", swapLastDims, Memory::view, swapLastDimsBack},
    {"mT.default", swapLastDims, Memory::view, swapLastDimsBack},
    {"matrix_H.default", transposeMatrix, Memory::view, transposeMatrixBack},
    {"movedim.int", moveDims, Memory::view},
    {"movedim.intlist", moveDims, Memory::view},
    {"narrow.default", narrow, Memory::view},
    {"narrow_copy.default", narrow},
    {"numpy_T.default", reverseDims},
    {"permute.default", permute, Memory::view, permuteBack},
    {"permute_copy.default", permute},
    {"ravel.default", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"real.default", same, Memory::view, sameBack},
    {"repeat.default", repeat},
    {"repeat_interleave.self_int", repeatEach},
    {"reshape.default", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"reshape_as.default", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"resolve_conj.default", same, Memory::view, sameBack},
    {"resolve_neg.default", same, Memory::view, sameBack},
    {"roll.default", roll},
    {"select.int", select, Memory::view, selectBack},
    {"slice.Tensor", slice, Memory::view, sliceBack},
    {"squeeze.default", reshaped, Memory::view, reshapedBack},
    {"squeeze.dim", reshaped, Memory::view, reshapedBack},
    {"squeeze.dims", reshaped, Memory::view, reshapedBack},
    {"squeeze_copy.default", reshaped},
    {"squeeze_copy.dim", reshaped},
    {"squeeze_copy.dims", reshaped},
    {"t.default", transposeMatrix, Memory::view, transposeMatrixBack},
    {"t_copy.default", transposeMatrix},
    {"tile.default", repeat},
    {"transpose.int", swapDims, Memory::view, swapDimsBack},
    {"transpose_copy.int", swapDims},
    {"unflatten.int", reshaped, Memory::view, reshapedBack},
    {"unsqueeze.default", reshaped, Memory::view, reshapedBack},
    {"unsqueeze_copy.default", reshaped},
    {"view.default", reshaped, Memory::view, reshapedBack},
    {"view_as.default", reshaped, Memory::view, reshapedBack},
    {"view_copy.default", reshaped},
};

} // namespace sluice::exported::shape

llvm::ArrayRef<AtenOp> exported::shapeOps() { return shape::table; }
