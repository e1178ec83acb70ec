//===- Implementations.cpp - a launch implements an op, on all of its operands or on shards --===//
//
// The kernel, its attributes and its operands are compared with those of the op. The sharding of the operands gives
// that of the results: dims of one factor (KernelRules.h) are divided together.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

using Shardings = std::vector<std::vector<DimSharding>>;

/// Dims that ranks do not divide.
Shardings unsharded(std::span<const Shape> shapes) {
  Shardings dims;
  for (const Shape &shape : shapes) {
    dims.emplace_back();
    for (std::int64_t extent : shape)
      dims.back().push_back({{}, 1, extent, false});
  }
  return dims;
}

bool isDivided(const Match &operand, const Shape &shape) {
  for (std::size_t d = 0; d < operand.dims.size(); ++d)
    if (operand.dims[d].isSharded() || operand.dims[d].local != shape[d])
      return true;
  return false;
}

/// The sharding of the results. nullopt: the operands do not have one sharding, or there is no rule.
std::optional<Shardings> resultShardings(const plan::ProgramKindT &kind, std::span<const Match> operands,
                                         std::span<const Shape> shapes, std::span<const Shape> resultShapes,
                                         Mismatch &mismatch) {
  const std::optional<Factors> factors = factorsOf(kind, shapes, resultShapes);
  if (!factors) {
    mismatch = {9, "no rule for '" + kind.op + "' on shards", true};
    return std::nullopt;
  }
  // By factor, the sharding that the operands have.
  std::vector<std::optional<DimSharding>> found(factors->count);
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t d = 0; d < operands[k].dims.size(); ++d) {
      const DimSharding &dim = operands[k].dims[d];
      const int factor = factors->operands[k][d];
      if (dim.isUniform || (factor < 0 && !dim.isSharded()))
        continue;
      if (factor < 0) {
        mismatch = {9, "a shard of a dim that '" + kind.op + "' repeats", true};
        return std::nullopt;
      }
      std::optional<DimSharding> &other = found[std::size_t(factor)];
      if (other && (other->axes != dim.axes || other->segments != dim.segments || other->local != dim.local)) {
        mismatch = {9, concat("expected operand ", k, " to be sharded as the other operands")};
        return std::nullopt;
      }
      other = dim;
    }
  // A uniform value may be that of any sharding, with the extent of the other operands.
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t d = 0; d < operands[k].dims.size(); ++d) {
      const int factor = factors->operands[k][d];
      if (operands[k].dims[d].isUniform && factor >= 0 &&
          operands[k].dims[d].local !=
              (found[std::size_t(factor)] ? found[std::size_t(factor)]->local : shapes[k][d])) {
        mismatch = {9, "a part of a uniform value", true};
        return std::nullopt;
      }
    }
  Shardings dims = unsharded(resultShapes);
  for (std::size_t r = 0; r < dims.size(); ++r)
    for (std::size_t d = 0; d < dims[r].size(); ++d)
      if (const int factor = factors->results[r][d]; factor >= 0 && found[std::size_t(factor)])
        dims[r][d] = *found[std::size_t(factor)];
  return dims;
}

/// An update by elements: parameter, gradient, states and results have the same part.
bool haveOnePart(std::span<const Match> operands, Mismatch &mismatch) {
  const Match &first = operands.front();
  for (std::size_t k = 0; k + updateScalars < operands.size(); ++k)
    if (flattened(operands[k].reading.at) != flattened(first.reading.at) ||
        operands[k].reading.meaning.steps != first.reading.meaning.steps) {
      mismatch = {9, concat("expected operand ", k, " to hold the shard of operand 0")};
      return false;
    }
  return true;
}

} // namespace

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
  const auto of = [&] { return results.empty() ? kind.op : numbering.describeValue(results[0]); };
  if (expected.empty())
    return loseHere("'" + kind.op + "' has no rule");
  if (expected != kernel)
    return kernelHasRule(kernel) ? refuseAt(i, 9, concat("computes ", of(), ", expected kernel '", expected, "'"))
                                 : loseHere("kernel '" + kernel + "' has no rule");
  std::vector<Shape> shapes;
  for (std::uint32_t operand : operands)
    if (operand == 0)
      return loseHere("the unsharded program has no value for an operand");
    else
      shapes.push_back(numbering.type(operand).shape);
  if (inputs.size() != operands.size() || outputs.size() != results.size())
    return refuseAt(i, 9,
                    concat("computes ", of(), ", expected ", operands.size(), " operands and ", results.size(),
                           " results but got ", inputs.size(), " and ", outputs.size()));
  if (const std::string difference = differingAttribute(kind, shapes, kernel, launch); !difference.empty())
    return refuseAt(i, 9, "computes " + of() + ": " + difference);
  std::vector<Match> matches;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Mismatch mismatch;
    std::optional<Match> found = inputs[k]->shape.size() == shapes[k].size()
                                     ? match(*inputs[k], operands[k], mismatch)
                                     : matchByElements(*inputs[k], operands[k], mismatch);
    if (!found && mismatch.isUnknown)
      return loseAll(mismatch.text);
    if (!found)
      return refuseAt(i, mismatch.property, concat("computes ", of(), ": operand ", k, " ", mismatch.text));
    matches.push_back(std::move(*found));
  }
  Mismatch mismatch;
  if (writeResults(op, matches, outputs, mismatch))
    return {};
  return mismatch.isUnknown ? loseHere(mismatch.text) : refuseAt(i, 9, "computes " + of() + ": " + mismatch.text);
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
                              std::span<const plan::ViewT *const> outputs, Mismatch &mismatch) {
  const plan::ProgramKindT &kind = numbering.kindOf(op);
  const auto ids = numbering.operandsOf(op), results = numbering.resultsOf(op);
  std::vector<Shape> shapes, resultShapes;
  for (std::uint32_t id : ids)
    shapes.push_back(numbering.type(id).shape);
  for (std::uint32_t id : results) {
    if (id == 0 || numbering.value(id).root == 0) {
      mismatch = {9, "a result without a number", true};
      return false;
    }
    resultShapes.push_back(numbering.type(id).shape);
  }
  bool isSharded = false, isByElements = false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    isByElements = isByElements || operands[k].dims.size() != shapes[k].size();
    isSharded = isSharded || isDivided(operands[k], shapes[k]);
  }
  std::optional<Shardings> dims;
  if (isByElements) {
    if (!isUpdateKernel(kernelOfOp(kind.op))) {
      mismatch = {9, "a part by elements of " + kind.op, true};
      return false;
    }
    if (!haveOnePart(operands, mismatch))
      return false;
  } else {
    dims = isSharded ? resultShardings(kind, operands, shapes, resultShapes, mismatch) : unsharded(resultShapes);
    if (!dims)
      return false;
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    Reading reading;
    reading.meaning.root = numbering.value(results[r]).root;
    reading.meaning.first = reading.meaning.last = repetition;
    if (isByElements) {
      reading.at = operands.front().reading.at;
      reading.meaning.steps = operands.front().reading.meaning.steps;
    } else {
      reading.at = shardIndexing(resultShapes[r], (*dims)[r], sizes, reading.meaning.steps);
      std::sort(reading.meaning.steps.begin(), reading.meaning.steps.end());
      if (!validAgrees(*outputs[r], (*dims)[r], resultShapes[r])) {
        mismatch = {9, concat("the valid extent of result ", r, " is not that of its shard"), true};
        return false;
      }
    }
    if (const Shape local = shapeOf(reading.at); local != outputs[r]->shape) {
      mismatch = {9, concat("expected result ", r, " of shape ", formatShape(local), " but got ",
                            formatShape(outputs[r]->shape))};
      return false;
    }
    write(*outputs[r], std::move(reading));
  }
  return true;
}

} // namespace sluice::check::proof
