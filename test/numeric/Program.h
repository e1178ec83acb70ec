//===- Program.h - programs of the model dialect, compiled by the tools and run ------===//
#ifndef SLUICE_TEST_NUMERIC_PROGRAM_H
#define SLUICE_TEST_NUMERIC_PROGRAM_H

#include "test/numeric/Tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::numeric {

/// The output and exit code of a command.
struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs a command line by the shell, with build/bin, or the folder that SLUICE_TOOLS names, first in PATH.
CommandResult runCommand(const std::string &command);

/// A folder of this test process that is removed when the process ends.
std::string scratchFolder();
std::string writeScratch(const std::string &name, const std::string &text);

/// A forward function @f in text, built line by line.
class Function {
public:
  /// Declares an input and returns its SSA name.
  std::string input(const std::string &name, const std::vector<std::int64_t> &shape, const std::string &type);
  /// `%N = model.OP OPERANDS ATTRIBUTES : (types) -> result`; returns the new name. Operand types are looked up.
  std::string op(const std::string &op, const std::vector<std::string> &operands, const std::string &attributes,
                 const std::string &result);
  /// As op, with several results; returns their names.
  std::vector<std::string> ops(const std::string &op, const std::vector<std::string> &operands,
                               const std::string &attributes, const std::vector<std::string> &results);
  /// `%N = model.OP VALUE : result`, for ops without operands (constant, iota).
  std::string create(const std::string &op, const std::string &value, const std::string &result);
  /// `%N = model.TEXT`, for ops of a different form; `result` is its type.
  std::string raw(const std::string &text, const std::string &result);
  void output(const std::string &name, const std::string &value);
  const std::string &type(const std::string &value) const;

  /// Position of an input among the arguments.
  int index(const std::string &input) const;
  std::string module() const;

private:
  struct Port {
    std::string name, value;
  };
  std::vector<Port> inputs, outputs;
  std::map<std::string, std::string> types;
  std::string body;
  int next = 0;
};

/// Compiles module text for one rank and runs entry points of it. Any failure fails the running test.
class Program {
public:
  /// `passes`: sluice-opt options that are applied first; empty: none.
  Program(const std::string &module, const std::string &passes, const std::string &label);
  bool isOk() const { return loaded != nullptr; }
  /// Runs an entry point; returns all its outputs.
  TensorMap run(const std::string &entry, const TensorMap &inputs) const;

private:
  struct Loaded;
  std::shared_ptr<Loaded> loaded;
};

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_PROGRAM_H
