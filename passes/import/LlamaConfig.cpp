//===- LlamaConfig.cpp - reading the config.json of Llama, Mistral, Qwen2 and Qwen3 -------===//
//
// Fields and defaults are those of the families' configuration classes in transformers.
//
//===----------------------------------------------------------------------===//

#include "passes/import/ConfigFields.h"
#include "passes/import/Llama.h"

#include "llvm/ADT/STLExtras.h"

using namespace sluice;
namespace json = llvm::json;

namespace {

/// Properties of a family's class that the config does not have.
struct Family {
  llvm::StringLiteral type, article;
  /// Defaults; 0: as many as query heads, as wide as the width divided by the heads.
  std::int64_t keyHeads, headSize, positions;
  /// q, k and v always have biases; otherwise `attention_bias` of the config adds biases of q, k, v and o.
  bool alwaysQueryBias, mayHaveBias, mayHaveMlpBias, headNorms;
  /// Mistral has `sliding_window` for all layers; Qwen has it with `use_sliding_window` for some.
  bool windowForAll, windowForSome;
};

constexpr Family families[] = {
    {"llama", "a Llama config", 0, 0, 2048, false, true, true, false, false, false},
    {"mistral", "a Mistral config", 8, 0, 131072, false, false, false, false, true, false},
    {"qwen2", "a Qwen2 config", 32, 0, 32768, true, false, false, false, false, true},
    {"qwen3", "a Qwen3 config", 32, 128, 32768, false, true, false, true, false, true},
};

const Family *familyOf(llvm::StringRef type) {
  const Family *found = llvm::find_if(families, [&](const Family &family) { return family.type == type; });
  return found == std::end(families) ? nullptr : found;
}

/// Rotary positions: `rope_parameters`, or `rope_scaling` and `rope_theta` in older configs.
RopeConfig readRope(ConfigFields &fields, std::int64_t positions) {
  RopeConfig rope;
  double outerTheta = fields.number("rope_theta", 10000, false);
  auto mustRotateAll = [](ConfigFields &fields) {
    const json::Value *part = fields.get("partial_rotary_factor");
    if (part && part->getAsNumber() != std::optional<double>(1.0))
      fields.fail("partial_rotary_factor", "1 (all of a head is rotated)", part);
  };
  mustRotateAll(fields);
  const json::Value *older = fields.get("rope_scaling"), *newer = fields.get("rope_parameters");
  // An empty object is as none.
  if (const json::Object *inner = older ? older->getAsObject() : nullptr; inner && inner->empty())
    older = nullptr;
  const char *name = older ? "rope_scaling" : "rope_parameters";
  const json::Value *outerOriginal = fields.get("original_max_position_embeddings");
  rope.theta = outerTheta;
  const json::Value *given = older ? older : newer;
  if (!given)
    return rope;
  const json::Object *object = given->getAsObject();
  if (!object) {
    fields.fail(name, "an object", given);
    return rope;
  }
  ConfigFields inner(*object, fields.path(), "rotary positions", std::string(name) + ".");
  rope.theta = inner.number("rope_theta", outerTheta, false);
  mustRotateAll(inner);
  std::string olderType = inner.text("type", "default");
  rope.scaling = inner.text("rope_type", olderType);
  if (rope.scaling != "default" && rope.scaling != "linear" && rope.scaling != "llama3") {
    llvm::StringRef why = rope.scaling == "dynamic"
                              ? "\"default\", \"linear\" or \"llama3\" (frequencies of \"dynamic\" change with the "
                                "longest sequence seen, which a plan compiled ahead cannot know)"
                              : "\"default\", \"linear\" or \"llama3\"";
    json::Value got(rope.scaling);
    inner.fail(object->get("rope_type") ? "rope_type" : "type", why, &got);
  }
  auto required = [&](llvm::StringRef field) {
    if (!inner.get(field))
      inner.fail(field, "a number above 0", nullptr);
    return inner.number(field, 1, false);
  };
  if (rope.scaling != "default")
    rope.factor = required("factor");
  if (rope.scaling == "llama3") {
    rope.low = required("low_freq_factor");
    rope.high = required("high_freq_factor");
    rope.original = static_cast<double>(inner.optionalSize("original_max_position_embeddings", positions));
    if (outerOriginal)
      rope.original = static_cast<double>(fields.size("original_max_position_embeddings"));
    if (!(rope.low < rope.high))
      inner.fail("high_freq_factor", "more than low_freq_factor", object->get("high_freq_factor"));
  }
  // A default form may carry a factor of 1 that does nothing.
  if (rope.scaling == "default" && inner.number("factor", 1, false) != 1)
    inner.fail("factor", "1 where the form is \"default\"", object->get("factor"));
  inner.refuseUnknown();
  if (fields.status.isOk())
    fields.status = inner.status;
  return rope;
}

/// For each layer its window, 0 for none.
llvm::SmallVector<std::int64_t> readWindows(ConfigFields &fields, const Family &family, std::int64_t layers) {
  llvm::SmallVector<std::int64_t> windows(static_cast<std::size_t>(layers), 0);
  if (family.windowForAll) {
    // null is no window; a missing field has the default of the class.
    std::int64_t window = fields.has("sliding_window") ? fields.optionalSize("sliding_window", 0) : 4096;
    windows.assign(static_cast<std::size_t>(layers), window);
  }
  if (!family.windowForSome)
    return windows;
  bool used = fields.boolean("use_sliding_window", false);
  std::int64_t window = fields.has("sliding_window") ? fields.optionalSize("sliding_window", 0) : 4096;
  std::int64_t first = fields.integer("max_window_layers", 28);
  const json::Value *types = fields.get("layer_types");
  if (!types) {
    for (std::int64_t layer = std::max<std::int64_t>(0, first); used && layer < layers; ++layer)
      windows[static_cast<std::size_t>(layer)] = window;
    return windows;
  }
  const json::Array *list = types->getAsArray();
  if (!list || list->size() != windows.size()) {
    fields.fail("layer_types", "a list of " + std::to_string(layers) + " layer types", types);
    return windows;
  }
  for (auto [type, windowOfLayer] : llvm::zip(*list, windows)) {
    bool sliding = type.getAsString() == std::optional<llvm::StringRef>("sliding_attention");
    if (!sliding && type.getAsString() != std::optional<llvm::StringRef>("full_attention"))
      fields.fail("layer_types", "\"full_attention\" or \"sliding_attention\" for each layer", &type);
    if (sliding && (!used || window == 0))
      fields.fail("layer_types", "\"full_attention\" where no sliding window is used", &type);
    windowOfLayer = sliding ? window : 0;
  }
  return windows;
}

} // namespace

bool sluice::isLlamaFamily(llvm::StringRef modelType) { return familyOf(modelType) != nullptr; }

Result<LlamaConfig> sluice::readLlamaConfig(llvm::StringRef modelType, const json::Object &object,
                                            const std::string &file, const ImportOptions &options) {
  const Family &family = *familyOf(modelType);
  LlamaConfig config;
  ConfigFields fields(object, file, family.article.str());
  fields.allowCommon();
  config.vocabulary = fields.size("vocab_size");
  config.width = fields.size("hidden_size");
  config.inner = fields.size("intermediate_size");
  config.layers = fields.layers("num_hidden_layers");
  config.heads = fields.size("num_attention_heads");
  bool silent = !fields.has("num_key_value_heads") && family.keyHeads != 0;
  config.keyHeads = fields.optionalSize("num_key_value_heads", silent ? family.keyHeads : config.heads);
  bool ownSize = fields.has("head_dim") || family.headSize == 0;
  config.headSize = fields.optionalSize("head_dim", ownSize ? config.width / config.heads : family.headSize);
  std::int64_t positions = fields.optionalSize("max_position_embeddings", family.positions);
  config.epsilon = fields.number("rms_norm_eps", 1e-6, true);
  config.initializerRange = fields.number("initializer_range", 0.02, true);
  config.tied = fields.boolean("tie_word_embeddings", false);
  config.headNorms = family.headNorms;
  bool attentionBias = family.mayHaveBias && fields.boolean("attention_bias", false);
  if (!family.mayHaveBias)
    fields.mustBeOff("attention_bias", "false (the family has no such field)");
  config.queryBias = attentionBias || family.alwaysQueryBias;
  config.outputBias = attentionBias;
  config.mlpBias = family.mayHaveMlpBias && fields.boolean("mlp_bias", false);
  if (!family.mayHaveMlpBias)
    fields.mustBeOff("mlp_bias", "false (the family has no such field)");
  // The tensor parallelism of the pretraining: it changes no value.
  fields.allow({"pretraining_tp"});
  fields.mustBeOff("per_layer_config", "nothing (all layers are equal)");
  config.rope = readRope(fields, positions);
  config.windows = readWindows(fields, family, config.layers);

  config.activation = fields.activation("hidden_act", "silu", /*mayBeSilu=*/true);
  // The embedding's padding row, which torch counts from the end where it is below 0.
  if (const json::Value *padding = fields.get("pad_token_id")) {
    std::int64_t row = padding->getAsInteger().value_or(config.vocabulary);
    if (row >= -config.vocabulary && row < config.vocabulary)
      config.padding = row < 0 ? row + config.vocabulary : row;
    else
      fields.fail("pad_token_id",
                  "null or a token from " + std::to_string(-config.vocabulary) + " to " +
                      std::to_string(config.vocabulary - 1),
                  padding);
  }
  double dropout = fields.rate("attention_dropout", 0);
  config.attentionDropout = options.dropout.value_or(dropout);
  fields.refuseUnknown();
  SLUICE_RETURN_IF_ERROR(fields.status);

  auto number = [](std::int64_t value) { return std::to_string(value); };
  if (!fields.has("head_dim") && config.width % config.heads != 0)
    return inputError(file + ": field 'hidden_size', expected a multiple of 'num_attention_heads' = " +
                      number(config.heads) + " but got " + number(config.width));
  if (config.headSize % 2 != 0)
    return inputError(file + ": field 'head_dim', expected an even number but got " + number(config.headSize));
  if (config.heads % config.keyHeads != 0)
    return inputError(file + ": field 'num_attention_heads', expected a multiple of 'num_key_value_heads' = " +
                      number(config.keyHeads) + " but got " + number(config.heads));
  std::int64_t batch = options.batch, sequence = options.sequence;
  const std::pair<const char *, llvm::SmallVector<std::int64_t>> tensors[] = {
      {"model.embed_tokens.weight", {config.vocabulary, config.width}},
      {"self_attn.q_proj.weight", {config.heads, config.headSize, config.width}},
      {"mlp.gate_proj.weight", {config.inner, config.width}},
      {"the activations of the MLP", {batch, sequence, config.inner}},
      {"the queries", {batch, sequence, config.heads, config.headSize}},
      {"the logits", {batch, sequence, config.vocabulary}}};
  for (const auto &[name, shape] : tensors)
    SLUICE_RETURN_IF_ERROR(checkTensorSize(file, name, shape));
  return config;
}
