//===- Gpt2Graph.cpp - the GPT-2 family as a graph -------------------------------------===//

#include "passes/import/Gpt2.h"

#include "dialect/model/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice;

namespace {

class Gpt2Builder {
public:
  Gpt2Builder(MLIRContext *context, const Gpt2Config &config, const ImportOptions &options)
      : builder(context), config(config), batch(options.batch), sequence(options.sequence) {}

  OwningOpRef<ModuleOp> build(llvm::StringRef name, llvm::StringRef configText) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(at(""));
    module.get()->setAttr("model.name", builder.getStringAttr(name));
    module.get()->setAttr("model.config", builder.getStringAttr(configText));
    module.get()->setAttr("model.batch", builder.getI64IntegerAttr(batch));
    module.get()->setAttr("model.sequence", builder.getI64IntegerAttr(sequence));
    builder.setInsertionPointToStart(module->getBody());
    declareParameters();
    buildTrainStep();
    builder.setInsertionPointToEnd(module->getBody());
    buildLogits();
    return module;
  }

private:
  OpBuilder builder;
  const Gpt2Config &config;
  std::int64_t batch, sequence;
  llvm::StringMap<RankedTensorType> parameters;
  Location location = builder.getUnknownLoc();
  /// Inputs of the step that dropout draws by; null where nothing is dropped.
  Value seed, step, row;
  /// Keys of the dropouts, in the order of their making.
  std::int64_t nextKey = 0;

  /// The module path of the source.
  Location at(llvm::StringRef path) { return NameLoc::get(builder.getStringAttr(path.empty() ? "model" : path)); }

  RankedTensorType tensor(llvm::ArrayRef<std::int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  void declare(const llvm::Twine &twine, llvm::ArrayRef<std::int64_t> shape, llvm::StringRef init, double deviation = 0,
               llvm::StringRef alias = "") {
    std::string name = twine.str();
    parameters[name] = tensor(shape);
    ArrayAttr aliases = alias.empty() ? ArrayAttr() : builder.getStrArrayAttr({alias});
    model::ParameterOp::create(builder, at(name), builder.getStringAttr(name), TypeAttr::get(tensor(shape)),
                               builder.getStringAttr(init), builder.getF64FloatAttr(0.0),
                               builder.getF64FloatAttr(deviation), aliases);
  }

  void declareNorm(const llvm::Twine &name) {
    declare(name + ".weight", {config.width}, "ones");
    declare(name + ".bias", {config.width}, "zeros");
  }

  /// The checkpoint keeps weights as [in, out].
  void declareProjection(const llvm::Twine &name, std::int64_t in, std::int64_t out, double deviation) {
    declare(name + ".weight", {in, out}, "normal", deviation);
    declare(name + ".bias", {out}, "zeros");
  }

  void declareParameters() {
    double range = config.initializerRange;
    // Projections onto the residual path start smaller, by the number of additions to it.
    double residual = range / std::sqrt(2.0 * static_cast<double>(config.layers));
    declare("wte.weight", {config.vocabulary, config.width}, "normal", range, config.tied ? "lm_head.weight" : "");
    declare("wpe.weight", {config.positions, config.width}, "normal", range);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      std::string block = "h." + std::to_string(layer);
      declareNorm(block + ".ln_1");
      declareProjection(block + ".attn.c_attn", config.width, 3 * config.width, range);
      declareProjection(block + ".attn.c_proj", config.width, config.width, residual);
      declareNorm(block + ".ln_2");
      declareProjection(block + ".mlp.c_fc", config.width, config.inner, range);
      declareProjection(block + ".mlp.c_proj", config.inner, config.width, residual);
    }
    declareNorm("ln_f");
    if (!config.tied)
      declare("lm_head.weight", {config.vocabulary, config.width}, "normal", range);
  }

  Value read(const llvm::Twine &twine) {
    std::string name = twine.str();
    return model::ReadOp::create(builder, location, parameters.at(name),
                                 FlatSymbolRefAttr::get(builder.getContext(), name), StringAttr())
        .getValue();
  }

  Value norm(const std::string &name, Value x) {
    location = at(name);
    Value weight = read(name + ".weight"), bias = read(name + ".bias");
    return model::LayerNormOp::create(builder, location, x, weight, bias, builder.getF64FloatAttr(config.epsilon))
        .getY();
  }

  Value projection(const std::string &name, Value x) {
    location = at(name);
    Value weight = read(name + ".weight"), bias = read(name + ".bias");
    Value product = model::MatmulOp::create(builder, location, x, weight).getResult();
    return model::AddOp::create(builder, location, product, bias).getResult();
  }

  Value reshape(Value value, llvm::ArrayRef<std::int64_t> shape) {
    return model::ReshapeOp::create(builder, location, tensor(shape), value).getResult();
  }

  Value drop(Value x, double rate) {
    if (!row || rate == 0)
      return x;
    return model::DropoutOp::create(builder, location, x, seed, step, row, builder.getF64FloatAttr(rate),
                                    builder.getI64IntegerAttr(nextKey++))
        .getY();
  }

  /// Causal attention by its parts, since probabilities are dropped in its midst.
  Value droppedAttention(llvm::ArrayRef<Value> heads, double scale) {
    auto swapped = [&](Value value) -> Value {
      auto shape = cast<RankedTensorType>(value.getType()).getShape();
      return model::TransposeOp::create(builder, location, tensor({shape[0], shape[2], shape[1], shape[3]}), value,
                                        builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
    };
    Value q = swapped(heads[0]), k = swapped(heads[1]), v = swapped(heads[2]);
    Value scores = model::MatmulOp::create(builder, location, q, k, false, true).getResult();
    scores = model::ScaleOp::create(builder, location, scores.getType(), scores, builder.getF64FloatAttr(scale));
    auto index = [&](std::int64_t dim) -> Value {
      Type type = RankedTensorType::get({sequence, sequence}, builder.getI32Type());
      return model::IotaOp::create(builder, location, type, builder.getI64IntegerAttr(dim));
    };
    Value seen = model::CompareOp::create(builder, location, index(0), index(1), builder.getStringAttr("ge"));
    Value nothing = model::ConstantOp::create(builder, location, tensor({}),
                                              builder.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
    scores = model::SelectOp::create(builder, location, seen, scores, nothing);
    Value weights = drop(model::SoftmaxOp::create(builder, location, scores).getY(), config.attentionDropout);
    return swapped(model::MatmulOp::create(builder, location, weights, v).getResult());
  }

  Value attention(const std::string &block, std::int64_t layer, Value x) {
    Value joined = projection(block + ".attn.c_attn", x);
    location = at(block + ".attn");
    Type part = tensor({batch, sequence, config.width});
    auto split = model::SplitOp::create(builder, location, TypeRange{part, part, part}, joined,
                                        builder.getI64IntegerAttr(2));
    std::int64_t size = config.width / config.heads;
    llvm::SmallVector<Value> heads;
    for (Value piece : split.getResults())
      heads.push_back(reshape(piece, {batch, sequence, config.heads, size}));
    double scale = config.scaleAttention ? 1.0 / std::sqrt(static_cast<double>(size)) : 1.0;
    if (config.scaleByLayer)
      scale /= static_cast<double>(layer + 1);
    Value out = row && config.attentionDropout != 0
                    ? droppedAttention(heads, scale)
                    : model::AttentionOp::create(builder, location, heads[0], heads[1], heads[2],
                                                 builder.getF64FloatAttr(scale), builder.getUnitAttr(), IntegerAttr())
                          .getOut();
    Value joinedHeads = reshape(out, {batch, sequence, config.width});
    return drop(projection(block + ".attn.c_proj", joinedHeads), config.residualDropout);
  }

  Value activate(const std::string &name, Value x) {
    location = at(name);
    if (config.activation == "relu")
      return model::ReluOp::create(builder, location, x).getResult();
    return model::GeluOp::create(builder, location, x, builder.getStringAttr(config.activation)).getY();
  }

  Value add(const std::string &name, Value a, Value b) {
    location = at(name);
    return model::AddOp::create(builder, location, a, b).getResult();
  }

  Value block(std::int64_t layer, Value x) {
    std::string name = "h." + std::to_string(layer);
    OpBuilder::InsertionGuard guard(builder);
    auto region = model::BlockOp::create(builder, at(name), TypeRange{x.getType()}, builder.getStringAttr(name));
    builder.createBlock(&region.getBody());
    Value attended = add(name, attention(name, layer, norm(name + ".ln_1", x)), x);
    Value wide = projection(name + ".mlp.c_fc", norm(name + ".ln_2", attended));
    Value narrow = drop(projection(name + ".mlp.c_proj", activate(name + ".mlp.act", wide)), config.residualDropout);
    Value out = add(name, narrow, attended);
    model::YieldOp::create(builder, location, ValueRange{out});
    return region.getResults()[0];
  }

  Value forward(Value tokens) {
    location = at("wte");
    Value words = model::EmbeddingOp::create(builder, location, read("wte.weight"), tokens).getResult();
    location = at("wpe");
    Value positions = read("wpe.weight");
    if (sequence < config.positions)
      positions = model::SliceOp::create(builder, location, positions, builder.getDenseI64ArrayAttr({0, 0}),
                                         builder.getDenseI64ArrayAttr({sequence, config.width}),
                                         builder.getDenseI64ArrayAttr({1, 1}))
                      .getResult();
    Value x = drop(add("wpe", words, positions), config.embeddingDropout);
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
      x = block(layer, x);
    x = norm("ln_f", x);
    location = at("lm_head");
    Value head = read(config.tied ? "wte.weight" : "lm_head.weight");
    return model::MatmulOp::create(builder, location, x, head, false, true).getResult();
  }

  func::FuncOp function(llvm::StringRef name, llvm::StringRef kind, llvm::ArrayRef<llvm::StringRef> inputs, Type result,
                        llvm::StringRef output) {
    Type tokens = RankedTensorType::get({batch, sequence}, builder.getI32Type());
    llvm::SmallVector<Type> types(inputs.size(), tokens);
    auto made = func::FuncOp::create(builder, at(""), name, builder.getFunctionType(types, {result}));
    made->setAttr("model.entry", builder.getStringAttr(kind));
    for (auto [index, input] : llvm::enumerate(inputs)) {
      made.setArgAttr(index, "model.input", builder.getStringAttr(input));
      made.setArgAttr(index, "model.limit", builder.getI64IntegerAttr(config.vocabulary));
    }
    made.setResultAttr(0, "model.output", builder.getStringAttr(output));
    builder.setInsertionPointToStart(made.addEntryBlock());
    return made;
  }

  void addStepInputs(func::FuncOp function) {
    Type scalar = RankedTensorType::get({}, builder.getI64Type());
    for (auto [name, value] : {std::pair("seed", &seed), {"step", &step}, {"row", &row}}) {
      auto attributes = builder.getDictionaryAttr(builder.getNamedAttr("model.input", builder.getStringAttr(name)));
      unsigned index = function.getNumArguments();
      (void)function.insertArgument(index, scalar, attributes, location);
      *value = function.getArgument(index);
    }
  }

  void buildTrainStep() {
    func::FuncOp made = function("train_step", "train", {"tokens", "targets"}, tensor({}), "loss");
    if (config.embeddingDropout != 0 || config.attentionDropout != 0 || config.residualDropout != 0)
      addStepInputs(made);
    Value logits = forward(made.getArgument(0));
    seed = step = row = Value();
    location = at("loss");
    Value loss = model::CrossEntropyOp::create(builder, location, logits, made.getArgument(1),
                                               builder.getStringAttr("mean"), builder.getI64IntegerAttr(-100), FloatAttr())
                     .getLoss();
    func::ReturnOp::create(builder, location, ValueRange{loss});
  }

  void buildLogits() {
    func::FuncOp made =
        function("logits", "forward", {"tokens"}, tensor({batch, sequence, config.vocabulary}), "logits");
    Value logits = forward(made.getArgument(0));
    func::ReturnOp::create(builder, location, ValueRange{logits});
  }
};

} // namespace

Result<OwningOpRef<ModuleOp>> sluice::buildGpt2(MLIRContext *context, const Gpt2Config &config,
                                                const ImportOptions &options, llvm::StringRef name,
                                                llvm::StringRef configText) {
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  OwningOpRef<ModuleOp> module = Gpt2Builder(context, config, options).build(name, configText);
  if (failed(verify(module.get())))
    return internalError("imported model that does not verify");
  return module;
}
