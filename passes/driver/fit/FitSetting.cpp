//===- FitSetting.cpp - the settings of a job that are compared ---------------------------------===//
#include "passes/driver/fit/FitSetting.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <span>

namespace sluice {
namespace {

struct Value {
  FitDimension dimension;
  std::string_view name;
  /// Of Sluice only: FSDP2 has no argument for it.
  bool isSluiceOnly;
  /// key=value.
  std::array<std::string_view, 2> recipe;
};

constexpr std::array allDimensions = {FitDimension::recompute, FitDimension::offload, FitDimension::precision};

/// In the order of the table: less recomputation and transfer first.
constexpr Value values[] = {
    {FitDimension::recompute, "none", false, {"recompute.policy=none"}},
    {FitDimension::recompute,
     "selective",
     false,
     {"recompute.policy=selective", R"(recompute.save=["matmul*", "attention"])"}},
    {FitDimension::recompute, "block", false, {"recompute.policy=block"}},
    {FitDimension::offload, "none", false, {"memory.offload=[]"}},
    {FitDimension::offload, "activations", true, {R"(memory.offload=["activations"])"}},
    {FitDimension::offload, "optimizer", true, {R"(memory.offload=["optimizer"])"}},
    {FitDimension::offload, "parameters", false, {R"(memory.offload=["parameters", "optimizer"])"}},
    {FitDimension::precision, "bf16", false, {"precision.compute=bf16"}},
    {FitDimension::precision, "f16", false, {"precision.compute=f16", "precision.loss_scale=dynamic"}},
    {FitDimension::precision, "f32", false, {"precision.compute=f32"}},
};

const Value *findValue(FitDimension dimension, std::string_view name) {
  for (const Value &value : values)
    if (value.dimension == dimension && value.name == name)
      return &value;
  return nullptr;
}

/// Adds the recipe of a value; an empty name has none.
void addValue(FitDimension dimension, std::string_view name, std::vector<std::string> &recipe) {
  if (const Value *value = findValue(dimension, name))
    for (const std::string_view setting : value->recipe)
      if (!setting.empty())
        recipe.emplace_back(setting);
}

std::string keyOf(std::string_view setting) { return std::string(setting.substr(0, setting.find('='))); }

/// Keys of the dimension, some of them several times.
std::vector<std::string> keysOf(FitDimension dimension) {
  std::vector<std::string> keys;
  for (const Value &value : values)
    if (value.dimension == dimension)
      for (const std::string_view own : value.recipe)
        if (!own.empty())
          keys.push_back(keyOf(own));
  return keys;
}

/// The dimension of a key; nullopt: of none.
std::optional<FitDimension> dimensionOf(const std::string &key) {
  for (const FitDimension dimension : allDimensions)
    if (std::ranges::count(keysOf(dimension), key))
      return dimension;
  return std::nullopt;
}

/// True if the user gives a key of the dimension.
bool isGiven(const Recipe &given, FitDimension dimension) {
  return std::ranges::any_of(keysOf(dimension), [&](const std::string &key) { return given.isAdded(key); });
}

/// True for a key that has no argument in the calls of FSDP2: those of the optimizer, which the account reads, and of
/// the mesh, which is one of the dimensions.
bool isOutsideOfCalls(std::string_view key) {
  return (key.starts_with("optimizer.") && key != "optimizer.in_backward") || key.starts_with("lr_schedule.") ||
         key == "parameters.frozen" || key == "mesh.replicate" || key == "mesh.shard";
}

/// The account of FSDP2 and its calls are those of the dimensions, so no other key of the recipe may change them.
Status checkTorchKeys(const Recipe &given) {
  for (const FitDimension dimension : allDimensions)
    for (const std::string &key : keysOf(dimension))
      if (given.isAdded(key))
        return Status(StatusCode::usage, concat("--set ", key, " cannot be combined with --for pytorch"))
            .withNote(concat("give --", nameOf(dimension), ", one of ",
                             join(valuesOf(dimension, FitFramework::pytorch), ", ")));
  for (const auto &[key, value] : given.given())
    if (!isOutsideOfCalls(key))
      return Status(StatusCode::usage, concat("--set ", key, " cannot be combined with --for pytorch"))
          .withNote("the calls that are printed do not have it; keys of 'optimizer', 'mesh.replicate' and 'mesh.shard' "
                    "can be given");
  return Status::ok();
}

/// The values of a dimension to compare, of those that the user gives or `defaults`.
Result<std::vector<std::string>> chosen(const FitRequest &request, const Recipe &recipe, FitDimension dimension,
                                        const std::vector<std::string> &given,
                                        const std::vector<std::string> &defaults) {
  if (isGiven(recipe, dimension)) {
    if (!given.empty())
      return Status(StatusCode::usage,
                    concat("--", nameOf(dimension), " cannot be combined with --set of one of its keys"));
    return std::vector<std::string>{""};
  }
  const std::vector<std::string> known = valuesOf(dimension, request.framework);
  for (const std::string &name : given)
    if (!std::ranges::count(known, name))
      return Status(StatusCode::usage,
                    concat("--", nameOf(dimension), ", expected one of ", join(known, ", "), " but got '", name, "'"));
  return given.empty() ? defaults : given;
}

/// The mesh of the user's settings, whose ranks are those of the job; nullopt if they have none.
Result<std::optional<FitMesh>> givenMesh(const Recipe &given, const Gpus &gpus) {
  const Recipe::Mesh &mesh = given.mesh;
  if (mesh.expert != 1)
    return Status(StatusCode::usage, concat("--set mesh.expert, expected 1 but got ", mesh.expert))
        .withNote("meshes of 'replicate', 'shard' and 'tensor' are compared");
  if (!given.isAdded("mesh.replicate") && !given.isAdded("mesh.shard") && !given.isAdded("mesh.tensor"))
    return std::optional<FitMesh>();
  const std::int64_t ranks = mesh.replicate * mesh.shard * mesh.tensor;
  if (ranks != gpus.world)
    return Status(StatusCode::usage,
                  concat("the mesh of --set has ", ranks, " ranks, but the job has ", gpus.world, " GPUs"));
  return std::optional(FitMesh{mesh.replicate, mesh.shard, mesh.tensor});
}

/// The meshes that shard over all ranks, and within each host; in the last resort also one of tensor parallelism within
/// each host.
Result<std::vector<FitMesh>> meshesOf(const FitRequest &request, const Recipe &recipe, const Gpus &gpus, bool isLast) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<FitMesh> given, givenMesh(recipe, gpus));
  if (given)
    return std::vector{*given};
  const std::int64_t host = gpus.hostDevices;
  std::vector<FitMesh> meshes = {{1, gpus.world, 1}};
  if (gpus.world > host && gpus.world % host == 0 && host > 1)
    meshes.push_back({gpus.world / host, host, 1});
  if (isLast && request.framework == FitFramework::sluice && host > 1 && gpus.world % host == 0)
    meshes.push_back({1, gpus.world / host, host});
  return meshes;
}

} // namespace

std::string FitMesh::text() const {
  std::string text;
  for (const auto &[name, size] : {std::pair("replicate", replicate), {"shard", shard}, {"tensor", tensor}})
    if (size > 1)
      text += concat(text.empty() ? "" : " x ", name, "=", size);
  return text.empty() ? "shard=1" : text;
}

std::vector<std::string> FitSetting::recipe(const Recipe &given) const {
  std::vector<std::string> recipe = {concat("mesh.shard=", mesh.shard), concat("mesh.replicate=", mesh.replicate),
                                     concat("mesh.tensor=", mesh.tensor)};
  if (mesh.tensor > 1)
    for (const char *setting : {"sharding.tensor=megatron", "sharding.sequence=true"})
      if (!given.isAdded(keyOf(setting)))
        recipe.emplace_back(setting);
  addValue(FitDimension::recompute, recompute, recipe);
  addValue(FitDimension::offload, offload, recipe);
  addValue(FitDimension::precision, precision, recipe);
  return recipe;
}

std::vector<std::string> FitSetting::precisionRecipe() const {
  std::vector<std::string> recipe;
  addValue(FitDimension::precision, precision, recipe);
  return recipe;
}

std::string FitSetting::text() const {
  std::string text = "mesh " + mesh.text();
  if (rows != 0)
    text += concat(", ", rows, rows == 1 ? " row" : " rows");
  if (!recompute.empty())
    text += ", recompute " + recompute;
  if (!offload.empty())
    text += ", offload " + offload;
  return precision.empty() ? text : text + ", precision " + precision;
}

std::string nameOf(FitDimension dimension) {
  constexpr std::array names = {"recompute", "offload", "precision"};
  return names[std::size_t(dimension)];
}

std::vector<std::string> valuesOf(FitDimension dimension, FitFramework framework) {
  std::vector<std::string> names;
  for (const Value &value : values)
    if (value.dimension == dimension && !(value.isSluiceOnly && framework == FitFramework::pytorch))
      names.emplace_back(value.name);
  return names;
}

Result<Recipe> givenRecipe(const FitRequest &request) {
  Recipe recipe;
  for (const std::string &setting : request.settings)
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(setting));
  return recipe;
}

Status unsetVariedKeys(Recipe &recipe, const Recipe &given) {
  for (const FitDimension dimension : allDimensions)
    if (!isGiven(given, dimension))
      for (const std::string &key : keysOf(dimension))
        SLUICE_RETURN_IF_ERROR(recipe.unset(key, "sluice-fit"));
  return Status::ok();
}

Status checkModelRecipe(const FitRequest &request, const Recipe &carried) {
  if (carried.mesh.expert != 1)
    return inputError(concat(request.model, ": 'mesh.expert' of its recipe, expected 1 but got ", carried.mesh.expert))
        .withNote("meshes of 'replicate', 'shard' and 'tensor' are compared");
  if (request.framework != FitFramework::pytorch)
    return Status::ok();
  for (const auto &[key, value] : carried.given())
    if (!isOutsideOfCalls(key) && !dimensionOf(key) && !key.starts_with("target.") && !key.starts_with("mesh.") &&
        key != "memory.budget")
      return inputError(concat(request.model, ": '", key, "' of its recipe cannot be combined with --for pytorch"))
          .withNote("the calls that are printed do not have it; import the model without a recipe");
  return Status::ok();
}

Result<std::vector<FitSetting>> settingsOf(const FitRequest &request, const Gpus &gpus, bool isLast) {
  SLUICE_ASSIGN_OR_RETURN(const Recipe given, givenRecipe(request));
  if (given.isAdded("target.device"))
    return Status(StatusCode::usage, "--set target.device cannot be combined with --gpus, which gives the device");
  const bool isTorch = request.framework == FitFramework::pytorch;
  if (isTorch)
    SLUICE_RETURN_IF_ERROR(checkTorchKeys(given));
  const std::vector<std::string> offloads =
      isTorch ? std::vector<std::string>{"parameters"} : std::vector<std::string>{"none", "optimizer", "parameters"};
  using Names = std::vector<std::string>;
  SLUICE_ASSIGN_OR_RETURN(const Names recompute,
                          chosen(request, given, FitDimension::recompute, request.recompute,
                                 isLast ? Names{"block"} : valuesOf(FitDimension::recompute, request.framework)));
  SLUICE_ASSIGN_OR_RETURN(const Names offload, chosen(request, given, FitDimension::offload, request.offload,
                                                      isLast ? offloads : Names{"none"}));
  SLUICE_ASSIGN_OR_RETURN(const Names precision,
                          chosen(request, given, FitDimension::precision, request.precision, Names{"bf16"}));
  std::vector<FitSetting> settings;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FitMesh> meshes, meshesOf(request, given, gpus, isLast));
  for (const FitMesh &mesh : meshes)
    for (const std::string &compute : precision)
      for (const std::string &host : offload)
        for (const std::string &policy : recompute)
          settings.push_back({mesh, 1, policy, host, compute});
  return settings;
}

} // namespace sluice
