//===- Records.cpp - consequences of the kernel records ----------------------------===//
#include "Harness.h"

#include "runtime/kernel/catalogue/Choices.h"

#include <algorithm>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

template <typename Records> bool hasName(const Records &records, std::string_view name) {
  return std::ranges::any_of(records, [&](const auto &record) { return record.name == name; });
}

TEST(Records, AreFoundByIdAndName) {
  for (const KernelRecord &record : catalogue()) {
    EXPECT_EQ(&kernelRecord(record.id), &record) << record.name;
    EXPECT_EQ(findKernelRecord(record.name), &record);
    EXPECT_EQ(findCpuKernel(record.id), findCpuKernel(record.name)) << record.name;
    EXPECT_FALSE(record.summary.empty()) << record.name;
    EXPECT_FALSE(record.outputs.empty()) << record.name;
  }
  EXPECT_EQ(kernelName(KernelId::softplus), "softplus");
}

TEST(Records, NameOperandsAndAttributesThatExist) {
  for (const KernelRecord &record : catalogue()) {
    for (const auto &aliases : {std::vector(record.mayAlias.begin(), record.mayAlias.end()),
                                std::vector(record.mustAlias.begin(), record.mustAlias.end())})
      for (const AliasRecord &alias : aliases) {
        EXPECT_TRUE(hasName(record.inputs, alias.input)) << record.name << " has no input " << alias.input;
        EXPECT_TRUE(hasName(record.outputs, alias.output)) << record.name << " has no output " << alias.output;
      }
    for (const OperandRecord &operand : record.inputs)
      EXPECT_TRUE(operand.given.empty() || hasName(record.attributes, operand.given))
          << record.name << " " << operand.name;
    for (const AttributeRecord &attribute : record.attributes)
      EXPECT_EQ(attribute.kind == AttributeKind::choice, !attribute.choices.empty())
          << record.name << " " << attribute.name;
  }
}

/// Each operand of a part is one of the combined kernel, and each result of the combined kernel is that of a part.
TEST(Records, NameTheOperandsOfParts) {
  for (const KernelRecord &record : catalogue()) {
    std::set<std::string_view> computed;
    for (const PartRecord &part : record.parts) {
      const auto nameOf = [&](std::string_view name) {
        const auto renamed = std::ranges::find(part.names, name, &AliasRecord::input);
        return renamed == part.names.end() ? name : renamed->output;
      };
      for (const OperandRecord &operand : kernelRecord(part.kernel).inputs)
        EXPECT_TRUE(hasName(record.inputs, nameOf(operand.name)) || computed.count(nameOf(operand.name)))
            << record.name << " has no " << operand.name << " of " << kernelName(part.kernel);
      for (const OperandRecord &operand : kernelRecord(part.kernel).outputs)
        EXPECT_TRUE(computed.insert(nameOf(operand.name)).second) << record.name << " " << operand.name;
    }
    if (!record.parts.empty()) {
      EXPECT_EQ(computed.size(), record.outputs.size()) << record.name;
    }
    for (std::string_view name : computed)
      EXPECT_TRUE(hasName(record.outputs, name)) << record.name << " has no result " << name;
  }
}

TEST(Records, CountOptionalOperands) {
  const KernelRecord &matmul = kernelRecord(KernelId::matmul);
  EXPECT_EQ(expectedOperands(matmul, Attributes(), 2, 1).inputs, 2u);
  EXPECT_EQ(expectedOperands(matmul, Attributes({integer("bias", 1)}), 2, 1).inputs, 3u);
  EXPECT_EQ(expectedOperands(matmul, Attributes({integer("bias", 1), integer("residual", 1)}), 2, 1).inputs, 4u);
  // Here the number of operands decides.
  const KernelRecord &conv2d = kernelRecord(KernelId::conv2d);
  EXPECT_EQ(expectedOperands(conv2d, Attributes(), 2, 1).inputs, 2u);
  EXPECT_EQ(expectedOperands(conv2d, Attributes(), 3, 1).inputs, 3u);
  EXPECT_EQ(expectedOperands(conv2d, Attributes(), 9, 1).inputs, 3u);
  EXPECT_TRUE(expectedOperands(kernelRecord(KernelId::concat), Attributes(), 5, 1).isAtLeast);
}

TEST(Records, CountTheOperandsOfEachParameter) {
  const KernelRecord &sgd = kernelRecord(KernelId::sgd);
  const Attributes momentum({number("momentum", 0.9)});
  EXPECT_EQ(expectedOperands(sgd, Attributes(), 6, 1).inputs, 6u);
  EXPECT_EQ(expectedOperands(sgd, Attributes(), 8, 2).inputs, 8u);
  EXPECT_EQ(expectedOperands(sgd, momentum, 7, 2).inputs, 7u);
  EXPECT_EQ(expectedOperands(sgd, momentum, 10, 4).inputs, 10u);
  // Not a multiple of the operands of a parameter.
  EXPECT_EQ(expectedOperands(sgd, momentum, 10, 3).outputs, 2u);
  const auto inputs = inputRecords(sgd, momentum, 10);
  ASSERT_EQ(inputs.size(), 10u);
  EXPECT_EQ(inputs[0]->name, "parameter");
  EXPECT_EQ(inputs[3]->name, "parameter");
  EXPECT_EQ(inputs[5]->name, "momentum_buffer");
  EXPECT_EQ(inputs[6]->name, "learning_rate");
  EXPECT_EQ(inputs[9]->name, "guard");
}

TEST(Records, AliasPairs) {
  const Attributes momentum({number("momentum", 0.9)});
  EXPECT_EQ(mustAliasPairs(kernelRecord(KernelId::sgd), momentum, 10, 4), (AliasPairs{{0, 0}, {2, 1}, {3, 2}, {5, 3}}));
  EXPECT_EQ(mustAliasPairs(kernelRecord(KernelId::sgd), Attributes(), 8, 2), (AliasPairs{{0, 0}, {2, 1}}));
  EXPECT_EQ(mayAliasPairs(kernelRecord(KernelId::matmul), Attributes(), 2, 1), AliasPairs());
  EXPECT_EQ(
      mayAliasPairs(kernelRecord(KernelId::matmul), Attributes({integer("bias", 1), integer("residual", 1)}), 4, 1),
      (AliasPairs{{3, 0}}));
  EXPECT_EQ(mayAliasPairs(kernelRecord(KernelId::add), Attributes(), 2, 1), (AliasPairs{{0, 0}, {1, 0}}));
}

TEST(Records, Fallbacks) {
  const Attributes all = withFallbacks(kernelRecord(KernelId::adamw), Attributes({number("beta1", 0.5)}));
  EXPECT_EQ(all.number("beta1"), 0.5);
  EXPECT_EQ(all.number("beta2"), 0.999);
  EXPECT_EQ(all.number("epsilon"), 1e-8);
  EXPECT_EQ(withFallbacks(kernelRecord(KernelId::cross_entropy), Attributes()).integer("ignore_index"), -100);
  // Computed from the operands by the kernel.
  EXPECT_EQ(withFallbacks(kernelRecord(KernelId::attention), Attributes()).find("scale"), nullptr);
  EXPECT_EQ(Attributes({integer("momentum", 1)}).number("momentum"), 1);
}

/// A kernel with an attribute that its record does not declare.
Result<std::unique_ptr<BoundKernel>> prepareWithWindow(const KernelRequest &request) {
  (void)request.attributes->integer("window");
  return std::unique_ptr<BoundKernel>();
}
/// The same with a value for its absence.
Result<std::unique_ptr<BoundKernel>> prepareWithOptionalWindow(const KernelRequest &request) {
  (void)request.attributes->integer("window", 0);
  return std::unique_ptr<BoundKernel>();
}

TEST(Records, RefuseReadsOfUndeclaredAttributes) {
  Tensor x(DType::f32, {2});
  const KernelRequest request{{&x.operand, 1}, {&x.operand, 1}};
  const Status status = prepareByRecord(kernelRecord(KernelId::relu), prepareWithWindow, request).status();
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_EQ(status.message(), "kernel 'relu' reads attribute 'window', which its record does not declare");
  EXPECT_TRUE(prepareByRecord(kernelRecord(KernelId::relu), prepareWithOptionalWindow, request).isOk());
}

std::string refusal(const Run &run, std::vector<Tensor *> inputs, std::vector<Tensor *> outputs) {
  return tryRun(run, std::move(inputs), std::move(outputs)).message();
}

TEST(Records, RefuseOtherLaunches) {
  Tensor x(DType::f32, {2, 2}), bytes(DType::u8, {2, 2}), longs(DType::i64, {2, 2});
  EXPECT_EQ(refusal({"compare"}, {&x, &x}, {&bytes}), "kernel 'compare' is missing attribute 'predicate'");
  EXPECT_EQ(refusal({"compare", {}, 1, {integer("predicate", 6)}}, {&x, &x}, {&bytes}),
            "kernel 'compare' predicate, expected 0 to 5 but got 6");
  EXPECT_EQ(refusal({"gelu", {}, 1, {integer("approximate", 2)}}, {&x}, {&x}),
            "kernel 'gelu' approximate, expected 0 to 1 but got 2");
  EXPECT_EQ(refusal({"relu"}, {&x, &x}, {&x}), "kernel 'relu' inputs, expected 1 but got 2");
  EXPECT_EQ(refusal({"power_sum"}, {}, {&x}), "kernel 'power_sum' inputs, expected at least 1 but got 0");
  EXPECT_EQ(refusal({"swiglu_grad"}, {&x, &x, &x}, {&x}), "kernel 'swiglu_grad' outputs, expected 2 but got 1");
  EXPECT_EQ(refusal({"relu"}, {&bytes}, {&x}),
            "kernel 'relu' input 0 dtype, expected f32, f64, bf16 or f16 but got u8");
  EXPECT_EQ(refusal({"argmax"}, {&x}, {&x}), "kernel 'argmax' output 0 dtype, expected i64 but got f32");
  EXPECT_EQ(refusal({"matmul", {}, 1, {integer("bias", 1)}}, {&x, &x}, {&x}),
            "kernel 'matmul' inputs, expected 3 but got 2");
}

} // namespace
