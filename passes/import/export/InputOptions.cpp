//===- InputOptions.cpp - inputs and sizes as texts ----------------------------------------===//

#include "passes/import/export/InputOptions.h"

#include "runtime/base/Text.h"

#include "llvm/ADT/StringRef.h"

using namespace sluice;

Status sluice::exported::readInputOptions(const std::vector<std::string> &inputs,
                                          const std::vector<std::string> &symbols, ExportOptions &options) {
  for (const std::string &text : inputs) {
    const auto [name, kind] = llvm::StringRef(text).split('=');
    llvm::StringRef number = kind;
    std::int64_t vocabulary = 0;
    if (name.empty() || !number.consume_front("tokens:") || number.getAsInteger(10, vocabulary) || vocabulary < 1 ||
        vocabulary > INT32_MAX)
      return Status(StatusCode::usage, "--inputs, expected NAME=tokens:VOCABULARY but got " + text);
    options.tokens[name.str()] = vocabulary;
  }
  for (const std::string &text : symbols) {
    const auto [name, number] = llvm::StringRef(text).split('=');
    std::int64_t value = 0;
    if (name.empty() || number.getAsInteger(10, value) || value < 1)
      return Status(StatusCode::usage, "--set, expected SYMBOL=SIZE but got " + text);
    options.symbols[name.str()] = value;
  }
  return Status::ok();
}
