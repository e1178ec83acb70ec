//===- Origins.cpp - the user's places of ops, from their locations -------------------------===//

#include "passes/import/stablehlo/Origins.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;
using exported::Origin;

/// `layers` and `0` of `layers_0` and `layers.0`; nullopt for a scope without a number.
static std::optional<std::pair<llvm::StringRef, llvm::StringRef>> numberedOf(llvm::StringRef scope) {
  const std::size_t digits = scope.size() - scope.rtrim("0123456789").size();
  const llvm::StringRef name = scope.drop_back(digits);
  if (digits == 0 || name.size() < 2 || (name.back() != '_' && name.back() != '.'))
    return std::nullopt;
  return std::pair(name.drop_back(), scope.take_back(digits));
}

/// Scopes that JAX adds: calls, such as `jit(f)`, equations of einsum, and parts of control flow.
static bool isOfJax(llvm::StringRef scope) {
  static constexpr llvm::StringLiteral names[] = {"while", "body",   "cond",       "closed_call", "checkpoint",
                                                  "remat", "remat2", "custom_jvp", "core_call",   "branch_0_fun"};
  const bool isName = llvm::all_of(scope, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-'; });
  return scope.empty() || !isName || llvm::is_contained(names, scope);
}

/// The innermost place of a location: aliases in a text may nest without a limit.
static FileLineColLoc placeOf(Location location) {
  for (;;) {
    if (auto place = llvm::dyn_cast<FileLineColLoc>(location))
      return place;
    if (auto name = llvm::dyn_cast<NameLoc>(location))
      location = name.getChildLoc();
    else if (auto site = llvm::dyn_cast<CallSiteLoc>(location))
      location = site.getCallee();
    else if (auto fused = llvm::dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty())
      location = fused.getLocations().front();
    else
      return {};
  }
}

Origin stablehlo::originOf(Location location, const Origin &call) {
  Origin origin;
  if (FileLineColLoc place = placeOf(location)) {
    origin.file = place.getFilename().str();
    origin.line = place.getLine();
  }
  if (origin.line == 0)
    origin.file = call.file, origin.line = call.line;
  if (auto name = llvm::dyn_cast<NameLoc>(location)) {
    llvm::SmallVector<llvm::StringRef> scopes;
    name.getName().getValue().split(scopes, '/');
    // The last one is the op.
    std::string path;
    for (llvm::StringRef scope : llvm::ArrayRef(scopes).drop_back()) {
      if (isOfJax(scope))
        continue;
      path += (path.empty() ? "" : ".") + scope.str();
      origin.modules.push_back(path);
      origin.types.push_back(scope.str());
    }
  }
  if (call.modules.empty() ||
      llvm::StringRef(origin.modules.empty() ? "" : origin.modules.front()) == call.modules.front())
    return origin;
  Origin nested = call;
  nested.file = origin.file, nested.line = origin.line;
  for (auto [module, type] : llvm::zip_equal(origin.modules, origin.types)) {
    nested.modules.push_back(call.modules.back() + "." + module);
    nested.types.push_back(type);
  }
  return nested;
}

void stablehlo::numberScopes(exported::Program &program) {
  std::set<std::string> withChildren;
  for (const exported::Node &node : program.graph.nodes)
    for (const std::string &path : llvm::ArrayRef(node.origin.modules).drop_back(node.origin.modules.empty() ? 0 : 1))
      withChildren.insert(path);
  for (exported::Node &node : program.graph.nodes) {
    std::string path;
    for (auto [module, type] : llvm::zip_equal(node.origin.modules, node.origin.types)) {
      std::string scope = type;
      const auto numbered = numberedOf(scope);
      // Flax numbers the modules of each class: `Dense_0` is a single layer, `Block_0` with modules in it one of many.
      if (numbered && (!llvm::isUpper(scope.front()) || withChildren.contains(module))) {
        type = numbered->first.str();
        scope = (numbered->first + "." + numbered->second).str();
      }
      path += (path.empty() ? "" : ".") + scope;
      module = path;
    }
  }
}

/// "h.1" and "w" of "h.1.w"; the layer is empty for a name without a number.
static std::string layerOf(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '.');
  std::string path;
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_back()) {
    path += (path.empty() ? "" : ".") + part.str();
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return path;
  }
  return {};
}

void stablehlo::placeByParameters(exported::Program &program) {
  std::vector<exported::Node> &nodes = program.graph.nodes;
  if (llvm::any_of(nodes, [](const exported::Node &node) { return !node.origin.modules.empty(); }))
    return;
  llvm::StringMap<std::string> layers;
  for (const exported::InputSpec &input : program.inputs)
    if (input.kind == exported::InputSpec::Kind::parameter)
      if (const std::string layer = layerOf(input.name); !layer.empty())
        layers[input.value] = layer;
  // The last op that reads each layer, directly or through views of its parameters.
  llvm::StringMap<std::size_t> last;
  std::vector<std::string> read(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes)) {
    bool isOfParametersOnly = true;
    for (const auto &[name, argument] : node.inputs)
      for (const std::string &each : argument.names) {
        const auto found = layers.find(each);
        if (found == layers.end())
          isOfParametersOnly = false;
        else
          read[index] = found->second;
      }
    if (read[index].empty())
      continue;
    if (isOfParametersOnly) {
      for (const std::string &output : node.outputs)
        layers[output] = read[index];
      continue;
    }
    last[read[index]] = index;
  }
  std::string current;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (const auto found = last.find(read[index]);
        !read[index].empty() && found != last.end() && index <= found->second)
      current = read[index];
    if (current.empty())
      continue;
    node.origin.modules = {current};
    node.origin.types = {current.substr(0, current.rfind('.') == std::string::npos ? 0 : current.rfind('.'))};
    // After the last layer the ops are the model's own, except those that follow within the block's sum.
    const bool isLast = llvm::all_of(last, [&](const auto &entry) { return entry.second <= last.lookup(current); });
    if (isLast && index == last.lookup(current))
      current.clear();
  }
}
