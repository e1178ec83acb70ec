//===- Sharding.cpp - global and local types of sharded tensors ---------------------===//

#include "dialect/spmd/Sharding.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sluice::spmd;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  std::string axis;
  if (failed(parser.parseString(&axis)))
    return failure();
  axes.push_back(parser.getBuilder().getStringAttr(axis));
  return success();
}

/// `{}` or `{"axis", ..., segments = 1, chunk = 2, total = 6}p0`, of which only the axes, chunk and total must be
/// there.
FailureOr<DimShardingAttr> parseDim(AsmParser &parser) {
  SmallVector<StringAttr> axes;
  int64_t segments = 1, chunk = 0, total = 0, priority = 0;
  auto parseElement = [&]() -> ParseResult {
    StringRef key;
    if (succeeded(parser.parseOptionalKeyword(&key, {"segments", "chunk", "total"})))
      return failure(failed(parser.parseEqual()) || failed(parser.parseInteger(key == "segments" ? segments
                                                                               : key == "chunk"  ? chunk
                                                                                                 : total)));
    return parseAxis(parser, axes);
  };
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseElement)))
    return failure();
  if (StringRef word; succeeded(parser.parseOptionalKeyword(&word)))
    if (!word.consume_front("p") || word.getAsInteger(10, priority))
      return parser.emitError(location, "expected a priority such as p1 after a dim");
  auto emitError = [&] { return parser.emitError(location); };
  return DimShardingAttr::getChecked(llvm::function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                                     ArrayRef<StringAttr>(axes), segments, chunk, total, priority);
}

/// `sum over ["axis", ...]`.
ParseResult parsePartial(AsmParser &parser, SmallVectorImpl<PartialAxis> &partialAxes) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&word)))
    return failure();
  std::optional<sluice::PartialReduction> reduction = sluice::symbolizePartialReduction(word);
  if (!reduction || *reduction == sluice::PartialReduction::none)
    return parser.emitError(location, "expected a reduction: sum, max, logsumexp or mean");
  SmallVector<StringAttr> axes;
  if (failed(parser.parseKeyword("over")) ||
      failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseAxis(parser, axes); })))
    return failure();
  if (axes.empty())
    return parser.emitError(location, "a partial result requires axes");
  for (StringAttr axis : axes)
    partialAxes.push_back({axis, *reduction});
  return success();
}

void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printer << '{';
  if (!dim.isReplicated()) {
    llvm::interleaveComma(dim.getAxes(), printer);
    if (dim.getSegments() != 1)
      printer << ", segments = " << dim.getSegments();
    printer << ", chunk = " << dim.getChunk() << ", total = " << dim.getTotal();
  }
  printer << '}';
  if (dim.getPriority() != 0)
    printer << 'p' << dim.getPriority();
}

} // namespace

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (failed(parser.parseLess()))
    return {};
  FailureOr<DimShardingAttr> dim = parseDim(parser);
  if (failed(dim) || !*dim || failed(parser.parseGreater()))
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer, *this);
  printer << '>';
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<DimShardingAttr> dims;
  SmallVector<PartialAxis> partialAxes;
  if (failed(parser.parseLess()) ||
      failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<DimShardingAttr> dim = parseDim(parser);
        if (failed(dim) || !*dim)
          return failure();
        dims.push_back(*dim);
        return success();
      })))
    return {};
  if (succeeded(parser.parseOptionalKeyword("partial")) &&
      failed(parser.parseCommaSeparatedList([&] { return parsePartial(parser, partialAxes); })))
    return {};
  if (failed(parser.parseGreater()))
    return {};
  auto emitError = [&] { return parser.emitError(location); };
  return getChecked(llvm::function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                    ArrayRef<DimShardingAttr>(dims), ArrayRef<PartialAxis>(partialAxes));
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << ']';
  for (ArrayRef<PartialAxis> left = getPartialAxes(); !left.empty();) {
    PartialReduction reduction = left.front().reduction;
    ArrayRef<PartialAxis> equal = left.take_while([&](const PartialAxis &each) { return each.reduction == reduction; });
    printer << (left.size() == getPartialAxes().size() ? " partial " : ", ") << stringifyPartialReduction(reduction)
            << " over [";
    llvm::interleaveComma(equal, printer, [&](const PartialAxis &each) { printer << each.axis; });
    printer << ']';
    left = left.drop_front(equal.size());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult DimShardingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                                      int64_t segments, int64_t chunk, int64_t total, int64_t priority) {
  // dim_sharding_c1
  llvm::StringSet<> names;
  for (StringAttr axis : axes)
    if (!names.insert(axis.getValue()).second)
      return emitError() << "axis " << axis << " occurs twice in a sharding";
  // dim_sharding_c3
  if (axes.empty()) {
    if (segments != 1 || chunk != 0 || total != 0 || priority != 0)
      return emitError() << "a dim without axes has segments, a chunk, a total or a priority";
    return success();
  }
  // dim_sharding_c2
  if (segments < 1 || chunk < 1 || total < 1 || total % segments != 0)
    return emitError()
           << "a sharded dim requires positive segments, chunk and total, and segments that divide the total, but "
              "got segments = "
           << segments << ", chunk = " << chunk << ", total = " << total;
  return success();
}

LogicalResult ShardingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<PartialAxis> partialAxes) {
  // sharding_c1
  llvm::StringSet<> names;
  auto insert = [&](StringAttr axis) { return names.insert(axis.getValue()).second; };
  for (DimShardingAttr dim : dims)
    for (StringAttr axis : dim.getAxes())
      if (!insert(axis))
        return emitError() << "axis " << axis << " occurs twice in a sharding";
  for (const PartialAxis &partial : partialAxes) {
    if (!insert(partial.axis))
      return emitError() << "axis " << partial.axis << " occurs twice in a sharding";
    // sharding_c2
    if (partial.reduction == PartialReduction::none)
      return emitError() << "partial axis " << partial.axis << " has no reduction";
  }
  return success();
}

LogicalResult ShardingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                           llvm::function_ref<InFlightDiagnostic()> emitError) const {
  // sharding_c3
  if (getDims().size() != shape.size())
    return emitError() << "sharding of a tensor of rank " << shape.size() << " has " << getDims().size() << " dims";
  for (auto [index, dim] : llvm::enumerate(getDims()))
    if (!dim.isReplicated() && dim.localExtent() != shape[index])
      return emitError() << "extent of sharded dim " << index << ", expected " << dim.localExtent() << " but got "
                         << shape[index];
  return success();
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

bool DimShardingAttr::isSamePlacement(DimShardingAttr other) const {
  return getAxes() == other.getAxes() && getSegments() == other.getSegments() && getChunk() == other.getChunk() &&
         getTotal() == other.getTotal();
}

ShardingAttr ShardingAttr::replicated(MLIRContext *context, int64_t rank) {
  return get(context, SmallVector<DimShardingAttr>(rank, DimShardingAttr::replicated(context)), {});
}

std::optional<int64_t> ShardingAttr::dimAlong(StringRef axis) const {
  for (auto [index, dim] : llvm::enumerate(getDims()))
    if (llvm::any_of(dim.getAxes(), [&](StringAttr each) { return each.getValue() == axis; }))
      return static_cast<int64_t>(index);
  return std::nullopt;
}

sluice::PartialReduction ShardingAttr::reductionOver(StringRef axis) const {
  for (const PartialAxis &partial : getPartialAxes())
    if (partial.axis.getValue() == axis)
      return partial.reduction;
  return PartialReduction::none;
}

bool ShardingAttr::isSamePlacement(ShardingAttr other) const {
  return getDims().size() == other.getDims().size() &&
         llvm::all_of(llvm::zip(getDims(), other.getDims()),
                      [](auto pair) { return std::get<0>(pair).isSamePlacement(std::get<1>(pair)); }) &&
         getPartialAxes() == other.getPartialAxes();
}

namespace sluice::spmd {

ArrayAttr ShardedDim::axesAttr() const {
  SmallVector<Attribute> list(axes.begin(), axes.end());
  return ArrayAttr::get(axes.front().getContext(), list);
}

ShardingAttr shardingOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<ShardingAttr>(tensor.getEncoding()) : ShardingAttr();
}

std::optional<ShardedDim> shardedDim(ShardingAttr sharding) {
  if (!sharding)
    return std::nullopt;
  for (auto [index, dim] : llvm::enumerate(sharding.getDims()))
    if (!dim.isReplicated())
      return ShardedDim{static_cast<std::int64_t>(index), dim.getChunk(), dim.getTotal(), dim.getAxes()};
  return std::nullopt;
}

std::optional<ShardedDim> shardedDimOf(Type type) { return shardedDim(shardingOf(type)); }

ShardingAttr shardingAlong(std::int64_t rank, const ShardedDim &sharded) {
  MLIRContext *context = sharded.axes.front().getContext();
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::replicated(context));
  dims[sharded.dim] =
      DimShardingAttr::get(context, sharded.axes, /*segments=*/std::int64_t(1), sharded.chunk, sharded.total,
                           /*priority=*/std::int64_t(0));
  return ShardingAttr::get(context, dims, {});
}

RankedTensorType localType(RankedTensorType global, ShardingAttr sharding) {
  if (!sharding || !sharding.isSharded())
    return global;
  if (sharding.getDims().size() == 1)
    global = flattened(global);
  SmallVector<std::int64_t> shape(global.getShape());
  for (auto [index, dim] : llvm::enumerate(sharding.getDims()))
    if (!dim.isReplicated())
      shape[index] = dim.localExtent();
  return RankedTensorType::get(shape, global.getElementType(), sharding);
}

RankedTensorType shardType(RankedTensorType global, std::int64_t dim, ArrayAttr axes, std::int64_t ranks) {
  if (ranks == 1)
    return global;
  SmallVector<StringAttr> names(axes.getAsRange<StringAttr>());
  std::int64_t total = global.getDimSize(dim);
  return localType(global, shardingAlong(global.getRank(), {dim, chunkOf(total, ranks), total, names}));
}

RankedTensorType globalType(RankedTensorType local) { return globalType(local, shardingOf(local)); }

RankedTensorType globalType(RankedTensorType local, ShardingAttr sharding) {
  if (!sharding)
    return local;
  SmallVector<std::int64_t> shape(local.getShape());
  for (auto [index, dim] : llvm::enumerate(sharding.getDims()))
    if (!dim.isReplicated())
      shape[index] = dim.getTotal();
  return RankedTensorType::get(shape, local.getElementType());
}

RankedTensorType flattened(RankedTensorType type) {
  return RankedTensorType::get({type.getNumElements()}, type.getElementType());
}

RankedTensorType withElementType(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

} // namespace sluice::spmd
