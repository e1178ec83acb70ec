//===- FuzzTest.cpp - mutations of a good plan do not crash ------------------------------===//
//
// A fixed seed, so that a failure repeats. Two kinds of mutation: of bytes, and of numbers in the plan in memory, which
// is then written as a compiler would.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"

#include <gtest/gtest.h>

#include <random>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace sluice::test {
namespace {

TEST(Fuzz, MutatedBytes) {
  HandPlan hand;
  const std::vector<std::uint8_t> good = serializePlan(hand.plan);
  std::mt19937 random(1);
  for (int round = 0; round < 6000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    const int changes = 1 + int(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
      case 0:
        bytes[at] = std::uint8_t(random());
        break;
      case 1:
        bytes[at] = 0xff;
        break;
      case 2:
        bytes[at] = std::uint8_t(bytes[at] + (random() % 2 ? 1 : -1));
        break;
      default:
        for (std::size_t k = at; k < std::min(at + 4, bytes.size()); ++k)
          bytes[k] = bytes[random() % bytes.size()];
      }
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

/// One of a field's interesting values.
std::uint64_t strange(std::mt19937 &random) {
  const std::uint64_t values[] = {0,       1, 2, 3, 7, 64, 1u << 31, ~0u, std::uint64_t(1) << 63, ~std::uint64_t(0),
                                  random()};
  return values[random() % std::size(values)];
}

TEST(Fuzz, MutatedNumbers) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    HandPlan hand;
    auto &instructions = hand.section(random() % 2).instructions;
    plan::InstructionT &instruction = *instructions[random() % instructions.size()];
    plan::BufferT &buffer = *hand.plan.buffers[random() % hand.plan.buffers.size()];
    plan::ParameterT &parameter = *hand.plan.parameters[random() % 2];
    switch (random() % 15) {
    case 0:
      instruction.stream = std::uint32_t(strange(random));
      break;
    case 1:
      instruction.when = plan::When(strange(random));
      instruction.repetitions = {std::uint32_t(strange(random))};
      break;
    case 2:
      buffer.offset = strange(random);
      break;
    case 3:
      buffer.shape = {std::int64_t(strange(random)), std::int64_t(strange(random))};
      buffer.bytes = strange(random);
      break;
    case 4:
      buffer.begin = std::uint32_t(strange(random));
      buffer.end = std::uint32_t(strange(random));
      break;
    case 5:
      parameter.chunk = std::int64_t(strange(random));
      parameter.shape[0] = std::int64_t(strange(random));
      break;
    case 6:
      parameter.dim = std::int32_t(strange(random));
      break;
    case 7:
      hand.plan.arenas[random() % 2]->bytes = strange(random);
      break;
    case 8:
      hand.section(0).repeat = std::uint32_t(strange(random) % 1000);
      break;
    case 9:
      instructions.erase(instructions.begin() + std::ptrdiff_t(random() % instructions.size()));
      break;
    case 10:
      hand.plan.data_axes = {std::uint32_t(strange(random)), std::uint32_t(strange(random))};
      break;
    case 11:
      hand.plan.learning_rate->shape = plan::RateShape(strange(random));
      hand.plan.learning_rate->warmup = strange(random);
      break;
    case 12: {
      plan::ProgramT &program = *hand.plan.program;
      for (auto *numbers : {&program.values, &program.op_kinds, &program.op_blocks, &program.op_symbols,
                            &program.operands, &program.operand_ends, &program.results, &program.result_ends})
        if (random() % 3 == 0)
          (*numbers)[random() % numbers->size()] = std::uint32_t(strange(random));
      break;
    }
    case 13:
      std::swap(instructions[random() % instructions.size()], instructions[random() % instructions.size()]);
      break;
    default:
      if (plan::LaunchT *launch = instruction.operation.AsLaunch()) {
        plan::ViewT &view = *launch->outputs[0];
        view.shape = {std::int64_t(strange(random))};
        view.strides = {std::int64_t(strange(random))};
        view.offset = strange(random);
        view.buffer = std::uint32_t(strange(random) % 24);
      }
    }
    const std::vector<std::uint8_t> bytes = serializePlan(hand.plan);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

} // namespace
} // namespace sluice::test
