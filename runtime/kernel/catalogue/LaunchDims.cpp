//===- LaunchDims.cpp - resolves the factors of a launch, operand by operand ------------===//
#include "runtime/kernel/catalogue/LaunchDims.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/kernel/catalogue/Signature.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

/// Relates the operands of one launch. An operand is resolved when at most one of its packs is not known yet.
class Resolver {
public:
  Resolver(const KernelRecord &record, const Attributes &attributes)
      : record(record), attributes(attributes), signature(signatureOf(record)) {}

  /// False, and the operand in `problem`, if extents differ; otherwise `dims` is complete.
  bool resolve(std::span<const Extents> inputs, std::span<const Extents> outputs, ExtentProblem *problem) {
    dims.inputs.resize(inputs.size());
    dims.outputs.resize(outputs.size());
    dims.firstAddend = inputs.size();
    dims.terms =
        !record.termsUnless.empty() && attributes.number(record.termsUnless, 0) != 0 ? KernelTerms::none : record.terms;
    add(inputRecords(record, attributes, inputs.size()), record.inputs, signature.inputs, inputs, false);
    add(outputRecords(record, attributes, outputs.size()), record.outputs, signature.outputs, outputs, true);
    // Operands that are added name no factor of their own.
    for (const bool withAddends : {false, true})
      for (bool isChanged = true; isChanged;) {
        isChanged = false;
        for (Open &open : opens) {
          if (open.isDone || (open.operand->isAddend && !withAddends) || !isReady(open))
            continue;
          if (!relate(open))
            return fail(open, problem);
          open.isDone = isChanged = true;
        }
        isChanged |= !withAddends && outputs.empty() && !isChanged && bindBroadcast();
      }
    for (const Open &open : opens)
      if (!open.isDone)
        return fail(open, problem);
    return true;
  }

  void bind(std::string_view name, Extents extents) {
    const auto number = std::ranges::find(signature.names, name) - signature.names.begin();
    if (number == std::ssize(signature.names))
      return;
    Factors &factors = factorsOf[{0, int(number)}];
    for (std::int64_t extent : extents)
      factors.push_back(newFactor(extent));
  }

  /// The extents of an operand all of whose names have factors.
  std::vector<std::int64_t> extentsOf(const SignatureOperand &operand) const {
    std::vector<std::int64_t> extents;
    for (const SignatureDim &dim : dimsOf(operand)) {
      std::size_t number = 0;
      for (int factor : *bound(0, dim.name)) {
        if (dim.without.empty() || !isLeftOut(dim, number++))
          extents.push_back(sizeOf(factor));
        if (dim.inner >= 0)
          extents.back() *= sizeOf(bound(0, dim.inner)->front());
      }
    }
    return extents;
  }

  LaunchDims dims;

private:
  struct Open {
    const SignatureOperand *operand;
    Extents extents;
    std::vector<LaunchDim> *result;
    bool isOutput;
    std::size_t number;
    /// Names of a tensor of a list are separate from those of others; 0: of no list.
    int scope;
    bool isDone = false;
  };
  using Factors = std::vector<int>;

  template <typename Records>
  void add(const std::vector<const OperandRecord *> &expanded, const Records &records,
           const std::vector<SignatureOperand> &operands, std::span<const Extents> extents, bool isOutput) {
    int scope = 0;
    const OperandRecord *first = nullptr;
    for (std::size_t k = 0; k < expanded.size() && k < extents.size(); ++k) {
      const bool isOfList = expanded[k]->count == OperandCount::each || expanded[k]->count == OperandCount::oneOrMore;
      first = first ? first : expanded[k];
      if (isOfList && expanded[k] == first)
        ++scope;
      const SignatureOperand &operand = operands[std::size_t(expanded[k] - records.begin())];
      if (operand.isAddend && !isOutput)
        dims.firstAddend = std::min(dims.firstAddend, k);
      // An operand that an attribute gives belongs to the only tensor of the list.
      const bool isInScope = isOfList || expanded[k]->count == OperandCount::optional;
      opens.push_back(
          {&operand, extents[k], &(isOutput ? dims.outputs : dims.inputs)[k], isOutput, k, isInScope ? scope : 0});
    }
  }

  bool fail(const Open &open, ExtentProblem *problem) const {
    if (problem)
      *problem = {open.isOutput, open.number, expectedText(open)};
    return false;
  }

  std::int64_t sizeOf(int factor) const { return dims.factors[std::size_t(factor)].size; }

  /// Without outputs only the operands that repeat the dims of a pack decide them: those of the first such pack have
  /// the largest extent. False without such a pack.
  bool bindBroadcast() {
    const SignatureDim *pack = nullptr;
    std::vector<std::int64_t> extents;
    for (const Open &open : opens) {
      const std::vector<SignatureDim> &own = open.operand->dims;
      if (open.isDone || own.empty() || !own[0].isBroadcast || !own[0].isPack || bound(0, own[0].name) ||
          open.extents.size() + 1 < own.size() || (pack && pack->name != own[0].name))
        continue;
      pack = &own[0];
      const Extents repeated = open.extents.first(open.extents.size() + 1 - own.size());
      if (repeated.size() > extents.size())
        extents.insert(extents.begin(), repeated.size() - extents.size(), 1);
      for (std::size_t k = 0; k < repeated.size(); ++k)
        if (std::int64_t &extent = extents[extents.size() - repeated.size() + k]; extent == 1)
          extent = repeated[k];
    }
    if (!pack)
      return false;
    Factors &factors = factorsOf[{0, pack->name}];
    for (std::int64_t extent : extents)
      factors.push_back(newFactor(extent));
    return true;
  }

  const Factors *bound(int scope, int name) const {
    const auto found = factorsOf.find({scope, name});
    return found == factorsOf.end() ? nullptr : &found->second;
  }

  bool isReady(const Open &open) const {
    int unknown = 0;
    for (const SignatureDim &dim : open.operand->dims) {
      const bool isBound = bound(open.scope, dim.name) != nullptr;
      if (dim.isPack && !isBound && (dim.isBroadcast || !dim.without.empty() || ++unknown > 1))
        return false;
      if (dim.inner >= 0 && !isBound)
        return false;
      if (dim.isBroadcast && !dim.isPack && !(isBound && (dim.inner < 0 || bound(open.scope, dim.inner))))
        return false;
    }
    return true;
  }

  /// The dims as this launch has them.
  std::vector<SignatureDim> dimsOf(const SignatureOperand &operand) const {
    std::vector<SignatureDim> own = operand.dims;
    if (!operand.transposedIf.empty() && attributes.integer(operand.transposedIf, 0) != 0)
      std::swap(own[own.size() - 1], own[own.size() - 2]);
    return own;
  }

  bool isLeftOut(const SignatureDim &dim, std::size_t number) const {
    const Attributes::Item *item = attributes.find(dim.without);
    if (const AttributeRecord *known = std::ranges::find(record.attributes, dim.without, &AttributeRecord::name);
        known->kind != AttributeKind::list)
      return (item ? item->integer : 0) == std::int64_t(number);
    return item && std::ranges::find(item->list, std::int64_t(number)) != item->list.end();
  }

  bool isFull(const SignatureDim &dim, std::size_t number) const {
    if (!dim.isFull || dim.fullIf.empty())
      return dim.isFull;
    const std::int64_t value = attributes.integer(dim.fullIf, 0);
    if (!dim.choice.empty()) {
      const AttributeRecord *known = std::ranges::find(record.attributes, dim.fullIf, &AttributeRecord::name);
      return value == std::ranges::find(known->choices, dim.choice) - known->choices.begin();
    }
    return dim.isPack ? value == std::int64_t(number) : value != 0;
  }

  bool isPositioned(const SignatureDim &dim) const {
    return dim.isPositioned && (dim.positionedIf.empty() || attributes.number(dim.positionedIf, 0) != 0);
  }

  int newFactor(std::int64_t size) {
    dims.factors.push_back({size});
    return int(dims.factors.size()) - 1;
  }

  bool relate(const Open &open) {
    std::vector<LaunchDim> &result = *open.result;
    result.clear();
    // One element.
    if (open.operand->dims.empty()) {
      result.resize(open.extents.size());
      return std::ranges::all_of(open.extents, [](std::int64_t extent) { return extent == 1; });
    }
    const std::vector<SignatureDim> own = dimsOf(*open.operand);
    // Dims of packs that are known, and of factors.
    std::size_t known = 0;
    for (const SignatureDim &dim : own)
      if (const Factors *factors = bound(open.scope, dim.name); !dim.isPack)
        ++known;
      else if (factors && !dim.isBroadcast && dim.without.empty())
        known += factors->size();
    if (open.extents.size() < known)
      return false;
    std::size_t at = 0;
    for (const SignatureDim &dim : own)
      if (!(dim.isPack ? relatePack(open, dim, open.extents.size() - known, at) : relateDim(open, dim, at)))
        return false;
    return at == open.extents.size();
  }

  bool relateDim(const Open &open, const SignatureDim &dim, std::size_t &at) {
    const std::int64_t extent = open.extents[at++];
    LaunchDim &own = open.result->emplace_back();
    if (dim.isBroadcast && extent == 1) {
      std::int64_t size = sizeOf(bound(open.scope, dim.name)->front());
      if (dim.inner >= 0)
        size *= sizeOf(bound(open.scope, dim.inner)->front());
      if (size != 1)
        return true;
    }
    own.isPositioned = isPositioned(dim);
    std::int64_t expected = 1;
    for (int name : {dim.name, dim.inner}) {
      if (name < 0)
        continue;
      Factors &factors = factorsOf[{open.scope, name}];
      if (factors.empty()) {
        if (expected == 0 || extent % expected != 0)
          return false;
        factors.push_back(newFactor(extent / expected));
      }
      expected *= dims.factors[std::size_t(factors[0])].size;
      own.factors.push_back(factors[0]);
      setFull(dim, 0, factors[0]);
    }
    // A part of the inner factor is at several positions.
    if (own.isPositioned && dim.inner >= 0 && sizeOf(own.factors[0]) != 1)
      dims.factors[std::size_t(own.factors[1])].isFull = true;
    return expected == extent;
  }

  void setFull(const SignatureDim &dim, std::size_t number, int factor) {
    LaunchFactor &own = dims.factors[std::size_t(factor)];
    own.isFull = own.isFull || isFull(dim, number);
  }

  /// `rest`: the dims that are neither factors nor of other packs.
  bool relatePack(const Open &open, const SignatureDim &dim, std::size_t rest, std::size_t &at) {
    const Factors *found = bound(open.scope, dim.name);
    if (!found) {
      Factors &factors = factorsOf[{open.scope, dim.name}];
      for (std::size_t k = 0; k < rest; ++k)
        factors.push_back(newFactor(open.extents[at + k]));
      found = &factors;
    }
    const Factors &factors = *found;
    const bool isWithout = !dim.without.empty();
    const bool keepsDims = isWithout && rest == factors.size();
    const std::size_t missing = !dim.isBroadcast ? 0 : factors.size() - std::min(rest, factors.size());
    for (std::size_t k = missing; k < factors.size(); ++k) {
      const bool isOut = isWithout && isLeftOut(dim, k);
      // Results over the dim are not combined.
      if (isOut && dims.terms == KernelTerms::none)
        dims.factors[std::size_t(factors[k])].isFull = true;
      if (isOut && !keepsDims)
        continue;
      if (at == open.extents.size())
        return false;
      const std::int64_t extent = open.extents[at++], size = dims.factors[std::size_t(factors[k])].size;
      LaunchDim &own = open.result->emplace_back();
      if (isOut || (dim.isBroadcast && extent == 1 && size != 1)) {
        if (extent != 1)
          return false;
        continue;
      }
      if (extent != size)
        return false;
      own.factors = {factors[k]};
      setFull(dim, k, factors[k]);
      own.isPositioned = isPositioned(dim) && !(dim.isFull && isFull(dim, k));
    }
    return true;
  }

  std::string expectedText(const Open &open) const {
    if (open.operand->dims.empty())
      return "one element";
    std::string text;
    const auto append = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
    for (const SignatureDim &dim : dimsOf(*open.operand)) {
      const Factors *factors = bound(open.scope, dim.name);
      const std::string name(signature.names[std::size_t(dim.name)]);
      if (!dim.isPack) {
        const Factors *inner = dim.inner < 0 ? nullptr : bound(open.scope, dim.inner);
        std::int64_t extent = factors && !factors->empty() ? dims.factors[std::size_t((*factors)[0])].size : -1;
        if (extent >= 0 && inner && !inner->empty())
          extent *= dims.factors[std::size_t((*inner)[0])].size;
        append(extent < 0 ? name
               : dim.inner >= 0 && (!inner || inner->empty())
                   ? concat("a multiple of ", extent)
                   : std::to_string(extent) + (dim.isBroadcast ? " or 1" : ""));
      } else if (!factors) {
        append(name + "..");
      } else {
        for (std::size_t k = 0; k < factors->size(); ++k)
          if (dim.without.empty() || !isLeftOut(dim, k))
            append(std::to_string(dims.factors[std::size_t((*factors)[k])].size) + (dim.isBroadcast ? " or 1" : ""));
      }
    }
    return "[" + text + "]";
  }

  const KernelRecord &record;
  const Attributes &attributes;
  const Signature &signature;
  std::vector<Open> opens;
  std::map<std::pair<int, int>, Factors> factorsOf;
};

} // namespace

std::optional<LaunchDims> launchDims(const KernelRecord &record, const Attributes &attributes,
                                     std::span<const Extents> inputs, std::span<const Extents> outputs,
                                     ExtentProblem *problem) {
  Resolver resolver(record, attributes);
  return resolver.resolve(inputs, outputs, problem) ? std::optional(std::move(resolver.dims)) : std::nullopt;
}

std::optional<std::vector<std::vector<std::int64_t>>> resultExtents(const KernelRecord &record,
                                                                    const Attributes &attributes,
                                                                    std::span<const Extents> inputs,
                                                                    ExtentProblem *problem) {
  Resolver resolver(record, attributes);
  if (!resolver.resolve(inputs, {}, problem))
    return std::nullopt;
  std::vector<std::vector<std::int64_t>> results;
  for (const SignatureOperand &operand : signatureOf(record).outputs)
    results.push_back(resolver.extentsOf(operand));
  return results;
}

LaunchExtents launchExtents(const KernelRecord &record, const Attributes &attributes, const NamedExtents &names,
                            bool withOptional) {
  Resolver resolver(record, attributes);
  for (const auto &[name, extents] : names)
    resolver.bind(name, extents);
  LaunchExtents launch;
  const auto append = [&](const auto &records, const std::vector<SignatureOperand> &operands,
                          std::vector<OperandExtents> &to) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const OperandRecord &operand = records.begin()[k];
      const Attributes::Item *given = attributes.find(operand.given);
      if (operand.given.empty() ? withOptional || operand.count != OperandCount::optional
                                : given && (given->integer || given->number))
        to.push_back({&operand, resolver.extentsOf(operands[k])});
    }
  };
  append(record.inputs, signatureOf(record).inputs, launch.inputs);
  append(record.outputs, signatureOf(record).outputs, launch.outputs);
  return launch;
}

} // namespace sluice
