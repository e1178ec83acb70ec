//===- Rearrange.cpp - ops of ATen whose results are elements of their operand by a pattern ---===//

#include "passes/import/export/aten/Elements.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::rearrange {

using Sizes = llvm::SmallVector<std::int64_t>;

std::int64_t dotOf(Index index, llvm::ArrayRef<std::int64_t> strides) {
  std::int64_t at = 0;
  for (auto [each, stride] : llvm::zip_equal(index, strides))
    at += each * stride;
  return at;
}

Value flipped(Call &call, Value x, std::int64_t dim) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = call.extentOf(x, dim); i-- > 0;)
    indices.push_back(i);
  return takeSlices(call, x, dim, indices);
}

/// `dims` are sorted; an empty list is no dim here.
void flip(Call &call) {
  Value x = call.value("self");
  if (!call.integers("dims").empty())
    for (const std::int64_t dim : call.dims("dims", Call::rankOf(x)))
      x = flipped(call, x, dim);
  call.set(x);
}
template <std::int64_t dim> void flipDim(Call &call) { call.set(flipped(call, call.value("self"), dim)); }

/// A quarter turn from the first of two dims towards the second, k times.
void rotate(Call &call) {
  Value x = call.value("self");
  const std::int64_t rank = Call::rankOf(x), turns = ((call.integer("k") % 4) + 4) % 4;
  Sizes dims = call.integers("dims");
  if (dims.size() != 2)
    return call.refuse("rot90 without two dims");
  for (std::int64_t &dim : dims)
    dim = dim < 0 ? dim + rank : dim;
  if (turns == 1)
    x = call.swap(flipped(call, x, dims[1]), dims[0], dims[1]);
  if (turns == 2)
    x = flipped(call, flipped(call, x, dims[0]), dims[1]);
  if (turns == 3)
    x = flipped(call, call.swap(x, dims[0], dims[1]), dims[1]);
  call.set(x);
}

/// The diagonal of two dims as the last dim: the position in the operand of each element of `shape`.
std::int64_t diagonalAt(Index index, llvm::ArrayRef<std::int64_t> strides, std::int64_t first, std::int64_t second,
                        std::int64_t offset) {
  std::int64_t at = (index.back() + std::max<std::int64_t>(-offset, 0)) * strides[static_cast<std::size_t>(first)] +
                    (index.back() + std::max<std::int64_t>(offset, 0)) * strides[static_cast<std::size_t>(second)];
  std::size_t next = 0;
  for (std::size_t dim = 0; dim < strides.size(); ++dim)
    if (static_cast<std::int64_t>(dim) != first && static_cast<std::int64_t>(dim) != second)
      at += index[next++] * strides[dim];
  return at;
}
struct Diagonal {
  std::int64_t first, second, offset;
};
Diagonal diagonalOf(Call &call, std::int64_t rank) {
  return {call.dim("dim1", rank), call.dim("dim2", rank), call.integer("offset")};
}
void diagonal(Call &call) {
  Value x = call.value("self");
  const auto [first, second, offset] = diagonalOf(call, Call::rankOf(x));
  const Sizes strides = stridesOf(Call::shapeOf(x));
  if (strides.size() < 2 || call.result().sizes.size() + 1 != strides.size())
    return call.refuse("a diagonal of fewer than two dims");
  call.set(takeElements(call, x, call.result().sizes,
                        [&](Index index) { return diagonalAt(index, strides, first, second, offset); }));
}
void trace(Call &call) {
  Value x = call.value("self");
  const Sizes strides = stridesOf(Call::shapeOf(x));
  if (strides.size() != 2)
    return call.refuse("a trace of no matrix");
  Value all = takeElements(call, x, {std::min(Call::shapeOf(x)[0], Call::shapeOf(x)[1])},
                           [&](Index index) { return index[0] * (strides[0] + strides[1]); });
  call.set(call.make<model::ReduceSumOp>({all}, {{"dims", call.builder.getDenseI64ArrayAttr({0})}}));
}

/// Zeros with the last dim of the operand on a diagonal of two new dims.
void embedDiagonal(Call &call, Value x, std::int64_t first, std::int64_t second, std::int64_t offset) {
  const Sizes &shape = call.result().sizes, strides = stridesOf(Call::shapeOf(x));
  if (shape.size() != strides.size() + 1)
    return call.refuse("a diagonal of no dim");
  call.set(takeElements(call, x, shape, [&](Index index) -> std::int64_t {
    const std::int64_t row = index[static_cast<std::size_t>(first)], column = index[static_cast<std::size_t>(second)];
    if (column - row != offset)
      return -1;
    std::int64_t at = std::min(row, column);
    std::size_t next = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      if (static_cast<std::int64_t>(dim) != first && static_cast<std::int64_t>(dim) != second)
        at += index[dim] * strides[next++];
    return at;
  }));
}
void diagonalEmbed(Call &call) {
  const Diagonal at = diagonalOf(call, static_cast<std::int64_t>(call.result().sizes.size()));
  // With the dims exchanged the diagonal is on the other side.
  embedDiagonal(call, call.value("self"), at.first, at.second, at.offset);
}
/// The diagonal of a matrix, or a matrix with a vector as diagonal.
void diag(Call &call) {
  Value x = call.value("self");
  const std::int64_t offset = call.integer("diagonal");
  if (Call::rankOf(x) == 1)
    return embedDiagonal(call, x, 0, 1, offset);
  const Sizes strides = stridesOf(Call::shapeOf(x));
  if (strides.size() != 2)
    return call.refuse("a diagonal of no matrix");
  call.set(takeElements(call, x, call.result().sizes,
                        [&](Index index) { return diagonalAt(index, strides, 0, 1, offset); }));
}
void diagflat(Call &call) {
  Value x = call.value("self");
  embedDiagonal(call, call.reshape(x, {cast<RankedTensorType>(x.getType()).getNumElements()}), 0, 1,
                call.integer("offset"));
}

/// The elements of the operand with those of `src` at the positions of a view of it.
void replaceView(Call &call, llvm::ArrayRef<std::int64_t> view, llvm::function_ref<std::int64_t(Index)> position) {
  Value x = call.value("self"), source = call.value("src");
  const std::int64_t count = cast<RankedTensorType>(x.getType()).getNumElements(),
                     added = cast<RankedTensorType>(source.getType()).getNumElements();
  if (Call::shapeOf(source) != view)
    return call.refuse("a source of another shape than the part that it replaces");
  std::vector<std::int64_t> from(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    from[static_cast<std::size_t>(i)] = i;
  Sizes index(view.size(), 0);
  for (std::int64_t i = 0; i < added; ++i) {
    const std::int64_t at = position(index);
    if (at < 0 || at >= count)
      return call.refuse("a part outside of its tensor");
    from[static_cast<std::size_t>(at)] = count + i;
    for (std::size_t dim = view.size(); dim-- > 0;) {
      if (++index[dim] < view[dim])
        break;
      index[dim] = 0;
    }
  }
  Value both =
      call.join({call.reshape(x, {count}),
                 call.reshape(call.cast(source, cast<RankedTensorType>(x.getType()).getElementType()), {added})},
                0);
  std::size_t next = 0;
  call.set(takeElements(call, both, Call::shapeOf(x), [&](Index) { return from[next++]; }));
}
void replaceDiagonal(Call &call) {
  Value x = call.value("self");
  const auto [first, second, offset] = diagonalOf(call, Call::rankOf(x));
  const Sizes strides = stridesOf(Call::shapeOf(x));
  replaceView(call, call.value("src") ? Sizes(Call::shapeOf(call.value("src"))) : Sizes(),
              [&](Index index) { return diagonalAt(index, strides, first, second, offset); });
}
void replaceSelected(Call &call) {
  Value x = call.value("self");
  const auto dim = static_cast<std::size_t>(call.dim("dim", Call::rankOf(x)));
  Sizes view(Call::shapeOf(x)), strides = stridesOf(view);
  if (view.empty())
    return call.refuse("it takes a part of a scalar");
  const std::int64_t given = call.integer("index"), at = (given < 0 ? given + view[dim] : given) * strides[dim];
  view.erase(view.begin() + static_cast<std::ptrdiff_t>(dim));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  replaceView(call, view, [&](Index index) { return at + dotOf(index, strides); });
}
void replaceSlice(Call &call) {
  Value x = call.value("self");
  const auto dim = static_cast<std::size_t>(call.dim("dim", Call::rankOf(x)));
  Sizes view(Call::shapeOf(x)), strides = stridesOf(view);
  if (view.empty())
    return call.refuse("it takes a part of a scalar");
  const std::int64_t size = view[dim], step = call.integer("step");
  const auto clip = [&](std::optional<double> given, std::int64_t otherwise) {
    if (!given)
      return otherwise;
    const std::int64_t value = *given >= 0x1p62 ? size : static_cast<std::int64_t>(*given);
    return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const std::int64_t start = clip(call.optionalNumber("start"), 0), end = clip(call.optionalNumber("end"), size);
  if (step < 1)
    return call.refuse("slice with a step below 1");
  view[dim] = std::max<std::int64_t>(0, (end - start + step - 1) / step);
  const std::int64_t first = start * strides[dim];
  strides[dim] *= step;
  replaceView(call, view, [&](Index index) { return first + dotOf(index, strides); });
}

/// Elements by strides in the memory of a contiguous operand.
void strided(Call &call) {
  const Sizes sizes = call.integers("size"), strides = call.integers("stride");
  const auto offset = static_cast<std::int64_t>(call.optionalNumber("storage_offset").value_or(0));
  Value x = call.value("self");
  const std::int64_t count = cast<RankedTensorType>(x.getType()).getNumElements();
  if (sizes.size() != strides.size())
    return call.refuse("as_strided without a stride for each size");
  bool isInside = true;
  Value y = takeElements(call, x, sizes, [&](Index index) {
    const std::int64_t at = offset + dotOf(index, strides);
    isInside &= at >= 0 && at < count;
    return std::clamp<std::int64_t>(at, 0, count - 1);
  });
  if (!isInside)
    return call.refuse("a part outside of its tensor");
  call.set(y);
}

/// The part of a matrix on one side of a diagonal; the rest is 0, whatever was there.
template <bool isLower> void triangle(Call &call) {
  Value x = call.value("self");
  const std::int64_t rank = Call::rankOf(x), diagonal = call.integer("diagonal");
  if (rank < 2)
    return call.refuse("a triangle of no matrix");
  const auto type = RankedTensorType::get(Call::shapeOf(x).take_back(2), call.builder.getI64Type());
  const auto index = [&](std::int64_t along) -> Value {
    return call.make<model::IotaOp>({}, {{"dim", call.builder.getI64IntegerAttr(along)}}, type);
  };
  Value limit = call.make<model::AddOp>({index(0), call.scalar(static_cast<double>(diagonal), index(0))});
  Value keeps = call.compare(index(1), isLower ? ComparePredicate::le : ComparePredicate::ge, limit);
  call.set(call.select(keeps, x, call.scalar(0, x)));
}

/// Windows along a dim, each as a new last dim.
void windows(Call &call) {
  Value x = call.value("self");
  const std::int64_t rank = Call::rankOf(x), size = call.integer("size"), step = call.integer("step");
  if (rank == 0)
    return call.set(call.reshape(x, call.result().sizes));
  const std::int64_t dim = call.dim("dimension", rank), extent = call.extentOf(x, dim);
  if (step < 1 || size < 1 || size > extent)
    return call.refuse("windows of no elements, or of more than there are");
  const std::int64_t count = (extent - size) / step + 1;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < size; ++j)
      indices.push_back(i * step + j);
  Sizes separate(Call::shapeOf(x));
  separate[static_cast<std::size_t>(dim)] = count;
  separate.insert(separate.begin() + dim + 1, size);
  call.set(moveLast(call, call.reshape(takeSlices(call, x, dim, indices), separate), dim + 1));
}

/// The windows of an image, [N, C h w, L], from [N, C, H, W]; `position` is -1 in the padding.
struct Columns {
  Sizes kernel, dilation, padding, stride, counts;
  std::int64_t height, width;

  Columns(Call &call, std::int64_t height, std::int64_t width)
      : kernel(call.integers("kernel_size")), dilation(call.integers("dilation")), padding(call.integers("padding")),
        stride(call.integers("stride")), height(height), width(width) {
    for (Sizes *each : {&kernel, &dilation, &padding, &stride})
      if (each->size() != 2) {
        call.refuse("windows of no images");
        return;
      }
    const std::int64_t sizes[] = {height, width};
    for (std::size_t d = 0; d < 2; ++d)
      counts.push_back(stride[d] < 1 ? 0
                                     : (sizes[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1);
  }
  /// In the image of one channel, of element `k` of a window and window `l`.
  std::int64_t position(std::int64_t k, std::int64_t l) const {
    const std::int64_t y = l / counts[1] * stride[0] + k / kernel[1] * dilation[0] - padding[0],
                       x = l % counts[1] * stride[1] + k % kernel[1] * dilation[1] - padding[1];
    return y < 0 || x < 0 || y >= height || x >= width ? -1 : y * width + x;
  }
};
void imageToColumns(Call &call) {
  Value x = call.value("self");
  const Sizes &shape = call.result().sizes;
  const auto from = Call::shapeOf(x);
  if (from.size() < 3 || shape.size() + 1 != from.size())
    return call.refuse("windows of no images");
  const Columns columns(call, from[from.size() - 2], from.back());
  if (!call.problem().empty())
    return;
  const std::int64_t window = columns.kernel[0] * columns.kernel[1], image = from.back() * from[from.size() - 2],
                     channels = from[from.size() - 3];
  call.set(takeElements(call, x, shape, [&](Index index) -> std::int64_t {
    const std::int64_t row = index[index.size() - 2], at = columns.position(row % window, index.back()),
                       batch = index.size() == 3 ? index[0] : 0;
    return at < 0 ? -1 : (batch * channels + row / window) * image + at;
  }));
}
/// The sum of windows at their places: the windows are added to a vector of all pixels and one for the padding.
void columnsToImage(Call &call) {
  Value x = call.value("self");
  const Sizes &shape = call.result().sizes;
  const auto from = Call::shapeOf(x);
  if (shape.size() < 3 || shape.size() != from.size() + 1)
    return call.refuse("windows of no images");
  const Columns columns(call, shape[shape.size() - 2], shape.back());
  if (!call.problem().empty())
    return;
  const std::int64_t window = columns.kernel[0] * columns.kernel[1], image = shape.back() * shape[shape.size() - 2],
                     count = cast<RankedTensorType>(x.getType()).getNumElements(), row = from[from.size() - 2],
                     length = from.back(),
                     pixels = call.result().sizes.empty() ? 0 : count / (row * length) * (row / window) * image;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = columns.position(i / length % row % window, i % length);
    indices.push_back(at < 0 ? pixels : i / length / window * image + at);
  }
  Value sums = call.make<model::ScatterAddOp>({call.reshape(x, {count}), makeIndices(call, indices, {count})}, {},
                                              call.typeLike(x, {pixels + 1}));
  call.set(call.reshape(call.slice(sums, 0, 0, pixels), shape));
}

/// [.., C r r, H, W] as [.., C, H r, W r], and back.
template <bool isBack> void shufflePixels(Call &call) {
  Value x = call.value("self");
  const std::int64_t rank = Call::rankOf(x), r = call.integer(isBack ? "downscale_factor" : "upscale_factor");
  if (rank < 3 || r < 1)
    return call.refuse("pixel_shuffle of no images");
  const auto shape = Call::shapeOf(isBack ? x : x).take_back(3);
  Sizes leading(Call::shapeOf(x).drop_back(3)), separate(leading),
      permutation = llvm::to_vector(llvm::seq<std::int64_t>(0, rank - 3));
  if (isBack ? shape[1] % r != 0 || shape[2] % r != 0 : shape[0] % (r * r) != 0)
    return call.refuse("pixel_shuffle by a factor that does not divide the extent");
  isBack ? separate.append({shape[0], shape[1] / r, r, shape[2] / r, r})
         : separate.append({shape[0] / (r * r), r, r, shape[1], shape[2]});
  const std::int64_t at = rank - 3;
  isBack ? permutation.append({at, at + 2, at + 4, at + 1, at + 3})
         : permutation.append({at, at + 3, at + 1, at + 4, at + 2});
  call.set(call.reshape(call.transpose(call.reshape(x, separate), permutation), call.result().sizes));
}
/// The channels of `groups` ranges by turns.
void shuffleChannels(Call &call) {
  Value x = call.value("self");
  const std::int64_t groups = call.integer("groups"), channels = call.extentOf(x, 1);
  if (!call.problem().empty() || groups < 1 || channels % groups != 0)
    return call.refuse("channel_shuffle by groups that do not divide the channels");
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < channels; ++i)
    indices.push_back(i % groups * (channels / groups) + i / groups);
  call.set(takeSlices(call, x, 1, indices));
}

/// The choices of `r` elements of a vector, in order.
void combinations(Call &call) {
  Value x = call.value("self");
  const std::int64_t r = call.integer("r"), count = call.extentOf(x, 0);
  const bool repeats = call.flag("with_replacement");
  const Sizes &shape = call.result().sizes;
  if (Call::rankOf(x) != 1 || r < 1 || (!repeats && r > count))
    return call.refuse("combinations of no vector, or of no elements");
  constexpr std::int64_t most = std::int64_t(1) << 20;
  if (shape.empty() || r > most || shape[0] < 1 || shape[0] > most / r)
    return call.refuse("more than 2^20 combinations, or none");
  std::vector<std::int64_t> indices, chosen(static_cast<std::size_t>(r), 0);
  // As an odometer: the last element that is not at its end goes on, and those after it begin next to it.
  const auto begin = [&](std::int64_t place, std::int64_t value) {
    for (; place < r; ++place, value += repeats ? 0 : 1)
      chosen[static_cast<std::size_t>(place)] = value;
  };
  begin(0, 0);
  for (std::int64_t place = 0; place >= 0 && static_cast<std::int64_t>(indices.size()) < shape[0] * r;) {
    indices.insert(indices.end(), chosen.begin(), chosen.end());
    for (place = r - 1; place >= 0; --place)
      if (chosen[static_cast<std::size_t>(place)] < count - (repeats ? 1 : r - place)) {
        begin(place, chosen[static_cast<std::size_t>(place)] + 1);
        break;
      }
  }
  call.set(r == 1 ? x : call.reshape(takeSlices(call, x, 0, indices), shape));
}

constexpr AtenOp table[] = {
    {"as_strided.default", strided, Memory::view},
    {"as_strided_copy.default", strided},
    {"channel_shuffle.default", shuffleChannels},
    {"col2im.default", columnsToImage},
    {"combinations.default", combinations},
    {"diag.default", diag},
    {"diag_embed.default", diagonalEmbed},
    {"diagflat.default", diagflat},
    {"diagonal.default", diagonal, Memory::view},
    {"diagonal_copy.default", diagonal},
    {"diagonal_scatter.default", replaceDiagonal},
    {"flip.default", flip},
    {"fliplr.default", flipDim<1>},
    {"flipud.default", flipDim<0>},
    {"im2col.default", imageToColumns},
    {"pixel_shuffle.default", shufflePixels<false>},
    {"pixel_unshuffle.default", shufflePixels<true>},
    {"rot90.default", rotate},
    {"select_scatter.default", replaceSelected},
    {"slice_scatter.default", replaceSlice},
    {"trace.default", trace},
    {"tril.default", triangle<true>},
    {"triu.default", triangle<false>},
    {"unfold.default", windows, Memory::view},
    {"unfold_copy.default", windows},
};

} // namespace sluice::exported::rearrange

llvm::ArrayRef<AtenOp> exported::rearrangeOps() { return rearrange::table; }
