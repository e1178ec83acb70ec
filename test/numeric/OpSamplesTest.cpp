//===- OpSamplesTest.cpp - ops and derivatives against PyTorch's sample inputs -----------===//
//
// test/reference/samples has, for each model op with an OpInfo entry, PyTorch's sample inputs as a program, and the
// results and gradients that PyTorch computes from them in f64. The program runs in f32 and in bf16.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace sluice::numeric {
namespace {

nlohmann::json readRows() {
  std::ifstream file(referenceFolder() + "/samples/index.json");
  nlohmann::json index = nlohmann::json::parse(file, nullptr, false);
  return index.is_object() ? index["ops"] : nlohmann::json::object();
}

std::vector<std::string> opsWithSamples() {
  std::vector<std::string> ops;
  const nlohmann::json rows = readRows();
  for (const auto &[op, row] : rows.items())
    if (!row.contains("without"))
      ops.push_back(op);
  return ops;
}

/// "f32.s3", the sample of the ports f32.s3.y0, grad.f32.s3.x1 and so on.
std::string sampleOf(const std::string &port) {
  const std::size_t end = port.rfind('.'), type = port.rfind('.', port.rfind('.', end - 1) - 1);
  const std::size_t begin = type == std::string::npos ? 0 : type + 1;
  return port.substr(begin, end - begin);
}

double largestOf(const Tensor &tensor) {
  double largest = 0;
  for (double value : tensor.values)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

/// The number of terms that a sample adds up, at most its largest extent, and their size.
struct Terms {
  double count = 1;
  double size = 1;
};

Terms termsOf(const TensorMap &tensors, const std::string &port, bool isGradient) {
  Terms terms;
  const std::string sample = sampleOf(port);
  for (const auto &[name, tensor] : tensors) {
    if (sampleOf(name) != sample)
      continue;
    for (std::int64_t extent : tensor.shape)
      terms.count = std::max(terms.count, static_cast<double>(extent));
    if (name == port || (isGradient && name.starts_with("cotangent.")))
      terms.size = std::max(terms.size, largestOf(tensor));
  }
  return terms;
}

double largestInput(const TensorMap &tensors, const std::string &sample) {
  double largest = 0;
  for (const auto &[name, tensor] : tensors)
    if (name.starts_with(sample + ".x"))
      largest = std::max(largest, largestOf(tensor));
  return largest;
}

/// The tolerance of an element whose exact value is `want`. In f32 it is that of OpReferenceTest: 16 roundings of the
/// size of the terms, which add up as their number's root. In bf16 it is that of the kernels' tests
/// (test/unit/kernel/Agreement.h): the result is rounded once, and intermediate values are f32, or bf16 where
/// `roundsInside`.
double tolerance(const std::string &type, bool roundsInside, double want, const Terms &terms) {
  if (type != "bf16")
    return 16 * 1.2e-7 * std::max(terms.size, std::abs(want)) * std::sqrt(terms.count);
  const double inside = roundsInside ? 0x1p-9 : 0x1p-23;
  return 2 * 0x1p-8 * std::abs(want) + inside * terms.size * (2 + std::sqrt(terms.count));
}

class OpSamples : public testing::TestWithParam<std::string> {};

TEST_P(OpSamples, MatchPyTorch) {
  const nlohmann::json row = readRows()[GetParam()];
  const std::string base = referenceFolder() + "/samples/" + GetParam();
  std::string passes;
  for (const auto &[type, function] : row.items()) {
    std::string wrt;
    for (const auto &argument : function["wrt"])
      wrt += (wrt.empty() ? "" : ",") + argument.dump();
    if (!wrt.empty())
      passes += " -model-differentiate-function=\"function=" + type + " wrt=" + wrt + "\"";
  }
  std::ifstream file(base + ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  const Program program(text.str(), passes, "samples-" + GetParam());
  ASSERT_TRUE(program.isOk());
  const TensorMap tensors = readSafetensors(base + ".safetensors");
  std::size_t compared = 0;
  for (const auto &[type, function] : row.items()) {
    TensorMap results = program.run(type, tensors);
    if (!function["wrt"].empty())
      results.merge(program.run(type + "_vjp", tensors));
    for (const auto &[name, got] : results) {
      const bool isGradient = name.starts_with("grad.");
      const Tensor &exact = tensors.at(name);
      // A number beyond the range of its type is infinite.
      const Tensor want = exact.type == "f64" ? withType(exact, got.type) : exact;
      ASSERT_EQ(got.shape, want.shape) << name;
      Terms terms = function["elementwise"].get<bool>() ? Terms() : termsOf(tensors, name, isGradient);
      // A derivative of attention adds products of a probability, a value and a key.
      if (GetParam() == "attention" && isGradient)
        terms.size *= largestInput(tensors, sampleOf(name));
      // A derivative is several kernels. The logits of the chunked cross entropy are bf16, and its loss is f32.
      const bool hasLogits = GetParam() == "linear_cross_entropy", roundsInside = isGradient || hasLogits;
      const std::string &rounded = hasLogits ? type : got.type;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double value = want.values[i];
        if (std::isnan(value)) {
          EXPECT_TRUE(std::isnan(got.values[i])) << name << " element " << i << ": " << got.values[i];
        } else if (std::isinf(value)) {
          EXPECT_EQ(got.values[i], value) << name << " element " << i;
        } else {
          const double bound = tolerance(rounded, roundsInside, exact.values[i], terms);
          EXPECT_NEAR(got.values[i], exact.values[i], bound) << name << " element " << i;
        }
      }
      ++compared;
    }
  }
  std::size_t expected = 0;
  for (const auto &[name, tensor] : tensors)
    if (name.starts_with("grad.") || (name.find(".y") != std::string::npos && !name.starts_with("cotangent.")))
      ++expected;
  EXPECT_EQ(compared, expected);
}

INSTANTIATE_TEST_SUITE_P(Ops, OpSamples, testing::ValuesIn(opsWithSamples()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace sluice::numeric
