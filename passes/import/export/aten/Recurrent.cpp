//===- Recurrent.cpp - recurrent networks of ATen --------------------------------------------===//
//
// A network is unrolled over its steps. The inputs of all steps of a layer are one product.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::recurrent {

constexpr std::int64_t mostSteps = 512;

/// The hidden state, and the cell of an LSTM.
struct State {
  Value hidden, cell;
};

/// From the products of the input and of the hidden state with their weights, [B, gates H], the next state.
using Cell = State (*)(Call &, Value input, Value hidden, const State &);

llvm::SmallVector<Value> gatesOf(Call &call, Value gates, std::int64_t count) {
  const auto shape = Call::shapeOf(gates);
  if (shape[1] % count != 0) {
    call.refuse("weights of " + std::to_string(shape[1]) + " rows, expected a multiple of " + std::to_string(count));
    return {};
  }
  const llvm::SmallVector<Type> types(static_cast<std::size_t>(count),
                                      call.typeLike(gates, {shape[0], shape[1] / count}));
  return call.makeAll<model::SplitOp>(gates, {{"dim", call.builder.getI64IntegerAttr(1)}}, types);
}

State lstmCell(Call &call, Value input, Value hidden, const State &state) {
  const llvm::SmallVector<Value> gates = gatesOf(call, call.make<model::AddOp>({input, hidden}), 4);
  if (gates.empty())
    return state;
  const auto gate = [&](unsigned index) -> Value { return call.make<model::SigmoidOp>(gates[index]); };
  Value kept = call.make<model::MultiplyOp>({gate(1), state.cell});
  Value added = call.make<model::MultiplyOp>({gate(0), call.make<model::TanhOp>(gates[2])});
  Value cell = call.make<model::AddOp>({kept, added});
  return {call.make<model::MultiplyOp>({gate(3), call.make<model::TanhOp>(cell)}), cell};
}

State gruCell(Call &call, Value input, Value hidden, const State &state) {
  const llvm::SmallVector<Value> fromInput = gatesOf(call, input, 3), fromHidden = gatesOf(call, hidden, 3);
  if (fromInput.empty() || fromHidden.empty())
    return state;
  const auto gate = [&](unsigned index) -> Value {
    return call.make<model::SigmoidOp>(call.make<model::AddOp>({fromInput[index], fromHidden[index]}));
  };
  Value reset = call.make<model::MultiplyOp>({gate(0), fromHidden[2]});
  Value next = call.make<model::TanhOp>(call.make<model::AddOp>({fromInput[2], reset}));
  Value difference = call.make<model::SubtractOp>({state.hidden, next});
  return {call.make<model::AddOp>({next, call.make<model::MultiplyOp>({gate(1), difference})}), {}};
}

template <typename Activation> State plainCell(Call &call, Value input, Value hidden, const State &) {
  return {call.make<Activation>(call.make<model::AddOp>({input, hidden})), {}};
}

/// The weights of one direction of a layer; null ones are absent.
struct Weights {
  Value input, hidden, inputBias, hiddenBias, projection;
};

Value product(Call &call, Value x, Value weight, Value bias) {
  Value y = call.product(x, weight, true);
  return bias ? Value(call.make<model::AddOp>({y, bias})) : y;
}

/// The hidden states of all steps, [T, B, H], in the order of the steps, and the last state.
std::pair<Value, State> runDirection(Call &call, Cell cell, Value x, const Weights &weights, State state,
                                     bool isReversed) {
  Value inputs = product(call, x, weights.input, weights.inputBias);
  const std::int64_t steps = Call::shapeOf(x)[0], rows = Call::shapeOf(x)[1], width = Call::shapeOf(inputs).back();
  llvm::SmallVector<Value> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps && call.problem().empty(); ++i) {
    const std::int64_t step = isReversed ? steps - 1 - i : i;
    Value input = call.reshape(call.slice(inputs, 0, step, step + 1), {rows, width});
    state = cell(call, input, product(call, state.hidden, weights.hidden, weights.hiddenBias), state);
    if (weights.projection)
      state.hidden = call.product(state.hidden, weights.projection, true);
    outputs[static_cast<std::size_t>(step)] = call.reshape(state.hidden, {1, rows, Call::shapeOf(state.hidden)[1]});
  }
  if (!call.problem().empty())
    return {x, state};
  return {call.join(outputs, 0), state};
}

/// A network of layers: `input`, `hx`, `params` and the settings of torch.nn.RNNBase.
void network(Call &call, Cell cell, bool hasCell) {
  Value x = call.value("input");
  llvm::SmallVector<Value> initial = hasCell ? call.values("hx") : llvm::SmallVector<Value>{call.value("hx")};
  llvm::SmallVector<Value> parameters = call.values("params");
  const bool hasBiases = call.flag("has_biases"), isBatchFirst = call.flag("batch_first");
  const std::int64_t layers = call.integer("num_layers"), directions = call.flag("bidirectional") ? 2 : 1;
  const double rate = call.number("dropout");
  if (!call.problem().empty())
    return;
  const auto sets = static_cast<std::size_t>(std::max<std::int64_t>(layers * directions, 1));
  const std::size_t perSet = parameters.size() / sets, plain = hasBiases ? 4 : 2;
  const bool hasProjection = hasCell && perSet == plain + 1;
  if (layers < 1 || perSet * sets != parameters.size() || perSet != plain + (hasProjection ? 1 : 0))
    return call.refuse("a number of weights that does not fit to its layers");
  if (Call::rankOf(x) != 3)
    return call.refuse("an operand of rank " + std::to_string(Call::rankOf(x)) + ", expected 3");

  // [T, B, I].
  if (isBatchFirst)
    x = call.transpose(x, {1, 0, 2});
  const std::int64_t steps = Call::shapeOf(x)[0], rows = Call::shapeOf(x)[1];
  if (steps < 1 || steps > mostSteps)
    return call.refuse("a recurrence of " + std::to_string(steps) + " steps, expected 1 to " +
                           std::to_string(mostSteps),
                       "divide the sequence into shorter ones");
  const auto stateOf = [&](Value states, std::int64_t set) {
    if (Call::rankOf(states) < 2 || Call::shapeOf(states)[0] != layers * directions)
      call.refuse("an initial state that does not fit to its layers");
    return call.reshape(call.slice(states, 0, set, set + 1), {rows, Call::shapeOf(states).back()});
  };
  const bool drops = call.flag("train") && rate > 0 && rate < 1;
  if (rate > 0 && layers > 1 && !call.flag("train"))
    ++call.importer.idleDropouts;
  llvm::SmallVector<Value> lastHidden, lastCell;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    llvm::SmallVector<Value> outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t set = layer * directions + direction;
      const Value *at = parameters.data() + static_cast<std::size_t>(set) * perSet;
      const Weights weights = {at[0], at[1], hasBiases ? at[2] : Value(), hasBiases ? at[3] : Value(),
                               hasProjection ? at[perSet - 1] : Value()};
      if (Call::rankOf(weights.input) != 2 || Call::rankOf(weights.hidden) != 2)
        return call.refuse("a weight that is no matrix");
      const State first = {stateOf(initial[0], set), hasCell ? stateOf(initial[1], set) : Value()};
      if (!call.problem().empty())
        return;
      const auto [output, last] = runDirection(call, cell, x, weights, first, direction == 1);
      if (!call.problem().empty())
        return;
      outputs.push_back(output);
      lastHidden.push_back(call.reshape(last.hidden, {1, rows, Call::shapeOf(last.hidden)[1]}));
      if (hasCell)
        lastCell.push_back(call.reshape(last.cell, {1, rows, Call::shapeOf(last.cell)[1]}));
    }
    x = call.join(outputs, 2);
    if (drops && layer + 1 < layers)
      x = call.importer.makeDropout(x, rate);
  }
  if (isBatchFirst)
    x = call.transpose(x, {1, 0, 2});
  llvm::SmallVector<Value> results = {x, call.join(lastHidden, 0)};
  if (hasCell)
    results.push_back(call.join(lastCell, 0));
  call.set(results);
}

void lstm(Call &call) {
  if (call.tensors("hx").size() != 2)
    return call.refuse("an initial state of " + std::to_string(call.tensors("hx").size()) + " tensors, expected 2");
  network(call, lstmCell, /*hasCell=*/true);
}
void gru(Call &call) { network(call, gruCell, /*hasCell=*/false); }
template <typename Activation> void rnn(Call &call) { network(call, plainCell<Activation>, /*hasCell=*/false); }

/// One step, without layers: torch.nn.LSTMCell and its kin.
State step(Call &call, Cell cell, const State &state) {
  Value x = call.value("input");
  const Weights weights = {
      call.value("w_ih"), call.value("w_hh"), call.optionalValue("b_ih"), call.optionalValue("b_hh"), {}};
  if (Call::rankOf(x) != 2 || Call::rankOf(state.hidden) != 2 || Call::rankOf(weights.input) != 2)
    call.refuse("a cell on operands that are no matrices");
  if (!call.problem().empty())
    return state;
  Value input = product(call, x, weights.input, weights.inputBias);
  return cell(call, input, product(call, state.hidden, weights.hidden, weights.hiddenBias), state);
}
void lstmStep(Call &call) {
  const llvm::SmallVector<Value> state = call.values("hx");
  if (state.size() != 2)
    return call.refuse("an initial state of " + std::to_string(state.size()) + " tensors, expected 2");
  const State next = step(call, lstmCell, {state[0], state[1]});
  call.set({next.hidden, next.cell});
}
template <Cell cell> void plainStep(Call &call) { call.set(step(call, cell, {call.value("hx"), {}}).hidden); }

constexpr AtenOp table[] = {
    {"gru.input", gru},
    {"gru_cell.default", plainStep<gruCell>},
    {"lstm.input", lstm},
    {"lstm_cell.default", lstmStep},
    {"rnn_relu.input", rnn<model::ReluOp>},
    {"rnn_relu_cell.default", plainStep<plainCell<model::ReluOp>>},
    {"rnn_tanh.input", rnn<model::TanhOp>},
    {"rnn_tanh_cell.default", plainStep<plainCell<model::TanhOp>>},
};

} // namespace sluice::exported::recurrent

llvm::ArrayRef<AtenOp> exported::recurrentOps() { return recurrent::table; }
