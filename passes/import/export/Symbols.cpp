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

/// condition = comparison ("and" comparison)*; comparison = sum (("==" | "!=" | "<=" | ">=" | "<" | ">") sum)?;
/// sum = product (("+" | "-") product)*; product = unary (("*" | "//" | "%") unary)*; unary = "-" unary | atom.
class Parser {
public:
  using Sizes = llvm::StringMap<llvm::SmallVector<std::int64_t>>;
  Parser(llvm::StringRef text, const SymbolValues &values, const Sizes *sizes = nullptr)
      : text(text), rest(text), values(values), sizes(sizes) {}

  Result<std::int64_t> parse() {
    const std::int64_t value = sizes ? condition() : sum();
    if (problem.empty() && !rest.ltrim().empty())
      problem = "expected its end before '" + rest.str() + "'";
    if (!problem.empty())
      return inputError("size '" + text.str() + "': " + problem);
    return value;
  }

private:
  llvm::StringRef text, rest;
  const SymbolValues &values;
  /// Of the inputs that a guard names.
  const Sizes *sizes;
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
  std::int64_t condition() {
    std::int64_t value = comparison();
    while (problem.empty() && accept("and "))
      value = static_cast<std::int64_t>(comparison() != 0 && value != 0);
    return value;
  }
  std::int64_t comparison() {
    const std::int64_t a = sum();
    if (accept("=="))
      return a == sum() ? 1 : 0;
    if (accept("!="))
      return a != sum() ? 1 : 0;
    if (accept("<="))
      return a <= sum() ? 1 : 0;
    if (accept(">="))
      return a >= sum() ? 1 : 0;
    if (accept("<"))
      return a < sum() ? 1 : 0;
    return accept(">") ? static_cast<std::int64_t>(a > sum()) : a;
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
      else if (accept("%"))
        value = remainder(value, unary());
      else if (accept("*"))
        value = checked(llvm::checkedMul(value, unary()));
      else
        break;
    }
    return value;
  }
  std::int64_t remainder(std::int64_t a, std::int64_t b) {
    return b > 0 ? llvm::mod(a, b) : fail("expected a divisor above 0");
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
      const std::int64_t value = sizes ? condition() : sum();
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
    if (sizes && name == "L")
      return sizeOfInput();
    if (accept("("))
      return call(name);
    return valueOf(name);
  }
  std::int64_t valueOf(llvm::StringRef symbol) {
    const auto found = values.find(symbol.str());
    return found != values.end() ? found->second : fail("'" + symbol.str() + "' has no value");
  }
  /// The rest of "L['x'].size()[1]".
  std::int64_t sizeOfInput() {
    if (!accept("['"))
      return fail("expected the name of an input");
    const auto [name, after] = rest.split("'].size()[");
    rest = after;
    std::int64_t dim = 0;
    const auto found = sizes->find(name);
    if (found == sizes->end() || rest.consumeInteger(10, dim) || !accept("]") || dim < 0 ||
        dim >= static_cast<std::int64_t>(found->second.size()))
      return fail("expected a size of an input");
    return found->second[static_cast<std::size_t>(dim)];
  }
  /// The rest of "Symbol('s77', positive=True, integer=True)".
  std::int64_t symbol() {
    if (!accept("'"))
      return fail("expected the name of a symbol");
    const auto [name, after] = rest.split('\'');
    rest = after.drop_front(std::min(after.find(')'), after.size()));
    return accept(")") ? valueOf(name) : fail("expected ')'");
  }
  std::int64_t call(llvm::StringRef name) {
    if (name == "Symbol")
      return symbol();
    std::vector<std::int64_t> arguments;
    do {
      arguments.push_back(sum());
    } while (problem.empty() && accept(","));
    if (!accept(")"))
      return fail("expected ')'");
    if (name == "Add" || name == "Mul") {
      const bool isSum = name == "Add";
      std::int64_t value = isSum ? 0 : 1;
      for (const std::int64_t each : arguments)
        value = checked(isSum ? llvm::checkedAdd(value, each) : llvm::checkedMul(value, each));
      return value;
    }
    if (arguments.size() == 1 && name == "Integer")
      return arguments[0];
    if (arguments.size() == 2 && name == "Pow") {
      std::int64_t value = arguments[1] < 0 || arguments[1] > 63 ? fail("expected an exponent from 0 to 63") : 1;
      for (std::int64_t i = 0; problem.empty() && i < arguments[1]; ++i)
        value = checked(llvm::checkedMul(value, arguments[0]));
      return value;
    }
    if (name == "Max" || name == "Min")
      return name == "Max" ? *std::ranges::max_element(arguments) : *std::ranges::min_element(arguments);
    if (arguments.size() == 2 && name == "FloorDiv")
      return floorDivide(arguments[0], arguments[1]);
    if (arguments.size() == 2 && (name == "Mod" || name == "PythonMod"))
      return remainder(arguments[0], arguments[1]);
    return fail("function '" + name.str() + "' is not supported");
  }
};

} // namespace

Result<std::int64_t> exported::evaluateSize(llvm::StringRef expression, const SymbolValues &values) {
  return Parser(expression, values).parse();
}

std::string exported::symbolOf(llvm::StringRef expression) {
  llvm::StringRef name = expression;
  if (name.consume_front("Symbol('"))
    name = name.split('\'').first;
  const bool isName = !name.empty() && !llvm::isDigit(name.front()) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  return isName ? name.str() : std::string();
}

Result<bool> exported::evaluateGuard(llvm::StringRef guard, const Parser::Sizes &sizes) {
  const SymbolValues none;
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t holds, Parser(guard, none, &sizes).parse());
  return holds != 0;
}
