//===- Norm.cpp - normalizations of ATen -------------------------------------------------===//

#include "passes/import/export/aten/Images.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::norm {

/// The operand with the normalized dims, which are the last ones, joined to one.
struct Normalized {
  Value x;
  std::int64_t size = 1;
  llvm::SmallVector<std::int64_t> shape;
};
Normalized normalized(Call &call) {
  Normalized result;
  result.x = call.value("input");
  result.shape = llvm::to_vector(Call::shapeOf(result.x));
  const llvm::SmallVector<std::int64_t> dims = call.integers("normalized_shape");
  for (std::int64_t dim : dims)
    result.size *= dim;
  llvm::SmallVector<std::int64_t> joined(result.shape);
  if (dims.empty() || dims.size() > joined.size()) {
    call.refuse("argument 'normalized_shape' does not fit to the tensor");
    return result;
  }
  joined.truncate(joined.size() - dims.size());
  joined.push_back(result.size);
  result.x = call.reshape(result.x, joined);
  return result;
}

/// The weight or bias as a vector; a constant without one.
Value vectorOr(Call &call, llvm::StringRef name, const Normalized &input, double otherwise) {
  if (Value given = call.optionalValue(name))
    return call.reshape(given, {input.size});
  return call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(otherwise)}},
                                      call.typeLike(input.x, {input.size}));
}

void layerNorm(Call &call) {
  const Normalized input = normalized(call);
  Value weight = vectorOr(call, "weight", input, 1), bias = vectorOr(call, "bias", input, 0);
  Value y = call.make<model::LayerNormOp>({input.x, weight, bias},
                                          {{"epsilon", call.builder.getF64FloatAttr(call.number("eps"))}});
  call.set(call.reshape(y, input.shape));
}

void rmsNorm(Call &call) {
  const Normalized input = normalized(call);
  // None means the spacing of floats at 1.
  const double epsilon = call.optionalNumber("eps").value_or(0x1p-23);
  Value y = call.make<model::RmsNormOp>({input.x, vectorOr(call, "weight", input, 1)},
                                        {{"epsilon", call.builder.getF64FloatAttr(epsilon)}});
  call.set(call.reshape(y, input.shape));
}

/// g v / |v|, with a norm for each index of `dim`; of all of v at -1.
void weightNorm(Call &call) {
  Value v = call.value("v"), g = call.value("g");
  const std::int64_t kept = call.integer("dim");
  llvm::SmallVector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < Call::rankOf(v); ++dim)
    if (dim != kept)
      dims.push_back(dim);
  Value total = call.make<model::ReduceSumOp>({call.make<model::MultiplyOp>({v, v})},
                                              {{"dims", call.builder.getDenseI64ArrayAttr(dims)},
                                               {"keep", call.builder.getUnitAttr()},
                                               {"output", TypeAttr()}});
  Value factor = call.make<model::DivideOp>({call.reshape(g, Call::shapeOf(total)), call.make<model::SqrtOp>(total)});
  call.set(call.make<model::MultiplyOp>({v, factor}));
}

/// A weight or bias of each channel, or null.
Value channelVector(Call &call, llvm::StringRef name, std::int64_t channels) {
  Value given = call.optionalValue(name);
  if (given && Call::shapeOf(given) != llvm::ArrayRef<std::int64_t>{channels})
    call.refuse("argument '" + name.str() + "' does not have a number for each channel");
  return given;
}

/// The statistics of a row are those of the elements of a group of its channels, at all positions. Channels are last,
/// as for the convolutions before and after: a mean over positions, then one over the channels of a group.
void normalizeGroups(Call &call, std::int64_t groups) {
  Value input = call.value("input");
  const std::int64_t rank = Call::rankOf(input);
  if (rank < 2 || groups < 1 || Call::shapeOf(input)[1] % groups != 0)
    return call.refuse("groups that do not divide the channels");
  Value x = channelsLast(call, input);
  const llvm::SmallVector<std::int64_t> shape(Call::shapeOf(x));
  const std::int64_t rows = shape.front(), channels = shape.back(), width = channels / groups;
  std::int64_t positions = 1;
  for (std::int64_t size : llvm::ArrayRef(shape).drop_front().drop_back())
    positions *= size;
  Value weight = channelVector(call, "weight", channels), bias = channelVector(call, "bias", channels);
  if (!call.problem().empty())
    return;
  const auto meanOver = [&](Value value, std::int64_t dim) -> Value {
    return call.make<model::ReduceMeanOp>(value,
                                          {{"dims", call.builder.getDenseI64ArrayAttr({dim})}, {"keep", UnitAttr()}});
  };
  const auto meanOfGroups = [&](Value value) {
    return meanOver(call.reshape(meanOver(value, 1), {rows, groups, width}), 2);
  };
  const auto ofChannels = [&](Value value) {
    return call.reshape(call.broadcast(call.reshape(value, {rows, groups, 1}), {rows, groups, width}),
                        {rows, 1, channels});
  };
  x = call.reshape(x, {rows, positions, channels});
  Value centred = call.make<model::SubtractOp>({x, ofChannels(meanOfGroups(x))});
  Value variance = meanOfGroups(call.make<model::MultiplyOp>({centred, centred}));
  Value factor = ofChannels(
      call.make<model::RsqrtOp>(call.make<model::AddOp>({variance, call.scalar(call.number("eps"), variance)})));
  if (weight)
    factor = call.make<model::MultiplyOp>({factor, weight});
  Value y = call.make<model::MultiplyOp>({centred, factor});
  if (bias)
    y = call.make<model::AddOp>({y, bias});
  call.set(channelsFirst(call, call.reshape(y, shape)));
}

void groupNorm(Call &call) { normalizeGroups(call, call.integer("num_groups")); }

void instanceNorm(Call &call) {
  if (!call.flag("use_input_stats") || call.tensor("running_mean") || call.tensor("running_var"))
    return call.refuse("instance norm with running statistics", "set track_running_stats=False");
  Value input = call.value("input");
  normalizeGroups(call, Call::rankOf(input) < 2 ? 0 : Call::shapeOf(input)[1]);
}

/// In training by the statistics of the rows, which move the running ones; otherwise by the running ones.
void batchNorm(Call &call) {
  Value input = call.value("input");
  const std::int64_t rank = Call::rankOf(input);
  if (rank < 2)
    return call.refuse("batch norm of a tensor of rank " + std::to_string(rank) + ", expected 2 or more");
  Value x = channelsLast(call, input);
  const std::int64_t channels = Call::shapeOf(x).back();
  Value weight = channelVector(call, "weight", channels), bias = channelVector(call, "bias", channels),
        mean = channelVector(call, "running_mean", channels), variance = channelVector(call, "running_var", channels);
  if (!call.problem().empty())
    return;
  const auto orConstant = [&](Value given, double value) {
    return given ? given
                 : call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(value)}},
                                                call.typeLike(x, {channels}));
  };
  const double epsilon = call.number("eps");
  if (!call.flag("training")) {
    if (!mean || !variance)
      return call.refuse("batch norm without running statistics outside of training");
    Value factor = call.make<model::RsqrtOp>(call.make<model::AddOp>({variance, call.scalar(epsilon, variance)}));
    if (weight)
      factor = call.make<model::MultiplyOp>({factor, weight});
    Value y = call.make<model::MultiplyOp>({call.make<model::SubtractOp>({x, mean}), factor});
    if (bias)
      y = call.make<model::AddOp>({y, bias});
    ++call.importer.idleBatchNorms;
    return call.set(channelsFirst(call, y));
  }
  const llvm::SmallVector<Value> results = call.makeAll<model::BatchNormOp>(
      {x, orConstant(weight, 1), orConstant(bias, 0)}, {{"epsilon", call.builder.getF64FloatAttr(epsilon)}});
  if (results.empty())
    return;
  ++call.importer.batchNorms;
  call.set(channelsFirst(call, results[0]));
  if (!mean || !variance)
    return;
  // The running variance is that of a sample of n: n / (n - 1) of the mean square.
  const std::int64_t count = cast<RankedTensorType>(x.getType()).getNumElements() / channels;
  if (count < 2)
    return call.refuse("batch norm of one value for each channel", "give it more rows or positions");
  const auto move = [&](llvm::StringRef name, Value old, Value value, double factor) {
    call.write(name, call.make<model::RunningAverageOp>(
                         {old, call.cast(value, cast<RankedTensorType>(old.getType()).getElementType())},
                         {{"momentum", call.builder.getF64FloatAttr(call.number("momentum"))},
                          {"factor", call.builder.getF64FloatAttr(factor)}}));
  };
  move("running_mean", mean, results[1], 1);
  move("running_var", variance, results[2], static_cast<double>(count) / static_cast<double>(count - 1));
}

constexpr AtenOp table[] = {
    {"batch_norm.default", batchNorm, Memory::fresh, nullptr, {"running_mean", "running_var"}},
    {"group_norm.default", groupNorm},
    {"instance_norm.default", instanceNorm},
    {"layer_norm.default", layerNorm},
    {"rms_norm.default", rmsNorm},
    {"_weight_norm.default", weightNorm},
};

} // namespace sluice::exported::norm

llvm::ArrayRef<AtenOp> exported::normOps() { return norm::table; }
