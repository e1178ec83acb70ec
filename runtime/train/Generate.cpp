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

namespace {

/// An entry point that gives logits.
struct LogitsEntry {
  const plan::EntryT *entry = nullptr;
  const plan::PortT *tokens = nullptr, *logits = nullptr;

  std::size_t rows() const { return static_cast<std::size_t>(tokens->view->shape[0]); }
  std::size_t length() const { return static_cast<std::size_t>(tokens->view->shape[1]); }
};

/// The ports of `entry`, which have the form that generate() reads.
Result<LogitsEntry> portsOf(const plan::EntryT &entry) {
  LogitsEntry found{&entry, nullptr, findOutput(entry, plan::PortRole::logits)};
  for (const auto &port : entry.inputs) {
    if (port->role == plan::PortRole::constant)
      continue;
    if (found.tokens)
      return refusedError(fmt::format("entry point '{}' reads '{}' and '{}', expected one input, the tokens",
                                      entry.name, found.tokens->name, port->name));
    found.tokens = port.get();
  }
  const plan::PortT *tokens = found.tokens, *logits = found.logits;
  if (!tokens || !logits || tokens->view->shape.size() != 2 ||
      (tokens->view->dtype != plan::DType::i32 && tokens->view->dtype != plan::DType::i64) ||
      logits->view->dtype != plan::DType::f32 || logits->view->shape.size() != 3 ||
      !std::equal(tokens->view->shape.begin(), tokens->view->shape.end(), logits->view->shape.begin()))
    return refusedError(fmt::format("entry point '{}' needs an input of integers [rows, length] and the output "
                                    "'logits' of f32 [rows, length, vocabulary]",
                                    entry.name));
  return found;
}

/// Those of the plan, with ascending lengths.
Result<std::vector<LogitsEntry>> logitsEntries(const plan::PlanT &plan) {
  std::vector<LogitsEntry> entries;
  for (const std::string &name : generatingEntries(plan)) {
    SLUICE_ASSIGN_OR_RETURN(LogitsEntry found, portsOf(*plan.entries[static_cast<std::size_t>(findEntry(plan, name))]));
    entries.push_back(found);
  }
  if (entries.empty())
    return inputError("the plan has no entry point 'logits'")
        .withNote("models imported by sluice-import hf have one, and modules that return 'logits' besides their loss");
  std::ranges::stable_sort(entries, {}, &LogitsEntry::length);
  return entries;
}

} // namespace

std::vector<std::string> generatingEntries(const plan::PlanT &plan) {
  std::vector<std::string> names;
  if (findEntry(plan, entryName) >= 0)
    names.emplace_back(entryName);
  for (const auto &entry : plan.entries)
    if (entry->name.starts_with(std::string(entryName) + "_"))
      names.push_back(entry->name);
  return names;
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

/// Tokens are those of every entry point.
static std::uint64_t vocabularyOf(const std::vector<LogitsEntry> &entries) {
  return static_cast<std::uint64_t>(entries.front().logits->view->shape.back());
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
  SLUICE_ASSIGN_OR_RETURN(const std::vector<LogitsEntry> entries, logitsEntries(plan));
  if (options.prompt.empty())
    return Status(StatusCode::usage, "'--prompt' is empty");
  if (Result<std::vector<std::int32_t>> encoded = encodePrompt(options, vocabularyOf(entries)); !encoded.isOk())
    return encoded.takeStatus();
  return checkTemperature(options);
}

static std::string tokenText(std::int32_t token) {
  return token < 256 ? std::string(1, static_cast<char>(token)) : fmt::format("<{}>", token);
}

Status generateTokens(Ranks &ranks, const GenerateOptions &options, std::vector<std::int32_t> context,
                      const std::function<void(std::int32_t)> &sink) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<LogitsEntry> entries, logitsEntries(ranks.plan()));
  SLUICE_RETURN_IF_ERROR(checkTemperature(options));
  std::vector<float> scores(vocabularyOf(entries));
  if (context.empty())
    return inputError("prompt, expected at least one token");
  for (const std::int32_t token : context)
    if (token < 0 || static_cast<std::size_t>(token) >= scores.size())
      return inputError(
          fmt::format("prompt, expected tokens below the vocabulary of {} but got {}", scores.size(), token));
  std::vector<std::int32_t> window;
  std::vector<std::int64_t> wide;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(bool stops, ranks.agree(options.stop && options.stop->load()));
    if (stops)
      break;
    // The shortest rows that have the context, or the longest ones with its end.
    const auto fits = std::ranges::lower_bound(entries, context.size(), {}, &LogitsEntry::length);
    const LogitsEntry &used = fits == entries.end() ? entries.back() : *fits;
    const auto &[entry, tokens, logits] = used;
    const std::size_t count = std::min(context.size(), used.length());
    window.assign(used.rows() * used.length(), 0);
    std::copy(context.end() - static_cast<std::ptrdiff_t>(count), context.end(), window.begin());
    // In the width of the input.
    const bool isWide = tokens->view->dtype == plan::DType::i64;
    if (isWide)
      wide.assign(window.begin(), window.end());
    const auto bytes = isWide ? std::as_bytes(std::span(wide)) : std::as_bytes(std::span(window));
    for (int rank = 0; rank < ranks.size(); ++rank)
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, tokens->view->buffer, tokens->view->offset, bytes));
    SLUICE_RETURN_IF_ERROR(ranks.run(entry->name));
    SLUICE_RETURN_IF_ERROR(ranks.read(0, logits->view->buffer,
                                      logits->view->offset + (count - 1) * scores.size() * sizeof(float),
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
  SLUICE_ASSIGN_OR_RETURN(const std::vector<LogitsEntry> entries, logitsEntries(ranks.plan()));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::int32_t> prompt, encodePrompt(options, vocabularyOf(entries)));
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
