//===- Launches.cpp - launches and copies implement ops of the program ----------------------===//
//
// Copies, casts and scales keep their operand, times a factor. An accumulation adds the next repetition to a sum.
// Every other launch implements the op that defines its outputs.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"
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

std::uint32_t idAt(const std::vector<std::uint32_t> &ids, std::size_t index) {
  return index < ids.size() ? ids[index] : 0;
}

/// As kernels read it.
double numberOf(const plan::LaunchT &launch, std::string_view name, double absent) {
  return attributesOf(launch).number(name, absent);
}

/// All digits of a tensor, as those of one dim.
Digits flattened(const Indexing &at) {
  Digits all;
  for (const Digits &digits : at.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  return joined(all);
}

} // namespace

void EntryProof::lose(const plan::ViewT &view, const std::string &reason) {
  Reading unknown;
  unknown.meaning.unproved = reason;
  unknown.at = denseIndexing(view.shape);
  write(view, std::move(unknown));
}

void EntryProof::loseOutputs(const plan::LaunchT &launch, const std::string &reason) {
  for (const auto &view : launch.outputs)
    lose(*view, reason);
}

Verdict EntryProof::launch(const plan::LaunchT &launch, std::uint32_t i) {
  const std::string &kernel = plan.kernels[launch.kernel];
  ++facts;
  const bool keeps = kernel == "copy" || (kernel == "cast" && isFloatType(launch.inputs[0]->dtype) &&
                                          isFloatType(launch.outputs[0]->dtype));
  if (keeps)
    return passThrough(*launch.inputs[0], *launch.outputs[0], 1, i);
  if (kernel == "scale")
    return passThrough(*launch.inputs[0], *launch.outputs[0], numberOf(launch, "factor", 1), i);
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
  if (kernel == "power_sum")
    return sumPowers(launch, i);
  if (kernel == "add" && addPowers(launch))
    return {};
  if (isUpdateKernel(kernel))
    return update(launch, i);
  return compute(launch, i);
}

Verdict EntryProof::passThrough(const plan::ViewT &source, const plan::ViewT &destination, double factor,
                                std::uint32_t) {
  if (factor == 1 && contents.isInSeveralFacts(source, numbering.constant(0)) && source.dtype == destination.dtype &&
      isDense(source) && isDense(destination) && source.valid.empty() && destination.valid.empty() &&
      source.repetition_stride == 0 && destination.repetition_stride == 0 &&
      viewBytes(source) == viewBytes(destination)) {
    contents.copy(source, destination);
    return {};
  }
  std::optional<Reading> reading = read(source);
  if (!reading) {
    lose(destination, "the content of '" + plan.buffers[source.buffer]->name + "' is not known");
    return {};
  }
  std::optional<Indexing> at = broadcasted(reading->at, destination.shape);
  if (!at) {
    lose(destination, "a copy of another shape");
    return {};
  }
  reading->at = std::move(*at);
  reading->meaning.coefficient *= factor;
  write(destination, std::move(*reading));
  return {};
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
  std::optional<Reading> before = read(sum);
  if (!before || !before->meaning.unproved.empty()) {
    lose(sum,
         before ? before->meaning.unproved : "the content of '" + plan.buffers[sum.buffer]->name + "' is not known");
    return {};
  }
  Meaning expected = term->meaning;
  expected.first = before->meaning.first;
  expected.last = before->meaning.last;
  if (!(before->meaning == expected) || before->at != term->at)
    return refuseAt(i, before->meaning.root == term->meaning.root ? 7 : 9,
                    "adds " + describe(term->meaning) + " to " + describe(before->meaning));
  if (term->meaning.first != before->meaning.last + 1)
    return refuseAt(i, 7,
                    concat("adds ", describe(term->meaning), " to ", describe(before->meaning), ": ",
                           term->meaning.first <= before->meaning.last ? "micro-batch " : "it misses micro-batch ",
                           std::min(term->meaning.first, before->meaning.last + 1),
                           term->meaning.first <= before->meaning.last ? " counts twice" : ""));
  term->meaning.first = before->meaning.first;
  write(sum, std::move(*term));
  return {};
}

Verdict EntryProof::sumPowers(const plan::LaunchT &launch, std::uint32_t i) {
  const double p = numberOf(launch, "p", 2);
  std::vector<Multiple> terms;
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
    if (id != 0 && id < numbering.valueCount() && numbering.value(id).root != 0 &&
        !means(reading->meaning, numbering.value(id), mismatch) && !mismatch.isUnknown)
      return refuseAt(i, mismatch.property, concat("operand ", k, " ", mismatch.text));
    const Multiple term = multipleOf(reading->meaning);
    if (term.first == 0) {
      loseOutputs(launch, "a sum of powers of " + describe(reading->meaning));
      return {};
    }
    // Every element once: the shards of all ranks are the value.
    const Root &root = numbering.root(term.first);
    Indexing dense = denseIndexing(std::span(&root.elements, 1)), flat;
    flat.base = reading->at.base;
    flat.dims = {flattened(reading->at)};
    std::vector<AxisStep> left = reading->meaning.steps;
    std::sort(left.begin(), left.end(), [](const AxisStep &a, const AxisStep &b) { return a.step < b.step; });
    std::vector<std::uint32_t> own;
    for (const AxisStep &step : left)
      own.push_back(step.axis);
    std::sort(own.begin(), own.end());
    if (!coversOnce(flat, reading->meaning.steps, root.elements, sizes)) {
      loseOutputs(launch, "a sum of powers of a part of " + numbering.describe(term.first));
      return {};
    }
    if (axes && *axes != own) {
      loseOutputs(launch, "a sum of powers of values with different shardings");
      return {};
    }
    axes = own;
    terms.push_back(term);
  }
  Reading result;
  result.meaning.root = numbering.powerSum(p, std::move(terms));
  result.meaning.partial = setOf(*axes);
  result.meaning.isMaximum = std::isinf(p) && result.meaning.partial != 0;
  result.meaning.first = result.meaning.last = repetition;
  result.at = denseIndexing(launch.outputs[0]->shape);
  write(*launch.outputs[0], std::move(result));
  return {};
}

bool EntryProof::addPowers(const plan::LaunchT &launch) {
  if (launch.inputs.size() != 2)
    return false;
  const std::optional<Reading> a = read(*launch.inputs[0]), b = read(*launch.inputs[1]);
  if (!a || !b)
    return false;
  const Root &first = numbering.root(a->meaning.root), &second = numbering.root(b->meaning.root);
  Meaning like = b->meaning;
  like.root = a->meaning.root;
  if (first.powers.empty() || second.powers.empty() || first.p != second.p || std::isinf(first.p) ||
      !(like == a->meaning) || a->meaning.isSum || a->meaning.coefficient != 1)
    return false;
  std::vector<Multiple> terms = first.powers;
  terms.insert(terms.end(), second.powers.begin(), second.powers.end());
  Reading result = *a;
  result.meaning.root = numbering.powerSum(first.p, std::move(terms));
  write(*launch.outputs[0], std::move(result));
  return true;
}

Verdict EntryProof::update(const plan::LaunchT &launch, std::uint32_t i) {
  const std::string &kernel = plan.kernels[launch.kernel];
  const std::size_t scalars = 4;
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
    if (own < scalars || next + own - scalars + scalars > launch.inputs.size() ||
        result + results > launch.outputs.size())
      return refuseAt(i, 9, concat("has too few operands for ", numbering.describeValue(id)));
    Views inputs, outputs;
    for (std::size_t k = 0; k < own - scalars; ++k)
      inputs.push_back(launch.inputs[next + k].get());
    for (std::size_t k = launch.inputs.size() - scalars; k < launch.inputs.size(); ++k)
      inputs.push_back(launch.inputs[k].get());
    for (std::size_t k = 0; k < results; ++k)
      outputs.push_back(launch.outputs[result + k].get());
    SLUICE_CHECK(implement(launch, std::uint32_t(op), inputs, outputs, i));
    next += own - scalars;
    result += results;
  }
  return next + scalars == launch.inputs.size() ? Verdict() : refuseAt(i, 9, "has operands of no update");
}

Verdict EntryProof::compute(const plan::LaunchT &launch, std::uint32_t i) {
  const std::string &kernel = plan.kernels[launch.kernel];
  const std::uint32_t id = idAt(launch.output_values, 0);
  const std::int64_t op = id != 0 && id < numbering.valueCount() ? numbering.definition(id).first : -1;
  if (op < 0) {
    loseOutputs(launch, "launch " + kernel + " is not related to the unsharded program");
    return {};
  }
  return implement(launch, std::uint32_t(op), viewsOf(launch.inputs), viewsOf(launch.outputs), i);
}

Verdict EntryProof::implement(const plan::LaunchT &launch, std::uint32_t op, std::span<const plan::ViewT *const> inputs,
                              std::span<const plan::ViewT *const> outputs, std::uint32_t i) {
  const std::string &kernel = plan.kernels[launch.kernel];
  const plan::ProgramKindT &kind = numbering.kindOf(op);
  const auto operands = numbering.operandsOf(op), results = numbering.resultsOf(op);
  const auto loseAll = [&](const std::string &reason) {
    for (const plan::ViewT *view : outputs)
      lose(*view, reason);
    return Verdict();
  };
  const auto loseHere = [&](const std::string &reason) { return loseAll(place(plan, e, i) + ": " + reason); };
  const std::string_view expected = kernelOfOp(kind.op);
  const std::string of = results.empty() ? kind.op : numbering.describeValue(results[0]);
  if (expected.empty())
    return loseHere("'" + kind.op + "' has no rule");
  if (expected != kernel)
    return kernelHasRule(kernel) ? refuseAt(i, 9, concat("computes ", of, ", expected kernel '", expected, "'"))
                                 : loseHere("kernel '" + kernel + "' has no rule");
  std::vector<Shape> shapes;
  for (std::uint32_t operand : operands)
    if (operand == 0)
      return loseHere("the unsharded program has no value for an operand");
    else
      shapes.push_back(numbering.type(operand).shape);
  if (inputs.size() != operands.size() || outputs.size() != results.size())
    return refuseAt(i, 9,
                    concat("computes ", of, ", expected ", operands.size(), " operands and ", results.size(),
                           " results but got ", inputs.size(), " and ", outputs.size()));
  if (const std::string difference = differingAttribute(kind, shapes, kernel, launch); !difference.empty())
    return refuseAt(i, 9, "computes " + of + ": " + difference);
  std::vector<Match> matches;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Mismatch mismatch;
    std::optional<Match> found = inputs[k]->shape.size() == shapes[k].size()
                                     ? match(*inputs[k], operands[k], mismatch)
                                     : matchByElements(*inputs[k], operands[k], mismatch);
    if (!found && mismatch.isUnknown)
      return loseAll(mismatch.text);
    if (!found)
      return refuseAt(i, mismatch.property, concat("computes ", of, ": operand ", k, " ", mismatch.text));
    matches.push_back(std::move(*found));
  }
  std::string problem;
  if (writeResults(op, matches, outputs, problem))
    return {};
  return problem.starts_with("expected") ? refuseAt(i, 9, "computes " + of + ": " + problem) : loseHere(problem);
}

std::optional<Match> EntryProof::matchByElements(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  std::optional<Reading> reading = read(view);
  if (!reading || !reading->meaning.unproved.empty()) {
    mismatch = {9,
                reading ? reading->meaning.unproved
                        : "the content of '" + plan.buffers[view.buffer]->name + "' is not known",
                true};
    return std::nullopt;
  }
  const Value &expected = numbering.value(id);
  if (!means(reading->meaning, expected, mismatch))
    return std::nullopt;
  Indexing flat;
  flat.base = reading->at.base;
  flat.dims = {flattened(reading->at)};
  if (expected.at != denseIndexing(numbering.type(id).shape) ||
      !coversOnce(flat, reading->meaning.steps, numbering.root(expected.root).elements, sizes)) {
    mismatch = {9, "holds other elements of " + numbering.describeValue(id) + " than a shard by elements has"};
    return std::nullopt;
  }
  return Match{std::move(*reading), {}};
}

bool EntryProof::writeResults(std::uint32_t op, std::span<const Match> operands,
                              std::span<const plan::ViewT *const> outputs, std::string &problem) {
  const plan::ProgramKindT &kind = numbering.kindOf(op);
  const auto ids = numbering.operandsOf(op), results = numbering.resultsOf(op);
  std::vector<Shape> shapes, resultShapes;
  for (std::uint32_t id : ids)
    shapes.push_back(numbering.type(id).shape);
  for (std::uint32_t id : results) {
    if (id == 0 || numbering.value(id).root == 0) {
      problem = "a result without a number";
      return false;
    }
    resultShapes.push_back(numbering.type(id).shape);
  }
  bool isSharded = false, isByElements = false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    isByElements = isByElements || operands[k].dims.size() != shapes[k].size();
    for (std::size_t d = 0; d < operands[k].dims.size(); ++d)
      isSharded = isSharded || operands[k].dims[d].isSharded() || operands[k].dims[d].local != shapes[k][d];
  }
  const bool isUpdate = isUpdateKernel(kernelOfOp(kind.op));
  std::vector<std::vector<DimSharding>> dims;
  for (const Shape &shape : resultShapes) {
    dims.emplace_back();
    for (std::int64_t extent : shape)
      dims.back().push_back({{}, 1, extent, false});
  }
  std::vector<AxisStep> flatSteps;
  Indexing flatAt;
  if (isByElements) {
    // An update by elements: parameter, gradient, states and results have the same part.
    if (!isUpdate) {
      problem = "a part by elements of " + kind.op;
      return false;
    }
    const Match &first = operands.front();
    for (std::size_t k = 0; k + 4 < operands.size(); ++k)
      if (flattened(operands[k].reading.at) != flattened(first.reading.at) ||
          operands[k].reading.meaning.steps != first.reading.meaning.steps) {
        problem = concat("expected operand ", k, " to hold the shard of operand 0");
        return false;
      }
    flatSteps = first.reading.meaning.steps;
    flatAt = first.reading.at;
  } else if (isSharded) {
    std::optional<Factors> factors;
    if (isUpdate) {
      factors.emplace();
      const std::size_t rank = resultShapes.front().size();
      std::vector<int> all;
      for (std::size_t d = 0; d < rank; ++d)
        all.push_back(int(d));
      factors->isDivisible.assign(rank, true);
      for (std::size_t k = 0; k < operands.size(); ++k)
        factors->operands.push_back(k + 4 < operands.size() ? all : std::vector<int>());
      factors->results.assign(results.size(), all);
    } else {
      factors = factorsOf(kind, shapes, resultShapes);
    }
    if (!factors) {
      problem = "no rule for '" + kind.op + "' on shards";
      return false;
    }
    // By factor, the sharding that the operands have.
    std::vector<std::optional<DimSharding>> found(factors->isDivisible.size());
    for (std::size_t k = 0; k < operands.size(); ++k)
      for (std::size_t d = 0; d < operands[k].dims.size(); ++d) {
        const DimSharding &dim = operands[k].dims[d];
        const int factor = factors->operands[k][d];
        if (dim.isUniform)
          continue;
        if (factor < 0) {
          if (dim.isSharded()) {
            problem = "a shard of a dim that '" + kind.op + "' repeats";
            return false;
          }
          continue;
        }
        std::optional<DimSharding> &other = found[factor];
        if (other && (other->axes != dim.axes || other->segments != dim.segments || other->local != dim.local)) {
          problem = concat("expected operand ", k, " to be sharded as the other operands");
          return false;
        }
        if (dim.isSharded() && !factors->isDivisible[factor]) {
          problem = "no rule for '" + kind.op + "' on these shards";
          return false;
        }
        other = dim;
      }
    // A uniform value may be that of any sharding, with the extent of the other operands.
    for (std::size_t k = 0; k < operands.size(); ++k)
      for (std::size_t d = 0; d < operands[k].dims.size(); ++d) {
        const int factor = factors->operands[k][d];
        if (operands[k].dims[d].isUniform && factor >= 0 &&
            operands[k].dims[d].local != (found[factor] ? found[factor]->local : shapes[k][d])) {
          problem = "a part of a uniform value";
          return false;
        }
      }
    for (std::size_t r = 0; r < results.size(); ++r)
      for (std::size_t d = 0; d < resultShapes[r].size(); ++d)
        if (const int factor = factors->results[r][d]; factor >= 0 && found[factor])
          dims[r][d] = *found[factor];
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    Reading reading;
    reading.meaning.root = numbering.value(results[r]).root;
    reading.meaning.first = reading.meaning.last = repetition;
    Shape local;
    if (isByElements) {
      reading.at = flatAt;
      reading.meaning.steps = flatSteps;
      local = shapeOf(flatAt);
    } else {
      reading.at = shardIndexing(resultShapes[r], dims[r], sizes, reading.meaning.steps);
      std::sort(reading.meaning.steps.begin(), reading.meaning.steps.end());
      local = shapeOf(reading.at);
    }
    if (!isByElements && !validAgrees(*outputs[r], dims[r], resultShapes[r])) {
      problem = concat("the valid extent of result ", r, " is not that of its shard");
      return false;
    }
    if (local != outputs[r]->shape) {
      problem =
          concat("expected result ", r, " of shape ", formatShape(local), " but got ", formatShape(outputs[r]->shape));
      return false;
    }
    write(*outputs[r], std::move(reading));
  }
  return true;
}

} // namespace sluice::check::proof
