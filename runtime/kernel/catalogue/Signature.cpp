//===- Signature.cpp - parses signatures --------------------------------------------------===//
#include "runtime/kernel/catalogue/Signature.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

class Parser {
public:
  explicit Parser(const KernelRecord &record) : record(record), text(record.dims) {}

  Signature parse() {
    operands(signature.inputs);
    expect("->");
    operands(signature.outputs);
    if (!text.empty())
      fail(concat("unexpected '", text, "'"));
    compare(signature.inputs, record.inputs);
    compare(signature.outputs, record.outputs);
    signature.isPointwise = signature.fault.empty() && isPointwise();
    return std::move(signature);
  }

private:
  void fail(const std::string &fault) {
    if (signature.fault.empty())
      signature.fault = fault;
    text = {};
  }
  void skipBlanks() {
    while (text.starts_with(' '))
      text.remove_prefix(1);
  }
  bool take(std::string_view token) {
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    skipBlanks();
    if (!take(token))
      fail(concat("expected '", token, "' but got '", text, "'"));
  }
  static bool isOfName(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }
  std::string_view optionalName() {
    const auto end = std::ranges::find_if_not(text, isOfName) - text.begin();
    const std::string_view name = text.substr(0, std::size_t(end));
    text.remove_prefix(name.size());
    return name;
  }
  std::string_view name() {
    const std::string_view found = optionalName();
    if (found.empty())
      fail(concat("expected a name but got '", text, "'"));
    return found;
  }
  std::string_view attribute(std::string_view name) {
    if (std::ranges::find(record.attributes, name, &AttributeRecord::name) == record.attributes.end())
      fail(concat("unknown attribute '", name, "'"));
    return name;
  }
  int number(std::string_view name, bool isPack) {
    const auto known = std::ranges::find(signature.names, name) - signature.names.begin();
    if (known == std::ssize(signature.names)) {
      signature.names.push_back(name);
      isPackName.push_back(isPack);
    }
    if (isPackName[std::size_t(known)] != isPack)
      fail(concat("'", name, "' is a factor and a pack"));
    return int(known);
  }

  void operands(std::vector<SignatureOperand> &all) {
    for (skipBlanks(); !text.empty() && !text.starts_with("->"); skipBlanks()) {
      SignatureOperand &operand = all.emplace_back();
      operand.name = name();
      expect("[");
      for (skipBlanks(); !text.empty() && !take("]"); skipBlanks())
        operand.dims.push_back(dim());
      if (take("^"))
        operand.transposedIf = attribute(name());
      if (!operand.transposedIf.empty() && operand.dims.size() < 2)
        fail("expected two dims to exchange");
      operand.isAddend = take("+");
    }
  }

  SignatureDim dim() {
    SignatureDim dim;
    dim.isBroadcast = take("~");
    const std::string_view own = name();
    dim.isPack = take("..");
    if (dim.isBroadcast && !dim.isPack && std::ranges::find(signature.names, own) == signature.names.end())
      fail("expected a factor of an operand before");
    dim.name = number(own, dim.isPack);
    if (take("*"))
      dim.inner = number(name(), false);
    if (take("-"))
      dim.without = attribute(name());
    dim.isPositioned = take("@");
    if (dim.isPositioned)
      if (dim.positionedIf = optionalName(); !dim.positionedIf.empty())
        attribute(dim.positionedIf);
    dim.isFull = take("!");
    if (dim.isFull)
      if (dim.fullIf = optionalName(); !dim.fullIf.empty())
        attribute(dim.fullIf);
    if (!dim.fullIf.empty() && take("="))
      dim.choice = name();
    if (!dim.without.empty() && !dim.isPack)
      fail("expected a pack of dims");
    return dim;
  }

  template <typename Records> void compare(const std::vector<SignatureOperand> &own, const Records &records) {
    if (!std::ranges::equal(own, records, {}, &SignatureOperand::name, &OperandRecord::name))
      fail("the operands differ from those of the record");
    // Without the operand the mark would be lost.
    for (std::size_t k = 0; k < own.size() && k < records.size(); ++k)
      if (records.begin()[k].count == OperandCount::optional &&
          std::ranges::any_of(own[k].dims, [](const SignatureDim &dim) { return dim.isFull || dim.isPositioned; }))
        fail(concat("a mark on the optional operand '", own[k].name, "'"));
  }

  bool isPointwise() const {
    const auto isOfElements = [](const SignatureOperand &operand) {
      return operand.dims.empty() ||
             (operand.dims.size() == 1 && operand.dims[0].name == 0 && operand.dims[0].isPack &&
              !operand.dims[0].isPositioned && !operand.dims[0].isFull && operand.dims[0].without.empty());
    };
    return !signature.inputs.empty() && !signature.outputs.front().dims.empty() &&
           std::ranges::all_of(signature.inputs, isOfElements) && std::ranges::all_of(signature.outputs, isOfElements);
  }

  const KernelRecord &record;
  std::string_view text;
  Signature signature;
  /// By the numbers of names.
  std::vector<bool> isPackName;
};

} // namespace

Signature parseSignature(const KernelRecord &record) { return Parser(record).parse(); }

const Signature &signatureOf(const KernelRecord &record) {
  static const std::vector<Signature> all = [] {
    std::vector<Signature> parsed;
    for (const KernelRecord &each : catalogue())
      parsed.push_back(parseSignature(each));
    return parsed;
  }();
  return all[static_cast<std::size_t>(record.id)];
}

} // namespace sluice
