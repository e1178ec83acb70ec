//===- InferTest.cpp - errors of type inference -------------------------------------------===//
//
// IR text has explicit result types, which the verifier checks first. Ops built in C++ report errors of type inference.
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialect/model/Programs.h"

using namespace mlir;

namespace sluice::model::test {
namespace {

/// The error of type inference of the first model op in `text`; empty if it succeeds.
std::string inferenceOf(const std::string &text) {
  Programs programs;
  ParserConfig config(&programs.context, /*verifyAfterParse=*/false);
  auto module =
      parseSourceString<ModuleOp>("func.func @f(%scalar: tensor<f32>, %row: tensor<4xf32>, %x: tensor<3x5xf32>, "
                                  "%b: tensor<2x3x5xf32>, %c: tensor<3x5x4xf32>, %i: tensor<2xi32>) {\n" +
                                      text + "\nreturn\n}\n",
                                  config);
  EXPECT_TRUE(module) << programs.diagnostics;
  if (!module)
    return "not parsed";
  programs.diagnostics.clear();
  module->walk([&](InferTypeOpInterface op) {
    SmallVector<Type> types;
    (void)op.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(), op->getAttrDictionary(),
                              op->getPropertiesStorage(), op->getRegions(), types);
  });
  return programs.diagnostics;
}

TEST(ModelInference, ReportsWhyInferenceFails) {
  const std::pair<const char *, const char *> rows[] = {
      {R"("model.argmax"(%x) {dim = 2 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>)",
       "argmax: dim is out of range, expected less than 2 but got 2\n"},
      {R"("model.batch_norm"(%row, %row, %row) {epsilon = 1.0e-5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>))",
       "batch_norm: operand #0 has the wrong extents, expected [n, rows.., c] but got [4]\n"},
      {R"("model.cross_entropy"(%scalar, %i) : (tensor<f32>, tensor<2xi32>) -> (tensor<f32>, tensor<f32>))",
       "cross_entropy: operand #0 has the wrong extents, expected [rows.., v] but got []\n"},
      {R"("model.linear_cross_entropy"(%scalar, %x, %i) {reduction = #model.reduction<sum>, rows = 1 : i64} : (tensor<f32>, tensor<3x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<f32>))",
       "linear_cross_entropy: operand #0 has the wrong extents, expected [rows.., c] but got []\n"},
      {R"("model.matmul"(%row, %x) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<4xf32>, tensor<3x5xf32>) -> tensor<5xf32>)",
       "matmul: operand #0 has the wrong extents, expected [m, k] but got [4]\n"},
      {R"("model.matmul"(%b, %c) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x3x5xf32>, tensor<3x5x4xf32>) -> tensor<2x3x4xf32>)",
       "matmul: operand #1 has the wrong extents, expected [2 or 1, 5, n] but got [3, 5, 4]\n"},
      {R"("model.matmul_gelu"(%row, %x) : (tensor<4xf32>, tensor<3x5xf32>) -> (tensor<5xf32>, tensor<5xf32>))",
       "matmul_gelu: operand #0 has the wrong extents, expected [m, k] but got [4]\n"},
      {R"("model.matmul_gelu_grad"(%b, %c, %b) : (tensor<2x3x5xf32>, tensor<3x5x4xf32>, tensor<2x3x5xf32>) -> tensor<2x3x4xf32>)",
       "matmul: operand #1 has the wrong extents, expected [2 or 1, 5, n] but got [3, 5, 4]\n"},
      {R"("model.transpose"(%x) {permutation = array<i64: 0, 2>} : (tensor<3x5xf32>) -> tensor<3x5xf32>)",
       "transpose: dim is out of range, expected less than 2 but got 2\n"},
      {R"("model.slice"(%x) {start = array<i64: 0>, limit = array<i64: 1>, step = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<1xf32>)",
       "slice: lists have the wrong length, expected 2\n"},
      {R"("model.pad"(%x) {low = array<i64: 0>, high = array<i64: 1>, step = array<i64: 1>, value = 0.0 : f64} : (tensor<3x5xf32>) -> tensor<3x5xf32>)",
       "pad: lists have the wrong length, expected 2\n"},
      {R"("model.gather"(%scalar, %i) : (tensor<f32>, tensor<2xi32>) -> tensor<2xf32>)",
       "gather: operand #0 has the wrong extents, expected [v, c..] but got []\n"},
      {R"("model.layer_norm"(%scalar, %row, %row) {epsilon = 1.0e-5 : f64} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>))",
       "layer_norm: operand #0 has the wrong extents, expected [rows.., c] but got []\n"},
      {R"("model.rms_norm"(%scalar, %row) {epsilon = 1.0e-5 : f64} : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>))",
       "rms_norm: operand #0 has the wrong extents, expected [rows.., c] but got []\n"},
      {R"("model.logsumexp"(%scalar) : (tensor<f32>) -> tensor<f32>)",
       "logsumexp: operand #0 has the wrong extents, expected [rows.., c] but got []\n"},
      {R"("model.adaptive_avg_pool2d"(%x) {output = array<i64: 2, 3>} : (tensor<3x5xf32>) -> tensor<3x5xf32>)",
       "adaptive_avg_pool2d: x and output have the wrong ranks, expected 4 and 2 but got 2 and 2\n"},
  };
  for (auto [text, message] : rows)
    EXPECT_EQ(inferenceOf(text), message) << text;
}

} // namespace
} // namespace sluice::model::test
