//===- BindSymbols.cpp - values for the dynamic sizes of an archive -----------------------===//

#include "passes/import/export/BindSymbols.h"

#include "passes/import/export/Members.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace sluice;
using namespace sluice::exported;

namespace {

struct Symbol {
  /// Of its values, as torch.export recorded them.
  std::optional<std::int64_t> least, most;
  /// "dim 0 of input 'x'", empty if it is no dim of an input.
  std::string place;

  std::string range() const {
    if (least && most)
      return concat("from ", *least, " to ", *most);
    return least ? concat("at least ", *least) : most ? concat("at most ", *most) : "any size";
  }
};

class Binding {
public:
  Binding(const nlohmann::json &model, const SymbolValues &given, const RowSizes &rows)
      : values(given), batch(rows.batch), sequence(rows.sequence) {
    readRanges(model);
    readInputs(model);
  }

  Result<SymbolValues> run() {
    for (const auto &[name, value] : values)
      if (!symbols.contains(name))
        return inputError(concat("--set ", name, ": the archive has no such size, expected ",
                                 symbols.empty() ? "none, because all its sizes are static" : names()));
    if (batch) {
      if (firstDims.empty() && firstExpressions.empty())
        return inputError("--batch: no input has a dynamic first dim")
            .withNote("export with dynamic_shapes, or with inputs of that many rows");
      for (const std::string &name : firstDims)
        if (const auto [known, isNew] = values.emplace(name, *batch); !isNew && known->second != *batch)
          return inputError(
              concat("--batch ", *batch, ": --set gives ", symbols[name].place, " the size ", known->second));
    }
    if (sequence) {
      if (secondDims.empty())
        return inputError("--shapes: no input has a second dim that is a dynamic size")
            .withNote("export with dynamic_shapes of the sequence, or import one shape with --batch");
      for (const std::string &name : secondDims)
        if (const auto [known, isNew] = values.emplace(name, *sequence); !isNew && known->second != *sequence)
          return inputError(concat("--shapes, rows of ", *sequence, ": --set or the rows give ", symbols[name].place,
                                   " the size ", known->second));
    }
    if (batch)
      for (const std::string &expression : firstExpressions)
        SLUICE_RETURN_IF_ERROR(solve(expression));
    for (const auto &[name, symbol] : symbols) {
      const auto value = values.find(name);
      if (value == values.end())
        return missing();
      if ((symbol.least && value->second < *symbol.least) || (symbol.most && value->second > *symbol.most))
        return inputError(
            concat("size '", name, "'", placeOf(symbol), ", expected ", symbol.range(), " but got ", value->second));
    }
    return values;
  }

  std::optional<SizeRange> rowRange() const {
    std::optional<SizeRange> range;
    const auto add = [&](std::int64_t least, std::optional<std::int64_t> most) {
      if (!range)
        range = SizeRange{};
      range->least = std::max(range->least, least);
      if (most)
        range->most = std::min(*most, range->most.value_or(*most));
    };
    for (const std::string &name : firstDims)
      if (const Symbol &symbol = symbols.find(name)->second; !values.contains(name))
        add(symbol.least.value_or(1), symbol.most);
    // An expression grows with its symbols.
    SymbolValues smallest = values;
    for (const auto &[name, symbol] : symbols)
      smallest.emplace(name, std::max<std::int64_t>(symbol.least.value_or(1), 1));
    for (const std::string &expression : firstExpressions)
      if (const Result<std::int64_t> rows = evaluateSize(expression, smallest);
          rows.isOk() && !evaluateSize(expression, values).isOk())
        add(*rows, std::nullopt);
    return range;
  }

private:
  SymbolValues values;
  std::optional<std::int64_t> batch, sequence;
  std::map<std::string, Symbol, std::less<>> symbols;
  /// Symbols that are the first dim of an input, and the second one.
  std::vector<std::string> firstDims, secondDims;
  /// First dims of inputs that are expressions of symbols.
  std::vector<std::string> firstExpressions;

  /// torch's names of numbers that are read from tensors: "u0", "zuf0".
  static bool isOfData(llvm::StringRef name) {
    return (name.consume_front("zuf") || name.consume_front("u")) && !name.empty() &&
           llvm::all_of(name, [](char c) { return llvm::isDigit(c); });
  }
  /// Rows of a micro-batch are fewer; an archive may state any expression.
  static constexpr std::int64_t mostTried = std::int64_t(1) << 16;
  /// The value of the only symbol without one under which a first dim has the rows of the batch.
  Status solve(const std::string &expression) {
    for (const auto &[name, symbol] : symbols) {
      if (values.contains(name) || expression.find(name) == std::string::npos)
        continue;
      SymbolValues trial = values;
      const std::int64_t least = std::max<std::int64_t>(symbol.least.value_or(1), 1),
                         most = std::min({*batch, symbol.most.value_or(*batch), mostTried});
      for (std::int64_t value = least; value <= most; ++value) {
        trial[name] = value;
        if (const Result<std::int64_t> rows = evaluateSize(expression, trial); rows.isOk() && *rows == *batch) {
          values[name] = value;
          return Status::ok();
        }
      }
    }
    const Result<std::int64_t> rows = evaluateSize(expression, values);
    return rows.isOk() && *rows == *batch ? Status::ok()
                                          : inputError(concat("--batch ", *batch, ": no size gives the first dim '",
                                                              printable(expression), "' of an input that many rows"));
  }
  static std::string placeOf(const Symbol &symbol) { return symbol.place.empty() ? "" : concat(", ", symbol.place); }
  std::string names() const {
    return join(symbols, ", ", [](const auto &symbol) { return concat("'", symbol.first, "'"); });
  }

  Status missing() const {
    Status status = inputError("the archive has dynamic sizes without a value");
    for (const auto &[name, symbol] : symbols)
      if (!values.contains(name))
        status.addNote(concat("--set ", name, "=SIZE, ", symbol.range(), placeOf(symbol),
                              llvm::is_contained(firstDims, name) ? "; or --batch ROWS" : ""));
    return status;
  }

  void readRanges(const nlohmann::json &model) {
    const nlohmann::json *ranges = getObject(&model, "range_constraints");
    if (!ranges)
      return;
    for (const auto &[key, range] : ranges->items()) {
      const std::string name = symbolOf(key);
      // An expression of symbols has the values that they give it, and a number that depends on data has none.
      if (name.empty() || isOfData(name))
        continue;
      Symbol &symbol = symbols[name];
      symbol.least = getInteger(&range, "min_val");
      symbol.most = getInteger(&range, "max_val");
    }
  }

  /// Where symbols are dims of the user's inputs.
  void readInputs(const nlohmann::json &model) {
    const nlohmann::json *module = getObject(&model, "graph_module");
    const nlohmann::json *tensors = getObject(getObject(module, "graph"), "tensor_values");
    const nlohmann::json *inputs = getArray(getObject(module, "signature"), "input_specs");
    if (!tensors || !inputs)
      return;
    for (const nlohmann::json &input : *inputs) {
      const nlohmann::json *argument = getObject(getObject(getObject(&input, "user_input"), "arg"), "as_tensor");
      const std::optional<llvm::StringRef> name = getString(argument, "name");
      const nlohmann::json *meta = name ? getObject(tensors, *name) : nullptr;
      const nlohmann::json *sizes = getArray(meta, "sizes");
      if (!sizes)
        continue;
      for (std::size_t dim = 0; dim < sizes->size(); ++dim) {
        const nlohmann::json *expression = getObject(&(*sizes)[dim], "as_expr");
        const std::string text = getString(expression, "expr_str").value_or("").str();
        const std::string symbol = symbolOf(text);
        if (symbol.empty()) {
          if (dim == 0 && !text.empty())
            firstExpressions.push_back(text);
          continue;
        }
        Symbol &found = symbols[symbol];
        if (found.place.empty())
          found.place = concat("dim ", dim, " of input '", printable(name->str()), "'");
        if (dim == 0 && !llvm::is_contained(firstDims, symbol))
          firstDims.push_back(symbol);
        if (dim == 1 && !llvm::is_contained(secondDims, symbol))
          secondDims.push_back(symbol);
      }
    }
  }
};

} // namespace

Result<SymbolValues> exported::bindSymbols(const nlohmann::json &model, const SymbolValues &given,
                                           const RowSizes &rows) {
  return Binding(model, given, rows).run();
}

std::optional<SizeRange> exported::rowRangeOf(const nlohmann::json &model, const SymbolValues &given) {
  return Binding(model, given, {}).rowRange();
}
