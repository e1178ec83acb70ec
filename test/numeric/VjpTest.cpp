//===- VjpTest.cpp - derivatives against finite differences and decompositions ----------===//
//
// For each op in f64: the cotangents of buildVjp against central differences of the op, and for
// composites against the derivative of their decomposition into primitives, with which the op's values are
// compared too.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/VjpCases.h"

#include <cmath>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

std::vector<VjpCase> composites() {
  std::vector<VjpCase> list;
  for (const VjpCase &vjp : vjpCases())
    if (vjp.composite)
      list.push_back(vjp);
  return list;
}

class Vjp : public testing::TestWithParam<VjpCase> {};

std::string differentiate(const Function &f, const std::vector<std::string> &wrt) {
  std::string list;
  for (const std::string &name : wrt)
    list += (list.empty() ? "" : ",") + std::to_string(f.index(name));
  return "-model-differentiate-function=\"function=f wrt=" + list + "\"";
}

TEST_P(Vjp, MatchesFiniteDifferences) {
  const VjpCase &vjp = GetParam();
  Function f;
  TensorMap inputs;
  vjp.build(f, inputs);
  Program program(f.module(), differentiate(f, vjp.wrt), "vjp-" + vjp.name);
  ASSERT_TRUE(program.isOk());
  TensorMap outputs = program.run("f", inputs);
  for (const auto &[name, tensor] : outputs)
    inputs["cotangent." + name] = uniform("f64", tensor.shape, 99);
  auto objective = [&](const TensorMap &at) {
    double sum = 0;
    for (const auto &[name, tensor] : program.run("f", at))
      for (std::size_t i = 0; i < tensor.size(); ++i)
        sum += tensor.values[i] * inputs.at("cotangent." + name).values[i];
    return sum;
  };
  TensorMap derived = program.run("f_vjp", inputs);
  const double step = 1e-5;
  for (const std::string &name : vjp.wrt) {
    ASSERT_TRUE(derived.count("grad." + name)) << name;
    const Tensor &gradient = derived.at("grad." + name);
    ASSERT_EQ(gradient.shape, inputs.at(name).shape) << name;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      TensorMap moved = inputs;
      moved[name].values[i] += step;
      double up = objective(moved);
      moved[name].values[i] -= 2 * step;
      double numeric = (up - objective(moved)) / (2 * step);
      EXPECT_NEAR(gradient.values[i], numeric, 1e-8 + 1e-7 * std::abs(numeric)) << name << " element " << i;
    }
  }
}

// A case is a composite if decomposition changes its program.
TEST_P(Vjp, CompositesHaveADecomposition) {
  const VjpCase &vjp = GetParam();
  Function f;
  TensorMap inputs;
  vjp.build(f, inputs);
  std::string path = writeScratch("decomposes-" + vjp.name + ".mlir", f.module());
  CommandResult plain = runCommand("sluice-opt " + path),
                primitives = runCommand("sluice-opt -model-decompose " + path);
  ASSERT_EQ(plain.code + primitives.code, 0) << plain.err << primitives.err;
  EXPECT_EQ(plain.out != primitives.out, vjp.composite);
}

/// Only composites: a primitive is its own decomposition.
class Decomposition : public testing::TestWithParam<VjpCase> {};

TEST_P(Decomposition, HasTheSameValuesAndDerivatives) {
  const VjpCase &vjp = GetParam();
  Function f;
  TensorMap inputs;
  vjp.build(f, inputs);
  std::string pass = differentiate(f, vjp.wrt);
  Program fused(f.module(), pass, "fused-" + vjp.name);
  Program primitives(f.module(), "-model-decompose " + pass, "primitives-" + vjp.name);
  ASSERT_TRUE(fused.isOk() && primitives.isOk());
  TensorMap outputs = fused.run("f", inputs), reference = primitives.run("f", inputs);
  for (const auto &[name, tensor] : outputs) {
    EXPECT_LE(compare(tensor, reference.at(name)).largest, 1e-12) << name;
    inputs["cotangent." + name] = uniform("f64", tensor.shape, 99);
  }
  TensorMap derived = fused.run("f_vjp", inputs), expected = primitives.run("f_vjp", inputs);
  for (const auto &[name, tensor] : derived)
    EXPECT_LE(compare(tensor, expected.at(name)).largest, 1e-12) << name;
}

INSTANTIATE_TEST_SUITE_P(Ops, Decomposition, testing::ValuesIn(composites()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Ops, Vjp, testing::ValuesIn(vjpCases()), [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sluice::numeric
