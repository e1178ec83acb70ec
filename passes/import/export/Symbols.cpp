//===- Symbols.cpp - the sizes of a dynamic archive ------------------------------------===//

#include "passes/import/export/Symbols.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>
#include <vector>

using namespace sluice;
using namespace sluice::exported;

namespace {

/// sum = product (("+" | "-") product)*; product = unary (("*" | "//") unary)*; unary = "-" unary | atom.
class Parser {
public:
  Parser(llvm::StringRef text, const SymbolValues &values) : text(text), rest(text), values(values) {}

  Result<std::int64_t> parse() {
    const std::int64_t value = sum();
    if (problem.empty() && !rest.ltrim().empty())
      problem = "expected its end before '" + rest.str() + "'";
    if (!problem.empty())
      return inputError("size '" + text.str() + "': " + problem);
    return value;
  }

private:
  llvm::StringRef text, rest;
  const SymbolValues &values;
  std::string problem;
  int depth = 0;

  std::int64_t fail(std::string why) {
    if (problem.empty())
      problem = std::move(why);
    return 0;
  }
  bool accept(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  std::int64_t checked(std::optional<std::int64_t> value) {
    return value ? *value : fail("it does not fit into 64 bits");
  }
  std::int64_t sum() {
    std::int64_t value = product();
    while (problem.empty()) {
      if (accept("+"))
        value = checked(llvm::checkedAdd(value, product()));
      else if (accept("-"))
        value = checked(llvm::checkedSub(value, product()));
      else
        break;
    }
    return value;
  }
  std::int64_t product() {
    std::int64_t value = unary();
    while (problem.empty()) {
      if (accept("//"))
        value = floorDivide(value, unary());
      else if (accept("*"))
        value = checked(llvm::checkedMul(value, unary()));
      else
        break;
    }
    return value;
  }
  std::int64_t floorDivide(std::int64_t a, std::int64_t b) {
    return b > 0 ? llvm::divideFloorSigned(a, b) : fail("expected a divisor above 0 but got " + std::to_string(b));
  }
  std::int64_t unary() {
    // An expression comes from a file: nesting is bounded.
    if (++depth > 100)
      return fail("it nests more than 100 deep");
    const std::int64_t value = accept("-") ? checked(llvm::checkedSub<std::int64_t>(0, unary())) : atom();
    --depth;
    return value;
  }
  std::int64_t atom() {
    if (accept("(")) {
      const std::int64_t value = sum();
      return accept(")") ? value : fail("expected ')'");
    }
    rest = rest.ltrim();
    std::int64_t number = 0;
    if (!rest.empty() && llvm::isDigit(rest.front()))
      return rest.consumeInteger(10, number) ? fail("it does not fit into 64 bits") : number;
    const llvm::StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (name.empty())
      return fail("expected a number or a symbol");
    rest = rest.drop_front(name.size());
    if (accept("("))
      return call(name);
    const auto found = values.find(name.str());
    return found != values.end() ? found->second : fail("'" + name.str() + "' has no value");
  }
  std::int64_t call(llvm::StringRef name) {
    std::vector<std::int64_t> arguments;
    do {
      arguments.push_back(sum());
    } while (problem.empty() && accept(","));
    if (!accept(")"))
      return fail("expected ')'");
    if (name == "Max" || name == "Min")
      return name == "Max" ? *std::ranges::max_element(arguments) : *std::ranges::min_element(arguments);
    if (arguments.size() == 2 && name == "FloorDiv")
      return floorDivide(arguments[0], arguments[1]);
    if (arguments.size() == 2 && (name == "Mod" || name == "PythonMod"))
      return arguments[1] > 0 ? llvm::mod(arguments[0], arguments[1]) : fail("expected a divisor above 0");
    return fail("function '" + name.str() + "' is not supported");
  }
};

} // namespace

Result<std::int64_t> exported::evaluateSize(llvm::StringRef expression, const SymbolValues &values) {
  return Parser(expression, values).parse();
}
