//===- Optimizer.cpp - optimizer updates on a GPU ------------------------------------------------------------===//
#include "runtime/kernel/cuda/device/Optimizer.h"
#include "runtime/kernel/cpu/OptimizerUpdate.h"
#include "runtime/kernel/cuda/Prepare.h"

#include <algorithm>
#include <array>
#include <map>

namespace sluice::cuda {
namespace {

UpdateNumbers numbersOf(const cpu::OptimizerUpdate &update, const KernelRequest &request) {
  const Operand *scalars = &request.inputs[update.scalars()];
  UpdateNumbers numbers;
  numbers.rate = viewOf(scalars[0]);
  numbers.step = viewOf(scalars[1]);
  numbers.clip = viewOf(scalars[2]);
  numbers.guard = viewOf(scalars[3]);
  numbers.kind = static_cast<int>(update.kind);
  numbers.states = update.states;
  numbers.nesterov = update.nesterov;
  numbers.beta1 = update.beta1;
  numbers.beta2 = update.beta2;
  numbers.epsilon = update.epsilon;
  numbers.decay = update.weightDecay;
  numbers.momentum = update.momentum;
  numbers.dampening = update.dampening;
  return numbers;
}

void bindNumbers(UpdateNumbers &numbers, const RunAddresses &run, std::size_t scalars) {
  numbers.rate.data = run.inputs[scalars];
  numbers.step.data = run.inputs[scalars + 1];
  numbers.clip.data = run.inputs[scalars + 2];
  numbers.guard.data = run.inputs[scalars + 3];
}

/// Operands of one parameter of a request.
struct Updated {
  const cpu::OptimizerUpdate &update;
  const KernelRequest &request;
  std::size_t parameter;

  const Operand &input(std::size_t i) const { return request.inputs[update.inputOf(parameter) + i]; }
  const Operand &output(std::size_t i) const { return request.outputs[update.outputOf(parameter) + i]; }
  std::size_t states() const { return static_cast<std::size_t>(update.states); }
  /// The operand of a state; the parameter's if there is no such state.
  const Operand &state(std::size_t s) const { return input(s < states() ? 2 + s : 0); }
  bool isDense() const {
    bool dense = true;
    for (std::size_t i = 0; i < 2 + states(); ++i)
      dense = dense && input(i).isDense();
    for (std::size_t i = 0; i < 1 + states(); ++i)
      dense = dense && output(i).isDense();
    return dense;
  }
  std::string symbolOf(std::string_view function) const {
    return symbol(function, {&input(0), &input(1), &state(0), &state(1)});
  }
  /// Parameters of equal types go into one launch.
  std::array<int, 4> types() const {
    return {static_cast<int>(input(0).dtype), static_cast<int>(input(1).dtype), static_cast<int>(state(0).dtype),
            static_cast<int>(state(1).dtype)};
  }
};

void addAlone(LaunchList &list, const Updated &each) {
  OptimizerArgs args;
  args.numbers = numbersOf(each.update, each.request);
  args.parameter = viewOf(each.input(0));
  args.gradient = viewOf(each.input(1));
  args.newParameter = viewOf(each.output(0));
  for (std::size_t s = 0; s < each.states(); ++s) {
    args.state[s] = viewOf(each.input(2 + s));
    args.newState[s] = viewOf(each.output(1 + s));
  }
  const std::size_t input = each.update.inputOf(each.parameter), output = each.update.outputOf(each.parameter);
  list.add(each.symbolOf("optimizer"), gridFor(*each.request.cuda, each.input(0).elements()), args,
           [input, output, states = each.states(), scalars = each.update.scalars()](OptimizerArgs &args,
                                                                                    const RunAddresses &run) {
             bindNumbers(args.numbers, run, scalars);
             args.parameter.data = run.inputs[input];
             args.gradient.data = run.inputs[input + 1];
             args.newParameter.data = run.outputs[output];
             for (std::size_t s = 0; s < states; ++s) {
               args.state[s].data = run.inputs[input + 2 + s];
               args.newState[s].data = run.outputs[output + 1 + s];
             }
           });
}

/// One launch for dense parameters of equal types, at most listedParameters of them.
void addListed(LaunchList &list, std::span<const Updated> listed) {
  const Updated &first = listed[0];
  OptimizerListArgs args;
  args.numbers = numbersOf(first.update, first.request);
  args.count = static_cast<int>(listed.size());
  args.parameterType = first.types()[0];
  args.gradientType = first.types()[1];
  args.stateType[0] = first.types()[2];
  args.stateType[1] = first.types()[3];
  std::int64_t elements = 0;
  for (const Updated &each : listed)
    elements += each.input(0).elements();
  LaunchShape shape{0, 256, reduceBytes};
  args.span = spanOfBlocks(*first.request.cuda, elements, 5, vectorBytes / 4);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    args.parameters[i].count = listed[i].input(0).elements();
    args.parameters[i].firstBlock = static_cast<int>(shape.blocks);
    shape.blocks += static_cast<std::uint64_t>((args.parameters[i].count + args.span - 1) / args.span);
    places.emplace_back(first.update.inputOf(listed[i].parameter), first.update.outputOf(listed[i].parameter));
  }
  list.add(first.symbolOf("optimizerOfList"), shape, args,
           [places, states = first.states(), scalars = first.update.scalars()](OptimizerListArgs &args,
                                                                               const RunAddresses &run) {
             bindNumbers(args.numbers, run, scalars);
             for (std::size_t i = 0; i < places.size(); ++i) {
               const auto [input, output] = places[i];
               ListedParameter &to = args.parameters[i];
               to.parameter = run.inputs[input];
               to.gradient = run.inputs[input + 1];
               to.newParameter = run.outputs[output];
               for (std::size_t s = 0; s < states; ++s) {
                 to.state[s] = run.inputs[input + 2 + s];
                 to.newState[s] = run.outputs[output + 1 + s];
               }
             }
           });
}

/// One launch for dense parameters of equal types, up to as many as fit its arguments; one for each other parameter.
Bound optimizerOf(kernel::OptimizerKind kind, const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(cpu::OptimizerUpdate update, cpu::OptimizerUpdate::of(kind, request));
  LaunchList list(*request.cuda);
  std::map<std::array<int, 4>, std::vector<Updated>> alike;
  for (std::size_t p = 0; p < update.parameters; ++p) {
    const Updated each{update, request, p};
    if (each.input(0).elements() == 0)
      continue;
    if (each.isDense())
      alike[each.types()].push_back(each);
    else
      addAlone(list, each);
  }
  for (const auto &[types, listed] : alike)
    for (std::size_t begin = 0; begin < listed.size(); begin += listedParameters)
      addListed(list, std::span(listed).subspan(begin, std::min<std::size_t>(listedParameters, listed.size() - begin)));
  return std::move(list).finish();
}

} // namespace

Bound kernels::sgd(const KernelRequest &request) { return optimizerOf(kernel::OptimizerKind::sgd, request); }
Bound kernels::adam(const KernelRequest &request) { return optimizerOf(kernel::OptimizerKind::adam, request); }
Bound kernels::adamw(const KernelRequest &request) { return optimizerOf(kernel::OptimizerKind::adamw, request); }

} // namespace sluice::cuda
