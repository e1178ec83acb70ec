//===- Gpt2Config.cpp - reading a GPT-2 config.json ------------------------------------===//

#include "passes/import/Gpt2.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace sluice;
namespace json = llvm::json;

namespace {

std::string text(const json::Value &value) {
  std::string out;
  llvm::raw_string_ostream(out) << value;
  return out;
}

/// Reads fields one by one and keeps the first error.
class Fields {
public:
  Fields(const json::Object &object, const std::string &file) : object(object), file(file) {}

  Status status;

  void fail(llvm::StringRef field, llvm::StringRef what, const json::Value *got) {
    if (status.isOk())
      status = inputError((file + ": field '" + field + "', expected " + what + " but got " +
                           (got ? text(*got) : std::string("nothing")))
                              .str());
  }

  /// A size that the config must have; other names that the family has for it may stand in its place.
  std::int64_t size(llvm::StringRef field, llvm::StringRef otherName = "") {
    known.push_back(field);
    if (!otherName.empty())
      known.push_back(otherName);
    const json::Value *value = object.get(field);
    if (!value && !otherName.empty())
      value = object.get(otherName);
    std::optional<std::int64_t> integer = value ? value->getAsInteger() : std::nullopt;
    if (!integer || *integer < 1 || *integer > limit) {
      fail(field, "an integer from 1 to 1073741824", value);
      return 1;
    }
    return *integer;
  }

  std::int64_t optionalSize(llvm::StringRef field, std::int64_t otherwise) {
    const json::Value *value = object.get(field);
    known.push_back(field);
    return !value || value->getAsNull() ? otherwise : size(field);
  }

  double number(llvm::StringRef field, double otherwise, bool mayBeZero) {
    known.push_back(field);
    const json::Value *value = object.get(field);
    if (!value)
      return otherwise;
    std::optional<double> number = value->getAsNumber();
    if (!number || !std::isfinite(*number) || *number < 0 || (!mayBeZero && *number == 0)) {
      fail(field, mayBeZero ? "a number of at least 0" : "a number above 0", value);
      return otherwise;
    }
    return *number;
  }

  bool boolean(llvm::StringRef field, bool otherwise) {
    known.push_back(field);
    const json::Value *value = object.get(field);
    if (!value || value->getAsNull())
      return otherwise;
    if (std::optional<bool> boolean = value->getAsBoolean())
      return *boolean;
    fail(field, "true or false", value);
    return otherwise;
  }

  /// Something that this importer does not do: it must be off.
  void mustBeOff(llvm::StringRef field, llvm::StringRef why) {
    known.push_back(field);
    const json::Value *value = object.get(field);
    if (!value || value->getAsNull())
      return;
    if (value->getAsBoolean() == std::optional<bool>(false))
      return;
    if (const json::Object *inner = value->getAsObject(); inner && inner->empty())
      return;
    if (const json::Array *inner = value->getAsArray(); inner && inner->empty())
      return;
    fail(field, why, value);
  }

  void allow(llvm::ArrayRef<llvm::StringRef> fields) { known.append(fields.begin(), fields.end()); }

  /// What is left is unknown: it might change the mathematics.
  void refuseUnknown() {
    llvm::SmallVector<llvm::StringRef> names;
    for (const auto &entry : object)
      names.push_back(entry.first);
    llvm::sort(names);
    for (llvm::StringRef name : names)
      if (!name.starts_with("_") && !name.starts_with("summary_") && !llvm::is_contained(known, name) && status.isOk())
        status = inputError((file + ": unknown field '" + name + "', expected the fields of a GPT-2 config but got " +
                             text(*object.get(name)))
                                .str());
  }

  static constexpr std::int64_t limit = 1 << 30;

private:
  const json::Object &object;
  std::string file;
  llvm::SmallVector<llvm::StringRef> known;
};

/// Fields that say how to store, name or generate, and nothing about the model's mathematics.
constexpr llvm::StringLiteral withoutMeaning[] = {
    "architectures", "auto_map", "begin_suppress_tokens", "bos_token_id", "cache_implementation",
    "chunk_size_feed_forward", "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "do_sample",
    "dtype", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label", "label2id",
    "length_penalty", "max_length", "min_length", "model_type", "n_ctx", "no_repeat_ngram_size", "num_beam_groups",
    "num_beams", "num_labels", "num_return_sequences", "output_attentions", "output_hidden_states", "output_past",
    "output_scores", "pad_token_id", "prefix", "problem_type", "remove_invalid_values", "repetition_penalty",
    "return_dict", "return_dict_in_generate", "sep_token_id", "suppress_tokens", "task_specific_params", "temperature",
    "tf_legacy_loss", "tie_encoder_decoder", "tokenizer_class", "top_k", "top_p", "torch_dtype", "torchscript",
    "transformers_version", "typical_p", "use_bfloat16", "use_cache", "bad_words_ids", "is_decoder"};

} // namespace

/// True where a tensor of these extents has no more bytes than an address can name.
static bool fits(llvm::ArrayRef<std::int64_t> shape) {
  __int128 bytes = 4;
  for (std::int64_t extent : shape) {
    bytes *= extent;
    if (bytes > (static_cast<__int128>(1) << 46))
      return false;
  }
  return true;
}

Result<Gpt2Config> sluice::readGpt2Config(const json::Object &object, const std::string &file,
                                          const ImportOptions &options) {
  Gpt2Config config;
  Fields fields(object, file);
  config.vocabulary = fields.size("vocab_size");
  config.positions = fields.size("n_positions", "max_position_embeddings");
  config.width = fields.size("n_embd", "hidden_size");
  config.layers = fields.size("n_layer", "num_hidden_layers");
  config.heads = fields.size("n_head", "num_attention_heads");
  config.inner = fields.optionalSize("n_inner", 4 * config.width);
  config.epsilon = fields.number("layer_norm_epsilon", 1e-5, false);
  config.initializerRange = fields.number("initializer_range", 0.02, true);
  config.tied = fields.boolean("tie_word_embeddings", true);
  config.scaleAttention = fields.boolean("scale_attn_weights", true);
  config.scaleByLayer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  fields.mustBeOff("reorder_and_upcast_attn", "false (attention is computed in the precision of the recipe)");
  fields.mustBeOff("add_cross_attention", "false (there is no encoder)");
  fields.mustBeOff("is_encoder_decoder", "false (there is no encoder)");
  fields.mustBeOff("pruned_heads", "no pruned heads");
  fields.mustBeOff("quantization_config", "no quantization");

  const json::Value *activation = object.get("activation_function");
  config.activation = !activation ? "tanh"
                                  : llvm::StringSwitch<std::string>(activation->getAsString().value_or(""))
                                        .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"}, "tanh")
                                        .Cases({"gelu", "gelu_python"}, "none")
                                        .Case("relu", "relu")
                                        .Default("");
  fields.allow({"activation_function"});
  if (config.activation.empty())
    fields.fail("activation_function", "\"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", \"gelu\" or \"relu\"",
                activation);
  for (auto [field, rate] : {std::pair("attn_pdrop", &config.attentionDropout), {"embd_pdrop", &config.embeddingDropout},
                             {"resid_pdrop", &config.residualDropout}}) {
    // transformers' own default stands where the config is silent.
    double given = fields.number(field, 0.1, true);
    if (!(given < 1))
      fields.fail(field, "a number from 0 to 1 (below 1)", object.get(field));
    *rate = options.dropout.value_or(given);
  }
  llvm::SmallVector<llvm::StringRef> names(std::begin(withoutMeaning), std::end(withoutMeaning));
  fields.allow(names);
  fields.refuseUnknown();
  SLUICE_RETURN_IF_ERROR(fields.status);

  auto number = [](std::int64_t value) { return std::to_string(value); };
  if (config.width % config.heads != 0)
    return inputError(file + ": field 'n_embd', expected a multiple of 'n_head' = " + number(config.heads) + " but got " +
                      number(config.width));
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
    if (!fits(shape)) {
      std::string extents;
      for (std::int64_t extent : shape) {
        extents += extents.empty() ? "" : "x";
        extents += number(extent);
      }
      return inputError(file + ": size of " + name + ", expected at most 64 TiB but got " + extents + " of f32");
    }
  if (config.layers > 100000)
    return inputError(file + ": field 'n_layer', expected at most 100000 but got " + number(config.layers));
  return config;
}
