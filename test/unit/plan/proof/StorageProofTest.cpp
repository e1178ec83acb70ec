//===- StorageProofTest.cpp - element types in which numbers are stored (P9) ----------------===//
//
// Over exact real numbers a cast changes nothing, so the proof compares the types in which a number was stored with
// those of the program's value.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

constexpr auto f64 = plan::DType::f64, bf16 = plan::DType::bf16, f16 = plan::DType::f16, i32 = plan::DType::i32,
               i64 = plan::DType::i64, u8 = plan::DType::u8;

TEST(StorageProof, TypesAreWithinOthers) {
  const auto within = [](plan::DType a, plan::DType b) {
    return check::proof::Storage(a).isWithin(check::proof::Storage(b));
  };
  const std::vector<plan::DType> all = {f64, f32, bf16, f16, i32, i64, u8};
  for (plan::DType type : all) {
    EXPECT_TRUE(within(type, type));
    EXPECT_EQ(check::proof::Storage(type).text(), plan::EnumNameDType(type));
    EXPECT_EQ(within(f64, type), type <= plan::DType::f16) << plan::EnumNameDType(type);
    EXPECT_EQ(within(type, f64), type == f64) << plan::EnumNameDType(type);
  }
  EXPECT_TRUE(within(f32, bf16));
  EXPECT_FALSE(within(bf16, f32));
  EXPECT_FALSE(within(bf16, f16));
  EXPECT_FALSE(within(f16, bf16));
  EXPECT_FALSE(within(i64, i32));
  check::proof::Storage both(bf16);
  both.add(check::proof::Storage(f16));
  EXPECT_EQ(both.text(), "bf16 and f16");
}

/// y = relu(x) of a program that casts x to `types` one after the other, and a plan that does so with `own`; the result
/// of the relu has the last type of the plan.
std::string throughTypes(const std::vector<plan::DType> &types, const std::vector<plan::DType> &own) {
  ProofPlan p({{"shard", 2}});
  std::uint32_t value = p.input("x", {4});
  for (plan::DType type : types)
    value = p.op("model.cast", {value}, {4}, {}, "", type);
  const std::uint32_t result = p.op("model.relu", {value}, {4}, {}, "", types.empty() ? f32 : types.back());
  p.end({result});
  plan::EntryT &entry = p.step();
  std::uint32_t buffer = p.buffer("x", {4}, f32, host);
  plan::ViewT view = p.view(buffer);
  p.port(entry.inputs, "x", view);
  for (std::size_t k = 0; k < own.size(); ++k) {
    plan::ViewT next = p.view(p.buffer("x" + std::to_string(k), {4}, own[k]));
    p.compute("cast", {view}, {next});
    view = next;
  }
  const plan::ViewT y = p.view(p.buffer("y", {4}, view.dtype));
  p.compute("relu", {view}, {y}, {value}, {result});
  p.port(entry.outputs, "y", y);
  return proofOf(p);
}

TEST(StorageProof, NumbersAreInNoNarrowerType) {
  EXPECT_EQ(throughTypes({}, {}), "");
  EXPECT_EQ(throughTypes({bf16}, {bf16}), "");
  EXPECT_EQ(throughTypes({bf16, f32}, {bf16, f32}), "");
  // Fewer roundings.
  EXPECT_EQ(throughTypes({}, {f64, f32}), "");
  EXPECT_EQ(throughTypes({bf16, f32}, {}), "");
  EXPECT_EQ(throughTypes({bf16}, {}), "");
  // More.
  for (plan::DType type : {bf16, f16}) {
    const std::string name = plan::EnumNameDType(type);
    expectText(throughTypes({}, {type}), "P9", "in " + name + ", expected f32");
    expectText(throughTypes({}, {type, f32}), "P9", "in " + name + ", expected f32");
    expectText(throughTypes({f32}, {type, f64, f32}), "P9", "in " + name);
  }
  expectText(throughTypes({bf16}, {f16}), "P9", "in f16, expected bf16");
  expectText(throughTypes({bf16}, {f16, bf16}), "P9", "in bf16 and f16, expected bf16");
  expectText(throughTypes({f64}, {f64, f32, bf16}), "P9", "in bf16, expected f32");
}

/// The program reads a parameter in another type than its own.
TEST(StorageProof, AReadCastsTheParameter) {
  for (plan::DType type : {f64, f32, bf16})
    for (plan::DType own : {f64, f32, bf16}) {
      ProofPlan p({{"shard", 2}});
      p.unit("u");
      const std::uint32_t w = p.buffer("w", {4}), cast = p.buffer("cast", {4}, own), out = p.buffer("y", {4}, own);
      p.parameter("w", {4}, {}, w);
      const std::uint32_t read = p.op("model.read", {}, {4}, {}, "w", type),
                          y = p.op("model.relu", {read}, {4}, {}, "", type);
      p.end({y});
      plan::EntryT &entry = p.step();
      p.compute("cast", {p.view(w)}, {p.view(cast)});
      p.compute("relu", {p.view(cast)}, {p.view(out)}, {read}, {y});
      p.port(entry.outputs, "y", p.view(out));
      // The result of the relu has the type of the read, so a narrower one is refused there.
      const bool isNarrower = (type == f64 && own != f64) || (type == f32 && own == bf16);
      EXPECT_EQ(proofOf(p).empty(), !isNarrower) << proofOf(p);
    }
}

TEST(StorageProof, ResultsAreInNoNarrowerType) {
  for (const bool isNarrow : {false, true}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.input("x", {4}), y = p.op("model.relu", {x}, {4});
    p.end({y});
    plan::EntryT &entry = p.step();
    const std::uint32_t in = p.buffer("x", {4}, f32, host), out = p.buffer("y", {4}, isNarrow ? bf16 : f32),
                        wide = p.buffer("wide", {4});
    p.port(entry.inputs, "x", p.view(in));
    p.compute("relu", {p.view(in)}, {p.view(out)}, {x}, {y});
    p.compute("cast", {p.view(out)}, {p.view(wide)});
    p.port(entry.outputs, "y", p.view(wide));
    if (isNarrow)
      expectText(proofOf(p), "P9", "in bf16, expected f32");
    else
      EXPECT_EQ(proofOf(p), "");
  }
}

/// Positions that wrap in a narrower type.
TEST(StorageProof, IntegersAreInTheirType) {
  const auto make = [](plan::DType type, bool isRecorded) {
    ProofPlan p({{"shard", 2}});
    std::uint32_t x = p.input("x", {4}, i64), given = x;
    if (isRecorded)
      given = p.op("model.cast", {x}, {4}, {}, "", type);
    const std::uint32_t y = p.op("model.add", {given, given}, {4}, {}, "", isRecorded ? type : i64);
    p.end({y});
    plan::EntryT &entry = p.step();
    const std::uint32_t in = p.buffer("x", {4}, i64, host), own = p.buffer("own", {4}, type),
                        out = p.buffer("y", {4}, type);
    p.port(entry.inputs, "x", p.view(in));
    if (type == i64 && !isRecorded)
      p.copy(0, p.view(in), p.view(own));
    else
      p.compute("cast", {p.view(in)}, {p.view(own)}, {x}, {given});
    p.compute("add", {p.view(own), p.view(own)}, {p.view(out)}, {given, given}, {y});
    p.port(entry.outputs, "y", p.view(out));
    return proofOf(p);
  };
  EXPECT_EQ(make(i64, false), "");
  EXPECT_EQ(make(i32, true), "");
  expectText(make(i32, false), "P9", "");
  // The program has both casts, and equal operands: the results differ.
  ProofPlan p({{"shard", 2}});
  const std::uint32_t x = p.input("x", {4}, i64), narrow = p.op("model.cast", {x}, {4}, {}, "", u8),
                      wide = p.op("model.cast", {x}, {4}, {}, "", i32);
  p.end({wide});
  plan::EntryT &entry = p.step();
  const std::uint32_t in = p.buffer("x", {4}, i64, host), own = p.buffer("own", {4}, u8);
  p.port(entry.inputs, "x", p.view(in));
  p.compute("cast", {p.view(in)}, {p.view(own)}, {x}, {narrow});
  p.port(entry.outputs, "y", p.view(own));
  expectText(proofOf(p), "P9", "");
}

/// Products that a type does not hold: times 1e-50, then times 1e50.
TEST(StorageProof, NumbersAreNotExtreme) {
  const auto make = [](double factor, double recorded) {
    ProofPlan p({{"shard", 2}});
    std::uint32_t x = p.input("x", {4}), y = x;
    for (double own : {recorded, 1 / recorded})
      y = p.op("model.scale", {y}, {4}, {number("factor", own)});
    p.end({y});
    plan::EntryT &entry = p.step();
    const std::uint32_t in = p.buffer("x", {4}, f32, host), small = p.buffer("small", {4}), out = p.buffer("y", {4});
    p.port(entry.inputs, "x", p.view(in));
    p.compute("scale", {p.view(in)}, {p.view(small)}, {}, {}, {number("factor", factor)});
    p.compute("scale", {p.view(small)}, {p.view(out)}, {}, {}, {number("factor", 1 / factor)});
    p.port(entry.outputs, "y", p.view(out));
    return proofOf(p);
  };
  EXPECT_EQ(make(1, 1), "");
  EXPECT_EQ(make(0x1p-64, 1), "");
  EXPECT_EQ(make(0x1p64, 1), "");
  for (double factor : {0x1p-65, 0x1p65, 1e-50, 1e50})
    expectText(make(factor, 1), "P9", "which no element type may hold");
  // The program has such numbers.
  EXPECT_EQ(make(1e-50, 1e-50), "");
}

/// Sums in a narrower type.
TEST(StorageProof, SumsAreInNoNarrowerType) {
  for (const bool isNarrow : {false, true}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.input("x", {2}), mean = p.op("model.step_mean", {x}, {2});
    p.end({mean});
    plan::EntryT &entry = p.step(4);
    const std::uint32_t in = p.buffer("x", {4, 2}, f32, host), sum = p.buffer("sum", {2}, isNarrow ? bf16 : f32),
                        own = p.buffer("own", {2}, isNarrow ? bf16 : f32), out = p.buffer("y", {2});
    plan::ViewT slice = p.view(in, {2});
    slice.repetition_stride = 8;
    p.port(entry.inputs, "x", slice).per_repetition = true;
    p.compute("cast", {slice}, {p.view(own)});
    p.compute("accumulate", {p.view(own)}, {p.view(sum)}, {}, {}, {integer("first", 1)});
    p.compute("accumulate", {p.view(own)}, {p.view(sum)}, {}, {}, {integer("first", 0)});
    p.collective(0, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::mean, {{p.view(sum), p.view(sum)}});
    p.compute("scale", {p.view(sum)}, {p.view(out)}, {}, {}, {number("factor", 0.25)});
    p.port(entry.outputs, "y", p.view(out));
    auto &instructions = p.plan.entries[0]->sections[0]->instructions;
    instructions[1]->when = plan::When::first;
    instructions[2]->when = plan::When::not_first;
    instructions[3]->when = instructions[4]->when = plan::When::last;
    if (isNarrow)
      expectText(proofOf(p), "P9", "in bf16, expected f32");
    else
      EXPECT_EQ(proofOf(p), "");
  }
}

/// A sum that is added to itself again and again is a sum of 2^n terms.
TEST(StorageProof, TextsAreShort) {
  for (const bool isPowers : {false, true}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.input("x", {}), y = p.op("model.relu", {x}, {});
    p.end({y});
    plan::EntryT &entry = p.step();
    const std::uint32_t in = p.buffer("x", {}, f32, host);
    p.port(entry.inputs, "x", p.view(in));
    plan::ViewT sum = p.view(in);
    if (isPowers) {
      const plan::ViewT next = p.view(p.buffer("powers", {}));
      p.compute("power_sum", {sum}, {next});
      sum = next;
    }
    for (int k = 0; k < 40; ++k) {
      const plan::ViewT next = p.view(p.buffer("sum" + std::to_string(k), {}));
      p.compute("add", {sum, sum}, {next});
      sum = next;
    }
    p.port(entry.outputs, "y", sum);
    const std::string found = proofOf(p);
    expectText(found, "P9", "");
    EXPECT_LT(found.size(), 2000u);
  }
}

} // namespace
} // namespace sluice::test
