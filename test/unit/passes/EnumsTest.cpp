//===- EnumsTest.cpp - enums that a plan, the dialects and kernel records share ---------------===//
//
// passes/emit converts enumerators by value (planEnum). This test compares the names and values of each pair, so that a
// case added to one of them is added to the other.
//
//===----------------------------------------------------------------------===//
#include "dialect/rules/Roles.h"
#include "passes/emit/EmitContext.h"
#include "passes/recipe/Recipe.h"
#include "runtime/kernel/catalogue/Record.h"
#include "runtime/plan/Roles.h"

#include <gtest/gtest.h>

#include <iterator>

namespace sluice::test {
namespace {

/// Enumerators of the dialects from 0 to `last` have the names of those of the plan, which has `reserved` more.
template <typename Dialect, typename Plan, std::size_t N>
void expectEqual(unsigned last, const Plan (&values)[N], const char *const *names, std::size_t reserved = 0) {
  ASSERT_EQ(last + 1 + reserved, N) << names[0];
  for (unsigned value = 0; value <= last; ++value) {
    EXPECT_EQ(stringifyEnum(static_cast<Dialect>(value)).str(), names[value]);
    EXPECT_EQ(planEnum<Plan>(static_cast<Dialect>(value)), values[value]);
  }
}

TEST(Enums, HaveTheNamesAndValuesOfThePlan) {
  expectEqual<AxisRole>(getMaxEnumValForAxisRole(), plan::EnumValuesAxisRole(), plan::EnumNamesAxisRole());
  expectEqual<PortRole>(getMaxEnumValForPortRole(), plan::EnumValuesPortRole(), plan::EnumNamesPortRole());
  expectEqual<StreamKind>(getMaxEnumValForStreamKind(), plan::EnumValuesStreamKind(), plan::EnumNamesStreamKind());
  expectEqual<SectionKind>(getMaxEnumValForSectionKind(), plan::EnumValuesSectionKind(), plan::EnumNamesSectionKind());
  expectEqual<Phase>(getMaxEnumValForPhase(), plan::EnumValuesPhase(), plan::EnumNamesPhase());
  expectEqual<WhenKind>(getMaxEnumValForWhenKind(), plan::EnumValuesWhen(), plan::EnumNamesWhen());
  // The plan reserves send and recv.
  expectEqual<CollectiveKind>(getMaxEnumValForCollectiveKind(), plan::EnumValuesCollectiveKind(),
                              plan::EnumNamesCollectiveKind(), /*reserved=*/2);
  expectEqual<ReductionKind>(getMaxEnumValForReductionKind(), plan::EnumValuesReduceOp(), plan::EnumNamesReduceOp());
  expectEqual<MemorySpace>(getMaxEnumValForMemorySpace(), plan::EnumValuesSpace(), plan::EnumNamesSpace());
  expectEqual<Processor>(getMaxEnumValForProcessor(), plan::EnumValuesProcessor(), plan::EnumNamesProcessor());
  expectEqual<BufferClass>(getMaxEnumValForBufferClass(), plan::EnumValuesBufferClass(), plan::EnumNamesBufferClass());
  expectEqual<InitializerKind>(getMaxEnumValForInitializerKind(), plan::EnumValuesInitializerKind(),
                               plan::EnumNamesInitializerKind());
  expectEqual<LearningRateSchedule>(getMaxEnumValForLearningRateSchedule(), plan::EnumValuesRateShape(),
                                    plan::EnumNamesRateShape());
}

TEST(Enums, OfTheRuntimeHaveTheValuesOfThePlan) {
  ASSERT_EQ(std::size(plan::EnumValuesDType()), dtypeCount);
  for (plan::DType dtype : plan::EnumValuesDType())
    EXPECT_EQ(dtypeName(baseType(dtype)), plan::EnumNameDType(dtype));
  EXPECT_EQ(planEnum<plan::ReductionClass>(KernelReduction::not_a_reduction), plan::ReductionClass::not_a_reduction);
  EXPECT_EQ(planEnum<plan::ReductionClass>(KernelReduction::ordered), plan::ReductionClass::ordered);
  EXPECT_EQ(planEnum<plan::ReductionClass>(KernelReduction::fixed), plan::ReductionClass::fixed);
  EXPECT_EQ(planEnum<plan::ReductionClass>(KernelReduction::none), plan::ReductionClass::none);
}

/// Questions about roles have one answer on the IR and at run time.
TEST(Roles, HaveTheSameAnswersInThePlan) {
  for (plan::AxisRole role : plan::EnumValuesAxisRole())
    EXPECT_EQ(dividesRows(role), dividesRows(static_cast<AxisRole>(role)));
  for (plan::PortRole role : plan::EnumValuesPortRole()) {
    const auto own = static_cast<PortRole>(role);
    EXPECT_EQ(isWrittenByHost(role), isWrittenByHost(own)) << plan::EnumNamePortRole(role);
    EXPECT_EQ(isEqualOnAllRanks(role), isEqualOnAllRanks(own)) << plan::EnumNamePortRole(role);
    EXPECT_EQ(std::string(nameOf(role)), nameOf(own).str());
  }
  for (const char *name : {"replicate", "shard.1", "rows"}) {
    const std::optional<AxisRole> role = impliedAxisRole(llvm::StringRef(name));
    EXPECT_EQ(impliedAxisRole(std::string_view(name)),
              role ? std::optional(planEnum<plan::AxisRole>(*role)) : std::nullopt);
  }
}

TEST(Roles, OfInputsAndOutputsDiffer) {
  EXPECT_EQ(impliedPortRole(PortDirection::input, "lr"), PortRole::learning_rate);
  EXPECT_EQ(impliedPortRole(PortDirection::output, "lr"), PortRole::data);
  EXPECT_EQ(impliedPortRole(PortDirection::output, "grad_norm"), PortRole::gradient_norm);
  EXPECT_EQ(impliedPortRole(PortDirection::input, "loss"), PortRole::data);
  EXPECT_EQ(impliedPortRole(PortDirection::input, "data"), PortRole::data);
}

} // namespace
} // namespace sluice::test
