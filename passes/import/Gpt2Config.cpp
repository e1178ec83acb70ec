//===- Gpt2Config.cpp - reading a GPT-2 config.json ------------------------------------===//
//
// Fields and defaults are those of the configuration class in transformers.
//
//===----------------------------------------------------------------------===//

#include "passes/import/ConfigFields.h"
#include "passes/import/Gpt2.h"

using namespace sluice;
namespace json = llvm::json;

Result<Gpt2Config> sluice::readGpt2Config(const json::Object &object, const std::string &file,
                                          const ImportOptions &options) {
  Gpt2Config config;
  ConfigFields fields(object, file, "a GPT-2 config");
  fields.allowCommon();
  // An older name of n_positions; the padding token, whose row is trained as any other; and the multiple-choice head,
  // which is not built.
  fields.allow({"n_ctx", "pad_token_id", "summary_type", "summary_use_proj", "summary_activation",
                "summary_proj_to_labels", "summary_first_dropout"});
  config.vocabulary = fields.size("vocab_size");
  config.positions = fields.size("n_positions", "max_position_embeddings");
  config.width = fields.size("n_embd", "hidden_size");
  config.layers = fields.layers("n_layer", "num_hidden_layers");
  config.heads = fields.size("n_head", "num_attention_heads");
  config.inner = fields.optionalSize("n_inner", 4 * config.width);
  config.epsilon = fields.number("layer_norm_epsilon", 1e-5, false);
  config.initializerRange = fields.number("initializer_range", 0.02, true);
  config.tied = fields.boolean("tie_word_embeddings", true);
  config.scaleAttention = fields.boolean("scale_attn_weights", true);
  config.scaleByLayer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  config.activation = fields.activation("activation_function", "tanh", /*mayBeSilu=*/false);
  fields.mustBeOff("reorder_and_upcast_attn", "false (attention is computed in the precision of the recipe)");
  for (auto [field, rate] : {std::pair("attn_pdrop", &config.attentionDropout),
                             {"embd_pdrop", &config.embeddingDropout},
                             {"resid_pdrop", &config.residualDropout}}) {
    // A missing field has the default of transformers.
    double given = fields.rate(field, 0.1);
    *rate = options.dropout.value_or(given);
  }
  fields.refuseUnknown();
  SLUICE_RETURN_IF_ERROR(fields.status);

  auto number = [](std::int64_t value) { return std::to_string(value); };
  if (config.width % config.heads != 0)
    return inputError(file + ": field 'n_embd', expected a multiple of 'n_head' = " + number(config.heads) +
                      " but got " + number(config.width));
  if (options.sequence > config.positions)
    return inputError(file + ": sequence, expected at most 'n_positions' = " + number(config.positions) + " but got " +
                      number(options.sequence));
  std::int64_t batch = options.batch, sequence = options.sequence;
  const std::pair<const char *, llvm::SmallVector<std::int64_t>> tensors[] = {
      {"wte.weight", {config.vocabulary, config.width}},
      {"wpe.weight", {config.positions, config.width}},
      {"attn.c_attn.weight", {config.width, 3 * config.width}},
      {"mlp.c_fc.weight", {config.width, config.inner}},
      {"the activations of the MLP", {batch, sequence, config.inner}},
      {"the projection of attention", {batch, sequence, 3 * config.width}},
      {"the logits", {batch, sequence, config.vocabulary}}};
  for (const auto &[name, shape] : tensors)
    SLUICE_RETURN_IF_ERROR(checkTensorSize(file, name, shape));
  return config;
}
