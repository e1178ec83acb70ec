//===- EncoderDecoder.cpp - the encoder and decoder of the accumulation tests -------------------===//
//
// torch's Transformer with norms after the residuals, its output projection tied to the embedding.
//
//===----------------------------------------------------------------------===//

#include "passes/import/zoo/Models.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

namespace {

constexpr std::int64_t words = 23, width = 16, inner = 8, heads = 8, layers = 2, sourceLength = 6, targetLength = 4;

/// As xavier_uniform does.
Initial xavier(std::int64_t out, std::int64_t in) { return evenly(std::sqrt(6.0 / static_cast<double>(in + out))); }

class EncoderDecoder {
public:
  explicit EncoderDecoder(ModuleBuilder &b) : b(b) {}

  Value operator()(Value source, Value target) {
    Value memory = b.embedding("embed_tokens", source, words, width);
    memory = b.add(memory, b.constant(1, {width}));
    for (std::int64_t i = 0; i < layers; ++i)
      memory = encoderLayer("transformer.encoder.layers." + std::to_string(i), memory);
    memory = b.layerNorm("transformer.encoder.norm", memory);
    Value x = b.embedding("embed_tokens", target, words, width);
    for (std::int64_t i = 0; i < layers; ++i)
      x = decoderLayer("transformer.decoder.layers." + std::to_string(i), x, memory);
    x = b.layerNorm("transformer.decoder.norm", x);
    b.at("output_proj");
    b.declare("output_proj.bias", {words}, evenly(0.25));
    return b.add(b.matmul(x, b.read("embed_tokens.weight"), true), b.read("output_proj.bias"));
  }

private:
  ModuleBuilder &b;

  /// Query from x, keys and values from `from`, by one weight of three parts.
  Value attend(const std::string &name, Value x, Value from) {
    b.at(name);
    b.declare(name + ".in_proj_weight", {3 * width, width}, xavier(3 * width, width));
    b.declare(name + ".in_proj_bias", {3 * width}, {"zeros"});
    Value weight = b.read(name + ".in_proj_weight"), bias = b.read(name + ".in_proj_bias");
    auto part = [&](Value whole, std::int64_t begin, std::int64_t end) -> Value {
      bool isMatrix = ModuleBuilder::shapeOf(whole).size() == 2;
      Shape start = {begin * width}, limit = {end * width}, step = {1};
      if (isMatrix) {
        start.push_back(0);
        limit.push_back(width);
        step.push_back(1);
      }
      return model::SliceOp::create(b.builder, whole, b.builder.getDenseI64ArrayAttr(start),
                                    b.builder.getDenseI64ArrayAttr(limit), b.builder.getDenseI64ArrayAttr(step));
    };
    llvm::SmallVector<Value> projected;
    const Value inputs[] = {x, from, from};
    for (auto [i, input] : llvm::enumerate(inputs)) {
      auto at = static_cast<std::int64_t>(i);
      projected.push_back(b.add(b.matmul(input, part(weight, at, at + 1), true), part(bias, at, at + 1)));
    }
    Value out = b.attention(projected[0], projected[1], projected[2], heads, /*causal=*/false);
    b.declare(name + ".out_proj.weight", {width, width}, xavier(width, width));
    b.declare(name + ".out_proj.bias", {width}, {"zeros"});
    return b.linear(name + ".out_proj", out, width);
  }

  Value feedForward(const std::string &name, Value x) {
    b.declare(name + ".linear1.weight", {inner, width}, xavier(inner, width));
    b.declare(name + ".linear2.weight", {width, inner}, xavier(width, inner));
    return b.linear(name + ".linear2", b.relu(b.linear(name + ".linear1", x, inner)), width);
  }

  Value residual(const std::string &norm, Value x, Value change) {
    b.at(norm);
    return b.layerNorm(norm, b.add(x, change));
  }

  Value encoderLayer(const std::string &name, Value x) {
    return b.block(name, [&] {
      Value y = residual(name + ".norm1", x, attend(name + ".self_attn", x, x));
      return residual(name + ".norm2", y, feedForward(name, y));
    });
  }

  Value decoderLayer(const std::string &name, Value x, Value memory) {
    return b.block(name, [&] {
      Value y = residual(name + ".norm1", x, attend(name + ".self_attn", x, x));
      y = residual(name + ".norm2", y, attend(name + ".multihead_attn", y, memory));
      return residual(name + ".norm3", y, feedForward(name, y));
    });
  }
};

} // namespace

static Status build(ModuleBuilder &b, const Settings &) {
  b.declare("embed_tokens.weight", {words, width}, {"normal", 0, 1}, {"output_proj.weight"});
  llvm::SmallVector<Value> given =
      b.beginTrain("train_step", {{"src", {sourceLength}, words}, {"tgt", {targetLength}, words}});
  Value logits = EncoderDecoder(b)(given[0], given[1]);
  if (b.loss() != "cross-entropy") {
    b.finishTrain({logits});
    return Status::ok();
  }
  b.at("loss");
  b.finishEntry(b.crossEntropy(logits, given[1], LossReduction::sum));
  return Status::ok();
}

std::vector<Model> zoo::encoderDecoderModels() {
  return {{"encoder-decoder",
           "the accumulation tests' Transformer: 2 encoder and 2 decoder layers, tied output",
           {},
           build,
           "2",
           "cross-entropy",
           {"cross-entropy"}}};
}
