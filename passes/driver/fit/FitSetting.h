//===- FitSetting.h - the settings of a job that are compared -----------------------------------===//
//
// A setting is a point of five dimensions: mesh, rows of a micro-batch, recomputation, offload and precision. A value
// of a dimension gives values to recipe keys; if a user gives one of the keys, the dimension is not varied.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_FITSETTING_H
#define SLUICE_PASSES_DRIVER_FIT_FITSETTING_H

#include "passes/driver/fit/Gpus.h"
#include "passes/recipe/Recipe.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The framework that runs the job.
enum class FitFramework { sluice, pytorch };

struct FitRequest {
  /// The file of the model (FitModel.h).
  std::string model;
  /// As readGpus takes them; 0: no --world.
  std::string gpus;
  std::int64_t world = 0;
  /// The folder of machine files; empty: machineFolder().
  std::string machines;
  /// Tokens of a row; 0: not given.
  std::int64_t sequence = 0;
  std::map<std::string, std::int64_t> sizes;
  /// Rows of a micro-batch; empty: powers of two as far as they fit.
  std::vector<std::int64_t> batches;
  FitFramework framework = FitFramework::sluice;
  /// key=value of the recipe, for every setting. Keys that the calls of FSDP2 would have to state are refused for
  /// PyTorch.
  std::vector<std::string> settings;
  /// Values of the dimensions by their names; empty: the default ones.
  std::vector<std::string> recompute, offload, precision;
  std::vector<std::string> assertions;
};

struct FitMesh {
  std::int64_t replicate = 1, shard = 1, tensor = 1;
  bool operator==(const FitMesh &) const = default;
  /// "shard=8", "replicate=2 x shard=8".
  std::string text() const;
};

struct FitSetting {
  FitMesh mesh;
  std::int64_t rows = 1;
  /// Names of values of the dimensions; empty where the user has set a key of the dimension.
  std::string recompute, offload, precision;

  bool operator==(const FitSetting &) const = default;

  /// The recipe as key=value, without target, and without keys of a dimension that is not varied. All axes of the mesh
  /// are in it, since a model may carry a recipe too. `given`: the user's recipe, whose `sharding` keys are left out.
  std::vector<std::string> recipe(const Recipe &given) const;
  /// The part of it that the precision gives.
  std::vector<std::string> precisionRecipe() const;
  /// "mesh shard=8, 2 rows, recompute block, ..." for messages; without rows if the model states none.
  std::string text() const;
};

/// The dimensions of settings with named values.
enum class FitDimension { recompute, offload, precision };

/// "recompute", "offload", "precision", and the names of a dimension's values; for PyTorch those that FSDP2 has.
std::string nameOf(FitDimension dimension);
std::vector<std::string> valuesOf(FitDimension dimension, FitFramework framework);

/// The keys of the request's settings as a recipe, not resolved. Errors: those of Recipe::addSetting.
Result<Recipe> givenRecipe(const FitRequest &request);

/// Unsets the keys of dimensions in the recipe that a model carries, unless `given` has them: a dimension that is
/// varied replaces all of its keys.
Status unsetVariedKeys(Recipe &recipe, const Recipe &given);

/// An error if the recipe that `model` carries has keys that the comparison does not: mesh axes, and for PyTorch keys
/// that the account of FSDP2 would have to state.
Status checkModelRecipe(const FitRequest &request, const Recipe &carried);

/// The settings, with one row, in the order of the table: with the first stage all that change neither the speed of
/// the host nor ops; `isLast`: those of the last resort, which are compared if none of the first fits. A usage error
/// for an unknown value of a dimension, a mesh that is not of the job, and a key that the framework does not have.
Result<std::vector<FitSetting>> settingsOf(const FitRequest &request, const Gpus &gpus, bool isLast);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_FITSETTING_H
