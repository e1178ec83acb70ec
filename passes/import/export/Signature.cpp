//===- Signature.cpp - the inputs and outputs of a torch.export program --------------------===//

#include "passes/import/export/Signature.h"

#include "passes/import/export/Members.h"
#include "runtime/base/Json.h"

using namespace sluice;
using namespace sluice::exported;

namespace {

/// The keys of the dict that forward returns, of its `out_spec`; empty if it returns something else.
std::vector<std::string> outputNames(const nlohmann::json &module) {
  const nlohmann::json *calls = getArray(&module, "module_call_graph");
  const nlohmann::json *signature = calls && !calls->empty() ? getObject(&(*calls)[0], "signature") : nullptr;
  // [1, {"type": "builtins.dict", "context": "[\"loss\"]", "children_spec": [...]}]
  const nlohmann::json spec = parseJson<nlohmann::json>(getString(signature, "out_spec").value_or(""));
  const nlohmann::json *root = spec.is_array() && spec.size() == 2 ? &spec[1] : nullptr;
  const nlohmann::json keys = parseJson<nlohmann::json>(getString(root, "context").value_or(""));
  std::vector<std::string> names;
  if (keys.is_array())
    for (const nlohmann::json &key : keys)
      names.push_back(asString(&key).value_or("").str());
  return names;
}

std::string nameOfArgument(const nlohmann::json *spec) {
  const nlohmann::json *argument = getObject(spec, "arg");
  const nlohmann::json *tensor = getObject(argument, "as_tensor");
  return getString(tensor ? tensor : argument, "name").value_or("").str();
}

} // namespace

Status exported::readSignature(const nlohmann::json &module, Program &program) {
  const nlohmann::json *signature = getObject(&module, "signature");
  const nlohmann::json *inputs = getArray(signature, "input_specs"), *outputs = getArray(signature, "output_specs");
  if (!inputs || !outputs)
    return inputError("signature without 'input_specs' or 'output_specs'");
  for (const nlohmann::json &value : *inputs) {
    SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "input"));
    const nlohmann::json *spec = arm.second;
    if (!arm.second->is_object())
      return inputError("input, expected an object");
    InputSpec input;
    input.value = nameOfArgument(spec);
    if (arm.first == "parameter") {
      input.kind = InputSpec::Kind::parameter;
      input.name = getString(spec, "parameter_name").value_or("").str();
    } else if (arm.first == "buffer") {
      input.kind = InputSpec::Kind::buffer;
      input.name = getString(spec, "buffer_name").value_or("").str();
    } else if (arm.first == "tensor_constant") {
      input.kind = InputSpec::Kind::constant;
      input.name = getString(spec, "tensor_constant_name").value_or("").str();
    } else if (arm.first == "user_input") {
      input.name = input.value;
    } else if (arm.first != "constant_input") {
      return inputError(concat("input of kind '", arm.first.str(), "' is not supported"));
    }
    if (arm.first == "constant_input")
      continue;
    if (input.value.empty() || input.name.empty())
      return inputError(concat("input of kind '", arm.first.str(), "' without a name"));
    program.inputs.push_back(std::move(input));
  }
  const std::vector<std::string> names = outputNames(module);
  std::size_t user = 0;
  for (const nlohmann::json &value : *outputs) {
    SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "output"));
    if (!arm.second->is_object())
      return inputError("output, expected an object");
    if (arm.first == "user_output") {
      program.outputs.push_back({nameOfArgument(arm.second), user < names.size() ? names[user] : ""});
      ++user;
    } else if (arm.first == "user_input_mutation" || arm.first == "parameter_mutation") {
      return inputError("the forward writes to an input or a parameter, which is not supported");
    } else if (arm.first != "buffer_mutation" && arm.first != "loss_output") {
      return inputError(concat("output of kind '", arm.first.str(), "' is not supported"));
    }
  }
  return Status::ok();
}

Status exported::checkGuards(const nlohmann::json &model, Program &program) {
  const nlohmann::json *guards = getArray(&model, "guards_code");
  if (!guards)
    return Status::ok();
  llvm::StringMap<llvm::SmallVector<std::int64_t>> sizes;
  for (const InputSpec &input : program.inputs)
    if (auto meta = program.graph.tensors.find(input.value);
        input.kind == InputSpec::Kind::user && meta != program.graph.tensors.end())
      sizes[input.name] = meta->second.sizes;
  for (const nlohmann::json &value : *guards) {
    const std::string guard = asString(&value).value_or("").str();
    const Result<bool> holds = evaluateGuard(guard, sizes);
    if (!holds.isOk())
      program.uncheckedGuards.push_back(concat(printable(guard), ": ", printable(holds.status().message())));
    else if (!*holds)
      return inputError(concat("the sizes are not as the program needs them: ", printable(guard)));
  }
  return Status::ok();
}
