//===- Families.cpp - the model families by their config.json -----------------------------===//
//
// Fields and defaults are those of the families' configuration classes in transformers.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Families.h"

#include <cmath>

using namespace sluice;

/// The fields of Llama and of the families that differ from it in few choices.
static void readLlamaLike(FamilyReader &reader, const FamilyReader::Sizes &sizes, bool tied = false,
                          double epsilon = 1e-6) {
  reader.readSizes(sizes);
  reader.readCommon("rms_norm_eps", epsilon, tied);
  reader.config.activation = reader.fields.activation("hidden_act", "silu");
  reader.readRate("attention_dropout", 0, reader.config.attentionDropout);
}

static void readLlama(FamilyReader &reader) {
  readLlamaLike(reader, {});
  reader.readPadding(std::nullopt);
  reader.readAttentionBias("attention_bias", false);
  reader.config.mlpBias = reader.fields.boolean("mlp_bias", false);
  reader.readRope();
}

static void readMistral(FamilyReader &reader) {
  readLlamaLike(reader, {.positions = 131072, .keyHeads = 8});
  reader.readPadding(std::nullopt);
  reader.readRope();
  reader.readWindow(4096);
}

/// Qwen has a window for some layers.
static void readQwenWindows(FamilyReader &reader) {
  ConfigFields &fields = reader.fields;
  std::int64_t window = 0, first = 0;
  if (fields.boolean("use_sliding_window", false)) {
    window = fields.has("sliding_window") ? fields.optionalSize("sliding_window", 0) : 4096;
    first = fields.integer("max_window_layers", 28);
  }
  fields.allow({"sliding_window", "max_window_layers"});
  reader.readLayerTypes(window, [&](std::int64_t layer) { return window != 0 && layer >= first; });
}

static void readQwen2(FamilyReader &reader) {
  readLlamaLike(reader, {.positions = 32768, .keyHeads = 32});
  reader.readPadding(std::nullopt);
  reader.config.queryBias = true;
  reader.readRope();
  readQwenWindows(reader);
}

static void readQwen3(FamilyReader &reader) {
  readLlamaLike(reader, {.positions = 32768, .keyHeads = 32, .headSize = 128});
  reader.readPadding(std::nullopt);
  reader.readAttentionBias("attention_bias", false);
  reader.config.headNorm = HeadNorm::eachHead;
  reader.readRope();
  readQwenWindows(reader);
}

/// Norms of 1 + weight, and an embedding times the square root of the width.
static void readGemmaLike(FamilyReader &reader, const FamilyReader::Sizes &sizes) {
  DecoderConfig &config = reader.config;
  reader.readSizes(sizes);
  reader.readCommon("rms_norm_eps", 1e-6, /*tied=*/true);
  reader.readPadding(0);
  reader.readAttentionBias("attention_bias", false);
  reader.readRate("attention_dropout", 0, config.attentionDropout);
  reader.readRope();
  config.norm = NormKind::rmsOfOnePlusWeight;
  config.embeddingScale = std::sqrt(static_cast<double>(config.width));
}

static void readGemma(FamilyReader &reader) {
  readGemmaLike(reader, {.positions = 8192, .keyHeads = 16, .headSize = 256});
  // The first checkpoints name the exact gelu but were trained with its approximation; they have the right name in a
  // field that the class does not read.
  std::string activation = reader.fields.activation("hidden_act", "tanh");
  reader.config.activation = activation == "none" ? "tanh" : activation;
  reader.fields.allow({"hidden_activation"});
}

static void readGemma2(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  ConfigFields &fields = reader.fields;
  readGemmaLike(reader, {.positions = 8192, .keyHeads = 4, .headSize = 256});
  config.names.afterAttention = "post_attention_layernorm";
  config.names.beforeMlp = "pre_feedforward_layernorm";
  config.names.afterMlp = "post_feedforward_layernorm";
  config.activation = fields.activation("hidden_activation", "tanh");
  fields.allow({"hidden_act"});
  double scalar = fields.number("query_pre_attn_scalar", 256, false);
  config.attentionScales.assign(config.attentionScales.size(), 1 / std::sqrt(scalar));
  auto cap = [&](llvm::StringRef field, double otherwise) {
    return fields.number(field, fields.has(field) ? 0 : otherwise, false);
  };
  config.attentionCap = cap("attn_logit_softcapping", 50);
  config.logitCap = cap("final_logit_softcapping", 30);
  std::int64_t window = fields.has("sliding_window") ? fields.optionalSize("sliding_window", 0) : 4096;
  reader.readLayerTypes(window, [](std::int64_t layer) { return layer % 2 == 0; });
}

static void readPhi3(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  config.names.fused = "qkv_proj";
  config.names.gateUp = "gate_up_proj";
  readLlamaLike(reader, {.positions = 4096}, /*tied=*/false, /*epsilon=*/1e-5);
  reader.readPadding(32000);
  reader.readRate("resid_pdrop", 0, config.attentionOutputDropout);
  config.mlpOutputDropout = config.attentionOutputDropout;
  // The class has the rate but does not use it.
  reader.fields.allow({"embd_pdrop"});
  reader.readRope({.share = 1, .original = 4096, .onlyLongRope = true});
  reader.readWindow(0);
}

static void readOlmo2(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  config.names.beforeAttention = config.names.beforeMlp = "";
  config.names.afterAttention = "post_attention_layernorm";
  config.names.afterMlp = "post_feedforward_layernorm";
  config.headNorm = HeadNorm::allHeads;
  readLlamaLike(reader, {}, /*tied=*/false, /*epsilon=*/1e-5);
  reader.readPadding(1);
  reader.readAttentionBias("attention_bias", false);
  reader.readRope();
}

static void readGranite(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  readLlamaLike(reader, {});
  reader.readPadding(std::nullopt);
  reader.readAttentionBias("attention_bias", false);
  config.mlpBias = reader.fields.boolean("mlp_bias", false);
  reader.readRope();
  config.embeddingScale = reader.fields.number("embedding_multiplier", 1, false);
  config.residualScale = reader.fields.number("residual_multiplier", 1, false);
  config.logitScale = 1 / reader.fields.number("logits_scaling", 1, false);
  config.attentionScales.assign(config.attentionScales.size(), reader.fields.number("attention_multiplier", 1, false));
}

static void readStarcoder2(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  config.names.gate = "";
  config.names.up = "c_fc";
  config.names.down = "c_proj";
  config.names.activation = "act";
  config.norm = NormKind::layer;
  reader.readSizes({.positions = 4096, .keyHeads = 2});
  reader.readCommon("norm_epsilon", 1e-5, /*tied=*/true, 0.018042);
  reader.readPadding(std::nullopt);
  reader.readAttentionBias("use_bias", true);
  config.mlpBias = config.queryBias;
  config.activation = reader.fields.activation("hidden_act", "tanh");
  reader.readRate("attention_dropout", 0, config.attentionDropout);
  reader.readRate("embedding_dropout", 0, config.embeddingDropout);
  reader.readRate("residual_dropout", 0, config.attentionOutputDropout);
  config.mlpOutputDropout = config.attentionOutputDropout;
  reader.readRope();
  reader.readWindow(0);
}

static void readStableLm(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  config.norm = NormKind::layer;
  reader.readSizes({.positions = 4096, .keyHeads = 32, .hasHeadSize = false});
  reader.readCommon("layer_norm_eps", 1e-5, /*tied=*/false);
  reader.readPadding(std::nullopt);
  config.queryBias = reader.fields.boolean("use_qkv_bias", false);
  config.activation = reader.fields.activation("hidden_act", "silu");
  reader.readRate("attention_dropout", 0, config.attentionDropout);
  reader.readRate("hidden_dropout", 0, config.mlpOutputDropout);
  reader.readRope({.share = 0.25});
  if (reader.fields.boolean("qk_layernorm", false)) {
    config.names.queryNorm = "q_layernorm";
    config.names.keyNorm = "k_layernorm";
    config.headNorm = HeadNorm::ownWeights;
  }
  config.parallelResidual = reader.fields.boolean("use_parallel_residual", false);
  if (config.parallelResidual)
    config.names.beforeMlp = "";
}

static void readGptNeoX(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  DecoderNames &names = config.names;
  names.embedding = "gpt_neox.embed_in";
  names.layers = "gpt_neox.layers";
  names.norm = "gpt_neox.final_layer_norm";
  // Published checkpoints have the first name, and transformers 5 writes the second.
  names.head = "embed_out";
  names.headAlias = "lm_head";
  names.attention = "attention";
  names.fused = "query_key_value";
  names.output = "dense";
  names.gate = "";
  names.up = "dense_h_to_4h";
  names.down = "dense_4h_to_h";
  names.activation = "act";
  config.norm = NormKind::layer;
  config.fusedRows = FusedRows::byHead;
  config.mlpBias = true;
  reader.readSizes({.hasKeyHeads = false, .hasHeadSize = false});
  reader.readCommon("layer_norm_eps", 1e-5, /*tied=*/false);
  reader.readAttentionBias("attention_bias", true);
  config.activation = reader.fields.activation("hidden_act", "none");
  reader.readRate("attention_dropout", 0, config.attentionDropout);
  reader.readRate("hidden_dropout", 0, config.embeddingDropout);
  config.attentionOutputDropout = config.mlpOutputDropout = config.embeddingDropout;
  config.parallelResidual = reader.fields.boolean("use_parallel_residual", true);
  reader.readRope({.share = 0.25, .theta = "rotary_emb_base", .shareField = "rotary_pct"});
}

static void readOpt(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  DecoderNames &names = config.names;
  ConfigFields &fields = reader.fields;
  names.embedding = "model.decoder.embed_tokens";
  names.positions = "model.decoder.embed_positions";
  names.layers = "model.decoder.layers";
  names.projectIn = "model.decoder.project_in";
  names.projectOut = "model.decoder.project_out";
  names.output = "out_proj";
  names.mlp = names.gate = "";
  names.up = "fc1";
  names.down = "fc2";
  names.activation = "activation_fn";
  config.norm = NormKind::layer;
  reader.readSizes({.hasKeyHeads = false, .hasHeadSize = false, .inner = "ffn_dim"});
  config.wordWidth = fields.optionalSize("word_embed_proj_dim", config.width);
  // The first two rows are not used.
  config.firstPosition = 2;
  config.positions = reader.positions + config.firstPosition;
  config.initializerRange = fields.number("init_std", 0.02, true);
  config.epsilon = 1e-5;
  config.tied = fields.boolean("tie_word_embeddings", true);
  reader.readPadding(1);
  reader.readAttentionBias("enable_bias", true);
  config.mlpBias = config.queryBias;
  config.affineNorms = fields.boolean("layer_norm_elementwise_affine", true);
  config.activation = fields.activation("activation_function", "relu");
  reader.readRate("attention_dropout", 0, config.attentionDropout);
  reader.readRate("dropout", 0.1, config.attentionOutputDropout);
  config.mlpOutputDropout = config.attentionOutputDropout;
  fields.mustBeOff("layerdrop", "a plan has the same layers in every step");
  bool before = fields.boolean("do_layer_norm_before", true);
  bool hasNorm = !fields.boolean("_remove_final_layer_norm", false) && before;
  names.norm = hasNorm ? "model.decoder.final_layer_norm" : "";
  (before ? names.beforeAttention : names.afterAttentionSum) = "self_attn_layer_norm";
  (before ? names.beforeMlp : names.afterMlpSum) = "final_layer_norm";
  if (!before)
    names.beforeAttention = names.beforeMlp = "";
}

static void readGpt2(FamilyReader &reader) {
  DecoderConfig &config = reader.config;
  DecoderNames &names = config.names;
  ConfigFields &fields = reader.fields;
  names.embedding = "wte";
  names.positions = "wpe";
  names.layers = "h";
  names.norm = "ln_f";
  names.beforeAttention = "ln_1";
  names.beforeMlp = "ln_2";
  names.attention = "attn";
  names.fused = "c_attn";
  names.output = names.down = "c_proj";
  names.gate = "";
  names.up = "c_fc";
  names.activation = "act";
  config.norm = NormKind::layer;
  config.transposedProjections = config.scalesResidualInit = true;
  config.queryBias = config.outputBias = config.mlpBias = true;
  config.vocabulary = fields.size("vocab_size");
  reader.positionsField = "n_positions";
  reader.positions = config.positions = fields.size("n_positions", "max_position_embeddings");
  config.width = config.wordWidth = fields.size("n_embd", "hidden_size");
  config.layers = fields.layers("n_layer", "num_hidden_layers");
  config.heads = config.keyHeads = fields.size("n_head", "num_attention_heads");
  config.headSize = config.width / config.heads;
  config.inner = fields.optionalSize("n_inner", 4 * config.width);
  reader.readCommon("layer_norm_epsilon", 1e-5, /*tied=*/true);
  bool scales = fields.boolean("scale_attn_weights", true);
  bool scalesByLayer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    config.attentionScales.push_back((scales ? 1 / std::sqrt(static_cast<double>(config.headSize)) : 1) /
                                     (scalesByLayer ? static_cast<double>(layer + 1) : 1));
  config.windows.assign(config.attentionScales.size(), 0);
  config.activation = fields.activation("activation_function", "tanh");
  fields.mustBeOff("reorder_and_upcast_attn", "attention is computed in the precision of the recipe");
  reader.readRate("attn_pdrop", 0.1, config.attentionDropout);
  reader.readRate("embd_pdrop", 0.1, config.embeddingDropout);
  reader.readRate("resid_pdrop", 0.1, config.attentionOutputDropout);
  config.mlpOutputDropout = config.attentionOutputDropout;
  if (config.width % config.heads != 0) {
    llvm::json::Value got(config.width);
    fields.fail("n_embd", "a multiple of 'n_head' = " + std::to_string(config.heads), &got);
  }
}

llvm::ArrayRef<Family> sluice::families() {
  static constexpr Family list[] = {{"gemma", "a Gemma config", readGemma},
                                    {"gemma2", "a Gemma 2 config", readGemma2},
                                    {"gpt2", "a GPT-2 config", readGpt2},
                                    {"gpt_neox", "a GPT-NeoX config", readGptNeoX},
                                    {"granite", "a Granite config", readGranite},
                                    {"llama", "a Llama config", readLlama},
                                    {"mistral", "a Mistral config", readMistral},
                                    {"olmo2", "an OLMo 2 config", readOlmo2},
                                    {"opt", "an OPT config", readOpt},
                                    {"phi3", "a Phi-3 config", readPhi3},
                                    {"qwen2", "a Qwen2 config", readQwen2},
                                    {"qwen3", "a Qwen3 config", readQwen3},
                                    {"stablelm", "a StableLM config", readStableLm},
                                    {"starcoder2", "a StarCoder2 config", readStarcoder2}};
  return list;
}
