//===- KernelCase.cpp - the kernels and sizes that are measured ---------------------------------===//
#include "tools/calibrate/KernelCase.h"

namespace sluice {
namespace {

using Items = std::vector<Attributes::Item>;
using Build = std::function<void(PreparedCase &)>;

Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }
Attributes::Item number(std::string_view name, double value) { return {name, 0, value, {}}; }
Attributes::Item list(std::string_view name, std::vector<std::int64_t> values) {
  return {name, 0, 0, std::move(values)};
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
  void add(const std::string &table, const std::string &kernel, std::array<double, 3> size, double flops,
           const std::vector<std::pair<Build, Items>> &forms) {
    KernelCase &added = cases.emplace_back();
    added.table = table;
    added.kernel = kernel;
    added.dtype = dtype;
    added.size = size;
    added.flops = flops;
    for (const auto &[build, items] : forms)
      added.forms.push_back([=](int threads) -> Result<std::unique_ptr<PreparedCase>> {
        auto prepared = std::make_unique<PreparedCase>();
        build(*prepared);
        SLUICE_RETURN_IF_ERROR(prepared->prepare(kernel == "*" ? "copy" : kernel, items, threads));
        return prepared;
      });
  }

  /// The three forms of a linear layer: forward, gradient of the input, gradient of the weight.
  void products() {
    const std::vector<std::int64_t> rows =
        isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{32, 128, 512, 2048};
    const std::vector<std::int64_t> sides =
        isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{64, 256, 1024, 4096};
    const DType t = dtype;
    for (std::int64_t m : rows)
      for (std::int64_t n : sides)
        for (std::int64_t k : sides) {
          if (m * n * k > std::int64_t(1) << 31)
            continue;
          std::vector<std::pair<Build, Items>> forms;
          for (int form : {0, 1, 2})
            forms.push_back({[=](PreparedCase &to) {
                               to.input(t, form == 2 ? Shape{k, m} : Shape{m, k});
                               to.input(t, form == 1 ? Shape{n, k} : Shape{k, n});
                               to.output(t, {m, n});
                             },
                             {integer("transpose_a", form == 2), integer("transpose_b", form == 1)}});
          add("products", "matmul", sizes(m, n, k), 2.0 * double(m) * double(n) * double(k), forms);
        }
    for (std::int64_t m : rows)
      for (std::int64_t k : isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{64, 256, 768}) {
        const std::int64_t n = 4 * k;
        add("products", "matmul_gelu", sizes(m, n, k), double(m) * double(n) * (2 * double(k) + 10),
            {{[=](PreparedCase &to) {
                to.input(t, {m, k}), to.input(t, {k, n}), to.input(t, {n});
                to.output(t, {m, n}), to.output(t, {m, n});
              },
              {integer("bias", 1)}}});
        add("products", "matmul_gelu_grad", sizes(m, n, k), double(m) * double(n) * (2 * double(k) + 18),
            {{[=](PreparedCase &to) {
                to.input(t, {m, k}), to.input(t, {n, k}), to.input(t, {m, n});
                to.output(t, {m, n});
              },
              {integer("transpose_b", 1)}}});
      }
  }

  void convolutions() {
    struct Image {
      std::int64_t batch, side, channels, features, window;
    };
    const DType t = dtype;
    for (const Image &i : isQuick ? std::vector<Image>{{1, 8, 8, 8, 3}}
                                  : std::vector<Image>{{2, 56, 64, 64, 3}, {2, 56, 64, 128, 1}, {2, 28, 128, 128, 3}}) {
      const Shape x = {i.batch, i.side, i.side, i.channels}, y = {i.batch, i.side, i.side, i.features},
                  weight = {i.features, i.channels, i.window, i.window};
      const Items window = {list("stride", {1, 1}), list("padding", {i.window / 2, i.window / 2}),
                            list("dilation", {1, 1})};
      const double rows = double(i.batch * i.side * i.side), depth = double(i.channels * i.window * i.window);
      const double flops = 2 * rows * double(i.features) * depth;
      // As CostModel counts the size of a product from the output and the FLOPs.
      add("products", "conv2d", {rows, double(i.features), depth}, flops,
          {{[=](PreparedCase &to) { to.input(t, x), to.input(t, weight), to.output(t, y); }, window}});
      add("products", "conv2d_input_grad", {rows, double(i.channels), double(i.features * i.window * i.window)}, flops,
          {{[=](PreparedCase &to) { to.input(t, y), to.input(t, weight), to.output(t, x); }, window}});
      add("products", "conv2d_weight_grad", {double(i.features * i.channels * i.window), double(i.window), rows}, flops,
          {{[=](PreparedCase &to) { to.input(t, y), to.input(t, x), to.output(t, weight); }, window}});
    }
  }

  void losses() {
    const DType t = dtype;
    for (std::int64_t tokens : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{128, 1024})
      for (std::int64_t vocabulary : isQuick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{256, 4096})
        for (std::int64_t width : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{128, 512}) {
          const double logits = double(tokens) * double(vocabulary);
          const Items rows = {integer("rows", std::min<std::int64_t>(tokens, 128))};
          add("products", "linear_cross_entropy", sizes(tokens, vocabulary, width), logits * (2 * double(width) + 4),
              {{[=](PreparedCase &to) {
                  to.input(t, {tokens, width}), to.input(t, {vocabulary, width}),
                      to.input(DType::i32, {tokens}, vocabulary);
                  to.output(DType::f32, {}), to.output(DType::f32, {tokens});
                },
                rows}});
          add("products", "linear_cross_entropy_and_grad", sizes(tokens, vocabulary, width),
              logits * (6 * double(width) + 7),
              {{[=](PreparedCase &to) {
                  to.input(t, {tokens, width}), to.input(t, {vocabulary, width});
                  to.input(DType::i32, {tokens}, vocabulary), to.input(DType::f32, {});
                  to.output(DType::f32, {}), to.output(DType::f32, {tokens});
                  to.output(t, {tokens, width}), to.output(t, {vocabulary, width});
                },
                rows}});
          add("products", "linear_cross_entropy_grad", sizes(tokens, vocabulary, width),
              logits * (6 * double(width) + 3),
              {{[=](PreparedCase &to) {
                  to.input(DType::f32, {}), to.input(t, {tokens, width}), to.input(t, {vocabulary, width});
                  to.input(DType::i32, {tokens}, vocabulary), to.input(DType::f32, {tokens});
                  to.output(t, {tokens, width}), to.output(t, {vocabulary, width});
                },
                rows}});
        }
  }

  void attention() {
    const DType t = dtype;
    for (std::int64_t tokens : isQuick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{32, 128, 512, 2048})
      for (std::int64_t size : isQuick ? std::vector<std::int64_t>{16} : std::vector<std::int64_t>{16, 32, 64, 128}) {
        const Shape q = {1, tokens, 4, size}, lse = {1, 4, tokens};
        const double pairs = 4 * double(tokens) * double(tokens + 1) / 2;
        const Items causal = {integer("causal", 1)};
        add("attention", "attention", {double(tokens), double(size), 1}, pairs * (4 * double(size) + 5),
            {{[=](PreparedCase &to) {
                to.input(t, q), to.input(t, q), to.input(t, q);
                to.output(t, q), to.output(DType::f32, lse);
              },
              causal}});
        add("attention", "attention_grad", {double(tokens), double(size), 1},
            pairs * (10 * double(size) + 5) + 8 * double(tokens) * double(size),
            {{[=](PreparedCase &to) {
                for (int i = 0; i < 5; ++i)
                  to.input(t, q);
                to.input(DType::f32, lse);
                for (int i = 0; i < 3; ++i)
                  to.output(t, q);
              },
              causal}});
      }
  }

  void stream(const std::string &kernel, const Build &build, const Items &items = {}) {
    add("streaming", kernel, {1, 1, 1}, 0, {{build, items}});
  }

  /// Kernels on tensors of `bytes`.
  void streaming(std::int64_t bytes) {
    const DType t = dtype;
    const auto elements = bytes / std::int64_t(dtypeBytes(t));
    const std::int64_t width = 256, rows = elements / width;
    const Shape x = {rows, width}, row = {width}, column = {rows};
    stream("*", [=](PreparedCase &to) { to.input(t, x), to.output(t, x); });
    for (const char *kernel : {"add", "subtract", "multiply", "divide"})
      stream(kernel, [=](PreparedCase &to) { to.input(t, x), to.input(t, x), to.output(t, x); });
    for (const char *kernel : {"gelu", "silu", "relu", "exp", "sigmoid", "softmax"})
      stream(kernel, [=](PreparedCase &to) { to.input(t, x), to.output(t, x); });
    stream("scale", [=](PreparedCase &to) { to.input(t, x), to.output(t, x); }, {number("factor", 0.5)});
    for (const char *kernel : {"gelu_grad", "silu_grad", "relu_grad", "softmax_grad", "swiglu"})
      stream(kernel, [=](PreparedCase &to) { to.input(t, x), to.input(t, x), to.output(t, x); });
    stream("swiglu_grad",
           [=](PreparedCase &to) { to.input(t, x), to.input(t, x), to.input(t, x), to.output(t, x), to.output(t, x); });
    const DType other = t == DType::f32 ? DType::bf16 : DType::f32;
    stream("cast", [=](PreparedCase &to) { to.input(t, x), to.output(other, x); });
    stream("concat", [=](PreparedCase &to) { to.input(t, x), to.input(t, x), to.output(t, {2 * rows, width}); });
    stream("constant", [=](PreparedCase &to) { to.output(t, x); });
    stream("dropout",
           [=](PreparedCase &to) {
             to.input(t, x), to.input(DType::i64, {}), to.input(DType::i64, {}), to.input(DType::i64, {}),
                 to.output(t, x);
           },
           {number("rate", 0.1)});
    stream("layer_norm", [=](PreparedCase &to) {
      to.input(t, x), to.input(t, row), to.input(t, row);
      to.output(t, x), to.output(DType::f32, column), to.output(DType::f32, column);
    });
    stream("layer_norm_grad", [=](PreparedCase &to) {
      to.input(t, x), to.input(t, x), to.input(t, row), to.input(DType::f32, column), to.input(DType::f32, column);
      to.output(t, x), to.output(t, row), to.output(t, row);
    });
    stream("rms_norm",
           [=](PreparedCase &to) { to.input(t, x), to.input(t, row), to.output(t, x), to.output(DType::f32, column); });
    stream("rms_norm_grad", [=](PreparedCase &to) {
      to.input(t, x), to.input(t, x), to.input(t, row), to.input(DType::f32, column);
      to.output(t, x), to.output(t, row);
    });
    const Shape heads = {1, std::max<std::int64_t>(1, rows), 4, width / 4};
    stream("rope", [=](PreparedCase &to) { to.input(t, heads), to.output(t, heads); }, {number("theta", 10000)});
    stream("reduce_sum", [=](PreparedCase &to) { to.input(t, x), to.output(t, row); }, {list("dims", {0})});
    stream("accumulate", [=](PreparedCase &to) { to.input(t, x), to.output(t, x); });
    stream("power_sum", [=](PreparedCase &to) { to.input(t, x), to.output(DType::f32, {}); });
    stream("all_finite", [=](PreparedCase &to) { to.input(t, x), to.output(DType::u8, {}); });
    stream("cross_entropy", [=](PreparedCase &to) {
      to.input(t, x), to.input(DType::i32, column, width), to.output(DType::f32, {}), to.output(DType::f32, column);
    });
    stream("cross_entropy_grad", [=](PreparedCase &to) {
      to.input(DType::f32, {}), to.input(t, x), to.input(DType::i32, column, width), to.input(DType::f32, column);
      to.output(t, x);
    });
    stream("embedding",
           [=](PreparedCase &to) { to.input(t, {256, width}), to.input(DType::i32, column, 256), to.output(t, x); });
    const double indices = 4.0 * double(rows), tensor = double(bytes);
    cases.back().bytes = indices + 2 * tensor;
    stream("embedding_grad",
           [=](PreparedCase &to) { to.input(t, x), to.input(DType::i32, column, 256), to.output(t, {256, width}); });
    cases.back().bytes = indices + 3 * tensor + double(256 * width) * double(dtypeBytes(t));
    for (const char *kernel : {"adamw", "adam"})
      stream(kernel, [=](PreparedCase &to) {
        const std::size_t parameter = to.input(DType::f32, x);
        to.input(t, x);
        const std::size_t first = to.input(DType::f32, x), second = to.input(DType::f32, x);
        to.input(DType::f32, {}), to.input(DType::i64, {}), to.input(DType::f32, {}), to.input(DType::u8, {});
        to.outputIn(parameter), to.outputIn(first), to.outputIn(second);
      });
    stream("sgd", [=](PreparedCase &to) {
      const std::size_t parameter = to.input(DType::f32, x);
      to.input(t, x);
      to.input(DType::f32, {}), to.input(DType::i64, {}), to.input(DType::f32, {}), to.input(DType::u8, {});
      to.outputIn(parameter);
    });
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
