//===- Convolutional.cpp - convolutional models --------------------------------------------------===//
//
// Images are inputs of shape [3, height, width], as in the source, and are transposed to channels-last.
//
//===----------------------------------------------------------------------===//

#include "passes/import/zoo/Models.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

/// Convolution, batch norm, ReLU, named as a sequence names them: `prefix.index` and `prefix.(index + 1)`.
static Value convolutionBlock(ModuleBuilder &b, const std::string &prefix, std::int64_t index, Value x,
                              std::int64_t out, std::int64_t kernel, std::int64_t padding) {
  auto name = [&](std::int64_t i) { return prefix + "." + std::to_string(i); };
  Value y = b.conv2d(name(index), x, out, kernel, /*stride=*/1, padding);
  y = b.block(name(index + 1), [&] { return b.batchNorm(name(index + 1), y); });
  b.at(name(index + 2));
  return b.relu(y);
}

static Status buildConv(ModuleBuilder &b, const Settings &s) {
  for (const char *side : {"height", "width"})
    if (s.size(side) < 3)
      return Status(StatusCode::usage, "key '" + std::string(side) +
                                           "', expected at least 3, the stem's window, but got " +
                                           std::to_string(s.size(side)));
  std::int64_t hidden = s.size("hidden"), height = s.size("height"), width = s.size("width");
  Value image = b.beginTrain("train_step", {{"input", {3, height, width}}})[0];
  b.at("input");
  Value x =
      b.block("stem", [&] { return convolutionBlock(b, "stem", 0, b.channelsLast(image), s.size("stem"), 3, 0); });
  auto body = [&] {
    Value y = x;
    for (std::int64_t i = 0; i < 3; ++i)
      y = convolutionBlock(b, "blocks", 3 * i, y, hidden, 5, 2);
    b.at("blocks.9");
    Value pooled = model::AdaptiveAvgPool2dOp::create(b.builder, y, b.builder.getDenseI64ArrayAttr({1, 1}));
    return b.reshape(pooled, {b.batch(), hidden});
  };
  x = b.block("blocks", [&] { return s.flag("marked") ? b.checkpoint(body) : body(); });
  b.finishTrain({b.block("head", [&] { return b.linear("head", x, s.size("classes")); })});
  return Status::ok();
}

static Status buildVision(ModuleBuilder &b, const Settings &) {
  constexpr std::int64_t side = 224, patch = 14, channels = 1024, places = (side / patch) * (side / patch);
  Value image = b.beginTrain("train_step", {{"input", {3, side, side}}})[0];
  Value x = b.block("vit", [&] {
    b.at("vit");
    Value patches = b.conv2d("vit.patch_proj", b.channelsLast(image), channels, patch, patch, 0);
    return b.reshape(patches, {b.batch(), places, channels});
  });
  b.finishTrain({b.block("projector", [&] { return b.linear("projector", x, 256); })});
  return Status::ok();
}

std::vector<Model> zoo::convolutionalModels() {
  return {
      {"conv",
       "convolutions and batch norms, a linear head: the memory tests' model",
       {{"stem", "64", Kind::size, 1 << 14},
        {"hidden", "128", Kind::size, 1 << 14},
        {"classes", "10"},
        {"height", "224", Kind::size, 1 << 14},
        {"width", "224", Kind::size, 1 << 14},
        {"marked", "true", Kind::flag}},
       buildConv},
      {"vision", "patches by a convolution, a linear over each: the custom-method tests' model", {}, buildVision, "4"},
  };
}
