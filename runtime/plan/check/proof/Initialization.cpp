//===- Initialization.cpp - P9 for the entry point that initializes -------------------------===//
//
// It is not in the unsharded program. Each parameter must have the values of its declared initializer, keyed by the
// parameter and the index of the element in it, each state zeros, and each variable its initializer.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <map>

namespace sluice::check::proof {
namespace {

/// What a buffer holds: the result of one launch, or the seed.
struct InitialContent {
  const plan::LaunchT *launch = nullptr;
  std::uint32_t instruction = 0;
  bool isSeed = false;
  bool isUnknown = false;
};

class InitializationProof {
public:
  InitializationProof(const plan::PlanT &plan, Numbering &numbering, std::uint32_t e)
      : plan(plan), e(e), entry(*plan.entries[e]), shards(plan, numbering, e) {}

  Result run() {
    for (const auto &port : entry.inputs)
      contents[port->view->buffer].isSeed = port->role == plan::PortRole::seed;
    forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        if (isWrite)
          written(instruction, view, i);
      });
    });
    result.refusal = shards.followInitialization();
    for (const auto &parameter : plan.parameters) {
      check(parameter->buffer, "parameter '" + parameter->name + "'", parameter->initializer.get(), parameter.get(),
            true);
      plan::InitializerT zeros;
      for (const auto &state : parameter->states)
        check(state->buffer, "state '" + state->name + "' of parameter '" + parameter->name + "'", &zeros,
              parameter.get(), false);
    }
    for (const auto &variable : plan.variables)
      check(variable->buffer, "variable '" + variable->name + "'", variable->initializer.get(), nullptr, false);
    return std::move(result);
  }

private:
  void written(const plan::InstructionT &instruction, const plan::ViewT &view, std::uint32_t i) {
    InitialContent content;
    content.instruction = i;
    const plan::BufferT &buffer = *plan.buffers[view.buffer];
    const bool isFull = view.offset == 0 && isDense(view) && view.shape == buffer.shape && view.dtype == buffer.dtype;
    // A rank may draw its part of a parameter, and take its shard of that.
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    const std::string kernel = launch ? plan.kernels[launch->kernel] : "";
    if (kernel == "slice" || kernel == "pad" || kernel == "copy")
      content = contents[launch->inputs[0]->buffer];
    else if (launch)
      content.launch = launch;
    else if (const plan::CopyT *copy = instruction.operation.AsCopy())
      content = contents[copy->source->buffer];
    else
      content.isUnknown = true;
    content.isUnknown = content.isUnknown || !isFull;
    contents[view.buffer] = content;
  }

  /// `declared` may be null.
  void check(std::uint32_t buffer, const std::string &what, const plan::InitializerT *declared,
             const plan::ParameterT *parameter, bool isKeyed) {
    if (result.refusal)
      return;
    if (!declared) {
      result.refusal = refuse(9, "'" + entry.name + "' initializes " + what + ", which declares no initializer");
      return;
    }
    const plan::InitializerT &initializer = *declared;
    const auto found = contents.find(buffer);
    if (found == contents.end()) {
      result.refusal = refuse(9, "'" + entry.name + "' does not initialize " + what);
      return;
    }
    const InitialContent &content = found->second;
    const std::string kernel = content.launch ? plan.kernels[content.launch->kernel] : "";
    if (content.isUnknown || !content.launch || (kernel != "constant" && !kernel.starts_with("random_"))) {
      if (result.notProved.empty())
        result.notProved = "the initial values of " + what;
      return;
    }
    const auto wrong = [&](int property, const std::string &text) {
      result.refusal = refuse(property, place(plan, e, content.instruction) + " initializes " + what + ", " + text);
    };
    using enum plan::InitializerKind;
    const bool isRandom = initializer.kind == normal || initializer.kind == uniform;
    const std::string_view expected = initializer.kind == normal    ? "random_normal"
                                      : initializer.kind == uniform ? "random_uniform"
                                                                    : "constant";
    if (kernel != expected)
      return wrong(9, concat("expected kernel '", expected, "' but got '", kernel, "'"));
    const double a = initializer.kind == ones ? 1 : initializer.kind == zeros ? 0 : initializer.a;
    const std::string_view first = initializer.kind == normal ? "mean" : isRandom ? "low" : "value";
    if (!has(*content.launch, kernel, first, a) ||
        (isRandom && !has(*content.launch, kernel, initializer.kind == normal ? "stddev" : "high", initializer.b)))
      return wrong(9, "with other numbers than its initializer has");
    if (!isRandom)
      return;
    if (!parameter || !isKeyed) {
      result.notProved = "random initial values of " + what;
      return;
    }
    if (!has(*content.launch, kernel, "key", double(parameter->key)))
      return wrong(14, concat("expected the key ", parameter->key, " of its random numbers"));
    if (!hasZeros(*content.launch, initializer, parameter->shape))
      return wrong(9, initializer.zero_row < 0
                          ? std::string("with zeros that its initializer does not have")
                          : concat("expected zeros in row ", initializer.zero_row, " and nowhere else"));
    if (!contents[content.launch->inputs[0]->buffer].isSeed)
      return wrong(14, "from a number that is not the seed");
    const std::optional<bool> isShard = shards.holdsInitialShard(*parameter);
    if (!isShard && result.notProved.empty())
      result.notProved = "the elements of the random initial values of " + what;
    if (isShard == false)
      return wrong(14, "at other elements than those of its shard");
  }

  /// True if exactly the initializer's row is zeros.
  static bool hasZeros(const plan::LaunchT &launch, const plan::InitializerT &initializer, const Shape &shape) {
    std::vector<std::int64_t> zeros, expected;
    for (const auto &attribute : launch.attributes)
      if (attribute->name == "zeros")
        zeros = attribute->list;
    if (initializer.zero_row < 0)
      return zeros.empty();
    if (shape.size() != 2 || initializer.zero_row >= shape[0])
      return false;
    // Elements by their index in the parameter: the first, and the one past the last.
    return zeros == Shape{initializer.zero_row * shape[1], (initializer.zero_row + 1) * shape[1]};
  }

  bool has(const plan::LaunchT &launch, const std::string &kernel, std::string_view name, double expected) const {
    double number = 0;
    for (const AttributeRecord &record : findKernelRecord(kernel)->attributes)
      if (record.name == name)
        number = record.fallback;
    return attributesOf(launch).number(name, number) == expected;
  }

  const plan::PlanT &plan;
  std::uint32_t e;
  const plan::EntryT &entry;
  std::map<std::uint32_t, InitialContent> contents;
  EntryProof shards;
  Result result;
};

} // namespace

Result initializes(const plan::PlanT &plan, Numbering &numbering, std::uint32_t e) {
  return InitializationProof(plan, numbering, e).run();
}

} // namespace sluice::check::proof
