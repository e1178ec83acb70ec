//===- ImagePrograms.cpp - one builder for each operation on images ------------------------===//
//
// In the reference channels precede height and width; in the ops they are last.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/OpBuilder.h"

#include <cmath>

namespace sluice::numeric {
namespace {

Shape toLast(const Shape &shape) { return permute(shape, {0, 2, 3, 1}); }

/// An input of images, channels last.
std::string images(OpBuilder &b, const std::string &name) {
  return transpose(b, b.in(name), b.shape("in." + name), {0, 2, 3, 1});
}

/// Returns `value`, channels last, as the output y.
void giveImages(OpBuilder &b, const std::string &value) {
  b.f.output("y", transpose(b, value, toLast(b.shape("out.y")), {0, 3, 1, 2}));
}

/// `name = array<i64: h, w>` of an attribute that is one number for both, or two.
std::string pair(const OpBuilder &b, const std::string &attribute, const std::string &name, std::int64_t otherwise) {
  Shape two = {otherwise, otherwise};
  if (b.operation.attributes.contains(attribute)) {
    const auto &given = b.operation.attributes[attribute];
    two = given.is_array() ? given.get<Shape>() : Shape{given.get<std::int64_t>(), given.get<std::int64_t>()};
  }
  std::string text = listAttribute(name, two);
  return text.substr(1, text.size() - 2);
}

void convolution(OpBuilder &b) {
  std::string x = images(b, "input"), weight = b.in("weight"), bias = b.in("bias");
  std::string attributes = "{" + pair(b, "stride", "stride", 1) + ", " + pair(b, "padding", "padding", 0) + ", " +
                           pair(b, "dilation", "dilation", 1) +
                           ", groups = " + std::to_string(b.attribute("groups", 1)) + " : i64}";
  giveImages(b, b.f.op("conv2d", {x, weight, bias}, attributes, b.typed(toLast(b.shape("out.y")))));
}

std::string windowAttributes(const OpBuilder &b) {
  std::int64_t kernel = b.attribute<std::int64_t>("kernel_size", 1);
  return pair(b, "kernel_size", "kernel", 1) + ", " + pair(b, "stride", "stride", kernel) + ", " +
         pair(b, "padding", "padding", 0);
}

void maxPool(OpBuilder &b) {
  std::string x = images(b, "input");
  giveImages(b, b.f.op("max_pool2d", {x}, "{" + windowAttributes(b) + "}", b.typed(toLast(b.shape("out.y")))));
}

void avgPool(OpBuilder &b) {
  std::string x = images(b, "input"), last = b.attribute("count_include_pad", true) ? "" : ", without_padding";
  giveImages(b, b.f.op("avg_pool2d", {x}, "{" + windowAttributes(b) + last + "}", b.typed(toLast(b.shape("out.y")))));
}

void adaptiveAvgPool(OpBuilder &b) {
  std::string x = images(b, "input"), attributes = "{" + pair(b, "output_size", "output", 1) + "}";
  giveImages(b, b.f.op("adaptive_avg_pool2d", {x}, attributes, b.typed(toLast(b.shape("out.y")))));
}

/// In training the op, which updates the running statistics; otherwise primitives that use the running statistics.
void batchNorm(OpBuilder &b) {
  std::string x = images(b, "x"), weight = b.in("weight"), bias = b.in("bias"), mean = b.in("mean"),
              variance = b.in("variance");
  Shape shape = toLast(b.shape("in.x")), channels = b.shape("in.mean");
  double epsilon = b.attribute("eps", 1e-5), momentum = b.attribute("momentum", 0.1);
  if (!b.attribute("training", true)) {
    std::string constant = b.f.create("constant", number(epsilon), b.typed({}));
    std::string sum = b.f.op("add", {variance, constant}, "", b.typed(channels));
    std::string rstd = b.f.op("rsqrt", {sum}, "", b.typed(channels));
    std::string centred = b.f.op("subtract", {x, mean}, "", b.typed(shape));
    std::string normal = b.f.op("multiply", {centred, rstd}, "", b.typed(shape));
    std::string scaled = b.f.op("multiply", {normal, weight}, "", b.typed(shape));
    giveImages(b, b.f.op("add", {scaled, bias}, "", b.typed(shape)));
    if (!b.has("out.mean"))
      return;
    b.f.output("mean", b.f.op("scale", {mean}, "{factor = 1.0}", b.typed(channels)));
    b.f.output("variance", b.f.op("scale", {variance}, "{factor = 1.0}", b.typed(channels)));
    return;
  }
  std::string statistics = b.statisticsType(channels);
  auto norm = b.f.ops("batch_norm", {x, weight, bias}, "{epsilon = " + number(epsilon) + "}",
                      {b.typed(shape), statistics, statistics});
  giveImages(b, norm[0]);
  if (!b.has("out.mean"))
    return;
  auto count = static_cast<double>(shape[0] * shape[1] * shape[2]);
  auto moved = [&](const std::string &old, const std::string &value, double factor) {
    return b.f.op("running_average", {old, value},
                  "{momentum = " + number(momentum) + ", factor = " + number(factor) + "}", statistics);
  };
  b.f.output("mean", moved(mean, norm[1], 1));
  b.f.output("variance", moved(variance, norm[2], count / (count - 1)));
}

} // namespace

const std::map<std::string, std::function<void(OpBuilder &)>> &imageBuilders() {
  static const std::map<std::string, std::function<void(OpBuilder &)>> table = {
      {"conv2d", convolution},
      {"max_pool2d", maxPool},
      {"avg_pool2d", avgPool},
      {"adaptive_avg_pool2d", adaptiveAvgPool},
      {"batch_norm", batchNorm}};
  return table;
}

} // namespace sluice::numeric
