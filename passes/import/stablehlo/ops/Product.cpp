//===- Product.cpp - products and convolutions of StableHLO ---------------------------------===//

#include "passes/import/stablehlo/OpaqueAttributes.h"
#include "passes/import/stablehlo/Translation.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::product {

/// Dims of an operand of a product.
struct Side {
  std::string value;
  Sizes batch, inner, free;

  Sizes sizesOf(const Translation &graph, llvm::ArrayRef<std::int64_t> dims) const {
    Sizes sizes;
    for (std::int64_t dim : dims)
      sizes.push_back(graph.sizes(value)[static_cast<std::size_t>(dim)]);
    return sizes;
  }
};

Sizes joined(llvm::ArrayRef<std::int64_t> a, llvm::ArrayRef<std::int64_t> b, llvm::ArrayRef<std::int64_t> c = {}) {
  Sizes all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

std::string matmul(Translation &graph, const std::string &a, const std::string &b, llvm::ArrayRef<std::int64_t> sizes) {
  return graph.emit("matmul.default", {{"self", tensor(a)}, {"other", tensor(b)}}, metaOf(graph.type(a), sizes));
}

/// A product of matrices for each element of the batch dims. Heads stay dims, as attention has them.
std::string product(Translation &graph, const Side &left, const Side &right, llvm::ArrayRef<std::int64_t> result) {
  const Sizes batch = left.sizesOf(graph, left.batch);
  const std::int64_t inner = countOf(left.sizesOf(graph, left.inner)), rows = countOf(left.sizesOf(graph, left.free)),
                     columns = countOf(right.sizesOf(graph, right.free));
  const std::string a = graph.permute(left.value, joined(left.batch, left.free, left.inner)),
                    b = graph.permute(right.value, joined(right.batch, right.inner, right.free));
  return graph.view(matmul(graph, graph.view(a, joined(batch, {rows, inner})),
                           graph.view(b, joined(batch, {inner, columns})), joined(batch, {rows, columns})),
                    result);
}

/// The result has the batch dims, the free dims of the left side, and those of the right side.
void dotGeneral(OpCall &call) {
  const std::optional<Lists> given = listsOf(call.attribute("dot_dimension_numbers"), "dot");
  if (!given)
    return call.refuse("attribute 'dot_dimension_numbers' is not as StableHLO prints it");
  Lists lists = *given;
  Translation &graph = call.graph;
  const ScalarType type = call.result().type;
  if (!exported::isFloat(type))
    return call.refuse("it is of integers", "convert them to float32 before");
  Side left{
      graph.cast(call.operand(0), type), lists["lhs_batching_dimensions"], lists["lhs_contracting_dimensions"], {}};
  Side right{
      graph.cast(call.operand(1), type), lists["rhs_batching_dimensions"], lists["rhs_contracting_dimensions"], {}};
  for (Side *side : {&left, &right}) {
    const Sizes used = joined(side->batch, side->inner);
    if (!call.areDims(used, graph.rank(side->value)))
      return;
    for (std::int64_t dim = 0; dim < graph.rank(side->value); ++dim)
      if (!llvm::is_contained(used, dim))
        side->free.push_back(dim);
  }
  const Sizes batch = left.sizesOf(graph, left.batch), inner = left.sizesOf(graph, left.inner),
              rows = left.sizesOf(graph, left.free), columns = right.sizesOf(graph, right.free);
  if (batch != right.sizesOf(graph, right.batch) || inner != right.sizesOf(graph, right.inner) ||
      joined(batch, rows, columns) != call.result().sizes)
    return call.refuseShapes();
  // x w with a matrix w keeps the dims of x.
  if (batch.empty() && inner.size() == 1 && columns.size() == 1 && !rows.empty()) {
    const std::string x = graph.permute(left.value, joined(left.free, left.inner)),
                      w = graph.permute(right.value, joined(right.inner, right.free));
    return call.set(matmul(graph, x, w, call.result().sizes));
  }
  // JAX has the weights of attention on the right side of their product with the values. Here they are on the left.
  if (graph.maker(right.value, "softmax.int") && !graph.maker(left.value, "softmax.int")) {
    std::swap(left, right);
    const Sizes swapped = joined(batch, columns, rows);
    Sizes back;
    for (std::size_t dim = 0; dim < swapped.size(); ++dim)
      back.push_back(static_cast<std::int64_t>(dim < batch.size()                 ? dim
                                               : dim < batch.size() + rows.size() ? dim + columns.size()
                                                                                  : dim - rows.size()));
    return call.set(graph.permute(product(graph, left, right, swapped), back));
  }
  call.set(product(graph, left, right, call.result().sizes));
}
/// The dim of each place: first, second, then the spatial ones.
Sizes orderOf(const ConvolutionDims::Tensor &dims) { return joined({dims.first, dims.second}, dims.spatial); }

void convolution(OpCall &call) {
  const std::optional<ConvolutionDims> dims = convolutionDimsOf(call.attribute("dimension_numbers"));
  if (!dims)
    return call.refuse("attribute 'dimension_numbers' is not as StableHLO prints it");
  Translation &graph = call.graph;
  const std::string image = call.operand(0), kernel = call.operand(1);
  const std::size_t spatial = dims->image.spatial.size();
  const auto rank = static_cast<std::int64_t>(spatial) + 2;
  if (spatial < 1 || spatial > 2 || graph.rank(image) != rank || graph.rank(kernel) != rank ||
      static_cast<std::int64_t>(call.result().sizes.size()) != rank)
    return call.refuse("a convolution of another number of spatial dims than 1 or 2");
  const Sizes ones(spatial, 1);
  const Sizes strides = call.optionalIntegers("window_strides").value_or(ones),
              dilation = call.optionalIntegers("rhs_dilation").value_or(ones),
              padding = call.optionalIntegers("padding").value_or(Sizes(2 * spatial, 0));
  const Sizes spread = call.optionalIntegers("lhs_dilation").value_or(ones);
  if (call.integer("batch_group_count", 1) != 1)
    return call.refuse("a convolution with groups of rows");
  if (llvm::is_contained(call.optionalIntegers("window_reversal").value_or(Sizes()), 1))
    return call.refuse("a convolution with a reversed kernel", "reverse the kernel before");
  if (strides.size() != spatial || dilation.size() != spatial || padding.size() != 2 * spatial ||
      spread.size() != spatial)
    return call.refuseBounds();
  std::string x = graph.permute(image, orderOf(dims->image));
  // Of a transposed convolution.
  for (std::size_t dim = 0; dim < spatial; ++dim) {
    const auto at = static_cast<std::int64_t>(dim) + 2;
    // Limits of amounts that are multiplied and added later.
    constexpr std::int64_t most = std::int64_t(1) << 31;
    if (spread[dim] < 1 || !graph.fitsPadded(x, at, 0, 0, spread[dim] - 1) || strides[dim] < 1 || strides[dim] > most ||
        dilation[dim] < 1 || dilation[dim] > most || std::max(padding[2 * dim], padding[2 * dim + 1]) > most)
      return call.refuseBounds();
    x = graph.pad(x, at, 0, 0, spread[dim] - 1, 0);
  }
  const std::string w = graph.permute(kernel, orderOf(dims->kernel));
  Sizes symmetric(spatial, 0);
  const bool isSymmetric = llvm::all_of(llvm::seq<std::size_t>(0, spatial), [&](std::size_t dim) {
    symmetric[dim] = padding[2 * dim];
    return padding[2 * dim] == padding[2 * dim + 1] && padding[2 * dim] >= 0;
  });
  if (!isSymmetric) {
    if (llvm::any_of(padding, [](std::int64_t amount) { return amount < 0; }))
      return call.refuse("a convolution with negative padding");
    symmetric.assign(spatial, 0);
    for (std::size_t dim = 0; dim < spatial; ++dim) {
      const auto at = static_cast<std::int64_t>(dim) + 2;
      if (!graph.fitsPadded(x, at, padding[2 * dim], padding[2 * dim + 1], 0))
        return call.refuseBounds();
      x = graph.pad(x, at, padding[2 * dim], padding[2 * dim + 1], 0, 0);
    }
  }
  const Sizes order = orderOf(dims->result);
  Sizes sizes, back(order.size());
  for (auto [place, dim] : llvm::enumerate(order)) {
    sizes.push_back(call.result().sizes[static_cast<std::size_t>(dim)]);
    back[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(place);
  }
  const std::string y = graph.emit(spatial == 1 ? "conv1d.default" : "conv2d.default",
                                   {{"input", tensor(x)},
                                    {"weight", tensor(w)},
                                    {"stride", integers(strides)},
                                    {"padding", integers(symmetric)},
                                    {"dilation", integers(dilation)},
                                    {"groups", integer(call.integer("feature_group_count", 1))}},
                                   metaOf(call.result().type, sizes));
  call.set(graph.permute(y, back));
}

constexpr TableEntry table[] = {
    {"convolution", convolution},
    {"dot_general", dotGeneral},
};

} // namespace sluice::stablehlo::product

llvm::ArrayRef<TableEntry> stablehlo::productOps() { return product::table; }
