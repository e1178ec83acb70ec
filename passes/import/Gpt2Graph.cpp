//===- Gpt2Graph.cpp - the GPT-2 family as a graph -------------------------------------===//

#include "passes/import/Gpt2.h"
#include "passes/import/GraphBuilder.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

class Gpt2Builder : public GraphBuilder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, const ImportOptions &options, llvm::StringRef name)
      : GraphBuilder(context, options, name, config.vocabulary), config(config) {}

private:
  const Gpt2Config &config;

  bool drops() const override {
    return config.embeddingDropout != 0 || config.attentionDropout != 0 || config.residualDropout != 0;
  }

  void declareNorm(const llvm::Twine &name) {
    declare(name + ".weight", {config.width}, {"ones"});
    declare(name + ".bias", {config.width}, {"zeros"});
  }

  /// The checkpoint keeps weights as [in, out].
  void declareProjection(const llvm::Twine &name, std::int64_t in, std::int64_t out, double deviation) {
    declare(name + ".weight", {in, out}, {"normal", 0, deviation});
    declare(name + ".bias", {out}, {"zeros"});
  }

  void declareParameters() override {
    double range = config.initializerRange;
    // Initial projections onto the residual path are scaled by the number of additions to it.
    double residual = range / std::sqrt(2.0 * static_cast<double>(config.layers));
    const Initial normal = {"normal", 0, range};
    declare("wte.weight", {config.vocabulary, config.width}, normal, config.tied ? "lm_head.weight" : "");
    declare("wpe.weight", {config.positions, config.width}, normal);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      std::string block = "h." + std::to_string(layer);
      declareNorm(block + ".ln_1");
      declareProjection(block + ".attn.c_attn", config.width, 3 * config.width, range);
      declareProjection(block + ".attn.c_proj", config.width, config.width, residual);
      declareNorm(block + ".ln_2");
      declareProjection(block + ".mlp.c_fc", config.width, config.inner, range);
      declareProjection(block + ".mlp.c_proj", config.inner, config.width, residual);
    }
    declareNorm("ln_f");
    if (!config.tied)
      declare("lm_head.weight", {config.vocabulary, config.width}, normal);
  }

  Value norm(const std::string &name, Value x) { return layerNorm(name, x, /*bias=*/true, config.epsilon); }

  Value projection(const std::string &name, Value x) {
    at(name);
    Value weight = read(name + ".weight"), bias = read(name + ".bias");
    return add(matmul(x, weight, false), bias);
  }

  Value attention(const std::string &block, std::int64_t layer, Value x) {
    Value joined = projection(block + ".attn.c_attn", x);
    at(block + ".attn");
    Type part = tensor({batch(), sequence, config.width});
    auto split = model::SplitOp::create(builder, TypeRange{part, part, part}, joined, builder.getI64IntegerAttr(2));
    std::int64_t size = config.width / config.heads;
    llvm::SmallVector<Value> heads;
    for (Value result : split.getResults())
      heads.push_back(reshape(result, {batch(), sequence, config.heads, size}));
    double scale = config.scaleAttention ? 1.0 / std::sqrt(static_cast<double>(size)) : 1.0;
    if (config.scaleByLayer)
      scale /= static_cast<double>(layer + 1);
    Value out = attendCausally(heads[0], heads[1], heads[2], scale, 0, config.attentionDropout);
    Value joinedHeads = reshape(out, {batch(), sequence, config.width});
    return dropout(projection(block + ".attn.c_proj", joinedHeads), config.residualDropout);
  }

  Value activate(const std::string &name, Value x) {
    at(name);
    return config.activation == "relu" ? relu(x) : gelu(x, *symbolizeGeluApproximation(config.activation));
  }

  Value layer(std::int64_t index, Value x) {
    std::string name = "h." + std::to_string(index);
    return block(name, [&] {
      Value attended = addAt(name, attention(name, index, norm(name + ".ln_1", x)), x);
      Value wide = projection(name + ".mlp.c_fc", norm(name + ".ln_2", attended));
      Value narrow =
          dropout(projection(name + ".mlp.c_proj", activate(name + ".mlp.act", wide)), config.residualDropout);
      return addAt(name, narrow, attended);
    });
  }

  Value forward(Value tokens) override {
    Value words = embedding("wte", tokens, config.vocabulary, config.width);
    at("wpe");
    Value x = dropout(add(words, firstRows(read("wpe.weight"), sequence)), config.embeddingDropout);
    for (std::int64_t index = 0; index < config.layers; ++index)
      x = layer(index, x);
    x = norm("ln_f", x);
    at("lm_head");
    return matmul(x, read(config.tied ? "wte.weight" : "lm_head.weight"), true);
  }
};

} // namespace

Result<OwningOpRef<ModuleOp>> sluice::buildGpt2(MLIRContext *context, const Gpt2Config &config,
                                                const ImportOptions &options, llvm::StringRef name,
                                                llvm::StringRef configText) {
  return Gpt2Builder(context, config, options, name).build(configText);
}
