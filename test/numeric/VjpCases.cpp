//===- VjpCases.cpp - one function for each differentiable op -----------------------------===//
//
// test/unit/dialect/model/OpCoverageTest.cpp reads this file to find the ops that have a case: an op's name is in
// quotes.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/VjpCases.h"

#include <cmath>

namespace sluice::numeric {
namespace {

std::string given(Function &f, TensorMap &inputs, const std::string &name, std::vector<std::int64_t> shape,
                  double scale = 1.0, double shift = 0.0) {
  Tensor tensor = uniform("f64", shape, inputs.size() + 11);
  for (double &value : tensor.values)
    value = value * scale + shift;
  inputs[name] = tensor;
  return f.input(name, tensor.shape, "f64");
}

std::string indices(Function &f, TensorMap &inputs, const std::string &name, std::vector<std::int64_t> shape,
                    int limit) {
  Tensor tensor = uniform("f64", shape, inputs.size() + 5);
  for (double &value : tensor.values)
    value = std::floor((value + 1) / 2 * limit);
  inputs[name] = withType(tensor, "i32");
  return f.input(name, shape, "i32");
}

VjpCase unary(const std::string &op, double scale, double shift) {
  return {op,
          [=](Function &f, TensorMap &inputs) {
            std::string x = given(f, inputs, "x", {3, 5}, scale, shift);
            f.output("y", f.op(op, {x}, "", "tensor<3x5xf64>"));
          },
          {"x"}};
}

VjpCase binary(const std::string &op) {
  return {op,
          [=](Function &f, TensorMap &inputs) {
            std::string a = given(f, inputs, "a", {3, 1, 5}), b = given(f, inputs, "b", {4, 5}, 0.5, 2.0);
            f.output("y", f.op(op, {a, b}, "", "tensor<3x4x5xf64>"));
          },
          {"a", "b"}};
}

VjpCase matmul(const std::string &name, std::vector<std::int64_t> a, std::vector<std::int64_t> b,
               const std::string &attributes, const std::string &result, bool bias, bool residual) {
  return {name,
          [=](Function &f, TensorMap &inputs) {
            std::string text = given(f, inputs, "a", a) + ", " + given(f, inputs, "b", b);
            std::string types = f.type("%a") + ", " + f.type("%b");
            std::int64_t columns = 5;
            if (bias) {
              text += " bias(" + given(f, inputs, "bias", {columns}) + ")";
              types += ", " + f.type("%bias");
            }
            if (residual) {
              text += " residual(" + given(f, inputs, "residual", {2, 3, 5}) + ")";
              types += ", " + f.type("%residual");
            }
            f.output("y", f.raw("matmul " + text + " " + attributes + " : (" + types + ") -> " + result, result));
          },
          bias ? (residual ? std::vector<std::string>{"a", "b", "bias", "residual"}
                           : std::vector<std::string>{"a", "b", "bias"})
               : std::vector<std::string>{"a", "b"}};
}

VjpCase movement(const std::string &op, const std::string &attributes, const std::string &result) {
  return {op,
          [=](Function &f, TensorMap &inputs) {
            f.output("y", f.op(op, {given(f, inputs, "x", {2, 3, 4})}, attributes, result));
          },
          {"x"}};
}

VjpCase attention(const std::string &name, std::int64_t heads, std::int64_t groups, const std::string &attributes,
                  std::int64_t keys = 4) {
  return {name,
          [=](Function &f, TensorMap &inputs) {
            std::string q = given(f, inputs, "q", {2, 4, heads, 3}), k = given(f, inputs, "k", {2, keys, groups, 3}),
                        v = given(f, inputs, "v", {2, keys, groups, 3});
            f.output("out", f.ops("attention", {q, k, v}, attributes,
                                  {tensorType({2, 4, heads, 3}, "f64"), tensorType({2, heads, 4}, "f64")})[0]);
          },
          {"q", "k", "v"},
          true};
}

/// Seed, step and row, which fix a mask.
void addRandomSource(Function &f, TensorMap &inputs, std::vector<std::string> &operands) {
  for (auto [name, value] : {std::pair("seed", 5.0), {"step", 2.0}, {"row", 8.0}}) {
    inputs[name] = {"i64", {}, {value}};
    operands.push_back(f.input(name, {}, "i64"));
  }
}

VjpCase attentionWithDropout(const std::string &name, const std::string &attributes, bool isBiased) {
  std::vector<std::string> names{"q", "k", "v"};
  if (isBiased)
    names.push_back("bias");
  return {name,
          [=](Function &f, TensorMap &inputs) {
            std::vector<std::string> operands{given(f, inputs, "q", {2, 4, 4, 3}), given(f, inputs, "k", {2, 4, 2, 3}),
                                              given(f, inputs, "v", {2, 4, 2, 3})};
            if (isBiased)
              operands.push_back(given(f, inputs, "bias", {1, 4, 4, 4}));
            addRandomSource(f, inputs, operands);
            f.output("out", f.ops("attention", operands, attributes,
                                  {tensorType({2, 4, 4, 3}, "f64"), tensorType({2, 4, 4}, "f64")})[0]);
          },
          names, true};
}

/// The documents of two rows of four tokens.
std::string givenDocuments(Function &f, TensorMap &inputs) {
  inputs["documents"] = {"i32", {2, 4}, {0, 1, 1, 1, 0, 0, 2, 3}};
  return f.input("documents", {2, 4}, "i32");
}

VjpCase packedAttention(const std::string &name, const std::string &attributes) {
  return {name,
          [=](Function &f, TensorMap &inputs) {
            const std::vector<std::string> operands{given(f, inputs, "q", {2, 4, 4, 3}),
                                                    given(f, inputs, "k", {2, 4, 2, 3}),
                                                    given(f, inputs, "v", {2, 4, 2, 3}), givenDocuments(f, inputs)};
            f.output("out", f.ops("attention", operands, attributes,
                                  {tensorType({2, 4, 4, 3}, "f64"), tensorType({2, 4, 4}, "f64")})[0]);
          },
          {"q", "k", "v"},
          true};
}

VjpCase packedRope() {
  return {"rope_packed",
          [=](Function &f, TensorMap &inputs) {
            const std::string x = given(f, inputs, "x", {2, 4, 2, 8});
            f.output("y", f.op("rope", {x, givenDocuments(f, inputs)}, "{theta = 100.0, packed, position = 1 : i64}",
                               "tensor<2x4x2x8xf64>"));
          },
          {"x"},
          true};
}

/// Under a bias and, if `isMasked`, under a mask that hides all keys of the first row of the batch.
VjpCase biasedAttention(const std::string &name, std::vector<std::int64_t> bias, bool isMasked,
                        const std::string &attributes) {
  return {name,
          [=](Function &f, TensorMap &inputs) {
            std::vector<std::string> operands{given(f, inputs, "q", {2, 4, 4, 3}), given(f, inputs, "k", {2, 4, 2, 3}),
                                              given(f, inputs, "v", {2, 4, 2, 3})};
            if (isMasked) {
              Tensor keys = uniform("f64", {2, 1, 1, 4}, 3);
              keys.values = {0, 0, 0, 0, 1, 0, 1, 1};
              inputs["keys"] = withType(keys, "i32");
              const std::string zero = f.create("constant", "0.0", "tensor<i32>");
              operands.push_back(f.op("compare", {f.input("keys", {2, 1, 1, 4}, "i32"), zero},
                                      "{predicate = #model.predicate<ne>}", "tensor<2x1x1x4xui8>"));
            }
            operands.push_back(given(f, inputs, "bias", bias));
            f.output("out", f.ops("attention", operands, attributes,
                                  {tensorType({2, 4, 4, 3}, "f64"), tensorType({2, 4, 4}, "f64")})[0]);
          },
          {"q", "k", "v", "bias"},
          true};
}

VjpCase convolution(const std::string &name, std::vector<std::int64_t> weight, const std::string &attributes,
                    const std::string &result) {
  return {name,
          [=](Function &f, TensorMap &inputs) {
            std::string x = given(f, inputs, "x", {2, 5, 6, 4}), w = given(f, inputs, "w", weight),
                        b = given(f, inputs, "b", {weight[0]});
            f.output("y", f.op("conv2d", {x, w, b}, attributes, result));
          },
          {"x", "w", "b"}};
}

/// The last rows of the result are beyond the last window.
VjpCase transposedConvolution() {
  return {"conv2d_input_grad",
          [](Function &f, TensorMap &inputs) {
            std::string y = given(f, inputs, "y", {2, 3, 3, 6}), w = given(f, inputs, "w", {6, 2, 2, 3});
            f.output("x", f.op("conv2d_input_grad", {y, w},
                               "{groups = 2 : i64, padding = array<i64: 1, 2>, dilation = array<i64: 2, 1>, "
                               "stride = array<i64: 2, 3>}",
                               "tensor<2x6x6x4xf64>"));
          },
          {"y", "w"}};
}

VjpCase pooling(const std::string &op, const std::string &attributes, const std::string &result) {
  return {op,
          [=](Function &f, TensorMap &inputs) {
            f.output("y", f.op(op, {given(f, inputs, "x", {1, 5, 6, 2})}, attributes, result));
          },
          {"x"}};
}

std::vector<VjpCase> imageCases() {
  const std::string one = "padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, stride = array<i64: 1, 1>";
  const std::string window = "kernel = array<i64: 3, 2>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1>";
  std::vector<VjpCase> list = {
      convolution("conv2d", {3, 4, 3, 2}, "{" + one + "}", "tensor<2x3x5x3xf64>"),
      convolution(
          "conv2d_groups", {6, 2, 2, 3},
          "{groups = 2 : i64, padding = array<i64: 1, 2>, dilation = array<i64: 2, 1>, stride = array<i64: 2, 3>}",
          "tensor<2x3x3x6xf64>"),
      transposedConvolution(),
      pooling("max_pool2d", "{" + window + "}", "tensor<1x3x7x2xf64>"),
      pooling("avg_pool2d", "{" + window + ", without_padding}", "tensor<1x3x7x2xf64>"),
      pooling("adaptive_avg_pool2d", "{output = array<i64: 2, 4>}", "tensor<1x2x4x2xf64>")};
  list.push_back({"batch_norm",
                  [](Function &f, TensorMap &inputs) {
                    std::string x = given(f, inputs, "x", {2, 3, 2, 4}), w = given(f, inputs, "w", {4}),
                                b = given(f, inputs, "b", {4});
                    f.output("y", f.ops("batch_norm", {x, w, b}, "{epsilon = 1.0e-5}",
                                        {"tensor<2x3x2x4xf64>", "tensor<4xf64>", "tensor<4xf64>"})[0]);
                  },
                  {"x", "w", "b"},
                  true});
  return list;
}

} // namespace

std::vector<VjpCase> vjpCases() {
  std::vector<VjpCase> list = {
      binary("add"),
      binary("subtract"),
      binary("multiply"),
      binary("divide"),
      binary("maximum"),
      unary("negate", 1, 0),
      unary("exp", 1, 0),
      unary("log", 0.5, 2),
      unary("tanh", 1, 0),
      unary("erf", 1, 0),
      unary("sqrt", 0.5, 2),
      unary("rsqrt", 0.5, 2),
      unary("relu", 1, 0.001),
      movement("scale", "{factor = 1.5}", "tensor<2x3x4xf64>"),
      movement("all_reduce", "{reduction = #model.reduction<sum>}", "tensor<2x3x4xf64>"),
      movement("all_gather", "", "tensor<2x3x4xf64>"),
      movement("reduce_scatter", "", "tensor<2x3x4xf64>"),
      movement("reshape", "", "tensor<6x4xf64>"),
      movement("broadcast", "", "tensor<5x2x3x4xf64>"),
      movement("transpose", "{permutation = array<i64: 2, 0, 1>}", "tensor<4x2x3xf64>"),
      movement("slice", "{start = array<i64: 0, 1, 0>, limit = array<i64: 2, 3, 4>, step = array<i64: 1, 1, 2>}",
               "tensor<2x2x2xf64>"),
      movement("pad",
               "{low = array<i64: 1, 0, 0>, high = array<i64: 0, 2, 0>, step = array<i64: 1, 1, 2>, value = 0.5}",
               "tensor<3x5x7xf64>"),
      movement("reduce_sum", "{dims = array<i64: 0, 2>}", "tensor<3xf64>"),
      movement("reduce_mean", "{dims = array<i64: 1>, keep}", "tensor<2x1x4xf64>"),
      movement("reduce_max", "{dims = array<i64: 2>}", "tensor<2x3xf64>"),
      matmul("matmul", {2, 3, 4}, {4, 5}, "", "tensor<2x3x5xf64>", false, false),
      matmul("matmul_batched", {2, 3, 4}, {2, 5, 4}, "{transpose_rhs}", "tensor<2x3x5xf64>", false, false),
      matmul("matmul_transposed", {2, 4, 3}, {4, 5}, "{transpose_lhs}", "tensor<2x3x5xf64>", false, false),
      matmul("matmul_both_transposed", {2, 4, 3}, {2, 5, 4}, "{transpose_lhs, transpose_rhs}", "tensor<2x3x5xf64>",
             false, false),
      matmul("matmul_fused", {2, 3, 4}, {4, 5}, "", "tensor<2x3x5xf64>", true, true),
      attention("attention", 2, 2, "{scale = 0.5, causal}"),
      attention("attention_full", 2, 1, "{scale = 0.7}"),
      attention("attention_cross", 4, 2, "{scale = 0.7}", 7),
      attention("attention_window", 4, 2, "{scale = 0.5, causal, window = 2 : i64}"),
      biasedAttention("attention_bias", {1, 4, 4, 4}, false, "{scale = 0.7, biased}"),
      biasedAttention("attention_bias_of_keys", {2, 1, 1, 4}, true, "{scale = 0.7, biased, masked}"),
      biasedAttention("attention_bias_causal", {1, 1, 4, 4}, true, "{scale = 0.7, biased, causal, masked}"),
      packedAttention("attention_packed", "{scale = 0.7, packed}"),
      packedAttention("attention_packed_causal", "{scale = 0.7, causal, packed, window = 2 : i64}"),
      packedRope(),
      attentionWithDropout("attention_dropout", "{scale = 0.7, causal, dropout = 0.4, key = 1 : i64}", false),
      attentionWithDropout("attention_dropout_bias", "{scale = 0.7, biased, dropout = 0.4, key = 1 : i64}", true),
      unary("sin", 3, 0),
      unary("cos", 3, 0)};
  const std::pair<const char *, const char *> ropes[] = {
      {"default", "{theta = 100.0}"},
      {"divisors", "{theta = 100.0, position = 3 : i64, divisors = array<i64: 4294967296, 6442450944, 8589934592, "
                   "42949672960>}"},
      {"linear", "{theta = 100.0, position = 3 : i64, scaling = #model.scaling<linear>, factor = 2.5}"},
      {"llama3", "{theta = 100.0, position = 9 : i64, inverse, scaling = #model.scaling<llama3>, factor = 8.0, low = "
                 "1.0, high = 4.0, "
                 "original = 32.0}"}};
  for (auto [form, attributes] : ropes)
    list.push_back({std::string("rope_") + form,
                    [attributes = attributes](Function &f, TensorMap &inputs) {
                      f.output("y",
                               f.op("rope", {given(f, inputs, "x", {2, 3, 2, 8})}, attributes, "tensor<2x3x2x8xf64>"));
                    },
                    {"x"},
                    true});
  list.push_back({"silu",
                  [](Function &f, TensorMap &inputs) {
                    f.output("y", f.op("silu", {given(f, inputs, "x", {4, 5}, 3)}, "", "tensor<4x5xf64>"));
                  },
                  {"x"},
                  true});
  list.push_back({"swiglu",
                  [](Function &f, TensorMap &inputs) {
                    std::string gate = given(f, inputs, "gate", {4, 5}, 3), up = given(f, inputs, "up", {4, 5});
                    f.output("y", f.op("swiglu", {gate, up}, "", "tensor<4x5xf64>"));
                  },
                  {"gate", "up"},
                  true});
  list.push_back(
      {"rms_norm",
       [](Function &f, TensorMap &inputs) {
         std::string x = given(f, inputs, "x", {2, 3, 5}), w = given(f, inputs, "w", {5});
         f.output("y", f.ops("rms_norm", {x, w}, "{epsilon = 1.0e-5}", {"tensor<2x3x5xf64>", "tensor<2x3xf64>"})[0]);
       },
       {"x", "w"},
       true});
  for (auto &item : imageCases())
    list.push_back(item);
  for (const VjpCase &item : {unary("sigmoid", 2, 0), unary("softplus", 2, 0)})
    list.push_back(item);
  list.push_back(movement("power", "{exponent = 3.0}", "tensor<2x3x4xf64>"));
  list.push_back(movement("logsumexp", "", "tensor<2x3xf64>"));
  list.back().composite = true;
  list.push_back({"take_along",
                  [](Function &f, TensorMap &inputs) {
                    std::string x = given(f, inputs, "x", {2, 5, 3}), index = indices(f, inputs, "index", {2, 4, 2}, 5);
                    f.output("y", f.op("take_along", {x, index}, "{dim = 1 : i64}", "tensor<2x4x2xf64>"));
                  },
                  {"x"}});
  list.push_back({"add_along",
                  [](Function &f, TensorMap &inputs) {
                    std::string x = given(f, inputs, "x", {2, 4, 2}), index = indices(f, inputs, "index", {2, 4, 2}, 5);
                    f.output("y", f.op("add_along", {x, index}, "{dim = 1 : i64}", "tensor<2x5x3xf64>"));
                  },
                  {"x"}});
  list.push_back({"select",
                  [](Function &f, TensorMap &inputs) {
                    std::string a = given(f, inputs, "a", {3, 4}), b = given(f, inputs, "b", {4}, 0.5, 0.2);
                    std::string less = f.op("compare", {a, b}, "{predicate = #model.predicate<lt>}", "tensor<3x4xui8>");
                    f.output("y", f.op("select", {less, a, b}, "", "tensor<3x4xf64>"));
                  },
                  {"a", "b"}});
  list.push_back({"concat",
                  [](Function &f, TensorMap &inputs) {
                    std::string a = given(f, inputs, "a", {2, 3}), b = given(f, inputs, "b", {2, 1});
                    f.output("y", f.op("concat", {a, b, a}, "{dim = 1 : i64}", "tensor<2x7xf64>"));
                  },
                  {"a", "b"}});
  list.push_back({"split",
                  [](Function &f, TensorMap &inputs) {
                    auto parts = f.ops("split", {given(f, inputs, "x", {2, 6})}, "{dim = 1 : i64}",
                                       {"tensor<2x2xf64>", "tensor<2x3xf64>", "tensor<2x1xf64>"});
                    f.output("first", parts[0]);
                    f.output("last", f.op("exp", {parts[2]}, "", "tensor<2x1xf64>"));
                  },
                  {"x"}});
  list.push_back({"gather",
                  [](Function &f, TensorMap &inputs) {
                    std::string table = given(f, inputs, "table", {5, 3}),
                                index = indices(f, inputs, "index", {2, 4}, 5);
                    f.output("y", f.op("gather", {table, index}, "", "tensor<2x4x3xf64>"));
                  },
                  {"table"}});
  list.push_back({"scatter_add",
                  [](Function &f, TensorMap &inputs) {
                    std::string rows = given(f, inputs, "rows", {4, 3}), index = indices(f, inputs, "index", {4}, 5);
                    f.output("y", f.op("scatter_add", {rows, index}, "", "tensor<5x3xf64>"));
                  },
                  {"rows"}});
  list.push_back({"layer_norm",
                  [](Function &f, TensorMap &inputs) {
                    std::string x = given(f, inputs, "x", {2, 3, 5}), w = given(f, inputs, "w", {5}),
                                b = given(f, inputs, "b", {5});
                    f.output("y", f.ops("layer_norm", {x, w, b}, "{epsilon = 1.0e-5}",
                                        {"tensor<2x3x5xf64>", "tensor<2x3xf64>", "tensor<2x3xf64>"})[0]);
                  },
                  {"x", "w", "b"},
                  true});
  list.push_back({"softmax",
                  [](Function &f, TensorMap &inputs) {
                    f.output("y", f.op("softmax", {given(f, inputs, "x", {2, 3, 5}, 3)}, "", "tensor<2x3x5xf64>"));
                  },
                  {"x"},
                  true});
  for (const char *form : {"none", "tanh"})
    list.push_back({std::string("gelu_") + form,
                    [form](Function &f, TensorMap &inputs) {
                      f.output("y", f.op("gelu", {given(f, inputs, "x", {4, 5}, 3)},
                                         std::string("{approximate = #model.approximation<") + form + ">}",
                                         "tensor<4x5xf64>"));
                    },
                    {"x"},
                    true});
  // Cotangents of y only, and of both results.
  for (bool both : {false, true})
    list.push_back({std::string("matmul_gelu") + (both ? "_of_both" : "_of_y"),
                    [both](Function &f, TensorMap &inputs) {
                      std::string a = given(f, inputs, "a", {2, 3, 4}), w = given(f, inputs, "w", {5, 4});
                      auto results =
                          f.ops("matmul_gelu", {a, w}, "{transpose_rhs}", {"tensor<2x3x5xf64>", "tensor<2x3x5xf64>"});
                      f.output("y", both ? f.op("multiply", results, "", "tensor<2x3x5xf64>") : results[1]);
                    },
                    {"a", "w"},
                    true});
  list.push_back({"embedding",
                  [](Function &f, TensorMap &inputs) {
                    std::string table = given(f, inputs, "table", {5, 3}),
                                index = indices(f, inputs, "index", {2, 4}, 5);
                    f.output("y", f.op("embedding", {table, index}, "", "tensor<2x4x3xf64>"));
                  },
                  {"table"},
                  true});
  // The mask is fixed by its seed, step and row.
  list.push_back({"dropout",
                  [](Function &f, TensorMap &inputs) {
                    std::string x = given(f, inputs, "x", {4, 5});
                    std::vector<std::string> operands = {x};
                    addRandomSource(f, inputs, operands);
                    f.output("y", f.op("dropout", operands, "{key = 1 : i64, rate = 0.4 : f64}", "tensor<4x5xf64>"));
                  },
                  {"x"}});
  // Chunks of 4 rows and of 2.
  for (const char *form : {"mean", "sum"})
    list.push_back(
        {std::string("linear_cross_entropy_") + form,
         [form](Function &f, TensorMap &inputs) {
           std::string x = given(f, inputs, "x", {6, 3}, 3), w = given(f, inputs, "w", {5, 3}),
                       target = indices(f, inputs, "target", {6}, 5);
           inputs["target"].values[4] = 7;
           f.output("loss", f.ops("linear_cross_entropy", {x, w, target},
                                  std::string("{rows = 4 : i64, ignore_index = 7 : i64, label_smoothing = 0.3 : f64, "
                                              "reduction = #model.reduction<") +
                                      form + ">}",
                                  {"tensor<f64>", "tensor<6xf64>"})[0]);
         },
         {"x", "w"},
         true});
  for (const char *form : {"mean", "sum"})
    list.push_back({std::string("cross_entropy_smooth_") + form,
                    [form](Function &f, TensorMap &inputs) {
                      std::string logits = given(f, inputs, "logits", {6, 5}, 3),
                                  target = indices(f, inputs, "target", {6}, 5);
                      inputs["target"].values[2] = inputs["target"].values[4] = 7;
                      f.output("loss", f.ops("cross_entropy", {logits, target},
                                             std::string("{reduction = #model.reduction<") + form +
                                                 ">, ignore_index = 7 : i64, label_smoothing = 0.3 : f64}",
                                             {"tensor<f64>", "tensor<6xf64>"})[0]);
                    },
                    {"logits"},
                    true});
  for (const char *form : {"mean", "sum"})
    list.push_back({std::string("cross_entropy_") + form,
                    [form](Function &f, TensorMap &inputs) {
                      std::string logits = given(f, inputs, "logits", {6, 5}, 3),
                                  target = indices(f, inputs, "target", {6}, 5);
                      f.output("loss", f.ops("cross_entropy", {logits, target},
                                             std::string("{reduction = #model.reduction<") + form + ">}",
                                             {"tensor<f64>", "tensor<6xf64>"})[0]);
                    },
                    {"logits"},
                    true});
  return list;
}

} // namespace sluice::numeric
