//===- Generate.cpp - text from a trained model --------------------------------------===//
#include "runtime/train/Generate.h"
#include "runtime/text/StreamDecoder.h"
#include "runtime/train/DataOrder.h"
#include "runtime/train/Ports.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace sluice {

static constexpr std::string_view entryName = "logits";

std::size_t sampleToken(std::span<const float> scores, double temperature, std::uint64_t topK, double draw) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  auto better = [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; };
  std::size_t kept = topK == 0 ? order.size() : std::min<std::size_t>(topK, order.size());
  if (temperature == 0)
    kept = 1;
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), better);
  std::vector<double> weights(kept);
  double sum = 0;
  for (std::size_t i = 0; i < kept && kept > 1; ++i)
    sum += weights[i] = std::exp((double(scores[order[i]]) - scores[order[0]]) / temperature);
  for (std::size_t i = 0; i + 1 < kept; ++i) {
    draw -= weights[i] / sum;
    if (draw < 0)
      return order[i];
  }
  return order[kept - 1];
}

/// Finds the two ports and checks that they have the form that generate() reads.
static Status findPorts(const plan::PlanT &plan, const plan::PortT *&tokens, const plan::PortT *&logits) {
  int index = findEntry(plan, entryName);
  if (index < 0)
    return inputError("the plan has no entry point 'logits'")
        .withNote("models imported by sluice-import hf have one, and modules that return 'logits' besides their loss");
  const plan::EntryT &entry = *plan.entries[index];
  tokens = nullptr;
  for (const auto &port : entry.inputs) {
    if (port->role == plan::PortRole::constant)
      continue;
    if (tokens)
      return refusedError(fmt::format("entry point 'logits' reads '{}' and '{}', expected one input, the tokens",
                                      tokens->name, port->name));
    tokens = port.get();
  }
  logits = findOutput(entry, plan::PortRole::logits);
  if (!tokens || !logits || tokens->view->shape.size() != 2 ||
      (tokens->view->dtype != plan::DType::i32 && tokens->view->dtype != plan::DType::i64) ||
      logits->view->dtype != plan::DType::f32 || logits->view->shape.size() != 3 ||
      !std::equal(tokens->view->shape.begin(), tokens->view->shape.end(), logits->view->shape.begin()))
    return refusedError("entry point 'logits' needs an input of integers [rows, length] and the output 'logits' of f32 "
                        "[rows, length, vocabulary]");
  return Status::ok();
}

Status checkVocabulary(const Tokenizer &tokenizer, std::uint64_t vocabulary) {
  if (vocabulary != 0 && tokenizer.vocabularySize() > vocabulary)
    return inputError(
               fmt::format("tokens of the tokenizer '{}', expected at most {}, the model's vocabulary, but got {}",
                           tokenizer.files.empty() ? std::string() : tokenizer.files[0], vocabulary,
                           tokenizer.vocabularySize()))
        .withNote("use the tokenizer of the model, or import a model with a larger vocab_size");
  return Status::ok();
}

/// The tokens of the prompt.
static Result<std::vector<std::int32_t>> encodePrompt(const GenerateOptions &options, std::uint64_t vocabulary) {
  std::vector<std::int32_t> tokens;
  if (Tokenizer *tokenizer = options.tokenizer) {
    SLUICE_RETURN_IF_ERROR(checkVocabulary(*tokenizer, vocabulary));
    SLUICE_RETURN_IF_ERROR(tokenizer->encode(options.prompt, /*special=*/true, tokens));
    if (tokens.empty())
      return inputError("the prompt has no tokens").withNote("the tokenizer removes its text; pass another --prompt");
    return tokens;
  }
  for (unsigned char byte : options.prompt) {
    if (byte >= vocabulary)
      return inputError(fmt::format("prompt, expected bytes below the vocabulary of {} but got {}", vocabulary,
                                    static_cast<int>(byte)));
    tokens.push_back(byte);
  }
  return tokens;
}

static Status checkTemperature(const GenerateOptions &options) {
  if (options.temperature >= 0)
    return Status::ok();
  return {StatusCode::usage, fmt::format("temperature, expected at least 0 but got {}", options.temperature)};
}

Status checkGenerate(const plan::PlanT &plan, const GenerateOptions &options) {
  const plan::PortT *tokens = nullptr, *logits = nullptr;
  SLUICE_RETURN_IF_ERROR(findPorts(plan, tokens, logits));
  if (options.prompt.empty())
    return Status(StatusCode::usage, "'--prompt' is empty");
  if (Result<std::vector<std::int32_t>> encoded =
          encodePrompt(options, static_cast<std::uint64_t>(logits->view->shape.back()));
      !encoded.isOk())
    return encoded.takeStatus();
  return checkTemperature(options);
}

static std::string tokenText(std::int32_t token) {
  return token < 256 ? std::string(1, static_cast<char>(token)) : fmt::format("<{}>", token);
}

Status generateTokens(Ranks &ranks, const GenerateOptions &options, std::vector<std::int32_t> context,
                      const std::function<void(std::int32_t)> &sink) {
  const plan::PortT *tokens = nullptr, *logits = nullptr;
  SLUICE_RETURN_IF_ERROR(findPorts(ranks.plan(), tokens, logits));
  SLUICE_RETURN_IF_ERROR(checkTemperature(options));
  auto rows = static_cast<std::size_t>(tokens->view->shape[0]),
       length = static_cast<std::size_t>(tokens->view->shape[1]);
  std::vector<float> scores(static_cast<std::size_t>(logits->view->shape.back()));
  if (context.empty())
    return inputError("prompt, expected at least one token");
  for (const std::int32_t token : context)
    if (token < 0 || static_cast<std::size_t>(token) >= scores.size())
      return inputError(
          fmt::format("prompt, expected tokens below the vocabulary of {} but got {}", scores.size(), token));
  // In the width of the input.
  const bool isWide = tokens->view->dtype == plan::DType::i64;
  std::vector<std::int32_t> window(rows * length);
  std::vector<std::int64_t> wide(isWide ? window.size() : 0);
  for (std::uint64_t i = 0; i < options.count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agree(options.stop && options.stop->load()));
    if (stops)
      break;
    std::size_t used = std::min(context.size(), length);
    std::copy(context.end() - static_cast<std::ptrdiff_t>(used), context.end(), window.begin());
    if (isWide)
      std::ranges::copy(window, wide.begin());
    const auto bytes = isWide ? std::as_bytes(std::span(wide)) : std::as_bytes(std::span(window));
    for (int rank = 0; rank < ranks.size(); ++rank)
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, tokens->view->buffer, tokens->view->offset, bytes));
    SLUICE_RETURN_IF_ERROR(ranks.run(entryName));
    SLUICE_RETURN_IF_ERROR(ranks.read(0, logits->view->buffer,
                                      logits->view->offset + (used - 1) * scores.size() * sizeof(float),
                                      std::as_writable_bytes(std::span(scores))));
    double draw = static_cast<double>(mixBits(mixBits(options.seed) ^ i) >> 11) * 0x1p-53;
    context.push_back(static_cast<std::int32_t>(sampleToken(scores, options.temperature, options.topK, draw)));
    if (std::ranges::find(options.stopTokens, context.back()) != options.stopTokens.end())
      break;
    sink(context.back());
  }
  return Status::ok();
}

Status generate(Ranks &ranks, const GenerateOptions &options, const std::function<void(std::string_view)> &sink) {
  SLUICE_RETURN_IF_ERROR(checkGenerate(ranks.plan(), options));
  const plan::PortT *tokens = nullptr, *logits = nullptr;
  SLUICE_RETURN_IF_ERROR(findPorts(ranks.plan(), tokens, logits));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::int32_t> prompt,
                          encodePrompt(options, static_cast<std::uint64_t>(logits->view->shape.back())));
  std::optional<StreamDecoder> decoder;
  if (options.tokenizer) {
    decoder.emplace(*options.tokenizer);
    // The text of a token may depend on the tokens before it.
    for (const std::int32_t token : prompt)
      (void)decoder->add(token);
    (void)decoder->finish();
  }
  SLUICE_RETURN_IF_ERROR(generateTokens(ranks, options, std::move(prompt), [&](std::int32_t token) {
    sink(decoder ? decoder->add(token) : tokenText(token));
  }));
  if (decoder)
    sink(decoder->finish());
  return Status::ok();
}

} // namespace sluice
