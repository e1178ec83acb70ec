//===- Launches.cpp - launches and copies implement ops of the program ----------------------===//
//
// Copies, casts and scales keep their operand, times a factor. Accumulations.cpp has sums over repetitions. Every other
// launch implements the op that defines its outputs (Implementations.cpp).
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <cmath>

namespace sluice::check::proof {
namespace {

using Views = std::vector<const plan::ViewT *>;

Views viewsOf(const std::vector<std::unique_ptr<plan::ViewT>> &views) {
  Views result;
  for (const auto &view : views)
    result.push_back(view.get());
  return result;
}

/// `root`: of the sum of powers; 0: it has too many terms.
void setPowers(Meaning &meaning, RootId root) {
  meaning.root = root;
  if (root == 0)
    meaning.unproved = "a sum of powers of more values than the unsharded program has";
}

} // namespace

double numberOf(const plan::LaunchT &launch, std::string_view name, double absent) {
  return attributesOf(launch).number(name, absent);
}

void EntryProof::lose(const plan::ViewT &view, const Reason &reason) {
  Reading unknown;
  unknown.meaning.unproved = reason;
  unknown.at = denseIndexing(view.shape);
  write(view, std::move(unknown));
}

void EntryProof::leaveOpen(const plan::ViewT &view, const std::string &reason) {
  lose(view, {reason, /*lacksRule=*/true});
}

void EntryProof::loseOutputs(const plan::LaunchT &launch, const Reason &reason) {
  for (const auto &view : launch.outputs)
    lose(*view, reason);
}

Verdict EntryProof::launch(const plan::LaunchT &launch, std::uint32_t i) {
  if (const std::vector<plan::LaunchT> parts = partsOf(launch); !parts.empty()) {
    for (const plan::LaunchT &part : parts)
      SLUICE_CHECK(this->launch(part, i));
    return {};
  }
  const std::string &kernel = kernelOf(launch);
  ++facts;
  const bool keeps = kernel == "copy" || (kernel == "cast" && isFloatType(launch.inputs[0]->dtype) &&
                                          isFloatType(launch.outputs[0]->dtype));
  if (keeps || kernel == "scale") {
    // The id shows that the parts of the source are a concatenation.
    const std::uint32_t id = idAt(launch.input_values, 0);
    Mismatch ignored;
    if (id != 0 && id < numbering.valueCount() && !numbering.root(numbering.value(id).root).parts.empty())
      match(*launch.inputs[0], id, ignored);
    passThrough(*launch.inputs[0], *launch.outputs[0], keeps ? 1 : numberOf(launch, "factor", 1));
    return {};
  }
  if (kernel == "accumulate")
    return accumulate(launch, i);
  if (kernel == "constant") {
    Reading reading;
    reading.meaning.root = numbering.constant(numberOf(launch, "value", 0));
    reading.meaning.first = reading.meaning.last = repetition;
    reading.at = uniformIndexing(launch.outputs[0]->shape);
    write(*launch.outputs[0], std::move(reading));
    return {};
  }
  // Initial values: those of a step are ops of the program.
  if ((kernel == "random_normal" || kernel == "random_uniform") && !function) {
    draw(launch);
    return {};
  }
  if (kernel == "power_sum")
    return sumPowers(launch, i);
  if (kernel == "add" || kernel == "maximum")
    if (const std::optional<Verdict> done = addPowers(launch, kernel == "maximum", i))
      return *done;
  std::optional<Mismatch> ignored;
  if (kernel == "add" && (computeOp(launch, i, ignored) || addSums(launch)))
    return {};
  if (kernel == "slice") {
    sliceChunk(launch);
    return {};
  }
  if (kernel == "pad" && clearPadding(launch))
    return {};
  if (isUpdateKernel(kernel))
    return update(launch, i);
  if (const std::optional<Verdict> done = accumulateResults(launch, i))
    return *done;
  return compute(launch, i);
}

void EntryProof::passThrough(const plan::ViewT &source, const plan::ViewT &destination, double factor) {
  if (factor == 1 && contents.isInSeveralFacts(source, numbering.constant(0)) && source.dtype == destination.dtype &&
      isDense(source) && isDense(destination) && source.valid.empty() && destination.valid.empty() &&
      source.repetition_stride == 0 && destination.repetition_stride == 0 &&
      viewBytes(source) == viewBytes(destination)) {
    contents.copy(source, destination);
    return;
  }
  std::optional<Reading> reading = read(source);
  if (!reading) {
    lose(destination, "the content of '" + plan.buffers[source.buffer]->name + "' is not known");
    return;
  }
  std::optional<Indexing> at = broadcasted(reading->at, destination.shape);
  if (!at) {
    lose(destination, "a copy of another shape");
    return;
  }
  reading->at = std::move(*at);
  reading->meaning.coefficient *= factor;
  write(destination, std::move(*reading));
}

Verdict EntryProof::sumPowers(const plan::LaunchT &launch, std::uint32_t i) {
  const double p = numberOf(launch, "p", 2);
  std::vector<Multiple> terms;
  Reading result;
  std::optional<std::vector<std::uint32_t>> axes;
  for (std::size_t k = 0; k < launch.inputs.size(); ++k) {
    const std::optional<Reading> reading = read(*launch.inputs[k]);
    if (!reading || !reading->meaning.unproved.empty()) {
      loseOutputs(launch, reading
                              ? reading->meaning.unproved
                              : "the content of '" + plan.buffers[launch.inputs[k]->buffer]->name + "' is not known");
      return {};
    }
    Mismatch mismatch;
    const std::uint32_t id = idAt(launch.input_values, k);
    // The id leads to a better message, and to the root of a total.
    if (id < numbering.valueCount() && numbering.value(id).root != 0 && !means(*reading, numbering.value(id), mismatch))
      return refuseAt(i, mismatch.property, concat("operand ", k, " ", mismatch.text));
    Multiple term = multipleOf(reading->meaning);
    if (term.first == 0) {
      loseOutputs(launch, "a sum of powers of " + describe(reading->meaning));
      return {};
    }
    // Every element once: the shards of all ranks are the value, or a part of it, such as the gradient of one of
    // several parameters.
    const std::optional<Indexing> all = elementsOfAll(*reading);
    if (!all) {
      // The shards of equal elements may be right in any layout.
      const Digits digits = flattened(reading->at);
      const bool isUniform = std::ranges::all_of(digits, [](const Digit &digit) { return digit.step == 0; });
      loseOutputs(launch, {"a sum of powers of shards of " + numbering.describe(term.first), isUniform});
      return {};
    }
    term.first = numbering.partOf(term.first, *all);
    const std::vector<std::int64_t> ends = paddedEnds(*reading), &zeros = reading->meaning.zeros;
    if (!std::ranges::all_of(ends, [&](std::int64_t end) {
          return std::ranges::find(zeros, end) != zeros.end() || leavesOut(*launch.inputs[k], *reading, end);
        })) {
      loseOutputs(launch, "a sum of powers of the padding of " + numbering.describe(term.first));
      return {};
    }
    std::vector<std::uint32_t> own = axesOf(reading->meaning);
    // A largest power of all ranks may count an element more than once.
    if (axes && std::isinf(p)) {
      std::vector<std::uint32_t> both;
      std::ranges::set_union(*axes, own, std::back_inserter(both));
      own = axes.emplace(std::move(both));
    }
    if (axes && *axes != own) {
      loseOutputs(launch, "a sum of powers of values with different shardings");
      return {};
    }
    axes = own;
    terms.push_back(term);
    result.stored.add(reading->stored);
  }
  setPowers(result.meaning, numbering.powerSum(p, std::move(terms)));
  result.meaning.partial = setOf(*axes);
  result.meaning.terms = std::isinf(p) && result.meaning.partial != 0 ? Terms::maximum : Terms::sum;
  result.meaning.first = result.meaning.last = repetition;
  result.at = denseIndexing(launch.outputs[0]->shape);
  write(*launch.outputs[0], std::move(result));
  return {};
}

bool EntryProof::addSums(const plan::LaunchT &launch) {
  const std::optional<Reading> a = read(*launch.inputs[0]), b = read(*launch.inputs[1]);
  // Terms of two sums over the same ranks are terms of their sum.
  if (!a || !b || a->meaning.terms != Terms::sum || (!a->meaning.isSum && idAt(launch.output_values, 0) != 0))
    return false;
  Meaning like = b->meaning;
  like.root = a->meaning.root;
  if (!(like == a->meaning) || a->at != b->at)
    return false;
  Reading result = *a;
  result.stored.add(b->stored);
  result.meaning.root = numbering.sumOf({a->meaning.root, 1}, {b->meaning.root, 1});
  write(*launch.outputs[0], std::move(result));
  return true;
}

std::optional<Verdict> EntryProof::addPowers(const plan::LaunchT &launch, bool isMaximum, std::uint32_t i) {
  const std::optional<Reading> a = read(*launch.inputs[0]), b = read(*launch.inputs[1]);
  const auto isPowers = [&](RootId root) { return !numbering.root(root).powers.empty(); };
  const std::uint32_t id = idAt(launch.output_values, 0);
  if (!(id < numbering.valueCount() && isPowers(numbering.value(id).root)) && !(a && isPowers(a->meaning.root)) &&
      !(b && isPowers(b->meaning.root)))
    return std::nullopt;
  for (const std::optional<Reading> &term : {a, b})
    if (!term || !term->meaning.unproved.empty()) {
      loseOutputs(launch, term ? term->meaning.unproved : Reason("a term of a sum of powers is not known"));
      return Verdict();
    }
  const Root &first = numbering.root(a->meaning.root), &second = numbering.root(b->meaning.root);
  Meaning like = b->meaning;
  like.root = a->meaning.root;
  if (first.powers.empty() || second.powers.empty() || first.p != second.p || std::isinf(first.p) != isMaximum ||
      !(like == a->meaning) || a->meaning.isSum || a->meaning.coefficient != 1)
    return refuseAt(
        i, 9, concat("combines ", describe(b->meaning), " and ", describe(a->meaning), ", expected sums of powers"));
  std::vector<Multiple> terms = first.powers;
  terms.insert(terms.end(), second.powers.begin(), second.powers.end());
  Reading result = *a;
  result.stored.add(b->stored);
  setPowers(result.meaning, numbering.powerSum(first.p, std::move(terms)));
  write(*launch.outputs[0], std::move(result));
  return Verdict();
}

Verdict EntryProof::update(const plan::LaunchT &launch, std::uint32_t i) {
  const std::string &kernel = kernelOf(launch);
  // The operands of one update are neighbours; those after them are shared by all.
  std::size_t result = 0, next = 0;
  while (result < launch.outputs.size()) {
    const std::uint32_t id = idAt(launch.output_values, result);
    const std::int64_t op = id != 0 && id < numbering.valueCount() ? numbering.definition(id).first : -1;
    if (op < 0 || kernelOfOp(numbering.kindOf(std::uint32_t(op)).op) != kernel) {
      loseOutputs(launch, "an update that is not related to the unsharded program");
      return {};
    }
    const std::size_t own = numbering.operandsOf(std::uint32_t(op)).size(),
                      results = numbering.resultsOf(std::uint32_t(op)).size();
    if (own <= updateScalars || next + own > launch.inputs.size() || result + results > launch.outputs.size())
      return refuseAt(i, 9, concat("has too few operands for ", numbering.describeValue(id)));
    Views inputs, outputs;
    for (std::size_t k = 0; k < own - updateScalars; ++k)
      inputs.push_back(launch.inputs[next + k].get());
    for (std::size_t k = launch.inputs.size() - updateScalars; k < launch.inputs.size(); ++k)
      inputs.push_back(launch.inputs[k].get());
    for (std::size_t k = 0; k < results; ++k)
      outputs.push_back(launch.outputs[result + k].get());
    if (const std::optional<Mismatch> mismatch = implement(launch, std::uint32_t(op), inputs, outputs, i)) {
      if (!mismatch->isUnknown)
        return refuseAt(i, mismatch->property, mismatch->text);
      for (const plan::ViewT *view : outputs)
        lose(*view, mismatch->reason());
    }
    next += own - updateScalars;
    result += results;
  }
  return next + updateScalars == launch.inputs.size() ? Verdict() : refuseAt(i, 9, "has operands of no update");
}

std::span<const std::uint32_t> EntryProof::opsOn(const plan::LaunchT &launch) {
  std::vector<RootId> roots;
  for (const auto &view : launch.inputs) {
    const std::optional<Reading> reading = read(*view);
    if (!reading || !reading->isKnown())
      return {};
    roots.push_back(reading->meaning.root);
  }
  return numbering.opsOn(kernelOf(launch), roots);
}

bool EntryProof::computeOp(const plan::LaunchT &launch, std::uint32_t i, std::optional<Mismatch> &mismatch) {
  const Views inputs = viewsOf(launch.inputs), outputs = viewsOf(launch.outputs);
  const std::uint32_t id = idAt(launch.output_values, 0);
  const std::int64_t named = id != 0 && id < numbering.valueCount() ? numbering.definition(id).first : -1;
  if (named >= 0) {
    mismatch = implement(launch, std::uint32_t(named), inputs, outputs, i);
    if (!mismatch)
      return true;
  }
  // The op of a form has no id, or that of the op whose form it ends.
  for (std::uint32_t op : opsOn(launch)) {
    if (std::int64_t(op) == named)
      continue;
    std::optional<Mismatch> own = implement(launch, op, inputs, outputs, i);
    if (!own)
      return true;
    if (!mismatch)
      mismatch = std::move(own);
  }
  return false;
}

Verdict EntryProof::compute(const plan::LaunchT &launch, std::uint32_t i) {
  std::optional<Mismatch> mismatch;
  if (computeOp(launch, i, mismatch))
    return {};
  // The kernel is compared before the operands.
  for (const auto &view : launch.inputs)
    if (const std::optional<Reading> reading = read(*view); reading && !reading->isKnown())
      mismatch = Mismatch::unknown(reading->meaning.unproved);
  if (mismatch && !mismatch->isUnknown)
    return refuseAt(i, mismatch->property, mismatch->text);
  loseOutputs(launch,
              mismatch ? mismatch->reason() : Reason(place(plan, e, i) + " is not related to the unsharded program"));
  return {};
}

} // namespace sluice::check::proof
