//===- Generate.h - text from a trained model ------------------------------------===//
//
// Samples tokens one after another from the plan's entry point "logits": one input of i32 or i64 tokens (rows by
// length), output "logits" (one row of f32 scores per token). Entry points "logits_BxT" are the same with rows of other
// lengths: each token is computed by the shortest that has room for the context. The context is aligned left; causal
// models do not read later positions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_GENERATE_H
#define SLUICE_RUNTIME_TRAIN_GENERATE_H

#include "runtime/text/Tokenizer.h"
#include "runtime/train/Ranks.h"

#include <atomic>
#include <functional>

namespace sluice {

struct GenerateOptions {
  std::uint64_t count = 0;
  std::string prompt = "\n";
  /// Encodes the prompt and decodes the generated tokens; not owned. Null: bytes are tokens.
  Tokenizer *tokenizer = nullptr;
  /// 0: always the most likely token.
  double temperature = 1;
  /// Only the k most likely tokens; 0: all.
  std::uint64_t topK = 0;
  std::uint64_t seed = 0;
  /// Tokens that end the text; they are not printed.
  std::vector<std::int64_t> stopTokens;
  /// Set by a signal: generation stops before the next token.
  const std::atomic<bool> *stop = nullptr;
};

/// Calls `sink` with the text of each new token: its byte, or "<id>" if it is not a byte. With a tokenizer, with text
/// as soon as it is complete UTF-8.
Status generate(Ranks &ranks, const GenerateOptions &options, const std::function<void(std::string_view)> &sink);

/// The same for a prompt of tokens, and calls `sink` with each new token. Prompt and tokenizer of the options are not
/// read.
Status generateTokens(Ranks &ranks, const GenerateOptions &options, std::vector<std::int32_t> prompt,
                      const std::function<void(std::int32_t)> &sink);

/// The names of the entry points that generate() may run.
std::vector<std::string> generatingEntries(const plan::PlanT &plan);

/// The error that generate() would return before its first token; called before training.
Status checkGenerate(const plan::PlanT &plan, const GenerateOptions &options);

/// An error if the tokenizer has more tokens than the model's vocabulary; 0: unbounded.
Status checkVocabulary(const Tokenizer &tokenizer, std::uint64_t vocabulary);

/// Index drawn from softmax(scores / temperature) over the k best; `draw` in [0, 1). Ties go to the lower index.
std::size_t sampleToken(std::span<const float> scores, double temperature, std::uint64_t topK, double draw);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_GENERATE_H
