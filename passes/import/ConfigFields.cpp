//===- ConfigFields.cpp - reading a config.json field by field --------------------------===//

#include "passes/import/ConfigFields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace sluice;
namespace json = llvm::json;

static constexpr std::int64_t sizeLimit = 1 << 30, layerLimit = 100000;

/// Fields for storage, names or generation, which do not affect the model's mathematics.
static constexpr llvm::StringLiteral withoutMeaning =
    "architectures auto_map begin_suppress_tokens bos_token_id cache_implementation chunk_size_feed_forward "
    "decoder_start_token_id diversity_penalty do_sample dtype early_stopping encoder_no_repeat_ngram_size "
    "eos_token_id exponential_decay_length_penalty finetuning_task forced_bos_token_id forced_eos_token_id "
    "gradient_checkpointing id2label label2id length_penalty max_length min_length model_type "
    "no_repeat_ngram_size num_beam_groups num_beams num_labels num_return_sequences output_attentions "
    "output_hidden_states output_past output_scores prefix problem_type remove_invalid_values repetition_penalty "
    "return_dict return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature "
    "tf_legacy_loss tie_encoder_decoder tokenizer_class top_k top_p torch_dtype torchscript transformers_version "
    "typical_p use_bfloat16 use_cache bad_words_ids is_decoder";

std::string sluice::jsonText(const json::Value &value) {
  std::string out;
  llvm::raw_string_ostream(out) << value;
  return out;
}

void ConfigFields::fail(llvm::StringRef field, llvm::StringRef expected, const json::Value *got) {
  if (status.isOk())
    status = inputError(file + ": field '" + prefix + field.str() + "', expected " + expected.str() + " but got " +
                        (got ? jsonText(*got) : std::string("nothing")));
}

const json::Value *ConfigFields::get(llvm::StringRef field) {
  known.push_back(field.str());
  const json::Value *value = object.get(field);
  return value && !value->getAsNull() ? value : nullptr;
}

std::int64_t ConfigFields::size(llvm::StringRef field, llvm::StringRef otherName) {
  const json::Value *value = get(field);
  if (!otherName.empty()) {
    const json::Value *other = get(otherName);
    if (value && other && *value != *other)
      fail(field, "the same as '" + otherName.str() + "' = " + jsonText(*other), value);
    value = value ? value : other;
  }
  std::optional<std::int64_t> integer = value ? value->getAsInteger() : std::nullopt;
  if (integer && *integer >= 1 && *integer <= sizeLimit)
    return *integer;
  fail(field, "an integer from 1 to 1073741824", value);
  return 1;
}

std::int64_t ConfigFields::optionalSize(llvm::StringRef field, std::int64_t otherwise) {
  return get(field) ? size(field) : otherwise;
}

std::int64_t ConfigFields::layers(llvm::StringRef field, llvm::StringRef otherName) {
  std::int64_t count = size(field, otherName);
  if (count <= layerLimit)
    return count;
  json::Value got(count);
  fail(field, "at most " + std::to_string(layerLimit), &got);
  return 1;
}

std::int64_t ConfigFields::integer(llvm::StringRef field, std::int64_t otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  if (std::optional<std::int64_t> integer = value->getAsInteger())
    return *integer;
  fail(field, "an integer", value);
  return otherwise;
}

double ConfigFields::number(llvm::StringRef field, double otherwise, bool mayBeZero) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  std::optional<double> number = value->getAsNumber();
  if (number && std::isfinite(*number) && *number >= 0 && (mayBeZero || *number != 0))
    return *number;
  fail(field, mayBeZero ? "a number of at least 0" : "a number above 0", value);
  return otherwise;
}

double ConfigFields::rate(llvm::StringRef field, double otherwise) {
  double given = number(field, otherwise, true);
  if (!(given < 1))
    fail(field, "a number from 0 to 1 (below 1)", object.get(field));
  return given;
}

bool ConfigFields::boolean(llvm::StringRef field, bool otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise;
  if (std::optional<bool> boolean = value->getAsBoolean())
    return *boolean;
  fail(field, "true or false", value);
  return otherwise;
}

std::string ConfigFields::text(llvm::StringRef field, llvm::StringRef otherwise) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise.str();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  fail(field, "a text", value);
  return otherwise.str();
}

std::string ConfigFields::activation(llvm::StringRef field, llvm::StringRef otherwise, bool mayBeSilu) {
  const json::Value *value = get(field);
  if (!value)
    return otherwise.str();
  std::string found = llvm::StringSwitch<std::string>(value->getAsString().value_or(""))
                          .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"}, "tanh")
                          .Cases({"gelu", "gelu_python"}, "none")
                          .Case("relu", "relu")
                          .Cases({"silu", "swish"}, mayBeSilu ? "silu" : "")
                          .Default("");
  if (found.empty())
    fail(field,
         std::string(mayBeSilu ? "\"silu\", " : "") +
             "\"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", \"gelu\" or \"relu\"",
         value);
  return found;
}

void ConfigFields::mustBeOff(llvm::StringRef field, llvm::StringRef why) {
  const json::Value *value = get(field);
  if (!value || value->getAsBoolean() == std::optional<bool>(false))
    return;
  if (const json::Object *inner = value->getAsObject(); inner && inner->empty())
    return;
  if (const json::Array *inner = value->getAsArray(); inner && inner->empty())
    return;
  fail(field, why, value);
}

void ConfigFields::allowCommon() {
  for (llvm::StringRef field : llvm::split(withoutMeaning, ' '))
    known.push_back(field.str());
  mustBeOff("add_cross_attention", "false (there is no encoder)");
  mustBeOff("is_encoder_decoder", "false (there is no encoder)");
  mustBeOff("cross_attention_hidden_size", "nothing (there is no encoder)");
  mustBeOff("pruned_heads", "no pruned heads");
  mustBeOff("quantization_config", "no quantization");
}

void ConfigFields::refuseUnknown() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &entry : object)
    names.push_back(entry.first);
  llvm::sort(names);
  for (llvm::StringRef name : names)
    if (!name.starts_with("_") && !llvm::is_contained(known, name) && status.isOk())
      status = inputError(file + ": unknown field '" + prefix + name.str() + "', expected the fields of " + family +
                          " but got " + jsonText(*object.get(name)));
}

std::optional<std::string> sluice::oversizedShape(llvm::ArrayRef<std::int64_t> shape, std::int64_t elementBytes) {
  constexpr __int128 limit = static_cast<__int128>(1) << 46;
  __int128 bytes = elementBytes;
  std::string extents;
  for (std::int64_t extent : shape) {
    extents += (extents.empty() ? "" : "x") + std::to_string(extent);
    if (bytes <= limit)
      bytes *= extent;
  }
  return bytes > limit ? std::optional(extents) : std::nullopt;
}

Status sluice::checkTensorSize(const std::string &file, llvm::StringRef name, llvm::ArrayRef<std::int64_t> shape) {
  if (std::optional<std::string> extents = oversizedShape(shape, /*elementBytes=*/4))
    return inputError(file + ": size of " + name.str() + ", expected at most 64 TiB but got " + *extents + " of f32");
  return Status::ok();
}
