//===- RequestGenerator.cpp - random requests for kernels ------------------------------===//
#include "RequestGenerator.h"

#include <algorithm>

namespace sluice::test {
namespace {

/// A request that the kernel accepts, for kernels that accept almost no random one.
struct Example {
  KernelId kernel;
  std::vector<Shape> inputs, outputs;
  std::vector<Attributes::Item> attributes = {};
};

const std::vector<Example> &examples() {
  const Shape q = {2, 4, 4, 8}, k = {2, 5, 2, 8}, rows = {2, 4, 4}, image = {2, 5, 6, 4}, filter = {8, 2, 3, 3},
              features = {2, 5, 6, 8}, pooled = {2, 3, 3, 4}, even = {2, 6, 6, 4}, channels = {8};
  const std::vector<Attributes::Item> window = {list("stride", {1, 1}), list("padding", {1, 1}),
                                                list("dilation", {1, 1}), integer("groups", 2)},
                                      pool = {list("kernel", {2, 2}), list("stride", {2, 2}), list("padding", {0, 0})},
                                      chunk = {integer("rows", 2)};
  static const std::vector<Example> all = {
      {KernelId::attention, {q, k, k}, {q, rows}},
      {KernelId::attention_grad, {q, q, k, k, q, rows}, {q, k, k}},
      {KernelId::conv2d, {image, filter}, {features}, window},
      {KernelId::conv2d, {image, filter, channels}, {features}, window},
      {KernelId::conv2d_input_grad, {features, filter}, {image}, window},
      {KernelId::conv2d_weight_grad, {features, image}, {filter}, window},
      {KernelId::max_pool2d, {even}, {pooled}, pool},
      {KernelId::max_pool2d_grad, {pooled, even}, {even}, pool},
      {KernelId::avg_pool2d, {even}, {pooled}, pool},
      {KernelId::avg_pool2d_grad, {pooled}, {even}, pool},
      {KernelId::batch_norm, {features, channels, channels}, {features, channels, channels}},
      {KernelId::batch_norm_grad, {features, features, channels, channels, channels}, {features, channels, channels}},
      {KernelId::linear_cross_entropy, {{6, 8}, {16, 8}, {6}}, {{}, {6}}, chunk},
      {KernelId::linear_cross_entropy_grad, {{}, {6, 8}, {16, 8}, {6}, {6}}, {{6, 8}, {16, 8}}, chunk},
      {KernelId::linear_cross_entropy_and_grad, {{6, 8}, {16, 8}, {6}, {}}, {{}, {6}, {6, 8}, {16, 8}}, chunk},
      {KernelId::matmul, {{6, 8}, {8, 5}}, {{6, 5}}},
      {KernelId::matmul, {{2, 6, 8}, {2, 8, 5}}, {{2, 6, 5}}},
      {KernelId::matmul, {{6, 8}, {8, 5}, {5}, {6, 5}}, {{6, 5}}, {integer("bias", 1), integer("residual", 1)}},
      {KernelId::matmul_gelu, {{6, 8}, {8, 5}}, {{6, 5}, {6, 5}}},
      {KernelId::matmul_gelu, {{6, 8}, {8, 5}, {5}}, {{6, 5}, {6, 5}}, {integer("bias", 1)}},
      {KernelId::matmul_gelu_grad, {{6, 8}, {8, 5}, {6, 5}}, {{6, 5}}},
      {KernelId::layer_norm, {{3, 5, 8}, {8}, {8}}, {{3, 5, 8}, {3, 5}, {3, 5}}},
      {KernelId::layer_norm_grad, {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}, {3, 5}}, {{3, 5, 8}, {8}, {8}}},
      {KernelId::layer_norm_grad, {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}, {3, 5}, {3, 5, 8}}, {{3, 5, 8}, {8}, {8}}},
      {KernelId::layer_norm_grad_and_sum, {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}, {3, 5}}, {{3, 5, 8}, {8}, {8}, {8}}},
      {KernelId::layer_norm_grad_and_sum,
       {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}, {3, 5}, {3, 5, 8}},
       {{3, 5, 8}, {8}, {8}, {8}}},
      {KernelId::rms_norm, {{3, 5, 8}, {8}}, {{3, 5, 8}, {3, 5}}},
      {KernelId::rms_norm_grad, {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}}, {{3, 5, 8}, {8}}},
      {KernelId::rms_norm_grad, {{3, 5, 8}, {3, 5, 8}, {8}, {3, 5}, {3, 5, 8}}, {{3, 5, 8}, {8}}},
      {KernelId::rope, {q}, {q}, {number("theta", 10000)}},
      {KernelId::rope, {q, k}, {q, k}, {number("theta", 10000)}},
      {KernelId::cross_entropy, {{6, 16}, {6}}, {{}, {6}}},
      {KernelId::cross_entropy_grad, {{}, {6, 16}, {6}, {6}}, {{6, 16}}},
      {KernelId::cross_entropy_and_grad, {{6, 16}, {6}, {}}, {{}, {6}, {6, 16}}},
      {KernelId::sgd, {{3, 5}, {3, 5}, {3, 5}, {}, {}, {}, {}}, {{3, 5}, {3, 5}}, {number("momentum", 0.5)}},
      {KernelId::adam, {{3, 5}, {3, 5}, {3, 5}, {3, 5}, {}, {}, {}, {}}, {{3, 5}, {3, 5}, {3, 5}}},
      {KernelId::adamw, {{3, 5}, {3, 5}, {3, 5}, {3, 5}, {}, {}, {}, {}}, {{3, 5}, {3, 5}, {3, 5}}},
  };
  return all;
}

class RequestGenerator {
public:
  RequestGenerator(const KernelRecord &record, std::mt19937 &engine) : record(record), engine(engine) {
    for (std::int64_t &extent : extents)
      extent = pick<std::int64_t>({1, 2, 3, 4, 5, 8, 16});
    if (chance(10))
      extents[below(std::size(extents))] = 0;
    common = pick<DType>({DType::f32, DType::f32, DType::bf16, DType::f16, DType::f64});
    std::vector<const Example *> own;
    for (const Example &example : examples())
      if (example.kernel == record.id)
        own.push_back(&example);
    if (!own.empty() && chance(85)) {
      change(*own[below(own.size())]);
    } else {
      for (const AttributeRecord &known : record.attributes)
        if (known.absence == AttributeAbsence::refused || chance(50))
          attributes.add(attributeOf(known));
      const std::size_t each = 1 + below(2);
      addOperands(record.inputs, inputs, each);
      addOperands(record.outputs, outputs, each);
      copyShapes();
    }
    // In place, as P2 demands.
    const OperandCounts counts = expectedOperands(record, attributes, inputs.size(), outputs.size());
    if (counts.inputs == inputs.size() && counts.outputs == outputs.size())
      for (auto [input, output] : mustAliasPairs(record, attributes, inputs.size(), outputs.size())) {
        outputs[output] = inputs[input];
        request.sameMemory.push_back({input, output});
      }
  }

  RandomRequest request;

private:
  std::size_t below(std::size_t end) { return engine() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T> T pick(std::initializer_list<T> values) { return values.begin()[below(values.size())]; }

  Attributes::Item attributeOf(const AttributeRecord &known) {
    Attributes::Item item{known.name, 0, 0, {}};
    switch (known.kind) {
    case AttributeKind::integer:
      item.integer = chance(85) ? std::int64_t(below(6))
                                : pick<std::int64_t>({-1, -7, 64, 1 << 20, std::int64_t(1) << 40,
                                                      std::numeric_limits<std::int64_t>::min(),
                                                      std::numeric_limits<std::int64_t>::max()});
      break;
    case AttributeKind::flag:
      item.integer = std::int64_t(below(2));
      break;
    case AttributeKind::choice:
      item.integer = std::int64_t(below(known.choices.size()));
      break;
    case AttributeKind::number:
      item.number = pick({0.5, 1.0, 1e-5, 1e4, -1.0});
      break;
    case AttributeKind::list:
      for (std::size_t k = chance(70) ? 2 : below(5); k-- > 0;)
        item.list.push_back(chance(90) ? std::int64_t(below(4))
                                       : pick<std::int64_t>({-1, -5, 9, std::int64_t(1) << 40}));
      break;
    }
    return item;
  }

  /// The example with up to two changes.
  void change(const Example &example) {
    const auto add = [&](const std::vector<Shape> &shapes, const auto &records, std::vector<Operand> &operands) {
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        // The record of a list is that of each tensor.
        Operand made = operandOf(records.begin()[i % records.size()]);
        made.rank = int(shapes[i].size());
        std::ranges::copy(shapes[i], made.shape.begin());
        finish(made);
        operands.push_back(made);
      }
    };
    add(example.inputs, record.inputs, inputs);
    add(example.outputs, record.outputs, outputs);
    std::vector<Attributes::Item> items = example.attributes;
    for (const AttributeRecord &known : record.attributes)
      if (chance(12)) {
        std::erase_if(items, [&](const Attributes::Item &item) { return item.name == known.name; });
        items.push_back(attributeOf(known));
      }
    for (std::size_t changes = below(3); changes > 0; --changes) {
      std::vector<Operand> &operands = chance(60) ? inputs : outputs;
      Operand &operand = operands[below(operands.size())];
      if (operand.rank == 0)
        continue;
      std::int64_t &extent = operand.shape[below(std::size_t(operand.rank))];
      const std::int64_t before = extent, after = pick<std::int64_t>({0, 1, std::max<std::int64_t>(extent - 1, 0),
                                                                      extent + 1, 2 * extent, 40});
      // Often in all operands, so that it is accepted.
      if (chance(60)) {
        for (auto *all : {&inputs, &outputs})
          for (Operand &other : *all) {
            std::ranges::replace(other.shape, before, after);
            finish(other);
          }
      } else {
        extent = after;
        finish(operand);
      }
    }
    for (Attributes::Item &item : items)
      attributes.add(std::move(item));
  }

  template <typename Records>
  void addOperands(const Records &records, std::vector<Operand> &operands, std::size_t each) {
    // The operands of one parameter are neighbours.
    for (std::size_t group = 0; group < each; ++group)
      for (const OperandRecord &operand : records) {
        if (operand.count == OperandCount::each)
          operands.push_back(operandOf(operand));
      }
    for (const OperandRecord &operand : records) {
      const Attributes::Item *given = attributes.find(operand.given);
      std::size_t count = operand.count == OperandCount::one         ? 1
                          : operand.count == OperandCount::each      ? 0
                          : operand.count == OperandCount::oneOrMore ? 1 + below(3)
                          : operand.given.empty()                    ? below(2)
                                                                     : given && given->integer != 0;
      while (count-- > 0)
        operands.push_back(operandOf(operand));
    }
  }

  Operand operandOf(const OperandRecord &operand) {
    Operand made;
    made.dtype = common;
    while (!operand.dtypes.has(made.dtype))
      made.dtype = DType(below(dtypeCount));
    made.rank = int(pick<std::size_t>({0, 1, 1, 2, 2, 3, 4, 4, 5}));
    // Extents of one request are often equal, so that some requests are accepted.
    const std::size_t first = chance(70) ? 0 : below(3);
    for (int d = 0; d < made.rank; ++d)
      made.shape[d] = extents[(first + std::size_t(d)) % std::size(extents)];
    finish(made);
    return made;
  }

  /// Gives operands the shape of others, with changes.
  void copyShapes() {
    for (auto *operands : {&inputs, &outputs})
      for (Operand &operand : *operands) {
        if (inputs.empty() || chance(40))
          continue;
        const Operand &other = inputs[below(std::min<std::size_t>(inputs.size(), 2))];
        operand.rank = other.rank;
        operand.shape = other.shape;
        if (operand.rank > 0 && chance(25))
          --operand.rank;
        if (operand.rank >= 2 && chance(15))
          std::swap(operand.shape[operand.rank - 1], operand.shape[operand.rank - 2]);
        if (operand.rank > 0 && chance(10))
          operand.shape[below(std::size_t(operand.rank))] = pick<std::int64_t>({0, 1, 2, 3, 7, 16});
        finish(operand);
      }
  }

  void finish(Operand &operand) {
    const bool isPadded = chance(15), isRepeated = chance(5);
    std::int64_t stride = 1;
    for (int d = operand.rank - 1; d >= 0; --d) {
      operand.strides[d] = isRepeated && d == 0 ? 0 : stride;
      stride *= operand.shape[d] + (isPadded && d == operand.rank - 1 ? 3 : 0);
    }
    operand.extent = operand.global = operand.shape;
    operand.origin = {};
    if (operand.rank > 0 && chance(8)) {
      const std::size_t d = below(std::size_t(operand.rank));
      operand.extent[d] = std::int64_t(below(std::size_t(operand.shape[d]) + 1));
      operand.origin[d] = operand.shape[d];
      operand.global[d] = operand.shape[d] + operand.extent[d];
    }
  }

  const KernelRecord &record;
  std::mt19937 &engine;
  std::int64_t extents[5];
  DType common;
  Attributes &attributes = request.attributes;
  std::vector<Operand> &inputs = request.inputs, &outputs = request.outputs;
};

} // namespace

RandomRequest makeRandomRequest(const KernelRecord &record, std::mt19937 &engine) {
  return std::move(RequestGenerator(record, engine).request);
}

} // namespace sluice::test
