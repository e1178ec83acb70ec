//===- LlamaGraph.cpp - the graph of Llama and similar families --------------------------===//

#include "passes/import/GraphBuilder.h"
#include "passes/import/Llama.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

class LlamaBuilder : public GraphBuilder {
public:
  LlamaBuilder(MLIRContext *context, const LlamaConfig &config, const ImportOptions &options, llvm::StringRef name)
      : GraphBuilder(context, options, name, config.vocabulary), config(config) {}

private:
  const LlamaConfig &config;

  bool drops() const override { return config.attentionDropout != 0; }

  void declareNorm(const llvm::Twine &name, std::int64_t size) { declare(name + ".weight", {size}, {"ones"}); }

  /// The checkpoint keeps weights as [out, in].
  void declareProjection(const llvm::Twine &name, std::int64_t in, std::int64_t out, bool bias) {
    declare(name + ".weight", {out, in}, {"normal", 0, config.initializerRange});
    if (bias)
      declare(name + ".bias", {out}, {"zeros"});
  }

  void declareParameters() override {
    declare("model.embed_tokens.weight", {config.vocabulary, config.width}, {"normal", 0, config.initializerRange},
            config.tied ? "lm_head.weight" : "", config.padding);
    std::int64_t queries = config.heads * config.headSize, keys = config.keyHeads * config.headSize;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      std::string block = "model.layers." + std::to_string(layer), attention = block + ".self_attn";
      declareNorm(block + ".input_layernorm", config.width);
      declareProjection(attention + ".q_proj", config.width, queries, config.queryBias);
      declareProjection(attention + ".k_proj", config.width, keys, config.queryBias);
      declareProjection(attention + ".v_proj", config.width, keys, config.queryBias);
      if (config.headNorms) {
        declareNorm(attention + ".q_norm", config.headSize);
        declareNorm(attention + ".k_norm", config.headSize);
      }
      declareProjection(attention + ".o_proj", queries, config.width, config.outputBias);
      declareNorm(block + ".post_attention_layernorm", config.width);
      declareProjection(block + ".mlp.gate_proj", config.width, config.inner, config.mlpBias);
      declareProjection(block + ".mlp.up_proj", config.width, config.inner, config.mlpBias);
      declareProjection(block + ".mlp.down_proj", config.inner, config.width, config.mlpBias);
    }
    declareNorm("model.norm", config.width);
    if (!config.tied)
      declareProjection("lm_head", config.width, config.vocabulary, false);
  }

  Value norm(const std::string &name, Value x) { return rmsNorm(name, x, config.epsilon); }

  Value projection(const std::string &name, Value x, bool bias) {
    at(name);
    Value product = matmul(x, read(name + ".weight"), true);
    return bias ? add(product, read(name + ".bias")) : product;
  }

  Value rotated(Value x) {
    auto number = [&](double value) { return builder.getF64FloatAttr(value); };
    const RopeConfig &rope = config.rope;
    bool scaled = rope.scaling != "default", smooth = rope.scaling == "llama3";
    return model::RopeOp::create(builder, x, number(rope.theta), builder.getI64IntegerAttr(0),
                                 builder.getAttr<model::RopeScalingAttr>(*symbolizeRopeScaling(rope.scaling)),
                                 scaled ? number(rope.factor) : number(1), smooth ? number(rope.low) : number(1),
                                 smooth ? number(rope.high) : number(1), smooth ? number(rope.original) : number(1),
                                 DenseI64ArrayAttr(), UnitAttr());
  }

  Value attention(const std::string &name, std::int64_t window, Value x) {
    auto heads = [&](const std::string &part, std::int64_t count, bool normed) {
      Value split = reshape(projection(name + "." + part + "_proj", x, config.queryBias),
                            {batch(), sequence, count, config.headSize});
      return normed ? norm(name + "." + part + "_norm", split) : split;
    };
    Value q = heads("q", config.heads, config.headNorms), k = heads("k", config.keyHeads, config.headNorms),
          v = heads("v", config.keyHeads, false);
    at(name);
    double scale = 1.0 / std::sqrt(static_cast<double>(config.headSize));
    Value rotatedQ = rotated(q), rotatedK = rotated(k);
    Value out = attendCausally(rotatedQ, rotatedK, v, scale, window, config.attentionDropout);
    return projection(name + ".o_proj", reshape(out, {batch(), sequence, config.heads * config.headSize}),
                      config.outputBias);
  }

  Value gated(const std::string &name, Value x) {
    Value gate = projection(name + ".gate_proj", x, config.mlpBias);
    Value up = projection(name + ".up_proj", x, config.mlpBias);
    at(name + ".act_fn");
    if (config.activation == "silu")
      return model::SwigluOp::create(builder, gate, up);
    Value active =
        config.activation == "relu" ? relu(gate) : gelu(gate, *symbolizeGeluApproximation(config.activation));
    return model::MultiplyOp::create(builder, active, up);
  }

  Value layer(std::int64_t index, Value x) {
    std::string name = "model.layers." + std::to_string(index);
    return block(name, [&] {
      Value attended = attention(name + ".self_attn", config.windows[static_cast<std::size_t>(index)],
                                 norm(name + ".input_layernorm", x));
      attended = addAt(name, attended, x);
      Value inner = gated(name + ".mlp", norm(name + ".post_attention_layernorm", attended));
      return addAt(name, projection(name + ".mlp.down_proj", inner, config.mlpBias), attended);
    });
  }

  Value forward(Value tokens) override {
    Value x = embedding("model.embed_tokens", tokens, config.vocabulary, config.width, config.padding);
    for (std::int64_t index = 0; index < config.layers; ++index)
      x = layer(index, x);
    x = norm("model.norm", x);
    at("lm_head");
    return matmul(x, read(config.tied ? "model.embed_tokens.weight" : "lm_head.weight"), true);
  }
};

} // namespace

Result<OwningOpRef<ModuleOp>> sluice::buildLlama(MLIRContext *context, const LlamaConfig &config,
                                                 const ImportOptions &options, llvm::StringRef name,
                                                 llvm::StringRef configText) {
  return LlamaBuilder(context, config, options, name).build(configText);
}
