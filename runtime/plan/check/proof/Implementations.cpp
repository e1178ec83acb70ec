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

/// What a launch writes to one result.
struct ResultPart {
  std::vector<DimSharding> dims;
  AxisSet partial = 0;
  Terms terms = Terms::sum;
};

/// Dims that ranks do not divide.
std::vector<ResultPart> unsharded(std::span<const Shape> shapes) {
  std::vector<ResultPart> parts(shapes.size());
  for (std::size_t r = 0; r < shapes.size(); ++r)
    for (std::int64_t extent : shapes[r])
      parts[r].dims.push_back({{}, 1, extent});
  return parts;
}

bool isDivided(const Match &operand, const Shape &shape) {
  for (std::size_t d = 0; d < operand.dims.size(); ++d)
    if (operand.dims[d].isSharded() || operand.dims[d].local != shape[d])
      return true;
  return operand.reading.meaning.partial != 0;
}

/// How the operands divide a factor.
struct DividedFactor {
  std::optional<DimSharding> sharding;
  /// The padding is left out by the views of all operands that have the factor; or is zeros in all of them.
  bool isLeftOut = true, isZeros = true;
};

/// The launch of an op on shards or on terms.
class Division {
public:
  Division(const plan::ProgramKindT &kind, const Factors &factors, std::span<const std::uint32_t> sizes,
           Mismatch &mismatch)
      : kind(kind), factors(factors), sizes(sizes), mismatch(mismatch), divided(factors.count) {}

  bool addOperand(std::size_t k, const Match &operand, const Shape &shape) {
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const DimSharding &dim = operand.dims[d];
      const FactorDim &factor = factors.operands[k][d];
      if (dim.isUniform)
        continue;
      if (factor.factor < 0) {
        if (dim.isSharded() || dim.local != shape[d])
          return fail(concat("a shard of dim ", d, " of operand ", k, " of '", kind.op, "'"), true);
        continue;
      }
      const bool isLeftOut = operand.validDims >> d & 1;
      if (factor.isPositioned && dim.isSharded() && !isLeftOut)
        return fail(concat("operand ", k, " has no valid extent, which gives the position of its shard"));
      int number = factor.factor;
      std::optional<DimSharding> own = inFactor(dim, factor, number);
      if (!own)
        return fail(concat("operand ", k, " divides elements that '", kind.op, "' needs together"), true);
      if (!add(divided[std::size_t(number)], *own))
        return fail(concat("expected operand ", k, " to be sharded as the other operands"));
      DividedFactor &all = divided[std::size_t(number)];
      all.isLeftOut = all.isLeftOut && isLeftOut;
      all.isZeros = all.isZeros && operand.hasZeros;
    }
    return true;
  }
  /// A uniform value may be that of any sharding, with the extent of the other operands.
  bool addUniform(std::size_t k, const Match &operand, const Shape &shape) {
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const FactorDim &factor = factors.operands[k][d];
      if (!operand.dims[d].isUniform || factor.factor == repeatedDim)
        continue;
      std::int64_t local = shape[d];
      if (factor.factor >= 0)
        if (const std::optional<DimSharding> own = ofDim(factor))
          local = own->local;
      if (operand.dims[d].local != local)
        return fail("a part of a uniform value", true, true);
    }
    return true;
  }
  /// The kernel computes the elements of a result whose position its valid extent states.
  bool addResult(const std::vector<FactorDim> &dims, const plan::ViewT &view, const std::vector<DimSharding> &stated,
                 const Shape &shape) {
    for (std::size_t d = 0; d < dims.size() && d < view.shape.size(); ++d) {
      if (!dims[d].isPositioned)
        continue;
      const bool isStated = d < stated.size() && stated[d].isSharded();
      if (const std::optional<DimSharding> own = ofDim(dims[d]); own && own->isSharded() && !isStated)
        return fail("the result has no valid extent, which gives the position of its shard");
      if (!isStated)
        continue;
      int number = dims[d].factor;
      const std::optional<DimSharding> own = inFactor(stated[d], dims[d], number);
      if (stated[d].extent != shape[d] || !own || !add(divided[std::size_t(number)], *own))
        return fail("the valid extent of the result is not that of its operands");
    }
    return true;
  }

  bool setResult(const std::vector<FactorDim> &dims, ResultPart &part) {
    std::vector<bool> isInResult(factors.count);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].factor < 0)
        continue;
      isInResult[std::size_t(dims[d].factor)] = true;
      if (dims[d].innerFactor >= 0)
        isInResult[std::size_t(dims[d].innerFactor)] = true;
      if (const std::optional<DimSharding> own = ofDim(dims[d]); own && own->isSharded())
        part.dims[d] = *own;
    }
    for (std::size_t f = 0; f < factors.count; ++f) {
      const auto &own = divided[f].sharding;
      if (isInResult[f] || !own || !own->isSharded())
        continue;
      if (!factors.terms)
        return fail("'" + kind.op + "' of a part of a dim that it reduces");
      if (factors.firstAddend < factors.operands.size())
        return fail("each rank adds operand " + std::to_string(factors.firstAddend) + " to its term");
      if (own->isPadded(sizes) && !divided[f].isLeftOut && !(factors.ignoresZeros && divided[f].isZeros))
        return fail("a sum over padding that is not zeros", true);
      for (std::uint32_t axis : own->axes)
        part.partial |= AxisSet(1) << axis;
    }
    part.terms = part.partial != 0 && factors.terms ? *factors.terms : Terms::sum;
    return true;
  }

private:
  /// The sharding of a dim as that of its factor, or of its inner one.
  static std::optional<DimSharding> inFactor(DimSharding dim, const FactorDim &factor, int &number) {
    if (factor.inner == 1)
      return dim;
    if (!dim.isSharded())
      dim.segments = 1;
    if (dim.isSharded() && dim.segments % factor.outer == 0) {
      if (factor.innerFactor < 0)
        return std::nullopt;
      // A chunk of each of the outer values.
      number = factor.innerFactor;
      dim.segments /= factor.outer;
      dim.local /= factor.outer;
      return dim;
    }
    if (dim.chunk() % factor.inner != 0)
      return std::nullopt;
    dim.local /= factor.inner;
    dim.extent /= factor.inner;
    return dim;
  }
  /// The sharding of the factors as that of a dim; nullopt if no operand has them.
  std::optional<DimSharding> ofDim(const FactorDim &dim) const {
    std::optional<DimSharding> own = divided[std::size_t(dim.factor)].sharding;
    if (dim.inner == 1)
      return own;
    const std::optional<DimSharding> inner =
        dim.innerFactor < 0 ? std::nullopt : divided[std::size_t(dim.innerFactor)].sharding;
    // Only a sharding is that of the inner factor.
    if (inner && own && own->isSharded())
      return std::nullopt;
    if (inner) {
      own = inner;
      own->segments *= dim.outer;
      own->local *= dim.outer;
    } else if (own) {
      own->local *= dim.inner;
      own->extent *= dim.inner;
    }
    return own;
  }
  static bool add(DividedFactor &factor, const DimSharding &own) {
    if (factor.sharding && !factor.sharding->isSame(own))
      return false;
    factor.sharding = own;
    return true;
  }
  bool fail(const std::string &text, bool isUnknown = false, bool lacksRule = false) {
    mismatch = {9, text, isUnknown, lacksRule};
    return false;
  }

  const plan::ProgramKindT &kind;
  const Factors &factors;
  std::span<const std::uint32_t> sizes;
  Mismatch &mismatch;
  std::vector<DividedFactor> divided;
};

/// The results are terms if the operands are. False if there is no rule.
bool passTerms(const plan::ProgramKindT &kind, std::span<const Match> operands, std::vector<ResultPart> &results,
               Mismatch &mismatch) {
  AxisSet partial = 0;
  for (const Match &operand : operands)
    partial |= operand.reading.meaning.partial;
  if (partial == 0)
    return true;
  const Meaning &first = operands.front().reading.meaning;
  const bool isAlike = std::ranges::all_of(operands, [&](const Match &operand) {
    return operand.reading.meaning.partial == partial && operand.reading.meaning.terms == first.terms;
  });
  const bool isFirstAlone = first.partial == partial && std::ranges::all_of(operands.subspan(1), [](const Match &own) {
                              return own.reading.meaning.partial == 0;
                            });
  std::optional<Terms> terms;
  if (isAlike && first.terms == Terms::sum && isLinear(kind))
    terms = Terms::sum;
  // log(sum(exp(x - m))) = log(sum(exp(x))) - m, and exp of it is the sum of exp(x - m).
  else if (isFirstAlone && first.terms == Terms::logSumExp && kind.op == "model.subtract")
    terms = Terms::logSumExp;
  else if (isAlike && first.terms == Terms::logSumExp && kind.op == "model.exp")
    terms = Terms::sum;
  for (ResultPart &result : results) {
    if (!terms) {
      mismatch = {9, "'" + kind.op + "' of terms that are not reduced"};
      return false;
    }
    result.partial |= partial;
    result.terms = *terms;
  }
  return true;
}

/// An update by elements: parameter, gradient, states and results have the same part, in the order of the elements of
/// the values.
bool haveOnePart(const Numbering &numbering, std::span<const std::uint32_t> ids, std::span<const Match> operands,
                 Mismatch &mismatch) {
  const Match &first = operands.front();
  for (std::size_t k = 0; k + updateScalars < operands.size(); ++k)
    if (!operands[k].reading.hasElementsOf(first.reading) ||
        !isRowMajor(numbering.value(ids[k]).at, numbering.type(ids[k]).shape)) {
      // Digits of a part are not unique.
      const bool isPart = operands[k].reading.meaning.part != 0 || first.reading.meaning.part != 0;
      mismatch = {9, concat("expected operand ", k, " to hold the shard of operand 0"), isPart};
      return false;
    }
  return true;
}

} // namespace

std::optional<Mismatch> EntryProof::implement(const plan::LaunchT &launch, std::uint32_t op,
                                              std::span<const plan::ViewT *const> inputs,
                                              std::span<const plan::ViewT *const> outputs, std::uint32_t i) {
  const std::string &kernel = kernelOf(launch);
  const plan::ProgramKindT &kind = numbering.kindOf(op);
  const auto operands = numbering.operandsOf(op), results = numbering.resultsOf(op);
  const auto unknown = [&](const std::string &reason, bool lacksRule = true) {
    return Mismatch{9, place(plan, e, i) + ": " + reason, true, lacksRule};
  };
  const std::string_view expected = kernelOfOp(kind.op);
  const auto of = [&] { return results.empty() ? kind.op : numbering.describeValue(results[0]); };
  // An op without a rule counts for the entry point.
  if (expected.empty())
    return unknown("no kernel computes '" + kind.op + "'", false);
  if (expected != kernel)
    return Mismatch{9, concat("computes ", of(), ", expected kernel '", expected, "'")};
  std::vector<Shape> shapes;
  shapes.reserve(operands.size());
  for (std::uint32_t operand : operands)
    if (operand == 0)
      return unknown("the unsharded program has no value for an operand");
    else
      shapes.push_back(numbering.type(operand).shape);
  if (inputs.size() != operands.size() || outputs.size() != results.size())
    return Mismatch{9, concat("computes ", of(), ", expected ", operands.size(), " operands and ", results.size(),
                              " results but got ", inputs.size(), " and ", outputs.size())};
  if (const std::string difference = differingAttribute(kind, shapes, kernel, launch); !difference.empty())
    return Mismatch{9, "computes " + of() + ": " + difference};
  std::vector<Match> matches;
  matches.reserve(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Mismatch mismatch;
    std::optional<Match> found = inputs[k]->shape.size() == shapes[k].size()
                                     ? match(*inputs[k], operands[k], mismatch, /*allowsTerms=*/true)
                                     : std::nullopt;
    if (!found && (inputs[k]->shape.size() != shapes[k].size() || isUpdateKernel(kernel))) {
      Mismatch byElements;
      found = matchByElements(*inputs[k], operands[k], byElements);
      if (mismatch.text.empty())
        mismatch = byElements;
    }
    if (!found && mismatch.isUnknown)
      return mismatch;
    if (!found)
      return Mismatch{mismatch.property, concat("computes ", of(), ": operand ", k, " ", mismatch.text)};
    matches.push_back(std::move(*found));
  }
  Mismatch mismatch;
  if (writeResults(op, matches, shapes, inputs, outputs, mismatch))
    return std::nullopt;
  return mismatch.isUnknown ? unknown(mismatch.text, mismatch.lacksRule)
                            : Mismatch{9, "computes " + of() + ": " + mismatch.text};
}

std::optional<Match> EntryProof::matchByElements(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  std::optional<Reading> reading = read(view);
  if (!reading || !reading->meaning.unproved.empty()) {
    mismatch = Mismatch::unknown(reading ? reading->meaning.unproved
                                         : "the content of '" + plan.buffers[view.buffer]->name + "' is not known");
    return std::nullopt;
  }
  const Value &expected = numbering.value(id);
  if (!means(*reading, expected, mismatch))
    return std::nullopt;
  const Indexing all{0, {joined({{numbering.root(expected.root).elements, 1}})}};
  if (elementsOfAll(*reading) != all) {
    mismatch = {9, "holds other elements of " + numbering.describeValue(id) + " than a shard by elements has"};
    return std::nullopt;
  }
  return Match{std::move(*reading), {}};
}

bool EntryProof::writeResults(std::uint32_t op, std::span<const Match> operands, std::span<const Shape> shapes,
                              std::span<const plan::ViewT *const> inputs, std::span<const plan::ViewT *const> outputs,
                              Mismatch &mismatch) {
  const plan::ProgramKindT &kind = numbering.kindOf(op);
  const auto results = numbering.resultsOf(op);
  std::vector<Shape> resultShapes;
  resultShapes.reserve(results.size());
  for (std::uint32_t id : results) {
    if (id == 0 || numbering.value(id).root == 0) {
      mismatch = {9, "a result without a number", true, true};
      return false;
    }
    resultShapes.push_back(numbering.type(id).shape);
  }
  bool isSharded = false, isByElements = false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    isByElements = isByElements || operands[k].dims.size() != shapes[k].size();
    isSharded = isSharded || isDivided(operands[k], shapes[k]);
  }
  for (std::size_t r = 0; r < results.size(); ++r)
    isSharded = isSharded || outputs[r]->shape != resultShapes[r];
  const bool hasParts =
      isSharded || std::ranges::any_of(outputs, [](const plan::ViewT *view) { return !view->valid.empty(); });
  std::vector<ResultPart> parts;
  if (hasParts)
    parts = unsharded(resultShapes);
  if (isByElements) {
    if (!isUpdateKernel(kernelOfOp(kind.op))) {
      mismatch = {9, "a part by elements of " + kind.op, true};
      return false;
    }
    if (!haveOnePart(numbering, numbering.operandsOf(op), operands, mismatch))
      return false;
  } else if (isSharded) {
    const std::optional<Factors> factors = factorsOf(kind, shapes, resultShapes);
    if (!factors) {
      // Such an op does not compute the terms of a sum over ranks from the terms of its operand.
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (!means(operands[k].reading, numbering.value(numbering.operandsOf(op)[k]), mismatch))
          return false;
      mismatch = {9, "no rule for '" + kind.op + "' on shards", true, true};
      return false;
    }
    Division division(kind, *factors, sizes, mismatch);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (!division.addOperand(k, operands[k], shapes[k]))
        return false;
    for (std::size_t r = 0; r < results.size(); ++r)
      if (!division.addResult(factors->results[r], *outputs[r], validShardings(*outputs[r]), resultShapes[r]))
        return false;
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (!division.addUniform(k, operands[k], shapes[k]))
        return false;
    for (std::size_t r = 0; r < results.size(); ++r)
      if (!division.setResult(factors->results[r], parts[r]))
        return false;
    if (!passTerms(kind, operands, parts, mismatch))
      return false;
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    const Value &value = numbering.value(results[r]);
    if (!isRowMajor(value.at, resultShapes[r])) {
      mismatch = {9, "a result that is a view", true, true};
      return false;
    }
    Reading reading;
    if (isByElements) {
      reading = operands.front().reading;
      reading.meaning.zeros.clear();
    } else if (!hasParts) {
      reading.at = value.at;
    } else {
      std::optional<Shard> shard = shardOf(resultShapes[r], parts[r].dims, sizes);
      if (!shard) {
        mismatch = {9, concat("the padding of result ", r), true, true};
        return false;
      }
      reading.setShard(std::move(*shard));
      reading.meaning.partial = parts[r].partial;
      reading.meaning.terms = parts[r].terms;
      if (!validAgrees(*outputs[r], parts[r].dims, resultShapes[r])) {
        mismatch = {9, concat("the valid extent of result ", r, " is not that of its shard"), true};
        return false;
      }
    }
    reading.stored = value.stored;
    reading.meaning.root = value.root;
    reading.meaning.coefficient = value.coefficient;
    reading.meaning.first = reading.meaning.last = repetition;
    if (!isByElements)
      keepZeros(kind, operands, inputs, reading);
    if (!hasShape(reading.at, outputs[r]->shape)) {
      mismatch = {9, concat("expected result ", r, " of shape ", formatShape(shapeOf(reading.at)), " but got ",
                            formatShape(outputs[r]->shape))};
      return false;
    }
    write(*outputs[r], std::move(reading));
  }
  return true;
}

} // namespace sluice::check::proof
