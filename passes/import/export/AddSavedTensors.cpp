//===- AddSavedTensors.cpp - what PyTorch saves, at the ops of the model -------------------===//

#include "passes/import/export/SavedTensors.h"

#include "dialect/model/Model.h"
#include "dialect/model/SavedTensors.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

Location exported::withNode(Location location, const Node &node) {
  MLIRContext *context = location.getContext();
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&node));
  return FusedLoc::get(context, llvm::ArrayRef<Location>(location),
                       IntegerAttr::get(IntegerType::get(context, 64), address));
}

/// The fused location with the address of a node; null without one.
static FusedLoc withAddress(Location location) {
  FusedLoc found;
  location->walk([&](Location each) {
    auto fused = dyn_cast<FusedLoc>(each);
    if (fused && isa_and_present<IntegerAttr>(fused.getMetadata()))
      found = fused;
    return WalkResult::advance();
  });
  return found;
}

Location exported::withoutNode(Location location) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FusedLoc fused) -> std::optional<Attribute> {
    return isa_and_present<IntegerAttr>(fused.getMetadata()) ? std::optional<Attribute>(fused.getLocations().front())
                                                             : std::nullopt;
  });
  return cast<LocationAttr>(replacer.replace(Attribute(static_cast<LocationAttr>(location))));
}

namespace {
/// An op of the model that allocates its results.
struct Survivor {
  std::int64_t number;
  std::string block;
  Operation *op;
};
} // namespace

/// The nodes in the order of the program; a region follows its nodes.
static void addNumbers(const Graph &graph, llvm::DenseMap<std::int64_t, std::int64_t> &numbers) {
  for (const Node &node : graph.nodes) {
    for (const auto &[name, argument] : node.inputs)
      if (argument.graph)
        addNumbers(*argument.graph, numbers);
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&node));
    numbers.try_emplace(address, static_cast<std::int64_t>(numbers.size()));
  }
}

void exported::addSavedTensors(func::FuncOp entry, const Program &program, const Modules &modules) {
  llvm::DenseMap<std::int64_t, std::int64_t> numbers;
  addNumbers(program.graph, numbers);
  const auto numberOf = [&](const Node &node) {
    return numbers.lookup(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&node)));
  };
  std::vector<Survivor> survivors;
  entry->walk([&](Operation *op) {
    if (isa<model::ReshapeOp, model::TransposeOp, model::BroadcastOp, model::SliceOp, model::SplitOp>(op) ||
        op->getNumOperands() == 0 || op->getNumRegions() > 0)
      return;
    auto name = op->getLoc()->findInstanceOf<NameLoc>();
    if (FusedLoc location = withAddress(op->getLoc()))
      survivors.push_back({numbers.lookup(cast<IntegerAttr>(location.getMetadata()).getInt()),
                           name ? modules.blockOf(name.getName().getValue()) : std::string(), op});
  });
  llvm::stable_sort(survivors, [](const Survivor &a, const Survivor &b) { return a.number < b.number; });
  for (const SavedTensor &tensor : savedTensors(program)) {
    // Only the fusion of a gate removes a silu, whose result the account has itself.
    if (tensor.node->target == "aten.silu.default")
      continue;
    const std::int64_t number = numberOf(*tensor.node);
    const auto from = llvm::partition_point(survivors, [&](const Survivor &each) { return each.number < number; });
    if (!tensor.isInternal && from != survivors.end() && from->number == number)
      continue;
    const std::string block = modules.blockOf(Modules::pathOf(*tensor.node));
    const auto isInBlock = [&](const Survivor &survivor) { return survivor.block == block; };
    auto owner = std::find_if(from, survivors.end(), isInBlock);
    if (owner == survivors.end()) {
      const auto previous = std::find_if(std::make_reverse_iterator(from), survivors.rend(), isInBlock);
      if (previous == survivors.rend())
        continue;
      owner = std::prev(previous.base());
    }
    model::addSaved(owner->op, tensor.bytes);
  }
}
