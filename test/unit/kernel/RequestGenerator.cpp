//===- RequestGenerator.cpp - random requests for kernels ------------------------------===//
#include "RequestGenerator.h"

#include "runtime/kernel/catalogue/LaunchDims.h"
#include "runtime/kernel/catalogue/Signature.h"

#include <algorithm>

namespace sluice::test {
namespace {

/// The names of the images and windows that kernels accept: extents that no signature relates.
struct Window {
  NamedExtents names;
  std::vector<Attributes::Item> attributes;
};

/// Null for a kernel without windows.
const Window *windowOf(std::string_view kernel) {
  static const Window convolution = {
      {{"h", {5}}, {"w", {6}}, {"v", {5}}, {"u", {6}}, {"i", {4}}, {"g", {2}}, {"o", {8}}, {"p", {3}}, {"q", {3}}},
      {list("stride", {1, 1}), list("padding", {1, 1}), list("dilation", {1, 1}), integer("groups", 2)}};
  static const Window pool = {{{"h", {6}}, {"w", {6}}, {"v", {3}}, {"u", {3}}},
                              {list("kernel", {2, 2}), list("stride", {2, 2}), list("padding", {0, 0})}};
  return kernel.starts_with("conv2d") ? &convolution : kernel.find("pool2d") != kernel.npos ? &pool : nullptr;
}

class RequestGenerator {
public:
  RequestGenerator(const KernelRecord &record, std::mt19937 &engine) : record(record), engine(engine) {
    for (std::int64_t &extent : extents)
      extent = pick<std::int64_t>({1, 2, 3, 4, 5, 8, 16});
    if (chance(10))
      extents[below(std::size(extents))] = 0;
    common = pick<DType>({DType::f32, DType::f32, DType::bf16, DType::f16, DType::f64});
    if (chance(60)) {
      fitOperands();
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

  static bool isPack(const Signature &signature, int name) {
    for (const auto *operands : {&signature.inputs, &signature.outputs})
      for (const SignatureOperand &operand : *operands)
        for (const SignatureDim &dim : operand.dims)
          if (dim.name == name)
            return dim.isPack;
    return false;
  }

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

  /// Operands that fit the record's signature, with up to two changes.
  void fitOperands() {
    const Window *window = windowOf(record.name);
    std::vector<Attributes::Item> items = window ? window->attributes : std::vector<Attributes::Item>{};
    for (const AttributeRecord &known : record.attributes)
      if (const bool isRequired = known.absence == AttributeAbsence::refused; chance(12) || (isRequired && !window)) {
        std::erase_if(items, [&](const Attributes::Item &item) { return item.name == known.name; });
        items.push_back(attributeOf(known));
      }
    NamedExtents names = window ? window->names : NamedExtents{};
    const Signature &signature = signatureOf(record);
    for (std::size_t k = 0; k < signature.names.size(); ++k) {
      std::vector<std::int64_t> own = {extents[below(std::size(extents))]};
      if (isPack(signature, int(k)))
        own.resize(below(3), extents[below(std::size(extents))]);
      names.emplace(signature.names[k], own);
    }
    const LaunchExtents launch = launchExtents(record, Attributes(items), names, chance(50));
    const auto add = [&](const std::vector<OperandExtents> &all, std::vector<Operand> &operands) {
      for (const OperandExtents &each : all) {
        Operand made = operandOf(*each.record);
        made.rank = int(each.extents.size());
        std::ranges::copy(each.extents, made.shape.begin());
        finish(made);
        operands.push_back(made);
      }
    };
    add(launch.inputs, inputs);
    add(launch.outputs, outputs);
    for (std::size_t changes = below(3); changes > 0; --changes) {
      std::vector<Operand> &operands = chance(60) ? inputs : outputs;
      if (operands.empty())
        continue;
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
