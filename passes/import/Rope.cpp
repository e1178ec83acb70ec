//===- Rope.cpp - rotary positions from a config.json -------------------------------------===//

#include "passes/import/Rope.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace sluice;
namespace json = llvm::json;

namespace {

class RopeReader {
public:
  RopeReader(ConfigFields &outer, ConfigFields &fields, const RopeDefaults &defaults, RopeConfig &rope)
      : outer(outer), fields(fields), defaults(defaults), rope(rope) {}

  void read();

private:
  double required(llvm::StringRef field) {
    if (!fields.get(field))
      fields.fail(field, "a number above 0", nullptr);
    return fields.number(field, 1, false);
  }

  /// The sequence length of the pretraining. That of the top level precedes.
  double original() {
    std::int64_t inner = fields.optionalSize("original_max_position_embeddings", defaults.positions);
    std::int64_t otherwise = defaults.original == 0 ? inner : defaults.original;
    return static_cast<double>(outer.optionalSize("original_max_position_embeddings", otherwise));
  }

  void readLlama3();
  void readDynamic();
  void readYarn();
  void readLongRope();
  llvm::SmallVector<double> numbers(llvm::StringRef field);

  ConfigFields &outer, &fields;
  const RopeDefaults &defaults;
  RopeConfig &rope;
};

void RopeReader::readLlama3() {
  rope.factor = required("factor");
  rope.low = required("low_freq_factor");
  rope.high = required("high_freq_factor");
  rope.original = original();
  if (!(rope.low < rope.high))
    fields.fail("high_freq_factor", "more than low_freq_factor", fields.find("high_freq_factor"));
}

/// NTK scaling: a sequence longer than the model's positions has a larger theta.
void RopeReader::readDynamic() {
  double factor = required("factor"), size = static_cast<double>(rope.size);
  auto positions = static_cast<double>(defaults.positions);
  double length = std::max(static_cast<double>(defaults.sequence), positions);
  if (rope.size > 2)
    rope.theta *= std::pow(factor * length / positions - (factor - 1), size / (size - 2));
}

/// YaRN: low frequencies are divided by the factor, high ones are kept, and those between are interpolated.
void RopeReader::readYarn() {
  double before = original();
  double factor = fields.number("factor", static_cast<double>(defaults.positions) / before, false);
  auto scaleOf = [&](double multiplier) { return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1; };
  double scale = fields.number("mscale", 0, true), scaleOfAll = fields.number("mscale_all_dim", 0, true);
  double inferred = scale != 0 && scaleOfAll != 0 ? scaleOf(scale) / scaleOf(scaleOfAll) : scaleOf(1);
  rope.attentionFactor = fields.number("attention_factor", inferred, false);
  double fast = fields.number("beta_fast", 32, false), slow = fields.number("beta_slow", 1, false);
  bool truncates = fields.boolean("truncate", true);
  auto size = static_cast<double>(rope.size);
  // The frequency that turns this often within the original length.
  auto indexOf = [&](double turns) {
    return size * std::log(before / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  double low = indexOf(fast), high = indexOf(slow);
  if (truncates)
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, size - 1);
  if (low == high)
    high += 0.001;
  for (std::int64_t i = 0; i < rope.size / 2; ++i) {
    double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rope.divisors.push_back(1 / (divided / factor + (1 - divided)));
  }
}

llvm::SmallVector<double> RopeReader::numbers(llvm::StringRef field) {
  const json::Value *value = fields.get(field);
  const json::Array *list = value ? value->getAsArray() : nullptr;
  llvm::SmallVector<double> numbers;
  for (const json::Value &element : list ? *list : json::Array())
    if (std::optional<double> number = element.getAsNumber(); number && *number > 0 && *number < 1e9)
      numbers.push_back(*number);
  if (static_cast<std::int64_t>(numbers.size()) != rope.size / 2 || !list || list->size() != numbers.size())
    fields.fail(field, "a list of " + std::to_string(rope.size / 2) + " numbers above 0", value);
  return numbers;
}

/// LongRoPE: a divisor for each frequency, of two lists by the sequence length.
void RopeReader::readLongRope() {
  double before = original();
  llvm::SmallVector<double> longFactors = numbers("long_factor"), shortFactors = numbers("short_factor");
  double factor = fields.number("factor", static_cast<double>(defaults.positions) / before, false);
  double inferred = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(before));
  rope.attentionFactor = fields.number("attention_factor", inferred, false);
  rope.divisors = static_cast<double>(defaults.sequence) > before ? longFactors : shortFactors;
}

void RopeReader::read() {
  std::string olderType = fields.text("type", "default");
  std::string type = fields.text("rope_type", olderType);
  if (defaults.onlyLongRope && (type == "su" || type == "yarn"))
    type = "longrope";
  auto step = llvm::StringSwitch<void (RopeReader::*)()>(type)
                  .Case("llama3", &RopeReader::readLlama3)
                  .Case("dynamic", &RopeReader::readDynamic)
                  .Case("yarn", &RopeReader::readYarn)
                  .Case("longrope", &RopeReader::readLongRope)
                  .Default(nullptr);
  if (type == "linear") {
    rope.factor = required("factor");
  } else if (step) {
    (this->*step)();
  } else if (type != "default") {
    json::Value got(type);
    fields.fail(fields.find("rope_type") ? "rope_type" : "type",
                "\"default\", \"linear\", \"dynamic\", \"yarn\", \"longrope\" or \"llama3\"", &got);
  } else if (fields.number("factor", 1, false) != 1) {
    // A default form may carry a factor of 1, which has no effect.
    fields.fail("factor", "1 where the form is \"default\"", fields.find("factor"));
  }
  if (type == "linear" || type == "llama3")
    rope.scaling = type;
}

/// The rotated share of a head.
double readShare(ConfigFields &fields, llvm::StringRef field, double otherwise) {
  double share = fields.number(field, otherwise == 0 ? 1 : otherwise, false);
  if (otherwise == 0 && share != 1)
    fields.refuse(field, "the family rotates all of a head", "remove it, or set it to 1");
  else if (share > 1)
    fields.fail(field, "a number from 0 to 1", fields.find(field));
  return share;
}

} // namespace

RopeConfig sluice::readRope(ConfigFields &fields, const RopeDefaults &defaults) {
  RopeConfig rope;
  rope.theta = fields.number(defaults.theta, 10000, false);
  double share = readShare(fields, defaults.shareField, defaults.share);
  const json::Value *older = fields.get("rope_scaling"), *newer = fields.get("rope_parameters");
  // An empty object is as none.
  if (const json::Object *inner = older ? older->getAsObject() : nullptr; inner && inner->empty())
    older = nullptr;
  const char *name = older ? "rope_scaling" : "rope_parameters";
  // Only some scalings use it.
  fields.allow({"original_max_position_embeddings"});
  const json::Value *given = older ? older : newer;
  const json::Object *object = given ? given->getAsObject() : nullptr;
  if (given && !object)
    fields.fail(name, "an object", given);
  const json::Object nothing;
  ConfigFields inner(object ? *object : nothing, fields.path(), "rotary positions", std::string(name) + ".");
  rope.theta = inner.number("rope_theta", rope.theta, false);
  share = inner.has("partial_rotary_factor") ? readShare(inner, "partial_rotary_factor", defaults.share) : share;
  rope.size = static_cast<std::int64_t>(static_cast<double>(defaults.headSize) * share);
  RopeReader(fields, inner, defaults, rope).read();
  // Fields of other scalings, which transformers ignores too.
  inner.allow({"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "beta_fast",
               "beta_slow", "mscale", "mscale_all_dim", "attention_factor", "truncate", "short_factor", "long_factor"});
  inner.refuseUnknown();
  fields.take(inner);
  return rope;
}
