//===- OpReferenceTest.cpp - operations and derivatives against the reference -----------===//
//
// Each operation of test/reference/ops (or of $SLUICE_REFERENCE/ops) as a program: its outputs, and the gradients that
// the compiler derives, against f64 numbers that PyTorch computed. In f32 within units of rounding times the size
// of the terms, in f64 within 1e-12.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/OpPrograms.h"
#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

std::vector<OpCase> loadCases() {
  std::vector<OpCase> cases;
  std::ifstream file(referenceFolder() + "/ops/index.json");
  nlohmann::json index = nlohmann::json::parse(file, nullptr, false);
  if (!index.is_object())
    return cases;
  for (const auto &item : index["cases"])
    cases.push_back({item["name"], item["op"], item["attributes"], {}});
  return cases;
}

class OpReference : public testing::TestWithParam<OpCase> {};

double largestOf(const OpCase &operation, const std::string &name) {
  double largest = 0;
  if (auto found = operation.tensors.find(name); found != operation.tensors.end())
    for (double value : found->second.values)
      largest = std::max(largest, std::abs(value));
  return largest;
}

/// The size of the terms that a norm's gradient adds up, which cancel if a row is nearly constant: the cotangent
/// times the weight, divided by the row's deviation. 0 for other operations.
double cancelledTerms(const OpCase &operation) {
  const bool centred = operation.op == "layer_norm";
  if (!centred && operation.op != "rms_norm")
    return 0;
  const Tensor &x = operation.tensors.at("in.x");
  std::size_t columns = 1;
  for (std::int64_t d = 0; d < operation.attributes.value("axes", std::int64_t(1)); ++d)
    columns *= static_cast<std::size_t>(x.shape[x.shape.size() - 1 - static_cast<std::size_t>(d)]);
  double steepest = 0;
  for (std::size_t begin = 0; begin + columns <= x.values.size() && columns > 0; begin += columns) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < columns; ++c)
      mean += centred ? x.values[begin + c] / static_cast<double>(columns) : 0;
    for (std::size_t c = 0; c < columns; ++c)
      variance += (x.values[begin + c] - mean) * (x.values[begin + c] - mean) / static_cast<double>(columns);
    steepest = std::max(steepest, 1 / std::sqrt(variance + operation.attributes.value("eps", 1e-5)));
  }
  const double weight = operation.tensors.count("in.weight") ? largestOf(operation, "in.weight") : 1;
  return steepest * weight * largestOf(operation, "cotangent.y");
}

/// An operation's error is a few units of rounding times the size of its terms: the output's magnitude and that of
/// cancelled terms. The expected f64 numbers are rounded as well, so in f64 the inputs' magnitude counts too.
double tolerance(const OpCase &operation, const std::string &type, double magnitude) {
  double unit = type == "f64" ? 1e-15 : 1.2e-7;
  double addends = 1;
  for (const auto &[name, tensor] : operation.tensors)
    if (name.rfind("in.", 0) == 0 && (tensor.type == "f32" || tensor.type == "f64")) {
      for (std::int64_t extent : tensor.shape)
        addends = std::max(addends, static_cast<double>(extent));
      for (double value : tensor.values)
        if (type == "f64" && std::isfinite(value))
          magnitude = std::max(magnitude, std::abs(value));
    }
  magnitude = std::max(magnitude, cancelledTerms(operation));
  return 16 * unit * std::max(1.0, magnitude) * std::max(1.0, std::sqrt(addends));
}

/// The differentiated outputs: all but the running statistics, which have no cotangent.
OpCase smoothPart(const OpCase &operation) {
  OpCase part = operation;
  for (const char *name : {"mean", "variance"})
    if (!operation.tensors.count(std::string("cotangent.") + name))
      part.tensors.erase(std::string("out.") + name);
  return part;
}

void check(const OpCase &operation, const std::string &type);

void checkBatchNorm(const OpCase &operation, const std::string &type) {
  OpCase values = operation;
  for (auto it = values.tensors.begin(); it != values.tensors.end();)
    it = it->first.rfind("grad.", 0) == 0 || it->first.rfind("cotangent.", 0) == 0 ? values.tensors.erase(it)
                                                                                   : std::next(it);
  values.name += "-values";
  check(values, type);
  check(smoothPart(operation), type);
}

void check(const OpCase &operation, const std::string &type) {
  Function f;
  if (!buildOperation(operation, type, f))
    return;
  std::vector<std::string> gradients;
  std::string wrt;
  for (const auto &[name, tensor] : operation.tensors)
    if (name.rfind("grad.", 0) == 0) {
      gradients.push_back(name.substr(5));
      wrt += (wrt.empty() ? "" : ",") + std::to_string(f.index(name.substr(5)));
    }
  std::string label = operation.name + "-" + type;
  // Operations without gradients (optimizers, clipping) have only outputs.
  std::string pass = gradients.empty() ? "" : "-model-differentiate-function=\"function=f wrt=" + wrt + "\"";
  Program program(f.module(), pass, label);
  if (!program.isOk())
    return;
  TensorMap inputs;
  for (const auto &[name, tensor] : operation.tensors) {
    bool isFloat = tensor.type == "f32" || tensor.type == "f64";
    if (name.rfind("in.", 0) == 0)
      inputs[name.substr(3)] = isFloat ? withType(tensor, type) : tensor;
    if (name.rfind("cotangent.", 0) == 0)
      inputs[name] = withType(tensor, operation.op == "cross_entropy" && type == "f32" ? "f32" : type);
  }
  auto expectClose = [&](const TensorMap &actual, const std::string &name, const Tensor &expected) {
    auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << label << ": no output " << name;
    Difference difference = compare(found->second, expected);
    bool exact = expected.type == "bf16";
    // Scalars of a step are f32 for any type of gradients.
    std::string by =
        operation.op == "clip_grad_norm" || operation.op.substr(0, 4) == "adam" || operation.op == "sgd" ? "f32" : type;
    double bound = exact ? 0.0 : tolerance(operation, by, difference.magnitude);
    EXPECT_LE(difference.largest, bound) << label << ": " << name << ", magnitude " << difference.magnitude;
  };
  TensorMap outputs = program.run("f", inputs);
  for (const auto &[name, tensor] : operation.tensors)
    if (name.rfind("out.", 0) == 0)
      expectClose(outputs, name.substr(4), tensor);
  if (gradients.empty())
    return;
  TensorMap derived = program.run("f_vjp", inputs);
  for (const std::string &name : gradients)
    expectClose(derived, "grad." + name, operation.tensors.at("grad." + name));
}

TEST_P(OpReference, MatchesInF32AndF64) {
  OpCase operation = GetParam();
  const auto &without = operationsWithoutOp();
  if (std::find(without.begin(), without.end(), operation.op) != without.end())
    GTEST_SKIP() << "the model dialect has no op for " << operation.op;
  operation.tensors = readSafetensors(referenceFolder() + "/ops/" + operation.name + ".safetensors");
  if (operation.op == "batch_norm") {
    checkBatchNorm(operation, "f32");
    checkBatchNorm(operation, "f64");
    return;
  }
  check(operation, "f32");
  if (operation.op != "cast_f32_bf16")
    check(operation, "f64");
}

INSTANTIATE_TEST_SUITE_P(Ops, OpReference, testing::ValuesIn(loadCases()), [](const auto &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
});

TEST(OpReferenceIndex, HasOnlyBuiltOrListedOperations) {
  std::vector<OpCase> cases = loadCases();
  ASSERT_GE(cases.size(), 60u);
  const auto &without = operationsWithoutOp();
  for (OpCase &operation : cases) {
    Function f;
    bool listed = std::find(without.begin(), without.end(), operation.op) != without.end();
    operation.tensors = readSafetensors(referenceFolder() + "/ops/" + operation.name + ".safetensors");
    EXPECT_NE(buildOperation(operation, "f32", f), listed) << operation.op;
  }
}

} // namespace
} // namespace sluice::numeric
