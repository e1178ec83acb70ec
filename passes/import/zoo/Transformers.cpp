//===- Transformers.cpp - the toy Transformer and its relatives ---------------------------------===//

#include "passes/import/zoo/Models.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

namespace {

struct Sizes {
  std::int64_t layers, vocabulary, positions, sequence, width, heads;
  bool tied, causal;
  double dropout = 0;
  /// Whether blocks and their FFNs are marked for recompute.
  bool marked = false;
};

class Transformer {
public:
  Transformer(ModuleBuilder &b, const Sizes &sizes) : b(b), s(sizes) {}

  /// Logits [B, T, V] of tokens [B, T].
  Value operator()(Value tokens) {
    Value words = b.embedding("tok_embeddings", tokens, s.vocabulary, s.width);
    b.at("pos_embeddings");
    b.declare("pos_embeddings.weight", {s.positions, s.width}, {"normal", 0, 1});
    Value h = b.dropout(b.add(words, b.sliceRows(b.read("pos_embeddings.weight"), 0, s.sequence)), s.dropout);
    for (std::int64_t layer = 0; layer < s.layers; ++layer)
      h = block("layers." + std::to_string(layer), h);
    h = b.layerNorm("norm", h);
    if (!s.tied)
      return b.linear("output", h, s.vocabulary, /*bias=*/false);
    b.at("output");
    return b.matmul(h, b.read("tok_embeddings.weight"), true);
  }

private:
  ModuleBuilder &b;
  const Sizes &s;

  Value marked(llvm::function_ref<Value()> body) { return s.marked ? b.checkpoint(body) : body(); }

  Value block(const std::string &name, Value x) {
    return b.block(name, [&] {
      return marked([&] {
        Value h = attention(name + ".attention", b.layerNorm(name + ".attention_norm", x));
        b.at(name);
        h = b.add(x, h);
        Value normal = b.layerNorm(name + ".ffn_norm", h);
        Value out = marked([&] { return feedForward(name + ".feed_forward", normal); });
        b.at(name);
        return b.add(h, out);
      });
    });
  }

  Value attention(const std::string &name, Value x) {
    Value q = b.linear(name + ".wq", x, s.width, false), k = b.linear(name + ".wk", x, s.width, false),
          v = b.linear(name + ".wv", x, s.width, false);
    b.at(name);
    Value attended = b.attention(q, k, v, s.heads, s.causal, s.dropout);
    return b.dropout(b.linear(name + ".wo", attended, s.width, false), s.dropout);
  }

  Value feedForward(const std::string &name, Value x) {
    return b.dropout(b.linear(name + ".w2", b.gelu(b.linear(name + ".w1", x, 4 * s.width)), s.width), s.dropout);
  }
};

} // namespace

static Status readSizes(const Settings &settings, Sizes &sizes) {
  sizes = {settings.size("layers"),   settings.size("vocab"),  settings.size("max_sequence"),
           settings.size("sequence"), settings.size("dim"),    settings.size("heads"),
           settings.flag("tied"),     settings.flag("causal"), settings.probability("dropout")};
  if (sizes.width % sizes.heads != 0)
    return Status(StatusCode::usage, "key 'dim', expected a multiple of 'heads' = " + std::to_string(sizes.heads) +
                                         " but got " + std::to_string(sizes.width));
  if (sizes.sequence > sizes.positions)
    return Status(StatusCode::usage,
                  "key 'sequence', expected at most 'max_sequence' = " + std::to_string(sizes.positions) + " but got " +
                      std::to_string(sizes.sequence));
  return Status::ok();
}

/// `count` forwards over separate tokens; the loss is that of all outputs.
static Status build(ModuleBuilder &b, const Sizes &sizes, int count) {
  const llvm::SmallVector<llvm::StringRef> aliases(sizes.tied ? 1 : 0, "output.weight");
  b.declare("tok_embeddings.weight", {sizes.vocabulary, sizes.width}, {"normal", 0, 1}, aliases);
  llvm::SmallVector<ModuleBuilder::Input> inputs = {{"tokens", {sizes.sequence}, sizes.vocabulary}};
  if (count == 2)
    inputs.push_back({"tokens_again", {sizes.sequence}, sizes.vocabulary});
  bool compares = b.loss() == "cross-entropy";
  if (compares)
    inputs.push_back({"targets", {sizes.sequence}, sizes.vocabulary});
  llvm::SmallVector<Value> given = b.beginTrain("train_step", inputs), outputs;
  if (sizes.dropout != 0)
    b.beginDropout();
  for (int i = 0; i < count; ++i)
    outputs.push_back(Transformer(b, sizes)(given[i]));
  if (!compares) {
    b.finishTrain(outputs);
    return Status::ok();
  }
  b.at("loss");
  b.finishEntry(b.crossEntropy(outputs[0], given.back(), LossReduction::mean));
  return Status::ok();
}

static Status buildTransformer(ModuleBuilder &b, const Settings &settings) {
  Sizes sizes;
  SLUICE_RETURN_IF_ERROR(readSizes(settings, sizes));
  return build(b, sizes, 1);
}

static Status buildTwoForwards(ModuleBuilder &b, const Settings &settings) {
  Sizes sizes;
  SLUICE_RETURN_IF_ERROR(readSizes(settings, sizes));
  return build(b, sizes, 2);
}

static Status buildNestedRecompute(ModuleBuilder &b, const Settings &settings) {
  Sizes sizes;
  SLUICE_RETURN_IF_ERROR(readSizes(settings, sizes));
  sizes.marked = true;
  return build(b, sizes, 1);
}

static Status buildMemoryTransformer(ModuleBuilder &b, const Settings &) {
  return build(b, {3, 32, 16, 4, 768, 12, false, true}, 1);
}

static std::vector<Key> transformerKeys(llvm::StringLiteral layers, llvm::StringLiteral dropout) {
  return {{"layers", layers, Kind::size, 10000},
          {"vocab", "8"},
          {"max_sequence", "16"},
          {"sequence", "16"},
          {"dim", "16"},
          {"heads", "4"},
          {"tied", "true", Kind::flag},
          {"causal", "true", Kind::flag},
          {"dropout", dropout, Kind::probability}};
}

std::vector<Model> zoo::transformerModels() {
  return {
      {"transformer",
       "the toy Transformer",
       transformerKeys("2", "0.1"),
       buildTransformer,
       "2",
       "sum",
       {"cross-entropy"}},
      {"two-forwards", "the toy Transformer run twice, one backward of the summed loss", transformerKeys("3", "0"),
       buildTwoForwards},
      {"nested-recompute", "a toy Transformer whose blocks and whose FFNs are marked for recompute",
       transformerKeys("3", "0"), buildNestedRecompute},
      {"memory-transformer",
       "3 layers of 768 on 4 tokens: the memory tests' Transformer",
       {},
       buildMemoryTransformer,
       "1"},
  };
}
