//===- Program.cpp - from module text to outputs --------------------------------------===//

#include "test/numeric/Program.h"

#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::numeric {

namespace {

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Removes the folder when the process ends.
struct Scratch {
  std::string path;
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-numeric-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

const char *elementName(DType dtype) {
  constexpr const char *names[] = {"f32", "f64", "bf16", "f16", "i32", "i64", "ui8"};
  return names[static_cast<int>(dtype)];
}

} // namespace

std::string scratchFolder() {
  static Scratch scratch;
  return scratch.path;
}

std::string writeScratch(const std::string &name, const std::string &text) {
  std::string path = scratchFolder() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

CommandResult runCommand(const std::string &command) {
  std::string out = scratchFolder() + "/command.out", err = scratchFolder() + "/command.err";
  const char *tools = std::getenv("SLUICE_TOOLS");
  std::string line = "PATH=\"" + std::string(tools ? tools : SLUICE_BINARY_DIR "/bin") + ":$PATH\"; export PATH; " +
                     command + " >" + out + " 2>" + err;
  int code = std::system(line.c_str());
  return {WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code), readText(out), readText(err)};
}

std::string Function::input(const std::string &name, const std::vector<std::int64_t> &shape, const std::string &type) {
  std::string value = "%" + name;
  inputs.push_back({name, value});
  types[value] = tensorType(shape, type);
  return value;
}

std::vector<std::string> Function::ops(const std::string &op, const std::vector<std::string> &operands,
                                       const std::string &attributes, const std::vector<std::string> &results) {
  std::vector<std::string> names, operandTypes;
  for (const std::string &result : results) {
    names.push_back("%v" + std::to_string(next++));
    types[names.back()] = result;
  }
  for (const std::string &operand : operands)
    operandTypes.push_back(types.at(operand));
  body += "    " + join(names) + " = model." + op + " " + join(operands) + " " + attributes + " : (" +
          join(operandTypes) + ") -> " + (results.size() == 1 ? results[0] : "(" + join(results) + ")") + "\n";
  return names;
}

std::string Function::op(const std::string &op, const std::vector<std::string> &operands, const std::string &attributes,
                         const std::string &result) {
  return ops(op, operands, attributes, {result})[0];
}

std::string Function::create(const std::string &op, const std::string &value, const std::string &result) {
  std::string name = "%v" + std::to_string(next++);
  types[name] = result;
  body += "    " + name + " = model." + op + " " + value + " : " + result + "\n";
  return name;
}

std::string Function::raw(const std::string &text, const std::string &result) {
  std::string name = "%v" + std::to_string(next++);
  types[name] = result;
  body += "    " + name + " = model." + text + "\n";
  return name;
}

void Function::output(const std::string &name, const std::string &value) { outputs.push_back({name, value}); }

const std::string &Function::type(const std::string &value) const { return types.at(value); }

int Function::index(const std::string &input) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == input)
      return static_cast<int>(i);
  return -1;
}

std::string Function::module() const {
  std::vector<std::string> arguments, results, values, valueTypes;
  for (const Port &port : inputs)
    arguments.push_back(port.value + ": " + types.at(port.value) + " {model.input = \"" + port.name + "\"}");
  for (const Port &port : outputs) {
    results.push_back(types.at(port.value) + " {model.output = \"" + port.name + "\"}");
    values.push_back(port.value);
    valueTypes.push_back(types.at(port.value));
  }
  return "module attributes {model.name = \"f\"} {\n  func.func @f(" + join(arguments) + ") -> (" + join(results) +
         ") attributes {model.entry = #model.entry<forward>} {\n" + body + "    return " + join(values) + " : " +
         join(valueTypes) + "\n  }\n}\n";
}

/// A plan in memory and the rank that runs it.
struct Program::Loaded {
  PlanFile file;
  std::unique_ptr<RankGroup> group;
};

Program::Program(const std::string &module, const std::string &passes, const std::string &label) {
  std::string source = writeScratch(label + ".mlir", module);
  std::string plan = scratchFolder() + "/" + label + ".plan";
  if (!passes.empty()) {
    std::string prepared = scratchFolder() + "/" + label + ".prepared.mlir";
    CommandResult opt = runCommand("sluice-opt " + passes + " " + source + " -o " + prepared);
    if (opt.code != 0) {
      ADD_FAILURE() << label << ": sluice-opt " << passes << "\n" << opt.err << module;
      return;
    }
    source = prepared;
  }
  CommandResult compile = runCommand("sluice-compile " + source + " -o " + plan);
  if (compile.code != 0) {
    ADD_FAILURE() << label << ": sluice-compile\n" << compile.err << readText(source);
    return;
  }
  auto file = readCheckedPlan(plan);
  if (!file.isOk()) {
    ADD_FAILURE() << label << ": " << file.status().message();
    return;
  }
  auto program = std::make_shared<Loaded>();
  program->file = std::move(*file);
  auto group = RankGroup::create(program->file.plan);
  if (!group.isOk()) {
    ADD_FAILURE() << label << ": " << group.status().message();
    return;
  }
  program->group = std::move(*group);
  loaded = std::move(program);
}

TensorMap Program::run(const std::string &entry, const TensorMap &inputs) const {
  TensorMap outputs;
  Executor &executor = loaded->group->executor(0);
  const auto &entries = loaded->file.plan.entries;
  auto found = std::find_if(entries.begin(), entries.end(), [&](const auto &e) { return e->name == entry; });
  if (found == entries.end()) {
    ADD_FAILURE() << "no entry point " << entry;
    return outputs;
  }
  for (const auto &port : (*found)->inputs) {
    auto memory = executor.input(entry, port->name);
    auto given = inputs.find(port->name);
    if (!memory.isOk() || given == inputs.end()) {
      ADD_FAILURE() << entry << ": no value for input " << port->name;
      return outputs;
    }
    std::vector<std::byte> bytes = given->second.bytes();
    if (bytes.size() != memory->bytes) {
      ADD_FAILURE() << entry << ": input " << port->name << " takes " << memory->bytes << " bytes, given "
                    << bytes.size();
      return outputs;
    }
    std::memcpy(memory->at(), bytes.data(), bytes.size());
  }
  if (Status status = loaded->group->runEntry(entry); !status.isOk())
    ADD_FAILURE() << entry << ": " << status.message();
  for (const auto &port : (*found)->outputs)
    if (auto memory = executor.output(entry, port->name); memory.isOk())
      outputs[port->name] = tensorFromBytes(elementName(memory->dtype), memory->shape, memory->as<std::byte>());
  return outputs;
}

} // namespace sluice::numeric
