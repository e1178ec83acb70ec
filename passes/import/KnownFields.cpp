//===- KnownFields.cpp - fields without effect on the computation -------------------------===//
//
// Fields that a family does not use, by name: those about storage, names or generation of text, those of other families
// and those in the files of published checkpoints, each with the value at which it has no effect.
//
//===----------------------------------------------------------------------===//

#include "passes/import/ConfigFields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sluice;
namespace json = llvm::json;

/// Without effect at any value.
static constexpr llvm::StringLiteral neutral =
    "architectures attn_implementation auto_map bad_words_ids begin_suppress_tokens bos_token_id cache_implementation "
    "chunk_size_feed_forward classifier_dropout custom_pipelines decoder_start_token_id diversity_penalty do_sample "
    "dtype "
    "early_stopping "
    "encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task forced_bos_token_id "
    "forced_eos_token_id gradient_checkpointing id2label is_decoder is_llama_config label2id length_penalty max_length "
    "min_length model_max_length model_type n_ctx no_repeat_ngram_size num_beam_groups num_beams num_labels "
    "num_return_sequences output_attentions output_hidden_states output_past output_scores pad_token_id prefix "
    "pretraining_tp problem_type remove_invalid_values repetition_penalty return_dict return_dict_in_generate "
    "sep_token_id sliding_window_size summary_activation summary_first_dropout summary_proj_to_labels summary_type "
    "summary_use_proj "
    "suppress_tokens task_specific_params temperature tf_legacy_loss tie_encoder_decoder tokenizer_class top_k top_p "
    "torch_dtype torchscript transformers.js_config transformers_version typical_p unsloth_fixed unsloth_version "
    "use_bfloat16 use_cache use_flash_attn vocab_file";

namespace {
struct KnownField {
  llvm::StringLiteral name;
  /// As JSON: the value without effect. Null has none for any field.
  llvm::StringLiteral value = "null";
};
} // namespace

static constexpr KnownField knownFields[] = {
    {"activation_dropout", "0"},
    {"activation_function"},
    {"add_cross_attention", "false"},
    {"alibi", "false"},
    {"attention_bias", "false"},
    {"attention_dropout", "0"},
    {"attention_multiplier"},
    {"attention_probs_dropout_prob", "0"},
    {"attn_logit_softcapping"},
    {"attn_pdrop", "0"},
    {"clip_qkv"},
    {"cross_attention_hidden_size"},
    {"do_layer_norm_before", "true"},
    {"dropout", "0"},
    {"embd_pdrop", "0"},
    {"embedding_dropout", "0"},
    {"embedding_multiplier", "1"},
    {"enable_bias", "false"},
    {"ffn_dim"},
    {"final_logit_softcapping"},
    {"full_attn_mod", "1"},
    {"head_dim"},
    {"hidden_act"},
    {"hidden_activation"},
    {"hidden_dropout", "0"},
    {"hidden_dropout_prob", "0"},
    {"hidden_size"},
    {"init_std"},
    {"initializer_range"},
    {"intermediate_size"},
    {"interpolate_factor", "1"},
    {"is_encoder_decoder", "false"},
    {"layer_norm_elementwise_affine", "true"},
    {"layer_norm_eps"},
    {"layer_norm_epsilon"},
    {"layer_types"},
    {"layerdrop", "0"},
    {"lm_head_bias", "false"},
    {"logits_scaling", "1"},
    {"max_position_embeddings"},
    {"max_window_layers"},
    {"mlp_bias", "false"},
    {"mlp_type", "\"default\""},
    {"n_embd"},
    {"n_head"},
    {"n_inner"},
    {"n_layer"},
    {"n_positions"},
    {"norm_epsilon"},
    {"norm_type", "\"layer_norm\""},
    {"num_attention_heads"},
    {"num_hidden_layers"},
    {"num_key_value_heads"},
    {"original_max_position_embeddings"},
    {"partial_rotary_factor", "1"},
    {"per_layer_config"},
    {"pruned_heads", "{}"},
    {"qk_layernorm", "false"},
    {"qkv_bias", "false"},
    {"quantization_config"},
    {"query_pre_attn_scalar"},
    {"reorder_and_upcast_attn", "false"},
    {"resid_pdrop", "0"},
    {"residual_dropout", "0"},
    {"residual_multiplier", "1"},
    {"rms_norm_eps"},
    {"rope_interleaved", "false"},
    {"rope_parameters"},
    {"rope_scaling"},
    {"rope_theta"},
    {"rotary_emb_base"},
    {"rotary_pct", "1"},
    {"scale_attn_by_inverse_layer_idx", "false"},
    {"scale_attn_weights", "true"},
    {"sliding_window"},
    {"tie_word_embeddings"},
    {"use_bias", "false"},
    {"use_bidirectional_attention", "false"},
    {"use_mrope", "false"},
    {"use_parallel_residual", "false"},
    {"use_qk_norm", "false"},
    {"use_qkv_bias", "false"},
    {"use_sliding_window", "false"},
    {"vocab_size"},
    {"word_embed_proj_dim"},
};

std::optional<bool> sluice::isWithoutEffect(llvm::StringRef field, const json::Value &value) {
  if (llvm::is_contained(llvm::split(neutral, ' '), field))
    return true;
  const KnownField *known = llvm::find_if(knownFields, [&](const KnownField &each) { return each.name == field; });
  if (known == std::end(knownFields))
    return std::nullopt;
  if (value.getAsNull())
    return true;
  llvm::Expected<json::Value> without = json::parse(known->value);
  if (!without) {
    llvm::consumeError(without.takeError());
    return false;
  }
  return *without == value || (without->getAsNumber() && without->getAsNumber() == value.getAsNumber());
}
