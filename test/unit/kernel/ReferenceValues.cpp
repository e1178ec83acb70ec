//===- ReferenceValues.cpp - the kernels against values of PyTorch -----------------===//
//
// test/reference/ops has values and gradients of single operations, computed by PyTorch in f64; SLUICE_REFERENCE names
// a different folder of that form. Both flavours of each kernel must be within a few units of f32 rounding times the
// size of the terms.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::test;

namespace {

std::string folder() {
  const char *other = std::getenv("SLUICE_REFERENCE");
  return (other ? std::string(other) : std::string(SLUICE_SOURCE_DIR) + "/test/reference") + "/ops/";
}

struct Case {
  std::string name;
  nlohmann::json attributes;
  std::map<std::string, StoredTensor> stored;
  KernelFlavour flavour;

  bool has(const std::string &tensor) const { return stored.count(tensor) != 0; }
  std::vector<double> reference(const std::string &tensor) const {
    const StoredTensor &t = stored.at(tensor);
    std::vector<double> values(t.bytes.size() / 8);
    std::memcpy(values.data(), t.bytes.data(), t.bytes.size());
    return values;
  }
  /// As an operand of `dtype` (integers of the file have 64 bits).
  Tensor operator[](const std::string &tensor) const {
    const StoredTensor &t = stored.at(tensor);
    const std::map<std::string, DType> types = {
        {"F32", DType::f32}, {"F64", DType::f64}, {"I64", DType::i64}, {"BF16", DType::bf16}, {"BOOL", DType::u8}};
    DType dtype = types.at(t.dtype);
    Tensor result(dtype, t.shape);
    std::memcpy(result.bound().data, t.bytes.data(), t.bytes.size());
    return result;
  }
  Tensor like(const std::string &tensor, DType dtype = DType::f32) const {
    return Tensor(dtype, stored.at(tensor).shape);
  }
  Tensor targets(const std::string &tensor) const {
    Tensor wide = (*this)[tensor], narrow(DType::i32, stored.at(tensor).shape);
    return narrow.fill(wide.values());
  }
  void run(const std::string &kernel, std::vector<Tensor *> in, std::vector<Tensor *> out,
           std::vector<Attributes::Item> items = {}) const {
    mustRun({kernel, flavour, 1, std::move(items)}, std::move(in), std::move(out));
  }
  /// `size`: the size of the terms, if it is larger than the result shows.
  void expect(const Tensor &got, const std::string &tensor, double size = 0) const {
    auto want = reference(tensor);
    expectNear(got, want, 3e-7, 3e-7 * std::max(size, 1.0) * std::max(magnitude(want), size > 0 ? 0.3 : 1e-3),
               name + " " + tensor);
  }
};

/// Calls body(case) for every case of `operation`, both flavours.
template <typename Body> void forEachCase(const std::string &operation, Body body) {
  std::ifstream file(folder() + "index.json");
  ASSERT_TRUE(file.good()) << folder() << "index.json cannot be read";
  nlohmann::json index = nlohmann::json::parse(file);
  int seen = 0;
  for (const auto &entry : index["cases"])
    if (entry["op"] == operation)
      for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
        body(Case{entry["name"], entry["attributes"],
                  readSafetensors(folder() + std::string(entry["name"]) + ".safetensors"), flavour});
        ++seen;
      }
  EXPECT_GT(seen, 0) << "no cases of " << operation;
}

TEST(ReferenceValues, LayerNorm) {
  forEachCase("layer_norm", [](const Case &c) {
    // Several axes act as one of the product of their sizes.
    Tensor x = c["in.x"], weight = c["in.weight"], bias = c["in.bias"], dy = c["cotangent.y"];
    std::int64_t columns = weight.size(), rows = x.size() / columns;
    auto flat = [](const Tensor &from, const Shape &shape) { return Tensor(DType::f32, shape).fill(from.values()); };
    x = flat(x, {rows, columns}), dy = flat(dy, {rows, columns});
    weight = flat(weight, {columns}), bias = flat(bias, {columns});
    Tensor y(DType::f32, {rows, columns}), mean(DType::f32, {rows}), rstd(DType::f32, {rows});
    Tensor dx(DType::f32, {rows, columns}), dweight(DType::f32, {columns}), dbias(DType::f32, {columns});
    c.run("layer_norm", {&x, &weight, &bias}, {&y, &mean, &rstd}, {number("epsilon", c.attributes["eps"])});
    // The mean is saved in f32 and its rounding is the reference's error, which the fast kernel corrects.
    double size = magnitude(x.values()) > 100 && c.flavour == KernelFlavour::reference ? 500 : 4;
    c.expect(y, "out.y");
    c.run("layer_norm_grad", {&dy, &x, &weight, &mean, &rstd}, {&dx, &dweight, &dbias});
    c.expect(dx, "grad.x", std::max(size, magnitude(rstd.values())));
    c.expect(dweight, "grad.weight", size);
    c.expect(dbias, "grad.bias");
  });
}

TEST(ReferenceValues, Softmax) {
  forEachCase("softmax", [](const Case &c) {
    Tensor x = c["in.input"], dy = c["cotangent.y"], y = c.like("out.y"), dx = c.like("grad.input");
    if (c.attributes["dim"] == 1)
      for (Tensor *tensor : {&x, &dy, &y, &dx}) {
        std::swap(tensor->operand.extent[1], tensor->operand.extent[2]);
        std::swap(tensor->operand.shape[1], tensor->operand.shape[2]);
        std::swap(tensor->operand.strides[1], tensor->operand.strides[2]);
      }
    c.run("softmax", {&x}, {&y});
    c.run("softmax_grad", {&dy, &y}, {&dx});
    for (Tensor *tensor : {&y, &dx})
      tensor->operand = c.like("out.y").operand;
    c.expect(y, "out.y", 2);
    c.expect(dx, "grad.input", 4);
  });
}

TEST(ReferenceValues, Gelu) {
  for (std::int64_t form : {0, 1})
    forEachCase(form ? "gelu_tanh" : "gelu_erf", [&](const Case &c) {
      Tensor x = c["in.x"], dy = c["cotangent.y"], y = c.like("out.y"), dx = c.like("grad.x");
      c.run("gelu", {&x}, {&y}, {integer("approximate", form)});
      c.run("gelu_grad", {&dy, &x}, {&dx}, {integer("approximate", form)});
      expectNear(y, c.reference("out.y"), 4e-7, 1e-7, c.name);
      expectNear(dx, c.reference("grad.x"), 4e-7, 3e-7, c.name + " gradient");
    });
}

TEST(ReferenceValues, Unary) {
  for (const char *kernel : {"relu", "tanh", "exp", "log", "rsqrt"})
    forEachCase(kernel, [&](const Case &c) {
      Tensor x = c["in.x"], y = c.like("out.y");
      c.run(kernel, {&x}, {&y});
      expectNear(y, c.reference("out.y"), 2.5e-7, 0, c.name);
    });
}

TEST(ReferenceValues, Binary) {
  for (const char *operation : {"add", "mul"})
    forEachCase(operation, [&](const Case &c) {
      Tensor a = c["in.input"], b = c["in.other"], y = c.like("out.y");
      c.run(std::string(operation) == "add" ? "add" : "multiply", {&a, &b}, {&y});
      c.expect(y, "out.y");
    });
}

/// The last two dims exchanged.
Tensor transposed(Tensor tensor) {
  int r = tensor.operand.rank;
  std::swap(tensor.operand.extent[r - 1], tensor.operand.extent[r - 2]);
  std::swap(tensor.operand.shape[r - 1], tensor.operand.shape[r - 2]);
  std::swap(tensor.operand.strides[r - 1], tensor.operand.strides[r - 2]);
  return tensor;
}

TEST(ReferenceValues, Matmul) {
  forEachCase("matmul", [](const Case &c) {
    bool ta = c.attributes.value("transpose_a", false), tb = c.attributes.value("transpose_b", false);
    Tensor a = c["in.a"], b = c["in.b"], y = c.like("out.y"), dy = c["cotangent.y"];
    c.run("matmul", {&a, &b}, {&y}, {integer("transpose_a", ta), integer("transpose_b", tb)});
    double size = std::sqrt(
        static_cast<double>(ta ? a.operand.extent[a.operand.rank - 2] : a.operand.extent[a.operand.rank - 1]));
    c.expect(y, "out.y", size);
    // The gradients are products as well: da = dy op(b)^T, db = op(a)^T dy, of views.
    Tensor left = ta ? transposed(a) : a, right = tb ? transposed(b) : b;
    if (left.operand.rank != right.operand.rank)
      return;
    Tensor da = c.like("grad.a"), db = c.like("grad.b");
    Tensor intoA = ta ? transposed(da) : da, intoB = tb ? transposed(db) : db;
    c.run("matmul", {&dy, &right}, {&intoA}, {integer("transpose_b", 1)});
    c.run("matmul", {&left, &dy}, {&intoB}, {integer("transpose_a", 1)});
    c.expect(ta ? transposed(intoA) : intoA, "grad.a", size);
    c.expect(tb ? transposed(intoB) : intoB, "grad.b", size);
  });
}

TEST(ReferenceValues, CrossEntropy) {
  forEachCase("cross_entropy", [](const Case &c) {
    Tensor logits = c["in.input"], targets = c.targets("in.target"), dloss = c["cotangent.y"];
    Tensor loss(DType::f32, {}), lse(DType::f32, {logits.operand.extent[0]}), dlogits = c.like("grad.input");
    std::vector<Attributes::Item> items = {integer("reduction", c.attributes["reduction"] == "sum"),
                                           integer("ignore_index", -100)};
    c.run("cross_entropy", {&logits, &targets}, {&loss, &lse}, items);
    c.expect(loss, "out.y");
    c.run("cross_entropy_grad", {&dloss, &logits, &targets, &lse}, {&dlogits}, items);
    // The saved row statistic is rounded to f32: a relative error of its size in every probability.
    c.expect(dlogits, "grad.input", std::max(1.0, magnitude(lse.values())));
  });
}

TEST(ReferenceValues, Embedding) {
  forEachCase("embedding", [](const Case &c) {
    Tensor indices = c.targets("in.input"), table = c["in.weight"], y = c.like("out.y"), dy = c["cotangent.y"];
    Tensor dtable = c.like("grad.weight");
    c.run("embedding", {&table, &indices}, {&y});
    EXPECT_EQ(y.values(), c.reference("out.y"));
    c.run("embedding_grad", {&dy, &indices}, {&dtable});
    c.expect(dtable, "grad.weight");
  });
}

TEST(ReferenceValues, Attention) {
  forEachCase("attention", [](const Case &c) {
    // [batch, heads, tokens, size] in the file, [batch, tokens, heads, size] for the kernel: a view.
    auto view = [](Tensor tensor) {
      std::swap(tensor.operand.extent[1], tensor.operand.extent[2]);
      std::swap(tensor.operand.shape[1], tensor.operand.shape[2]);
      std::swap(tensor.operand.strides[1], tensor.operand.strides[2]);
      return tensor;
    };
    Tensor q = view(c["in.query"]), k = view(c["in.key"]), v = view(c["in.value"]), dout = view(c["cotangent.y"]);
    Tensor out = view(c.like("out.y")), dq = view(c.like("grad.query")), dk = view(c.like("grad.key"));
    Tensor dv = view(c.like("grad.value"));
    Tensor lse(DType::f32, {q.operand.extent[0], q.operand.extent[2], q.operand.extent[1]});
    c.run("attention", {&q, &k, &v}, {&out, &lse}, {integer("causal", 1)});
    c.expect(view(out), "out.y", 4);
    c.run("attention_grad", {&dout, &q, &k, &v, &out, &lse}, {&dq, &dk, &dv}, {integer("causal", 1)});
    c.expect(view(dq), "grad.query", 6);
    c.expect(view(dk), "grad.key", 6);
    c.expect(view(dv), "grad.value", 6);
  });
}

TEST(ReferenceValues, Reductions) {
  for (const char *operation : {"sum", "max", "mean"})
    forEachCase(operation, [&](const Case &c) {
      Tensor x = c["in.input"], y = c.like("out.y");
      std::vector<std::int64_t> dims;
      std::int64_t count = 1;
      for (std::int64_t dim : c.attributes["dim"]) {
        dims.push_back(dim < 0 ? dim + x.operand.rank : dim);
        count *= x.operand.extent[dims.back()];
      }
      bool max = std::string(operation) == "max";
      c.run(max ? "reduce_max" : "reduce_sum", {&x}, {&y}, {list("dims", dims)});
      if (std::string(operation) == "mean") {
        Tensor sum = y;
        c.run("scale", {&sum}, {&y}, {number("factor", 1.0 / static_cast<double>(count))});
      }
      c.expect(y, "out.y", max ? 0 : 10);
    });
}

TEST(ReferenceValues, Movement) {
  forEachCase("transpose", [](const Case &c) {
    Tensor x = c["in.x"], seen = x, y = c.like("out.y");
    for (int d = 0; d < 3; ++d) {
      int from = c.attributes["order"][static_cast<std::size_t>(d)];
      seen.operand.extent[d] = seen.operand.shape[d] = x.operand.extent[from];
      seen.operand.strides[d] = x.operand.strides[from];
    }
    c.run("copy", {&seen}, {&y});
    EXPECT_EQ(y.values(), c.reference("out.y"));
  });
  forEachCase("concat", [](const Case &c) {
    Tensor a = c["in.a"], b = c["in.b"], last = c["in.c"], y = c.like("out.y");
    c.run("concat", {&a, &b, &last}, {&y}, {integer("dim", c.attributes["dim"])});
    EXPECT_EQ(y.values(), c.reference("out.y"));
  });
  forEachCase("pad", [](const Case &c) {
    Tensor x = c["in.x"], y = c.like("out.y");
    c.run(
        "pad", {&x}, {&y},
        {list("low", c.attributes["low"]), list("high", c.attributes["high"]), number("value", c.attributes["value"])});
    EXPECT_EQ(y.values(), c.reference("out.y"));
  });
  forEachCase("where", [](const Case &c) {
    Tensor condition = c["in.condition"], x = c["in.x"], other = c["in.y"], y = c.like("out.y");
    c.run("select", {&condition, &x, &other}, {&y});
    EXPECT_EQ(y.values(), c.reference("out.y"));
  });
  forEachCase("slice", [](const Case &c) {
    Tensor x = c["in.x"], y = c.like("out.y"), seen = x;
    int dim = c.name == "slice" ? 1 : 2;
    std::int64_t start = c.attributes["start"], step = c.attributes["step"];
    // A view from `start` on: shift the memory, as a plan's view has its offset.
    seen.memory.erase(seen.memory.begin(), seen.memory.begin() + start * x.operand.strides[dim] * 4);
    seen.memory.resize(x.memory.size());
    seen.operand.extent[dim] = seen.operand.shape[dim] = y.operand.extent[dim];
    seen.operand.strides[dim] *= step;
    c.run("copy", {&seen}, {&y});
    EXPECT_EQ(y.values(), c.reference("out.y"));
  });
  forEachCase("cast_f32_bf16", [](const Case &c) {
    Tensor x = c["in.x"], want = c["out.y"], y = c.like("out.y", DType::bf16);
    c.run("cast", {&x}, {&y});
    expectNear(y, want.values(), 0, 0, c.name);
  });
}

/// Inputs of an update: parameter, gradient, states, learning rate, step, clip coefficient, guard.
void update(const Case &c, const std::string &kernel, const std::vector<Attributes::Item> &items, Tensor &parameter,
            Tensor &gradient, std::vector<Tensor> &states, int step, double learningRate, double guard = 1) {
  Tensor rate = scalar(DType::f32, learningRate), number64 = scalar(DType::i64, step), clip = scalar(DType::f32, 1);
  Tensor allowed = scalar(DType::u8, guard);
  std::vector<Tensor *> in = {&parameter, &gradient}, out = {&parameter};
  for (Tensor &state : states) {
    in.push_back(&state);
    out.push_back(&state);
  }
  for (Tensor *tensor : {&rate, &number64, &clip, &allowed})
    in.push_back(tensor);
  c.run(kernel, in, out, items);
}

TEST(ReferenceValues, Optimizers) {
  for (const char *kernel : {"adamw", "adam", "sgd"})
    forEachCase(kernel, [&](const Case &c) {
      auto value = [&](const char *name) { return c.attributes.value(name, 0.0); };
      std::vector<Attributes::Item> items = {number("weight_decay", value("weight_decay")),
                                             number("momentum", value("momentum")),
                                             integer("nesterov", c.attributes.value("nesterov", false))};
      if (c.attributes.contains("betas")) {
        items.push_back(number("beta1", c.attributes["betas"][0]));
        items.push_back(number("beta2", c.attributes["betas"][1]));
        items.push_back(number("epsilon", c.attributes["eps"]));
      }
      std::vector<std::string> names;
      for (const char *name : {"exp_avg", "exp_avg_sq", "momentum_buffer"})
        if (c.has(std::string("out.") + name))
          names.push_back(std::string("out.") + name);
      std::vector<Tensor> states;
      for (const std::string &name : names)
        states.push_back(c.like(name).fill(std::vector<double>(35, 0.0)));
      Tensor parameter = c["in.parameter"];
      for (int step = 1; step <= 3; ++step) {
        Tensor gradient = c["in.gradient" + std::to_string(step)];
        // An update that the guard suppresses changes nothing.
        Tensor before = parameter;
        update(c, kernel, items, parameter, gradient, states, step, c.attributes["lr"], 0);
        EXPECT_EQ(parameter.memory, before.memory);
        update(c, kernel, items, parameter, gradient, states, step, c.attributes["lr"]);
        c.expect(parameter, "out.parameter" + std::to_string(step), 2);
      }
      for (std::size_t i = 0; i < names.size(); ++i)
        c.expect(states[i], names[i], 2);
    });
}

TEST(ReferenceValues, Clipping) {
  forEachCase("clip_grad_norm", [](const Case &c) {
    Tensor a = c["in.a"], b = c["in.b"], last = c["in.c"];
    Tensor sum(DType::f32, {}), norm(DType::f32, {}), coefficient(DType::f32, {});
    double p = std::stod(std::string(c.attributes["norm_type"]));
    c.run("power_sum", {&a, &b, &last}, {&sum}, {number("p", p)});
    c.run("norm_root", {&sum}, {&norm}, {number("p", p)});
    c.expect(norm, "out.norm");
    c.run("clip_coefficient", {&norm}, {&coefficient}, {number("max_norm", c.attributes["max_norm"])});
    for (auto [name, gradient] : {std::pair{"out.a", &a}, {"out.b", &b}, {"out.c", &last}}) {
      Tensor clipped = c.like(name);
      c.run("multiply", {gradient, &coefficient}, {&clipped});
      c.expect(clipped, name);
    }
  });
}

} // namespace
