//===- Pooling.cpp - maxima and means of windows of ATen ------------------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Images.h"

#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::pooling {

using Sizes = llvm::SmallVector<std::int64_t>;

struct Windows {
  Sizes kernel, stride, padding;

  llvm::SmallVector<Call::Named> attributes(Call &call) const {
    return {{"kernel", call.builder.getDenseI64ArrayAttr(kernel)},
            {"stride", call.builder.getDenseI64ArrayAttr(stride)},
            {"padding", call.builder.getDenseI64ArrayAttr(padding)}};
  }
};

Windows windowsOf(Call &call, const Images &input) {
  Sizes stride = call.integers("stride");
  Windows windows{input.pair("kernel_size", 1), {}, input.pair("padding", 0)};
  windows.stride = stride.empty() ? windows.kernel : input.pair(stride, "stride", 1);
  if (llvm::any_of(windows.stride, [](std::int64_t each) { return each < 1; }))
    call.refuse("a stride below 1");
  return windows;
}

/// Elements after the padded input that the last window reads under `ceil_mode`: it begins before the padding's end.
Sizes missing(Call &call, const Images &input, const Windows &windows) {
  Sizes count = {0, 0};
  if (!call.flag("ceil_mode") || !call.problem().empty())
    return count;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t size = Call::shapeOf(input.images)[1 + d], padding = windows.padding[d],
                       room = size + 2 * padding - windows.kernel[d], rest = room % windows.stride[d];
    const std::int64_t next = room - rest + windows.stride[d];
    if (room >= 0 && rest > 0 && next < size + padding)
      count[d] = windows.stride[d] - rest;
  }
  return count;
}

template <std::int64_t dims> void largest(Call &call) {
  const Images input(call, call.value("self"), dims);
  if (!call.problem().empty())
    return;
  const Windows windows = windowsOf(call, input);
  if (llvm::any_of(call.integers("dilation"), [](std::int64_t each) { return each != 1; }))
    return largestOfWindows(call, dims);
  Value x = input.images;
  if (const Sizes after = missing(call, input, windows); after[0] + after[1] > 0)
    x = call.pad(x, {0, 0, 0, 0}, {0, after[0], after[1], 0}, -std::numeric_limits<double>::infinity());
  call.set(input.back(call.make<model::MaxPool2dOp>({x}, windows.attributes(call))));
}

template <std::int64_t dims> void mean(Call &call) {
  const Images input(call, call.value("self"), dims);
  if (!call.problem().empty())
    return;
  const Windows windows = windowsOf(call, input);
  if (const Sizes after = missing(call, input, windows); after[0] + after[1] > 0)
    return averageWindows(call, dims);
  const bool countsPadding = call.flag("count_include_pad");
  std::optional<double> divisor;
  if constexpr (dims == 2)
    divisor = call.optionalNumber("divisor_override");
  llvm::SmallVector<Call::Named> attributes = windows.attributes(call);
  if (!countsPadding && !divisor)
    attributes.emplace_back("without_padding", call.builder.getUnitAttr());
  Value y = call.make<model::AvgPool2dOp>({input.images}, attributes);
  if (divisor)
    y = call.scale(y, static_cast<double>(windows.kernel[0] * windows.kernel[1]) / *divisor);
  call.set(input.back(y));
}

template <std::int64_t dims> void adaptiveMean(Call &call) {
  const Images input(call, call.value("self"), dims);
  if (call.problem().empty())
    call.set(input.back(call.make<model::AdaptiveAvgPool2dOp>(
        {input.images}, {{"output", call.builder.getDenseI64ArrayAttr(input.pair("output_size", 1))}})));
}

/// Each pixel several times along height and width.
void repeatPixels(Call &call) {
  const Images input(call, call.value("input"), 2);
  if (!call.problem().empty())
    return;
  const auto from = Call::shapeOf(input.images);
  const auto to = llvm::ArrayRef(call.result().sizes).take_back(2);
  if (to.size() != 2 || from[1] == 0 || from[2] == 0 || to[0] % from[1] != 0 || to[1] % from[2] != 0)
    return nearestPixels(call);
  Sizes separate = {from[0], from[1], 1, from[2], 1, from[3]}, repeated(separate);
  repeated[2] = to[0] / from[1];
  repeated[4] = to[1] / from[2];
  Value wide = call.broadcast(call.reshape(input.images, separate), repeated);
  call.set(input.back(call.reshape(wide, {from[0], to[0], to[1], from[3]})));
}

constexpr AtenOp table[] = {
    {"adaptive_avg_pool1d.default", adaptiveMean<1>},
    {"adaptive_avg_pool2d.default", adaptiveMean<2>},
    {"avg_pool1d.default", mean<1>},
    {"avg_pool2d.default", mean<2>},
    {"max_pool1d.default", largest<1>},
    {"max_pool2d.default", largest<2>},
    {"upsample_nearest2d.vec", repeatPixels},
};

} // namespace sluice::exported::pooling

llvm::ArrayRef<AtenOp> exported::poolingOps() { return pooling::table; }
