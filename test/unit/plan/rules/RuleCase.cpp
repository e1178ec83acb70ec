//===- RuleCase.cpp - an op with random operands for tests of the proof's rules -------------===//
//
// See RuleCase.h.
//
//===----------------------------------------------------------------------===//
#include "RuleCase.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice::test {
namespace {

DType typeOf(char values, DType type) {
  switch (values) {
  case 'b':
  case '1':
    return DType::u8;
  case 'i':
  case 't':
    return DType::i64;
  default:
    return type;
  }
}

std::vector<std::string> listOf(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

void fill(Tensor &tensor, char values, std::int64_t limit, unsigned seed) {
  if (values == 'n' || values == 'p')
    tensor.normal(seed);
  else
    tensor.below(seed, values == 'i' ? limit : values == 't' ? 5 : values == '1' ? 1 : 2);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (values == 'p')
      tensor.set(i, 0.5 + std::abs(tensor.at(i)));
    else if (values == 't' || values == '1')
      tensor.set(i, 1 + tensor.at(i));
}

/// As a launch has it, or the program, which has the case of a choice by its name.
std::unique_ptr<plan::AttributeT> recorded(const KernelRecord &kernel, const Attributes::Item &item, bool byName) {
  auto attribute = std::make_unique<plan::AttributeT>();
  attribute->name = item.name;
  const auto record = std::ranges::find(kernel.attributes, item.name, &AttributeRecord::name);
  const bool isKnown = record != kernel.attributes.end();
  attribute->integer = item.integer;
  attribute->number = item.number;
  attribute->list = item.list;
  if (byName && isKnown && record->kind == AttributeKind::choice) {
    const std::string_view name = record->choices[std::size_t(item.integer)];
    attribute->list.assign(name.begin(), name.end());
  }
  attribute->kind = isKnown && record->kind == AttributeKind::number ? 1 : attribute->list.empty() ? 0 : 2;
  return attribute;
}

} // namespace

void PrintTo(const RuleCase &rule, std::ostream *out) { *out << rule.op << " " << rule.shapes; }

RuleSample sample(const RuleCase &rule, DType type, unsigned seed) {
  RuleSample made;
  std::mt19937 engine(seed);
  std::map<char, std::int64_t> extents = rule.extents;
  for (const auto &[letter, other, factor] : rule.multiples) {
    if (!extents.count(other))
      extents[other] = 2 + engine() % 4;
    extents[letter] = factor * extents[other];
  }
  const auto shapeOf = [&](const std::string &letters) {
    std::vector<std::int64_t> shape;
    for (char letter : letters) {
      if (std::isdigit(letter))
        extents[letter] = letter - '0';
      else if (!extents.count(letter))
        extents[letter] = 2 + engine() % 8;
      shape.push_back(extents[letter]);
    }
    return shape;
  };
  const std::size_t arrow = rule.shapes.find("->");
  const auto letters = listOf(rule.shapes.substr(0, arrow)), resultLetters = listOf(rule.shapes.substr(arrow + 2));
  for (const std::string &operand : letters)
    if (operand != ".")
      made.shapes.push_back(shapeOf(operand));
  for (const std::string &result : resultLetters)
    made.resultShapes.push_back(shapeOf(result));
  const auto at = [](const std::string &text, std::size_t k) { return k < text.size() ? text[k] : 'n'; };
  for (std::size_t k = 0; k < made.shapes.size(); ++k) {
    made.operands.emplace_back(typeOf(at(rule.values, k), type), made.shapes[k]);
    fill(made.operands.back(), at(rule.values, k), extents[rule.limit], seed * 97 + unsigned(k));
  }
  for (std::size_t k = 0; k < made.resultShapes.size(); ++k)
    made.results.emplace_back(typeOf(at(rule.results, k), type), made.resultShapes[k]);
  made.kind.op = rule.op;
  made.kernel = findKernelRecord(check::proof::kernelOfOp(rule.op));
  if (!made.kernel)
    return made;
  for (const Attributes::Item &item : rule.attributes)
    made.kind.attributes.push_back(recorded(*made.kernel, item, true));
  for (const Attributes::Item &item : rule.launch.empty() ? rule.attributes : rule.launch)
    made.launch.attributes.push_back(recorded(*made.kernel, item, false));
  return made;
}

Result<std::vector<Tensor>> runKernel(const RuleSample &sample, std::vector<Tensor> operands,
                                      std::vector<Tensor> results, KernelFlavour flavour) {
  const Attributes attributes = attributesOf(sample.launch);
  std::vector<Tensor *> in, out;
  for (Tensor &tensor : operands)
    in.push_back(&tensor);
  for (Tensor &tensor : results) {
    // An element that the kernel does not write is found.
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, 77);
    out.push_back(&tensor);
  }
  for (auto [input, output] : mustAliasPairs(*sample.kernel, attributes, in.size(), out.size()))
    out[output] = in[input];
  Run run{std::string(sample.kernel->name), flavour};
  run.attributes.assign(attributes.all().begin(), attributes.all().end());
  SLUICE_RETURN_IF_ERROR(tryRun(run, in, out));
  std::vector<Tensor> done;
  for (Tensor *tensor : out)
    done.push_back(*tensor);
  return done;
}

} // namespace sluice::test
