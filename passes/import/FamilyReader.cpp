//===- FamilyReader.cpp - reads the config.json of a decoder ------------------------------===//

#include "passes/import/FamilyReader.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace sluice;
namespace json = llvm::json;

void FamilyReader::readSizes(const Sizes &sizes) {
  config.vocabulary = fields.size("vocab_size");
  config.width = config.wordWidth = fields.size("hidden_size");
  config.inner = fields.size(sizes.inner);
  config.layers = fields.layers("num_hidden_layers");
  config.heads = fields.size("num_attention_heads");
  config.keyHeads = config.heads;
  if (sizes.hasKeyHeads) {
    bool silent = !fields.has("num_key_value_heads") && sizes.keyHeads != 0;
    config.keyHeads = fields.optionalSize("num_key_value_heads", silent ? sizes.keyHeads : config.heads);
  }
  config.headSize = config.width / config.heads;
  if (sizes.hasHeadSize) {
    bool isGiven = fields.has("head_dim") || sizes.headSize == 0;
    config.headSize = fields.optionalSize("head_dim", isGiven ? config.headSize : sizes.headSize);
  }
  if (!fields.find("head_dim") && sizes.headSize == 0 && config.width % config.heads != 0) {
    json::Value got(config.width);
    fields.fail("hidden_size", "a multiple of 'num_attention_heads' = " + std::to_string(config.heads), &got);
  }
  positions = fields.optionalSize(positionsField, sizes.positions);
  auto layers = static_cast<std::size_t>(config.layers);
  config.attentionScales.assign(layers, 1 / std::sqrt(static_cast<double>(config.headSize)));
  config.windows.assign(layers, 0);
}

void FamilyReader::readCommon(llvm::StringRef epsilon, double defaultEpsilon, bool tied, double range,
                              llvm::StringRef rangeField) {
  config.epsilon = fields.number(epsilon, defaultEpsilon, /*mayBeZero=*/config.norm != NormKind::layer);
  config.initializerRange = fields.number(rangeField, range, true);
  config.tied = fields.boolean("tie_word_embeddings", tied);
}

void FamilyReader::readAttentionBias(llvm::StringRef field, bool otherwise) {
  config.queryBias = config.outputBias = fields.boolean(field, otherwise);
}

void FamilyReader::readPadding(std::optional<std::int64_t> otherwise) {
  const json::Value *padding = fields.get("pad_token_id");
  if (!padding) {
    config.padding = fields.has("pad_token_id") ? std::nullopt : otherwise;
    if (config.padding >= config.vocabulary)
      config.padding.reset();
    return;
  }
  std::int64_t row = padding->getAsInteger().value_or(config.vocabulary);
  if (row >= -config.vocabulary && row < config.vocabulary)
    config.padding = row < 0 ? row + config.vocabulary : row;
  else
    fields.fail("pad_token_id",
                "null or a token from " + std::to_string(-config.vocabulary) + " to " +
                    std::to_string(config.vocabulary - 1),
                padding);
}

void FamilyReader::readRope(RopeDefaults defaults) {
  defaults.headSize = config.headSize;
  defaults.positions = positions;
  defaults.sequence = options.sequence;
  config.rope = sluice::readRope(fields, defaults);
  if (fields.status.isOk() && (config.rope.size % 2 != 0 || config.rope.size == 0))
    fields.status =
        inputError(fields.path() + ": rotary positions rotate pairs, but " + std::to_string(config.rope.size) +
                   " of the " + std::to_string(config.headSize) + " elements of a head are rotated")
            .withNote("the number follows from 'head_dim', 'hidden_size', 'num_attention_heads' and '" +
                      defaults.shareField.str() + "'");
}

void FamilyReader::readWindow(std::int64_t otherwise) {
  // A missing field has the default of the class.
  std::int64_t window = fields.has("sliding_window") ? fields.optionalSize("sliding_window", 0) : otherwise;
  config.windows.assign(config.windows.size(), window);
}

void FamilyReader::readLayerTypes(std::int64_t window, llvm::function_ref<bool(std::int64_t)> otherwise) {
  const json::Value *types = fields.get("layer_types");
  const json::Array *list = types ? types->getAsArray() : nullptr;
  if (types && (!list || list->size() != config.windows.size()))
    return fields.fail("layer_types", "a list of " + std::to_string(config.layers) + " layer types", types);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto index = static_cast<std::size_t>(layer);
    bool slides = !list && otherwise(layer);
    if (list) {
      std::optional<llvm::StringRef> type = (*list)[index].getAsString();
      slides = type == std::optional<llvm::StringRef>("sliding_attention");
      if (!slides && type != std::optional<llvm::StringRef>("full_attention"))
        fields.fail("layer_types", "\"full_attention\" or \"sliding_attention\" for each layer", &(*list)[index]);
      if (slides && window == 0)
        fields.fail("layer_types", "\"full_attention\" where no sliding window is used", &(*list)[index]);
    }
    config.windows[index] = slides ? window : 0;
  }
}

void FamilyReader::readRate(llvm::StringRef field, double otherwise, double &rate) {
  double given = fields.rate(field, otherwise);
  rate = options.dropout.value_or(given);
}

Status FamilyReader::finish() {
  const char *noEncoder = "there is no encoder";
  fields.mustBeOff("add_cross_attention", noEncoder);
  fields.mustBeOff("is_encoder_decoder", noEncoder);
  fields.mustBeOff("cross_attention_hidden_size", noEncoder);
  fields.mustBeOff("pruned_heads", "all heads are computed");
  fields.mustBeOff("quantization_config", "weights are floating-point numbers");
  fields.mustBeOff("per_layer_config", "all layers have the same sizes");
  fields.mustBeOff("use_bidirectional_attention", "attention is causal");
  fields.refuseUnknown();
  SLUICE_RETURN_IF_ERROR(fields.status);
  return checkSizes();
}

Status FamilyReader::checkSizes() const {
  auto number = [](std::int64_t value) { return std::to_string(value); };
  const std::string &file = fields.path();
  if (config.heads % config.keyHeads != 0)
    return inputError(file + ": field 'num_attention_heads', expected a multiple of 'num_key_value_heads' = " +
                      number(config.keyHeads) + " but got " + number(config.heads));
  std::int64_t batch = options.batch, sequence = options.sequence;
  if (sequence > positions && (!options.allowLonger || config.positions != 0)) {
    Status error = inputError(file + ": sequence length " + number(sequence) + " is above '" + positionsField +
                              "' = " + number(positions));
    if (config.positions != 0)
      return std::move(error).withNote("the model has a learned vector for each position; --sequence is at most " +
                                       number(positions));
    return std::move(error).withNote(
        "--allow-longer computes rotary positions above those of the config; a checkpoint may be poor there");
  }
  const DecoderNames &names = config.names;
  auto weight = [](llvm::StringRef module) { return (module + ".weight").str(); };
  std::string attention = (names.attention + ".").str(), mlp = names.mlp.str();
  const std::pair<std::string, llvm::SmallVector<std::int64_t>> tensors[] = {
      {weight(names.embedding), {config.vocabulary, config.wordWidth}},
      {weight(names.positions), {config.positions, config.width}},
      {weight(attention + (names.fused.empty() ? names.query : names.fused).str()),
       {config.heads + (names.fused.empty() ? 0 : 2 * config.keyHeads), config.headSize, config.width}},
      {weight(mlp + names.down.str()), {config.width, config.inner}},
      {"the activations of the MLP", {batch, sequence, config.inner}},
      {"the queries", {batch, sequence, config.heads, config.headSize}},
      {"the logits", {batch, sequence, config.vocabulary}}};
  for (const auto &[name, shape] : tensors)
    SLUICE_RETURN_IF_ERROR(checkTensorSize(file, name, shape));
  return Status::ok();
}
