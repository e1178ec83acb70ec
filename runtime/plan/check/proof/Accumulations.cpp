//===- Accumulations.cpp - launches that add the next repetition to a sum ------------------===//
//
// The kernel `accumulate` adds a value, and a product with the sum as its residual adds its result.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check::proof {

static bool isSameView(const plan::ViewT &a, const plan::ViewT &b) {
  return a.buffer == b.buffer && a.dtype == b.dtype && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides && a.repetition_stride == b.repetition_stride;
}

Verdict EntryProof::accumulate(const plan::LaunchT &launch, std::uint32_t i) {
  const plan::ViewT &sum = *launch.outputs[0];
  std::optional<Reading> term = read(*launch.inputs[0]);
  if (!term || !term->meaning.unproved.empty()) {
    lose(sum, term ? term->meaning.unproved
                   : "the content of '" + plan.buffers[launch.inputs[0]->buffer]->name + "' is not known");
    return {};
  }
  // A value that is equal in all repetitions counts in each.
  if (!term->meaning.isSum && !numbering.root(term->meaning.root).varies)
    term->meaning.first = term->meaning.last = repetition;
  term->meaning.isSum = true;
  if (numberOf(launch, "first", 0) != 0) {
    write(sum, std::move(*term));
    return {};
  }
  return addRepetition(sum, std::move(*term), read(sum), i);
}

Verdict EntryProof::addRepetition(const plan::ViewT &sum, Reading term, std::optional<Reading> before,
                                  std::uint32_t i) {
  if (!before || !before->meaning.unproved.empty()) {
    lose(sum,
         before ? before->meaning.unproved : "the content of '" + plan.buffers[sum.buffer]->name + "' is not known");
    return {};
  }
  Meaning expected = term.meaning;
  expected.first = before->meaning.first;
  expected.last = before->meaning.last;
  expected.zeros = before->meaning.zeros;
  std::erase_if(term.meaning.zeros, [&](std::int64_t end) {
    return std::ranges::find(before->meaning.zeros, end) == before->meaning.zeros.end();
  });
  if (!(before->meaning == expected) || before->at != term.at)
    return refuseAt(i, before->meaning.root == term.meaning.root ? 7 : 9,
                    "adds " + describe(term.meaning) + " to " + describe(before->meaning));
  if (term.meaning.first != before->meaning.last + 1)
    return refuseAt(i, 7,
                    concat("adds ", describe(term.meaning), " to ", describe(before->meaning), ": ",
                           term.meaning.first <= before->meaning.last ? "micro-batch " : "it misses micro-batch ",
                           std::min(term.meaning.first, before->meaning.last + 1),
                           term.meaning.first <= before->meaning.last ? " counts twice" : ""));
  term.meaning.first = before->meaning.first;
  write(sum, std::move(term));
  return {};
}

std::optional<Verdict> EntryProof::accumulateProduct(const plan::LaunchT &launch, std::uint32_t i) {
  const plan::ViewT &sum = *launch.outputs[0];
  if (launch.inputs.size() < 3 || numberOf(launch, "residual", 0) == 0 || !isSameView(*launch.inputs.back(), sum))
    return std::nullopt;
  plan::LaunchT product = launch;
  product.inputs.pop_back();
  std::erase_if(product.attributes, [](const auto &attribute) { return attribute->name == "residual"; });
  // The program has the product with this residual, or the product alone. That of a form has the id of the op whose
  // form it ends.
  const std::uint32_t id = idAt(launch.output_values, 0);
  const std::int64_t named = id != 0 && id < numbering.valueCount() ? numbering.definition(id).first : -1;
  const bool isNamed = named >= 0 && kernelOfOp(numbering.kindOf(std::uint32_t(named)).op) == "matmul";
  if (isNamed ? numbering.operandsOf(std::uint32_t(named)).size() != product.inputs.size()
              : opsOn(product).empty() || !opsOn(launch).empty())
    return std::nullopt;
  std::optional<Reading> before = read(sum);
  if (Verdict verdict = compute(product, i); verdict)
    return verdict;
  std::optional<Reading> term = read(sum);
  if (!term || !term->meaning.unproved.empty())
    return Verdict();
  term->meaning.isSum = true;
  // A product that began the sum is the sum of one repetition.
  if (before && before->meaning.first == before->meaning.last)
    before->meaning.isSum = true;
  return addRepetition(sum, std::move(*term), std::move(before), i);
}

} // namespace sluice::check::proof
