//===- DecoderGraph.cpp - the decoder of all model families as a graph --------------------===//

#include "passes/import/Decoder.h"
#include "passes/import/GraphBuilder.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace sluice;

namespace {

class DecoderBuilder : public GraphBuilder {
public:
  DecoderBuilder(MLIRContext *context, const DecoderConfigs &configs, const ImportOptions &options,
                 llvm::StringRef name)
      : GraphBuilder(context, options, name, configs.at(options.sequence).vocabulary), configs(configs),
        config(configs.at(options.sequence)) {}

private:
  const DecoderConfigs &configs;
  /// That of the entry point that is being built.
  DecoderConfig config;
  const DecoderNames &names = config.names;
  /// Of the entry point that is being built; null: rows are not packed.
  Value documents;
  std::int64_t queries = config.heads * config.headSize, keys = config.keyHeads * config.headSize;

  bool drops() const override {
    return config.embeddingDropout != 0 || config.attentionDropout != 0 || config.attentionOutputDropout != 0 ||
           config.mlpOutputDropout != 0;
  }

  void selectSequence() override { config = configs.at(sequence); }

  std::string blockName(std::int64_t index) const { return (names.layers + "." + std::to_string(index)).str(); }

  //===- Parameters -------------------------------------------------------------===//

  void declareWeight(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, double deviation) {
    declare(name + ".weight", shape, {"normal", 0, deviation});
  }

  void declareNorm(const llvm::Twine &name, std::int64_t size, bool bias) {
    declare(name + ".weight", {size}, {config.norm == NormKind::rmsOfOnePlusWeight ? "zeros" : "ones"});
    if (bias)
      declare(name + ".bias", {size}, {"zeros"});
  }

  /// The norm `name` of a block, if it has one.
  void declareBlockNorm(const std::string &block, llvm::StringRef name) {
    if (!name.empty() && config.affineNorms)
      declareNorm(block + "." + name, config.width, config.norm == NormKind::layer);
  }

  void declareProjection(const llvm::Twine &name, std::int64_t in, std::int64_t out, bool bias,
                         bool ontoResidual = false) {
    double deviation = config.initializerRange;
    if (ontoResidual && config.scalesResidualInit)
      deviation /= std::sqrt(2.0 * static_cast<double>(config.layers));
    const std::int64_t transposed[] = {in, out}, plain[] = {out, in};
    declareWeight(name, config.transposedProjections ? transposed : plain, deviation);
    if (bias)
      declare(name + ".bias", {out}, {"zeros"});
  }

  void declareHeadNorm(const std::string &name, std::int64_t heads) {
    if (config.headNorm == HeadNorm::eachHead)
      declareNorm(name, config.headSize, false);
    if (config.headNorm == HeadNorm::allHeads)
      declareNorm(name, heads * config.headSize, false);
    for (std::int64_t head = 0; config.headNorm == HeadNorm::ownWeights && head < heads; ++head)
      declareNorm(name + ".norms." + std::to_string(head), config.headSize, false);
  }

  void declareAttention(const std::string &name) {
    if (!names.fused.empty()) {
      declareProjection(name + names.fused, config.width, queries + 2 * keys, config.queryBias);
    } else {
      declareProjection(name + names.query, config.width, queries, config.queryBias);
      declareProjection(name + names.key, config.width, keys, config.queryBias);
      declareProjection(name + names.value, config.width, keys, config.queryBias);
    }
    declareHeadNorm((name + names.queryNorm).str(), config.heads);
    declareHeadNorm((name + names.keyNorm).str(), config.keyHeads);
    declareProjection(name + names.output, queries, config.width, config.outputBias, /*ontoResidual=*/true);
  }

  void declareMlp(const std::string &name) {
    if (!names.gateUp.empty()) {
      declareProjection(name + names.gateUp, config.width, 2 * config.inner, config.mlpBias);
    } else {
      if (!names.gate.empty())
        declareProjection(name + names.gate, config.width, config.inner, config.mlpBias);
      declareProjection(name + names.up, config.width, config.inner, config.mlpBias);
    }
    declareProjection(name + names.down, config.inner, config.width, config.mlpBias, /*ontoResidual=*/true);
  }

  void declareParameters() override {
    // The names of the output projection, whose weight is that of the embedding if they are tied.
    std::string head = (names.head + ".weight").str(), alias = (names.headAlias + ".weight").str();
    llvm::SmallVector<llvm::StringRef> aliases;
    if (!names.headAlias.empty())
      aliases.push_back(alias);
    const Initial normal = {"normal", 0, config.initializerRange};
    const std::int64_t words[] = {config.vocabulary, config.wordWidth};
    if (config.tied)
      aliases.insert(aliases.begin(), head);
    declare(names.embedding + ".weight", words, normal, config.tied ? aliases : llvm::ArrayRef<llvm::StringRef>(),
            config.padding);
    if (!names.positions.empty())
      declareWeight(names.positions, {config.positions, config.width}, config.initializerRange);
    bool projects = config.wordWidth != config.width;
    if (projects)
      declareProjection(names.projectIn, config.wordWidth, config.width, false);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      std::string block = blockName(layer);
      declareBlockNorm(block, names.beforeAttention);
      declareAttention((block + "." + names.attention + ".").str());
      declareBlockNorm(block, names.afterAttention);
      declareBlockNorm(block, names.afterAttentionSum);
      declareBlockNorm(block, names.beforeMlp);
      declareMlp((block + "." + names.mlp).str());
      declareBlockNorm(block, names.afterMlp);
      declareBlockNorm(block, names.afterMlpSum);
    }
    if (!names.norm.empty() && config.affineNorms)
      declareNorm(names.norm, config.width, config.norm == NormKind::layer);
    if (projects)
      declareProjection(names.projectOut, config.width, config.wordWidth, false);
    if (!config.tied)
      declare(head, words, normal, aliases);
  }

  //===- Modules ----------------------------------------------------------------===//

  Value scaled(Value x, double factor) {
    return factor == 1 ? x : model::ScaleOp::create(builder, x, builder.getF64FloatAttr(factor)).getResult();
  }

  Value layerNormWithoutWeight(Value x) {
    std::int64_t size = shapeOf(x).back();
    Value weight = constant(1, {size}), bias = constant(0, {size});
    return model::LayerNormOp::create(builder, x, weight, bias, builder.getF64FloatAttr(config.epsilon)).getY();
  }

  Value norm(const std::string &name, Value x) {
    at(name);
    if (config.norm == NormKind::layer)
      return config.affineNorms ? layerNorm(name, x, /*bias=*/true, config.epsilon) : layerNormWithoutWeight(x);
    if (config.norm == NormKind::rms)
      return rmsNorm(name, x, config.epsilon);
    Value weight = add(read(name + ".weight"), constant(1, {shapeOf(x).back()}));
    return model::RmsNormOp::create(builder, x, weight, builder.getF64FloatAttr(config.epsilon)).getY();
  }

  /// The norm `name` of a block, or its input if the family has none there.
  Value blockNorm(const std::string &block, llvm::StringRef name, Value x) {
    return name.empty() ? x : norm((block + "." + name).str(), x);
  }

  Value projection(const llvm::Twine &twine, Value x, bool bias) {
    std::string name = twine.str();
    at(name);
    Value product = matmul(x, read(name + ".weight"), !config.transposedProjections);
    return bias ? add(product, read(name + ".bias")) : product;
  }

  Value activate(Value x) {
    if (config.activation == "silu")
      return model::SiluOp::create(builder, x);
    return config.activation == "relu" ? relu(x) : gelu(x, *symbolizeGeluApproximation(config.activation));
  }

  //===- Attention --------------------------------------------------------------===//

  /// Norms of each head with its own weight: one norm without weights, times the weights [heads, size].
  Value normHeadsSeparately(const std::string &name, std::int64_t count, Value split) {
    at(name);
    Value normed = layerNormWithoutWeight(split);
    llvm::SmallVector<Value> weights;
    for (std::int64_t head = 0; head < count; ++head)
      weights.push_back(reshape(read(name + ".norms." + std::to_string(head) + ".weight"),
                                llvm::ArrayRef({std::int64_t(1), config.headSize})));
    Value joined = model::ConcatOp::create(builder, weights, builder.getI64IntegerAttr(0));
    return model::MultiplyOp::create(builder, normed, joined);
  }

  /// [batch, sequence, count, headSize] of a projection to heads, with their norm.
  Value splitHeads(const llvm::Twine &normName, std::int64_t count, Value x, bool normed) {
    HeadNorm kind = normed ? config.headNorm : HeadNorm::none;
    if (kind == HeadNorm::allHeads)
      x = norm(normName.str(), x);
    Value split = reshape(x, {batch(), sequence, count, config.headSize});
    if (kind == HeadNorm::eachHead)
      return norm(normName.str(), split);
    return kind == HeadNorm::ownWeights ? normHeadsSeparately(normName.str(), count, split) : split;
  }

  /// Queries, keys and values of a fused projection.
  std::array<Value, 3> splitFused(const std::string &name, Value x) {
    Value joined = projection(name + "." + names.fused, x, config.queryBias);
    at(name);
    if (config.fusedRows == FusedRows::byHead) {
      Value heads = reshape(joined, {batch(), sequence, config.heads, 3 * config.headSize});
      Type part = tensor({batch(), sequence, config.heads, config.headSize});
      auto split = model::SplitOp::create(builder, TypeRange{part, part, part}, heads, builder.getI64IntegerAttr(3));
      return {split.getResult(0), split.getResult(1), split.getResult(2)};
    }
    Type ofQueries = tensor({batch(), sequence, queries}), ofKeys = tensor({batch(), sequence, keys});
    auto split =
        model::SplitOp::create(builder, TypeRange{ofQueries, ofKeys, ofKeys}, joined, builder.getI64IntegerAttr(2));
    return {splitHeads("", config.heads, split.getResult(0), false),
            splitHeads("", config.keyHeads, split.getResult(1), false),
            splitHeads("", config.keyHeads, split.getResult(2), false)};
  }

  std::array<Value, 3> queriesKeysValues(const std::string &name, Value x) {
    if (!names.fused.empty())
      return splitFused(name, x);
    auto heads = [&](llvm::StringRef part, llvm::StringRef normName, std::int64_t count) {
      return splitHeads(name + "." + normName, count, projection(name + "." + part, x, config.queryBias),
                        !normName.empty());
    };
    Value q = heads(names.query, names.queryNorm, config.heads), k = heads(names.key, names.keyNorm, config.keyHeads);
    return {q, k, heads(names.value, "", config.keyHeads)};
  }

  /// Rotary positions of all of x, which is a head or its first elements.
  Value rope(Value x) {
    auto number = [&](double value) { return builder.getF64FloatAttr(value); };
    const RopeConfig &rope = config.rope;
    llvm::SmallVector<std::int64_t> divisors;
    for (double divisor : rope.divisors)
      divisors.push_back(std::llround(divisor * model::RopeOp::divisorUnit));
    return model::RopeOp::create(builder, x, documents, number(rope.theta), builder.getI64IntegerAttr(0),
                                 builder.getAttr<model::RopeScalingAttr>(*symbolizeRopeScaling(rope.scaling)),
                                 number(rope.factor), number(rope.low), number(rope.high), number(rope.original),
                                 divisors.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(divisors),
                                 UnitAttr(), documents ? builder.getUnitAttr() : UnitAttr());
  }

  bool rotatesAll() const { return config.rope.size == config.headSize; }

  Value rotated(Value x) {
    if (config.rope.size == 0)
      return x;
    if (rotatesAll())
      return rope(x);
    Shape first(shapeOf(x)), rest(first);
    first.back() = config.rope.size;
    rest.back() -= config.rope.size;
    auto parts =
        model::SplitOp::create(builder, TypeRange{tensor(first), tensor(rest)}, x, builder.getI64IntegerAttr(3));
    Value turned = scaled(rope(parts.getResult(0)), config.rope.attentionFactor);
    return model::ConcatOp::create(builder, ValueRange{turned, parts.getResult(1)}, builder.getI64IntegerAttr(3));
  }

  Value attention(const std::string &name, std::size_t layer, Value x) {
    auto [q, k, v] = queriesKeysValues(name, x);
    at(name);
    double scale = config.attentionScales[layer];
    // The factor of queries and of keys.
    if (rotatesAll())
      scale *= config.rope.attentionFactor * config.rope.attentionFactor;
    Value rotatedQ = rotated(q), rotatedK = rotated(k);
    Value out = attendCausally(rotatedQ, rotatedK, v, scale, config.windows[layer], documents, config.attentionDropout,
                               config.attentionCap);
    out = projection(name + "." + names.output, reshape(out, {batch(), sequence, queries}), config.outputBias);
    return dropout(out, config.attentionOutputDropout);
  }

  //===- Block and model --------------------------------------------------------===//

  Value gated(const std::string &name, Value x) {
    Value gate, up;
    if (!names.gateUp.empty()) {
      Value joined = projection(name + names.gateUp, x, config.mlpBias);
      Type part = tensor({batch(), sequence, config.inner});
      auto split = model::SplitOp::create(builder, TypeRange{part, part}, joined, builder.getI64IntegerAttr(2));
      gate = split.getResult(0), up = split.getResult(1);
    } else {
      gate = projection(name + names.gate, x, config.mlpBias);
      up = projection(name + names.up, x, config.mlpBias);
    }
    at(name + names.activation);
    if (config.activation == "silu")
      return model::SwigluOp::create(builder, gate, up);
    return model::MultiplyOp::create(builder, activate(gate), up);
  }

  Value mlp(const std::string &name, Value x) {
    Value wide;
    if (names.gate.empty() && names.gateUp.empty()) {
      wide = projection(name + names.up, x, config.mlpBias);
      at(name + names.activation);
      wide = activate(wide);
    } else {
      wide = gated(name, x);
    }
    return dropout(projection(name + names.down, wide, config.mlpBias), config.mlpOutputDropout);
  }

  Value layer(std::int64_t index, Value x) {
    std::string name = blockName(index), mlpName = (name + "." + names.mlp).str();
    auto sum = [&](Value output, Value residual) {
      at(name);
      return add(scaled(output, config.residualScale), residual);
    };
    return block(name, [&] {
      Value normed = blockNorm(name, names.beforeAttention, x);
      Value attended = attention((name + "." + names.attention).str(), static_cast<std::size_t>(index), normed);
      attended = blockNorm(name, names.afterAttention, attended);
      if (config.parallelResidual) {
        Value inner = mlp(mlpName, names.beforeMlp.empty() ? normed : blockNorm(name, names.beforeMlp, x));
        return sum(sum(inner, attended), x);
      }
      Value middle = blockNorm(name, names.afterAttentionSum, sum(attended, x));
      Value inner = blockNorm(name, names.afterMlp, mlp(mlpName, blockNorm(name, names.beforeMlp, middle)));
      return blockNorm(name, names.afterMlpSum, sum(inner, middle));
    });
  }

  /// The rows of the table of learned positions: [sequence, width], or [batch, sequence, width] of packed rows.
  Value positionRows() {
    Value table = read(names.positions + ".weight");
    if (!documents)
      return sliceRows(table, config.firstPosition, sequence);
    const auto type = RankedTensorType::get({batch(), sequence}, builder.getI32Type());
    Value index = model::IotaOp::create(builder, type, builder.getI64IntegerAttr(1));
    Value first = model::ConstantOp::create(builder, RankedTensorType::get({}, builder.getI32Type()),
                                            builder.getF64FloatAttr(static_cast<double>(config.firstPosition)));
    Value position = add(model::SubtractOp::create(builder, index, documents), first);
    return model::EmbeddingOp::create(builder, table, position, IntegerAttr());
  }

  Value forward(Value tokens, Value documentsOfTokens) override {
    documents = documentsOfTokens;
    Value x = embedding(names.embedding, tokens, config.vocabulary, config.wordWidth, config.padding);
    x = scaled(x, config.embeddingScale);
    if (config.wordWidth != config.width)
      x = projection(names.projectIn, x, false);
    if (!names.positions.empty()) {
      at(names.positions);
      x = add(x, positionRows());
    }
    x = dropout(x, config.embeddingDropout);
    for (std::int64_t index = 0; index < config.layers; ++index)
      x = layer(index, x);
    if (!names.norm.empty())
      x = norm(names.norm.str(), x);
    if (config.wordWidth != config.width)
      x = projection(names.projectOut, x, false);
    at(names.head);
    // A scale of the product's input does not separate it from the loss, as a chunked cross entropy requires.
    x = scaled(x, config.logitScale);
    return capped(matmul(x, read((config.tied ? names.embedding : names.head) + ".weight"), true), config.logitCap);
  }
};

} // namespace

Result<OwningOpRef<ModuleOp>> sluice::buildDecoder(MLIRContext *context, const DecoderConfigs &configs,
                                                   const ImportOptions &options, llvm::StringRef name,
                                                   llvm::StringRef configText) {
  return DecoderBuilder(context, configs, options, name).build(configText);
}
