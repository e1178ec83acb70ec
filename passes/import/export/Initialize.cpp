//===- Initialize.cpp - initial values of parameters by the types of their modules --------===//
//
// The rules are those of `reset_parameters` in torch/nn/modules, torch 2.15. A uniform distribution that follows from
// kaiming_uniform_(a=sqrt(5)) has the bound 1/sqrt(fan in).
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Initialize.h"

#include "passes/import/export/Modules.h"

#include "dialect/model/Model.h"
#include "runtime/base/Text.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace {

enum class Rule : std::uint8_t {
  zeros,
  ones,
  /// Of PReLU: 0.25.
  quarter,
  /// Mean 0, standard deviation 1, and 0.02 in the Conv1D of transformers.
  normal,
  narrow,
  /// Uniform within 1/sqrt(fan in): all dims of a weight but the first.
  fanIn,
  /// The same for its bias.
  fanInOfWeight,
  /// xavier_uniform_ of a matrix.
  xavier,
  /// Uniform within 1/sqrt(hidden size), of a recurrent layer.
  hidden,
};

struct Row {
  /// The end of a module's type, and the beginning of the name of its parameter or buffer.
  llvm::StringLiteral type, name;
  Rule rule;
};

constexpr Row rows[] = {
    {".Linear", "weight", Rule::fanIn},
    {".Linear", "bias", Rule::fanInOfWeight},
    {".Conv1d", "weight", Rule::fanIn},
    {".Conv1d", "bias", Rule::fanInOfWeight},
    {".Conv2d", "weight", Rule::fanIn},
    {".Conv2d", "bias", Rule::fanInOfWeight},
    {".ConvTranspose1d", "weight", Rule::fanIn},
    {".ConvTranspose1d", "bias", Rule::fanInOfWeight},
    {".ConvTranspose2d", "weight", Rule::fanIn},
    {".ConvTranspose2d", "bias", Rule::fanInOfWeight},
    {".Embedding", "weight", Rule::normal},
    {".LayerNorm", "weight", Rule::ones},
    {".LayerNorm", "bias", Rule::zeros},
    {".RMSNorm", "weight", Rule::ones},
    {".GroupNorm", "weight", Rule::ones},
    {".GroupNorm", "bias", Rule::zeros},
    {".BatchNorm1d", "weight", Rule::ones},
    {".BatchNorm1d", "bias", Rule::zeros},
    {".BatchNorm1d", "running_mean", Rule::zeros},
    {".BatchNorm1d", "running_var", Rule::ones},
    {".BatchNorm1d", "num_batches_tracked", Rule::zeros},
    {".BatchNorm2d", "weight", Rule::ones},
    {".BatchNorm2d", "bias", Rule::zeros},
    {".BatchNorm2d", "running_mean", Rule::zeros},
    {".BatchNorm2d", "running_var", Rule::ones},
    {".BatchNorm2d", "num_batches_tracked", Rule::zeros},
    {".MultiheadAttention", "in_proj_weight", Rule::xavier},
    {".MultiheadAttention", "q_proj_weight", Rule::xavier},
    {".MultiheadAttention", "k_proj_weight", Rule::xavier},
    {".MultiheadAttention", "v_proj_weight", Rule::xavier},
    {".MultiheadAttention", "in_proj_bias", Rule::zeros},
    {".MultiheadAttention", "out_proj.weight", Rule::fanIn},
    {".MultiheadAttention", "out_proj.bias", Rule::zeros},
    {".LSTM", "", Rule::hidden},
    {".GRU", "", Rule::hidden},
    {".RNN", "", Rule::hidden},
    {".PReLU", "weight", Rule::quarter},
    {".Conv1D", "weight", Rule::narrow},
    {".Conv1D", "bias", Rule::zeros},
};

class Initializer {
public:
  Initializer(ModuleOp module, const Graph &graph) : module(module), symbols(module), types(moduleTypes(graph)) {}

  Status run() {
    Status status = Status::ok();
    for (auto parameter : module.getOps<model::ParameterOp>())
      if (std::string type; !initialize(parameter, type)) {
        const std::string text = concat("'", printable(parameter.getSymName().str()), "'",
                                        type.empty() ? "" : concat(" in a module of type ", printable(type)));
        if (status.isOk())
          status = inputError(concat("--initialize: no rule for the initial values of ", text));
        else
          status.addNote(concat("and of ", text));
      }
    if (!status.isOk())
      status.addNote("leave out --initialize, and load the module's own values with sluice-train --init");
    return status;
  }

private:
  ModuleOp module;
  SymbolTable symbols;
  /// By path.
  std::map<std::string, std::string> types;

  bool initialize(model::ParameterOp parameter, std::string &type) {
    // The module that has the parameter, or one around it: out_proj of MultiheadAttention is not called as a module.
    const llvm::StringRef full = parameter.getSymName();
    for (std::size_t dot = full.rfind('.'); type.empty(); dot = full.rfind('.', dot)) {
      const bool isRoot = dot == llvm::StringRef::npos;
      const llvm::StringRef path = isRoot ? "" : full.take_front(dot), name = isRoot ? full : full.drop_front(dot + 1);
      if (const auto found = types.find(path.str()); found != types.end()) {
        type = found->second;
        for (const Row &row : rows)
          if (llvm::StringRef(type).ends_with(row.type) && name.starts_with(row.name))
            return apply(parameter, row.rule, path);
      }
      if (isRoot)
        break;
    }
    return false;
  }

  llvm::ArrayRef<std::int64_t> shapeOf(model::ParameterOp parameter) const {
    return cast<RankedTensorType>(parameter.getType()).getShape();
  }
  model::ParameterOp sibling(llvm::StringRef path, llvm::StringRef name) const {
    return symbols.lookup<model::ParameterOp>(path.empty() ? name.str() : (path + "." + name).str());
  }
  static double fanIn(llvm::ArrayRef<std::int64_t> shape) {
    double product = 1;
    for (const std::int64_t size : shape.drop_front(std::min<std::size_t>(1, shape.size())))
      product *= static_cast<double>(size);
    return product;
  }

  bool apply(model::ParameterOp parameter, Rule rule, llvm::StringRef path) {
    const auto uniform = [&](double bound) { return set(parameter, InitializerKind::uniform, -bound, bound); };
    const auto inverseRoot = [](double size) { return size > 0 ? 1 / std::sqrt(size) : 0.0; };
    const llvm::ArrayRef<std::int64_t> shape = shapeOf(parameter);
    switch (rule) {
    case Rule::zeros:
      return set(parameter, InitializerKind::zeros);
    case Rule::ones:
      return set(parameter, InitializerKind::ones);
    case Rule::quarter:
      return set(parameter, InitializerKind::constant, 0.25);
    case Rule::normal:
      return set(parameter, InitializerKind::normal, 0, 1);
    case Rule::narrow:
      return set(parameter, InitializerKind::normal, 0, 0.02);
    case Rule::fanIn:
      return uniform(inverseRoot(fanIn(shape)));
    case Rule::fanInOfWeight: {
      model::ParameterOp weight = sibling(path, "weight");
      return weight && uniform(inverseRoot(fanIn(shapeOf(weight))));
    }
    case Rule::xavier:
      return shape.size() == 2 &&
             uniform(std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(shape[0] + shape[1], 1))));
    case Rule::hidden: {
      model::ParameterOp weight = sibling(path, "weight_hh_l0");
      return weight && shapeOf(weight).size() == 2 && uniform(inverseRoot(static_cast<double>(shapeOf(weight)[1])));
    }
    }
    llvm_unreachable("covered");
  }

  bool set(model::ParameterOp parameter, InitializerKind kind, double a = 0, double b = 0) {
    Builder builder(parameter.getContext());
    parameter.setInitAttr(builder.getAttr<model::InitializerKindAttr>(kind));
    parameter.setAAttr(builder.getF64FloatAttr(a));
    parameter.setBAttr(builder.getF64FloatAttr(b));
    // The row of an embedding that has no gradient begins with zeros.
    const std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(parameter, module);
    if (kind == InitializerKind::normal && uses)
      for (const SymbolTable::SymbolUse &use : *uses)
        for (Operation *user : use.getUser()->getUsers())
          if (auto embedding = dyn_cast<model::EmbeddingOp>(user); embedding && embedding.getPaddingAttr())
            parameter.setPaddingAttr(embedding.getPaddingAttr());
    return true;
  }
};

} // namespace

Status exported::initializeByModule(ModuleOp module, const Graph &graph) { return Initializer(module, graph).run(); }
