//===- NumberedTerms.cpp - sums of values, sums of their powers, and totals -----------------===//
//
// A sum of a few values has one root in any order of its terms.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Key.h"

#include <algorithm>
#include <cmath>

namespace sluice::check::proof {

/// A sum of more terms is one term of a larger sum: the residual stream of a deep model has a term for each block.
static constexpr std::size_t maxTerms = 8;

bool areClose(double a, double b) { return a == b || std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

RootId Numbering::rootOfTerms(std::string name, std::vector<Multiple> terms, std::vector<Multiple> Root::*field,
                              std::int64_t elements) {
  std::sort(terms.begin(), terms.end());
  Key key(name);
  for (const auto &[root, coefficient] : terms)
    key.add(std::int64_t(root));
  std::vector<RootId> &alike = byTerms[key.take()];
  for (RootId id : alike)
    if (std::ranges::equal(roots[id].*field, terms,
                           [](const Multiple &a, const Multiple &b) { return areClose(a.second, b.second); }))
      return id;
  alike.push_back(RootId(roots.size()));
  roots.emplace_back();
  roots.back().elements = elements;
  roots.back().*field = std::move(terms);
  return alike.back();
}

RootId Numbering::sumOf(const Multiple &a, const Multiple &b) {
  std::vector<Multiple> terms;
  for (const Multiple &operand : {a, b}) {
    const std::vector<Multiple> own = roots[operand.first].terms;
    if (own.empty() || own.size() >= maxTerms)
      terms.push_back(operand);
    else
      for (const auto &[root, coefficient] : own)
        terms.push_back({root, coefficient * operand.second});
  }
  const RootId id = rootOfTerms(Key("sum").take(), std::move(terms), &Root::terms, roots[a.first].elements);
  roots[id].varies = roots[a.first].varies || roots[b.first].varies;
  return id;
}

RootId Numbering::powerSum(double p, std::vector<Multiple> terms) {
  // A norm counts each value once. A sum that is added to itself again and again doubles its terms each time.
  if (terms.size() > values.size())
    return 0;
  const bool varies = std::ranges::any_of(terms, [&](const Multiple &term) { return roots[term.first].varies; });
  const RootId id = rootOfTerms(Key("powers").add(p).take(), std::move(terms), &Root::powers, 1);
  roots[id].p = p;
  roots[id].varies = varies;
  return id;
}

RootId Numbering::total(const std::string &key, RootId of, RootId Root::*field) {
  const RootId id = rootOf(Key(key).add(std::int64_t(of)).take(), roots[of].elements);
  roots[id].*field = of;
  if (field == &Root::totalOf)
    roots[of].total = id;
  return id;
}

} // namespace sluice::check::proof
