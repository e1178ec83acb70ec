//===- Zoo.cpp - the table of the zoo -----------------------------------------------------------===//

#include "passes/import/zoo/Zoo.h"

#include "passes/import/ConfigFields.h"
#include "passes/import/zoo/Models.h"
#include "runtime/base/Text.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

static const std::vector<Model> &models() {
  static const std::vector<Model> table = [] {
    std::vector<Model> all;
    for (auto family : {linearModels, transformerModels, encoderDecoderModels, convolutionalModels, expertModels})
      for (Model &model : family())
        all.push_back(std::move(model));
    return all;
  }();
  return table;
}

/// The keys of the model, then those that all have.
static std::vector<Key> keysOf(const Model &model) {
  std::vector<Key> keys = model.keys;
  keys.push_back({"batch", model.batch});
  Key loss = {"loss", model.loss, Kind::choice, 0, {"sum", "mean", "first-row-square"}};
  loss.choices.insert(loss.choices.end(), model.losses.begin(), model.losses.end());
  keys.push_back(loss);
  return keys;
}

/// No tensor is larger than an address can name.
static Status checkSizes(ModuleOp module) {
  Status status;
  auto check = [&](Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !status.isOk())
      return;
    if (std::optional<std::string> extents = oversizedShape(tensor.getShape(), /*elementBytes=*/8)) {
      std::string place;
      llvm::raw_string_ostream(place) << op->getLoc();
      status = inputError("size of a tensor at " + place + ", expected at most 64 TiB but got " + *extents);
    }
  };
  module.walk([&](Operation *op) {
    if (auto parameter = dyn_cast<model::ParameterOp>(op))
      check(op, parameter.getType());
    for (Type type : op->getResultTypes())
      check(op, type);
  });
  return status;
}

Result<OwningOpRef<ModuleOp>> sluice::importZoo(MLIRContext *context, const std::string &name,
                                                const std::vector<std::string> &given,
                                                const std::vector<RowShape> &shapes) {
  const auto found = llvm::find_if(models(), [&](const Model &model) { return model.name == name; });
  if (found == models().end()) {
    llvm::SmallVector<llvm::StringRef> names;
    for (const Model &model : models())
      names.push_back(model.name);
    return Status(StatusCode::usage,
                  "unknown zoo model '" + name + "', expected a name such as '" + nearestOf(name, names) + "'")
        .withNote("sluice-import zoo --list prints every model");
  }
  std::vector<Settings> all;
  for (std::size_t i = 0; i < std::max<std::size_t>(shapes.size(), 1); ++i) {
    std::vector<std::string> texts = given;
    if (!shapes.empty())
      texts.insert(texts.end(), {concat("batch=", shapes[i].batch), concat("sequence=", shapes[i].sequence)});
    SLUICE_ASSIGN_OR_RETURN(Settings settings, Settings::read(name, keysOf(*found), texts));
    all.push_back(std::move(settings));
  }
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  ModuleBuilder builder(context, name, all[0].size("batch"), all[0].choice("loss"));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0)
      builder.beginShape(shapes[i]);
    SLUICE_RETURN_IF_ERROR(found->build(builder, all[i]));
  }
  OwningOpRef<ModuleOp> module = builder.take();
  SLUICE_RETURN_IF_ERROR(checkSizes(module.get()));
  if (failed(verify(module.get())))
    return internalError("zoo model that does not verify");
  return module;
}

std::string sluice::listZoo() {
  std::string text;
  for (const Model &model : models()) {
    text += model.name.str() + ": " + model.description.str() + "\n   ";
    for (const Key &key : keysOf(model))
      (text += " ").append(key.name.str()).append("=").append(key.value.str());
    text += "\n";
  }
  return text;
}
