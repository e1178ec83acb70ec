//===- Shape.cpp - ops of ATen that move elements ----------------------------------------===//

#include "passes/import/export/Call.h"

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
  const std::int64_t rank = Call::rankOf(self);
  call.set(call.swap(self, call.dim("dim0", rank), call.dim("dim1", rank)));
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

/// `base` with the rows [start, start + written's extent) of a dim replaced.
Value replaceRows(Call &call, Value base, Value written, std::int64_t dim, std::int64_t start) {
  const auto at = static_cast<std::size_t>(dim);
  const std::int64_t size = Call::shapeOf(base)[at], end = start + Call::shapeOf(written)[at];
  llvm::SmallVector<Value> parts;
  if (start > 0)
    parts.push_back(call.slice(base, dim, 0, start));
  parts.push_back(written);
  if (end < size)
    parts.push_back(call.slice(base, dim, end, size));
  return call.join(parts, dim);
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

/// Parts of the sizes of the results along a dim.
void parts(Call &call) {
  Value self = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self));
  if (call.resultCount() == 1)
    return call.set(self);
  llvm::SmallVector<Type> types;
  for (unsigned i = 0; i < call.resultCount(); ++i)
    types.push_back(call.typeLike(self, call.result(i).sizes));
  call.set(call.makeAll<model::SplitOp>(self, {{"dim", call.builder.getI64IntegerAttr(dim)}}, types));
}
Value partsBack(Call &call, Value base, Value written, unsigned index) {
  const std::int64_t dim = call.dim("dim", Call::rankOf(base));
  std::int64_t start = 0;
  for (unsigned i = 0; i < index; ++i)
    start += call.result(i).sizes[static_cast<std::size_t>(dim)];
  return replaceRows(call, base, written, dim, start);
}

void unbind(Call &call) {
  Value self = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self));
  llvm::SmallVector<Value> results;
  for (unsigned i = 0; i < call.resultCount(); ++i)
    results.push_back(call.reshape(call.slice(self, dim, i, i + 1), call.result(i).sizes));
  call.set(results);
}

void expand(Call &call) { call.set(call.broadcast(call.value("self"), call.result().sizes)); }

void broadcastTensors(Call &call) {
  llvm::SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(call.values("tensors")))
    results.push_back(call.broadcast(value, call.result(static_cast<unsigned>(index)).sizes));
  call.set(results);
}

void cat(Call &call) {
  llvm::SmallVector<Value> values;
  for (Value value : call.values("tensors")) {
    // In torch an empty vector is a tensor without rows, whatever the other dims.
    const bool isNothing = Call::shapeOf(value) == llvm::ArrayRef<std::int64_t>{0};
    if (!isNothing)
      values.push_back(call.cast(value, call.elementType(call.result().type)));
  }
  if (values.empty())
    return call.refuse("cat of empty vectors only");
  call.set(call.join(values, call.dim("dim", Call::rankOf(values.front()))));
}

void stack(Call &call) {
  llvm::SmallVector<Value> values;
  const auto rank = static_cast<std::int64_t>(call.result().sizes.size());
  const std::int64_t dim = call.dim("dim", rank);
  if (rank == 0)
    return call.refuse("stack of no dim");
  Sizes shape = call.result().sizes;
  shape[static_cast<std::size_t>(dim)] = 1;
  for (Value value : call.values("tensors"))
    values.push_back(call.reshape(value, shape));
  call.set(call.join(values, dim));
}

/// Each dim of the operand becomes two, of which the first repeats.
void repeat(Call &call) {
  Value self = call.value("self");
  Sizes counts = call.integers("repeats"), separate, repeated;
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

/// Elements before and after those of a dim, by the mode of padding: reflected at the first and last element, equal to
/// them, or those of the other end.
Value padFromInside(Call &call, Value x, std::int64_t dim, std::int64_t before, std::int64_t after,
                    llvm::StringRef mode) {
  const std::int64_t size = call.extentOf(x, dim);
  const std::int64_t most = mode == "reflect" ? size - 1 : mode == "circular" ? size : size == 0 ? 0 : INT64_MAX;
  if (before < 0 || after < 0 || before > most || after > most) {
    call.refuse("padding of mode '" + mode.str() + "' of more elements than there are, or fewer than 0");
    return x;
  }
  llvm::SmallVector<Value> parts;
  const auto one = [&](std::int64_t at) { parts.push_back(call.slice(x, dim, at, at + 1)); };
  const auto some = [&](std::int64_t start, std::int64_t limit) {
    if (limit > start)
      parts.push_back(call.slice(x, dim, start, limit));
  };
  const auto same = [&](std::int64_t at, std::int64_t count) {
    Sizes shape(Call::shapeOf(x));
    shape[static_cast<std::size_t>(dim)] = count;
    if (count > 0)
      parts.push_back(call.broadcast(call.slice(x, dim, at, at + 1), shape));
  };
  if (mode == "reflect")
    for (std::int64_t i = before; i > 0; --i)
      one(i);
  else if (mode == "replicate")
    same(0, before);
  else
    some(size - before, size);
  parts.push_back(x);
  if (mode == "reflect")
    for (std::int64_t i = 0; i < after; ++i)
      one(size - 2 - i);
  else if (mode == "replicate")
    same(size - 1, after);
  else
    some(0, after);
  return call.join(parts, dim);
}

/// Pairs of numbers of elements before and after, for the last dim first; negative ones remove elements.
void pad(Call &call) {
  Value self = call.value("self");
  const std::string mode = call.text("mode");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    return call.refuse("padding of mode '" + mode + "'");
  const Sizes pairs = call.integers("pad");
  const std::size_t rank = Call::shapeOf(self).size();
  if (pairs.size() > 2 * rank || pairs.size() % 2 != 0)
    return call.refuse("argument 'pad' is no list of pairs");
  if (mode != "constant") {
    for (std::size_t i = 0; i < pairs.size() / 2; ++i)
      self = padFromInside(call, self, static_cast<std::int64_t>(rank - 1 - i), pairs[2 * i], pairs[2 * i + 1], mode);
    return call.set(self);
  }
  Sizes low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    const std::size_t dim = rank - 1 - i;
    const std::int64_t size = Call::shapeOf(self)[dim], before = pairs[2 * i], after = pairs[2 * i + 1];
    self = call.slice(self, static_cast<std::int64_t>(dim), std::max<std::int64_t>(-before, 0),
                      size - std::max<std::int64_t>(-after, 0));
    low[dim] = std::max<std::int64_t>(before, 0), high[dim] = std::max<std::int64_t>(after, 0);
  }
  if (llvm::all_of(low, [](std::int64_t n) { return n == 0; }) &&
      llvm::all_of(high, [](std::int64_t n) { return n == 0; }))
    return call.set(self);
  call.set(call.pad(self, low, high, call.optionalNumber("value").value_or(0)));
}

/// Elements that leave at the end come in at the beginning.
void roll(Call &call) {
  Value self = call.value("self");
  const Sizes shifts = call.integers("shifts"), dims = call.integers("dims");
  if (dims.size() != shifts.size())
    return call.refuse("roll without a dim for each shift");
  for (auto [shift, given] : llvm::zip_equal(shifts, dims)) {
    const std::int64_t dim = given < 0 ? given + Call::rankOf(self) : given;
    const std::int64_t size = call.extentOf(self, dim);
    const std::int64_t first = size == 0 ? 0 : ((-shift % size) + size) % size;
    if (first != 0)
      self = call.join({call.slice(self, dim, first, size), call.slice(self, dim, 0, first)}, dim);
  }
  call.set(self);
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
    {"alias.default", same, Memory::view, sameBack},
    {"broadcast_tensors.default", broadcastTensors},
    {"broadcast_to.default", expand, Memory::view},
    {"cat.default", cat},
    {"chunk.default", parts, Memory::view, partsBack},
    {"clone.default", same},
    {"contiguous.default", same, Memory::viewIfContiguous, sameBack},
    {"detach.default", detach, Memory::view, sameBack},
    {"expand.default", expand, Memory::view},
    {"expand_as.default", expand, Memory::view},
    {"glu.default", gatedHalf},
    {"flatten.using_ints", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"lift_fresh_copy.default", same},
    {"numpy_T.default", reverseDims},
    {"pad.default", pad},
    {"permute.default", permute, Memory::view, permuteBack},
    {"repeat.default", repeat},
    {"repeat_interleave.self_int", repeatEach},
    {"reshape.default", reshaped, Memory::viewIfContiguousElseUnknown, reshapedBack},
    {"roll.default", roll},
    {"select.int", select, Memory::view, selectBack},
    {"slice.Tensor", slice, Memory::view, sliceBack},
    {"split.Tensor", parts, Memory::view, partsBack},
    {"split_with_sizes.default", parts, Memory::view, partsBack},
    {"squeeze.default", reshaped, Memory::view, reshapedBack},
    {"squeeze.dim", reshaped, Memory::view, reshapedBack},
    {"squeeze.dims", reshaped, Memory::view, reshapedBack},
    {"stack.default", stack},
    {"t.default", transposeMatrix, Memory::view, transposeMatrixBack},
    {"transpose.int", swapDims, Memory::view, swapDimsBack},
    {"unbind.int", unbind, Memory::view},
    {"unflatten.int", reshaped, Memory::view, reshapedBack},
    {"unsqueeze.default", reshaped, Memory::view, reshapedBack},
    {"view.default", reshaped, Memory::view, reshapedBack},
    {"view_as.default", reshaped, Memory::view, reshapedBack},
    {"_unsafe_view.default", reshaped},
};

} // namespace sluice::exported::shape

llvm::ArrayRef<AtenOp> exported::shapeOps() { return shape::table; }
