//===- Gpt2Graph.cpp - the GPT-2 family as a graph -------------------------------------===//

#include "passes/import/Gpt2.h"
#include "passes/import/GraphBuilder.h"

#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

class Gpt2Builder : public GraphBuilder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, const ImportOptions &options)
      : GraphBuilder(context, options, config.vocabulary), config(config) {}

private:
  const Gpt2Config &config;

  bool drops() const override {
    return config.embeddingDropout != 0 || config.attentionDropout != 0 || config.residualDropout != 0;
  }

  void declareNorm(const llvm::Twine &name) {
    declare(name + ".weight", {config.width}, "ones");
    declare(name + ".bias", {config.width}, "zeros");
  }

  /// The checkpoint keeps weights as [in, out].
  void declareProjection(const llvm::Twine &name, std::int64_t in, std::int64_t out, double deviation) {
    declare(name + ".weight", {in, out}, "normal", deviation);
    declare(name + ".bias", {out}, "zeros");
  }

  void declareParameters() override {
    double range = config.initializerRange;
    // Initial projections onto the residual path are scaled by the number of additions to it.
    double residual = range / std::sqrt(2.0 * static_cast<double>(config.layers));
    declare("wte.weight", {config.vocabulary, config.width}, "normal", range, config.tied ? "lm_head.weight" : "");
    declare("wpe.weight", {config.positions, config.width}, "normal", range);
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
      declare("lm_head.weight", {config.vocabulary, config.width}, "normal", range);
  }

  Value norm(const std::string &name, Value x) {
    location = at(name);
    Value weight = read(name + ".weight"), bias = read(name + ".bias");
    return model::LayerNormOp::create(builder, location, x, weight, bias, builder.getF64FloatAttr(config.epsilon))
        .getY();
  }

  Value projection(const std::string &name, Value x) {
    location = at(name);
    Value weight = read(name + ".weight"), bias = read(name + ".bias");
    Value product = model::MatmulOp::create(builder, location, x, weight).getResult();
    return model::AddOp::create(builder, location, product, bias).getResult();
  }

  Value attention(const std::string &block, std::int64_t layer, Value x) {
    Value joined = projection(block + ".attn.c_attn", x);
    location = at(block + ".attn");
    Type part = tensor({batch, sequence, config.width});
    auto split =
        model::SplitOp::create(builder, location, TypeRange{part, part, part}, joined, builder.getI64IntegerAttr(2));
    std::int64_t size = config.width / config.heads;
    llvm::SmallVector<Value> heads;
    for (Value piece : split.getResults())
      heads.push_back(reshape(piece, {batch, sequence, config.heads, size}));
    double scale = config.scaleAttention ? 1.0 / std::sqrt(static_cast<double>(size)) : 1.0;
    if (config.scaleByLayer)
      scale /= static_cast<double>(layer + 1);
    Value out = attend(heads[0], heads[1], heads[2], scale, 0, config.attentionDropout);
    Value joinedHeads = reshape(out, {batch, sequence, config.width});
    return drop(projection(block + ".attn.c_proj", joinedHeads), config.residualDropout);
  }

  Value activate(const std::string &name, Value x) {
    location = at(name);
    if (config.activation == "relu")
      return model::ReluOp::create(builder, location, x).getResult();
    return model::GeluOp::create(builder, location, x, *symbolizeGeluApproximation(config.activation)).getY();
  }

  Value layer(std::int64_t index, Value x) {
    std::string name = "h." + std::to_string(index);
    return block(name, x.getType(), [&] {
      Value attended = add(name, attention(name, index, norm(name + ".ln_1", x)), x);
      Value wide = projection(name + ".mlp.c_fc", norm(name + ".ln_2", attended));
      Value narrow = drop(projection(name + ".mlp.c_proj", activate(name + ".mlp.act", wide)), config.residualDropout);
      return add(name, narrow, attended);
    });
  }

  Value forward(Value tokens) override {
    location = at("wte");
    Value words = model::EmbeddingOp::create(builder, location, read("wte.weight"), tokens, /*padding=*/IntegerAttr())
                      .getResult();
    location = at("wpe");
    Value positions = read("wpe.weight");
    if (sequence < config.positions)
      positions = model::SliceOp::create(builder, location, positions, builder.getDenseI64ArrayAttr({0, 0}),
                                         builder.getDenseI64ArrayAttr({sequence, config.width}),
                                         builder.getDenseI64ArrayAttr({1, 1}))
                      .getResult();
    Value x = drop(add("wpe", words, positions), config.embeddingDropout);
    for (std::int64_t index = 0; index < config.layers; ++index)
      x = layer(index, x);
    x = norm("ln_f", x);
    location = at("lm_head");
    Value head = read(config.tied ? "wte.weight" : "lm_head.weight");
    return model::MatmulOp::create(builder, location, x, head, false, true).getResult();
  }
};

} // namespace

Result<OwningOpRef<ModuleOp>> sluice::buildGpt2(MLIRContext *context, const Gpt2Config &config,
                                                const ImportOptions &options, llvm::StringRef name,
                                                llvm::StringRef configText) {
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  OwningOpRef<ModuleOp> module = Gpt2Builder(context, config, options).build(name, configText);
  if (failed(verify(module.get())))
    return internalError("imported model that does not verify");
  return module;
}
