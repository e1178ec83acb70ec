//===- Accumulations.cpp - launches that add the next repetition to a sum ------------------===//
//
// The kernel `accumulate` adds a value. Other kernels add their results to sums that are inputs and outputs: a product
// with the sum as its residual, or the gradient of a norm. Such a launch may also add its result to another value,
// where the program adds both.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>
#include <ranges>

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
  term.stored.add(before->stored);
  write(sum, std::move(term));
  return {};
}

std::optional<Reading> EntryProof::sumOf(const Reading &a, const Reading &b, std::uint32_t id) {
  Meaning like = b.meaning;
  like.root = a.meaning.root;
  like.zeros = a.meaning.zeros;
  like.coefficient = a.meaning.coefficient;
  if (id >= numbering.valueCount() || !(like == a.meaning) || a.at != b.at)
    return std::nullopt;
  Reading sum = a;
  sum.stored.add(b.stored);
  std::erase_if(sum.meaning.zeros,
                [&](std::int64_t end) { return std::ranges::find(b.meaning.zeros, end) == b.meaning.zeros.end(); });
  if (a.meaning.coefficient == b.meaning.coefficient) {
    sum.meaning.root = numbering.sumOf({a.meaning.root, 1}, {b.meaning.root, 1});
  } else {
    sum.meaning.root =
        numbering.sumOf({a.meaning.root, a.meaning.coefficient}, {b.meaning.root, b.meaning.coefficient});
    sum.meaning.coefficient = 1;
  }
  // Without an id there is no root: the sum may be one over repetitions.
  const RootId expected = numbering.value(id).root;
  const bool isValue = expected == sum.meaning.root || numbering.root(expected).totalOf == sum.meaning.root;
  return isValue ? std::optional(std::move(sum)) : std::nullopt;
}

std::optional<Verdict> EntryProof::accumulateResults(const plan::LaunchT &launch, std::uint32_t i) {
  const std::string &kernel = kernelOf(launch);
  const KernelRecord &record = *findKernelRecord(kernel);
  const auto isGiven = [&](const AliasRecord &sum) { return numberOf(launch, sum.input, 0) != 0; };
  if (std::ranges::none_of(record.sums, isGiven))
    return std::nullopt;
  plan::LaunchT terms = launch;
  std::vector<const plan::ViewT *> sums;
  std::vector<std::uint32_t> ids;
  // The sums are the last inputs, in the order of the record.
  for (const AliasRecord &sum : record.sums | std::views::reverse) {
    if (!isGiven(sum))
      continue;
    const auto output =
        std::size_t(std::ranges::find(record.outputs, sum.output, &OperandRecord::name) - record.outputs.begin());
    if (terms.inputs.empty() || !isSameView(*terms.inputs.back(), *launch.outputs[output]))
      return std::nullopt;
    sums.push_back(launch.outputs[output].get());
    ids.push_back(idAt(launch.output_values, output));
    terms.inputs.pop_back();
    std::erase_if(terms.attributes, [&](const auto &attribute) { return attribute->name == sum.input; });
  }
  // The program has the op with this operand, as a product with a residual, or without it. A product of a form has the
  // id of the op whose form it ends.
  const std::uint32_t id = idAt(launch.output_values, 0);
  const std::int64_t named = id != 0 && id < numbering.valueCount() ? numbering.definition(id).first : -1;
  const bool isNamed = named >= 0 && kernelOfOp(numbering.kindOf(std::uint32_t(named)).op) == kernel;
  if (isNamed ? numbering.operandsOf(std::uint32_t(named)).size() != terms.inputs.size()
              : opsOn(terms).empty() || !opsOn(launch).empty())
    return std::nullopt;
  std::vector<std::optional<Reading>> before;
  for (const plan::ViewT *sum : sums)
    before.push_back(read(*sum));
  if (Verdict verdict = compute(terms, i); verdict)
    return verdict;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    std::optional<Reading> term = read(*sums[k]);
    if (!term || !term->meaning.unproved.empty())
      continue;
    if (std::optional<Reading> total = before[k] ? sumOf(*before[k], *term, ids[k]) : std::nullopt) {
      write(*sums[k], std::move(*total));
      continue;
    }
    term->meaning.isSum = true;
    // A launch that began the sum computed that of one repetition.
    if (before[k] && before[k]->meaning.first == before[k]->meaning.last)
      before[k]->meaning.isSum = true;
    if (Verdict verdict = addRepetition(*sums[k], std::move(*term), std::move(before[k]), i); verdict)
      return verdict;
  }
  return Verdict();
}

} // namespace sluice::check::proof
