//===- Convolution.cpp - convolutions of ATen ----------------------------------------------===//

#include "passes/import/export/aten/Images.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::convolution {

using Sizes = llvm::SmallVector<std::int64_t>;

struct Window {
  Sizes stride, padding, dilation;
  std::int64_t groups;

  llvm::SmallVector<Call::Named> attributes(Call &call) const {
    return {{"stride", call.builder.getDenseI64ArrayAttr(stride)},
            {"padding", call.builder.getDenseI64ArrayAttr(padding)},
            {"dilation", call.builder.getDenseI64ArrayAttr(dilation)},
            {"groups", call.builder.getI64IntegerAttr(groups)}};
  }
};

/// The weight over height and width, as in both; that of a sequence has height 1.
Value weightOf(Call &call, std::int64_t dims) {
  Value weight = call.value("weight");
  Sizes shape(Call::shapeOf(weight));
  if (static_cast<std::int64_t>(shape.size()) != dims + 2) {
    call.refuse("a weight of rank " + std::to_string(shape.size()) + ", expected " + std::to_string(dims + 2));
    return weight;
  }
  if (dims == 1)
    shape.insert(shape.begin() + 2, 1);
  return call.reshape(weight, shape);
}

Window windowOf(Call &call, const Images &input, Sizes padding) {
  return {input.pair("stride", 1), std::move(padding), input.pair("dilation", 1), call.integer("groups")};
}

void slide(Call &call, const Images &input, Value x, Value weight, const Window &window) {
  llvm::SmallVector<Value> operands = {x, weight};
  if (Value bias = call.optionalValue("bias"))
    operands.push_back(bias);
  call.set(input.back(call.make<model::Conv2dOp>(operands, window.attributes(call))));
}

template <std::int64_t dims> void convolve(Call &call) {
  const Images input(call, call.value("input"), dims);
  Value weight = weightOf(call, dims);
  if (call.problem().empty())
    slide(call, input, input.images, weight, windowOf(call, input, input.pair("padding", 0)));
}

/// With a padding by name: none, or the one under which the result has the extents of the input. Its larger half is
/// after the elements.
template <std::int64_t dims> void convolvePadded(Call &call) {
  const Images input(call, call.value("input"), dims);
  Value weight = weightOf(call, dims);
  if (!call.problem().empty())
    return;
  Window window = windowOf(call, input, {0, 0});
  Value x = input.images;
  const std::string padding = call.text("padding");
  if (padding == "same") {
    Sizes high(4, 0);
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t all = window.dilation[d] * (Call::shapeOf(weight)[2 + d] - 1);
      window.padding[d] = all / 2;
      high[1 + d] = all % 2;
    }
    if (high[1] + high[2] > 0)
      x = call.pad(x, {0, 0, 0, 0}, high, 0);
  } else if (padding != "valid") {
    return call.refuse("padding '" + padding + "'");
  }
  slide(call, input, x, weight, window);
}

/// The derivative of a convolution with respect to its input, whose extents `output_padding` chooses.
template <std::int64_t dims> void convolveTransposed(Call &call) {
  const Images input(call, call.value("input"), dims);
  Value weight = weightOf(call, dims);
  if (!call.problem().empty())
    return;
  const Window window = windowOf(call, input, input.pair("padding", 0));
  Sizes extra = input.pair("output_padding", 0), kernel(Call::shapeOf(weight)), after(4, 0);
  // A row of zeros after the input adds as many rows as the stride.
  for (std::size_t d = 0; d < 2 && call.problem().empty(); ++d) {
    after[1 + d] = extra[d] / window.stride[d];
    extra[d] %= window.stride[d];
  }
  Value images = after[1] + after[2] > 0 ? call.pad(input.images, Sizes(4, 0), after, 0) : input.images;
  const Sizes from(Call::shapeOf(images));
  Sizes shape = {from[0], 0, 0, kernel[1] * window.groups};
  for (std::size_t d = 0; d < 2; ++d)
    shape[1 + d] = (from[1 + d] - 1) * window.stride[d] - 2 * window.padding[d] +
                   window.dilation[d] * (kernel[2 + d] - 1) + extra[d] + 1;
  if (shape[1] < 1 || shape[2] < 1)
    return call.refuse("a transposed convolution without a result");
  Value y = call.make<model::Conv2dInputGradOp>({images, weight}, window.attributes(call),
                                                call.typeLike(input.images, shape));
  if (Value bias = call.optionalValue("bias"))
    y = call.make<model::AddOp>({y, bias});
  call.set(input.back(y));
}

constexpr AtenOp table[] = {
    {"conv1d.default", convolve<1>},
    {"conv1d.padding", convolvePadded<1>},
    {"conv2d.default", convolve<2>},
    {"conv2d.padding", convolvePadded<2>},
    {"conv_transpose1d.default", convolveTransposed<1>},
    {"conv_transpose2d.input", convolveTransposed<2>},
};

} // namespace sluice::exported::convolution

llvm::ArrayRef<AtenOp> exported::convolutionOps() { return convolution::table; }
