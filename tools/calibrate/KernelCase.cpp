//===- KernelCase.cpp - the kernels and sizes that are measured ---------------------------------===//
#include "tools/calibrate/KernelCase.h"

#include "runtime/kernel/catalogue/LaunchDims.h"

#include <algorithm>

namespace sluice {
namespace {

using Items = std::vector<Attributes::Item>;
using Types = std::map<std::string_view, DType>;

Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }
Attributes::Item number(std::string_view name, double value) { return {name, 0, value, {}}; }
Attributes::Item list(std::string_view name, std::vector<std::int64_t> values) {
  return {name, 0, 0, std::move(values)};
}

/// The type of an operand in a launch on `common`.
DType typeOf(const OperandRecord &operand, DType common) {
  for (DType dtype : {common, DType::f32, DType::i32, DType::i64})
    if (operand.dtypes.has(dtype))
      return dtype;
  return DType::u8;
}

class CaseWriter {
public:
  CaseWriter(DType dtype, bool isQuick) : dtype(dtype), isQuick(isQuick) {}

  std::vector<KernelCase> write() {
    products();
    convolutions();
    losses();
    attention();
    for (double bytes :
         isQuick ? std::vector<double>{1 << 16} : std::vector<double>{1 << 14, 1 << 18, 1 << 21, 1 << 25})
      streaming(static_cast<std::int64_t>(bytes));
    return std::move(cases);
  }

private:
  /// A point on operands whose names in the record's signature have these extents, as the mean of launches with each of
  /// the lists of attributes. `types`: of operands that do not have the case's.
  void add(const std::string &table, const std::string &kernel, std::array<double, 3> size, double flops,
           const NamedExtents &names, const std::vector<Items> &forms = {{}}, const Types &types = {}) {
    KernelCase &added = cases.emplace_back();
    added.table = table;
    added.kernel = kernel;
    added.dtype = dtype;
    added.size = size;
    added.flops = flops;
    for (const Items &items : forms)
      added.forms.push_back([=, dtype = dtype](int threads) {
        return prepare(kernel == "*" ? "copy" : kernel, names, items, types, dtype, threads);
      });
  }

  static Result<std::unique_ptr<PreparedCase>> prepare(const std::string &kernel, const NamedExtents &names,
                                                       const Items &items, const Types &types, DType common,
                                                       int threads) {
    const KernelRecord &record = *findKernelRecord(kernel);
    const LaunchExtents launch = launchExtents(record, Attributes(items), names);
    const auto type = [&](const OperandRecord &operand) {
      const auto own = types.find(operand.name);
      return own == types.end() ? typeOf(operand, common) : own->second;
    };
    const auto vocabulary = names.find("v");
    auto prepared = std::make_unique<PreparedCase>();
    for (const OperandExtents &input : launch.inputs)
      prepared->input(type(*input.record), input.extents,
                      vocabulary == names.end() || input.extents.empty() ? 1 : vocabulary->second.front());
    for (const OperandExtents &output : launch.outputs) {
      const auto sameMemory = std::ranges::find(record.mustAlias, output.record->name, &AliasRecord::output);
      const auto input = std::ranges::find_if(launch.inputs, [&](const OperandExtents &each) {
        return sameMemory != record.mustAlias.end() && each.record->name == sameMemory->input;
      });
      if (input == launch.inputs.end())
        prepared->output(type(*output.record), output.extents);
      else
        prepared->outputIn(std::size_t(input - launch.inputs.begin()));
    }
    SLUICE_RETURN_IF_ERROR(prepared->prepare(kernel, items, threads));
    return prepared;
  }

  /// The three forms of a linear layer: forward, gradient of the input, gradient of the weight.
  void products() {
    const std::vector<std::int64_t> rows =
        isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{32, 128, 512, 2048};
    const std::vector<std::int64_t> sides =
        isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{64, 256, 1024, 4096};
    const auto names = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      return NamedExtents{{"b", {}}, {"m", {m}}, {"n", {n}}, {"k", {k}}};
    };
    for (std::int64_t m : rows)
      for (std::int64_t n : sides)
        for (std::int64_t k : sides)
          if (m * n * k <= std::int64_t(1) << 31)
            add("products", "matmul", sizes(m, n, k), 2.0 * double(m) * double(n) * double(k), names(m, n, k),
                {{}, {integer("transpose_b", 1)}, {integer("transpose_a", 1)}});
    for (std::int64_t m : rows)
      for (std::int64_t k : isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{64, 256, 768}) {
        const std::int64_t n = 4 * k;
        add("products", "matmul_gelu", sizes(m, n, k), double(m) * double(n) * (2 * double(k) + 10), names(m, n, k),
            {{integer("bias", 1)}});
        add("products", "matmul_gelu_grad", sizes(m, n, k), double(m) * double(n) * (2 * double(k) + 18),
            names(m, n, k), {{integer("transpose_b", 1)}});
      }
  }

  void convolutions() {
    struct Image {
      std::int64_t batch, side, channels, features, window;
    };
    for (const Image &i : isQuick ? std::vector<Image>{{1, 8, 8, 8, 3}}
                                  : std::vector<Image>{{2, 56, 64, 64, 3}, {2, 56, 64, 128, 1}, {2, 28, 128, 128, 3}}) {
      const NamedExtents names = {{"n", {i.batch}},  {"h", {i.side}},     {"w", {i.side}},     {"v", {i.side}},
                                  {"u", {i.side}},   {"i", {i.channels}}, {"g", {i.channels}}, {"o", {i.features}},
                                  {"p", {i.window}}, {"q", {i.window}}};
      const std::vector<Items> window = {
          {list("stride", {1, 1}), list("padding", {i.window / 2, i.window / 2}), list("dilation", {1, 1})}};
      const double rows = double(i.batch * i.side * i.side), depth = double(i.channels * i.window * i.window);
      const double flops = 2 * rows * double(i.features) * depth;
      // As CostModel counts the size of a product from the output and the FLOPs.
      add("products", "conv2d", {rows, double(i.features), depth}, flops, names, window);
      add("products", "conv2d_input_grad", {rows, double(i.channels), double(i.features * i.window * i.window)}, flops,
          names, window);
      add("products", "conv2d_weight_grad", {double(i.features * i.channels * i.window), double(i.window), rows}, flops,
          names, window);
    }
  }

  void losses() {
    for (std::int64_t tokens : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{128, 1024})
      for (std::int64_t vocabulary : isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{256, 4096})
        for (std::int64_t width : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{128, 512}) {
          const double logits = double(tokens) * double(vocabulary);
          const NamedExtents names = {{"rows", {tokens}}, {"c", {width}}, {"v", {vocabulary}}};
          for (auto [kernel, flops] : {std::pair("linear_cross_entropy", 2 * double(width) + 4),
                                       {"linear_cross_entropy_and_grad", 6 * double(width) + 7},
                                       {"linear_cross_entropy_grad", 6 * double(width) + 3}})
            add("products", kernel, sizes(tokens, vocabulary, width), logits * flops, names,
                {{integer("rows", std::min<std::int64_t>(tokens, 128))}});
        }
  }

  void attention() {
    for (std::int64_t tokens : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{32, 128, 512, 2048})
      for (std::int64_t size : isQuick ? std::vector<std::int64_t>{16} : std::vector<std::int64_t>{16, 32, 64, 128}) {
        const NamedExtents names = {{"b", {1}}, {"t", {tokens}}, {"s", {tokens}},
                                    {"g", {4}}, {"h", {1}},      {"d", {size}}};
        const double pairs = 4 * double(tokens) * double(tokens + 1) / 2;
        add("attention", "attention", {double(tokens), double(size), 1}, pairs * (4 * double(size) + 5), names,
            {{integer("causal", 1)}});
        add("attention", "attention_grad", {double(tokens), double(size), 1},
            pairs * (10 * double(size) + 5) + 8 * double(tokens) * double(size), names, {{integer("causal", 1)}});
      }
  }

  /// Kernels on tensors of `bytes`.
  void streaming(std::int64_t bytes) {
    const auto elements = bytes / std::int64_t(dtypeBytes(dtype));
    const std::int64_t width = 256, rows = elements / width;
    const NamedExtents names = {{"all", {rows, width}},
                                {"to", {rows, width}},
                                {"rows", {rows}},
                                {"c", {width}},
                                {"v", {width}},
                                {"i", {rows}},
                                {"b", {1}},
                                {"t", {std::max<std::int64_t>(1, rows)}},
                                {"h", {4}},
                                {"d", {width / 4}}};
    const auto stream = [&](const char *kernel, const Items &items = {}, const Types &types = {}) {
      add("streaming", kernel, {1, 1, 1}, 0, names, {items}, types);
    };
    for (const char *kernel :
         {"*", "add", "subtract", "multiply", "divide", "gelu", "silu", "relu", "exp", "sigmoid", "softmax"})
      stream(kernel);
    stream("scale", {number("factor", 0.5)});
    for (const char *kernel : {"gelu_grad", "silu_grad", "relu_grad", "softmax_grad", "swiglu", "swiglu_grad"})
      stream(kernel);
    stream("cast", {}, {{"y", dtype == DType::f32 ? DType::bf16 : DType::f32}});
    stream("concat");
    stream("constant");
    stream("dropout", {number("rate", 0.1)});
    for (const char *kernel : {"layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad"})
      stream(kernel);
    stream("rope", {number("theta", 10000)});
    stream("reduce_sum", {list("dims", {0})});
    for (const char *kernel : {"accumulate", "power_sum", "all_finite", "cross_entropy", "cross_entropy_grad"})
      stream(kernel);
    const double indices = 4.0 * double(rows), tensor = double(bytes);
    stream("embedding");
    cases.back().bytes = indices + 2 * tensor;
    stream("embedding_grad");
    cases.back().bytes = indices + 3 * tensor + double(256 * width) * double(dtypeBytes(dtype));
    const Types states = {{"parameter", DType::f32}, {"exp_avg", DType::f32}, {"exp_avg_sq", DType::f32}};
    stream("adamw", {}, states);
    stream("adam", {}, states);
    stream("sgd", {number("momentum", 0)}, states);
  }

  static std::array<double, 3> sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {double(m), double(n), double(k)};
  }

  const DType dtype;
  const bool isQuick;
  std::vector<KernelCase> cases;
};

} // namespace

std::vector<KernelCase> kernelCases(DType dtype, bool isQuick) { return CaseWriter(dtype, isQuick).write(); }

} // namespace sluice
