//===- CompilerTest.cpp - the functions of sluice_compiler.h -------------------------------===//
#include "test/unit/capi/Fixture.h"

namespace sluice::test {
namespace {

std::string textOfModel(const Model &model) {
  char *text = nullptr;
  expectOk(sluice_model_text(model.get(), &text));
  std::string result = text ? text : "";
  sluice_compiler_text_free(text);
  return result;
}

TEST(CapiCompiler, ImportsByKindAndSuffix) {
  const Folder folder;
  const std::string config = folder.write("config.json", smallConfig);
  sluice_model *model = nullptr;
  expectOk(sluice_model_import("auto", config.c_str(), R"({"batch": 2, "sequence": 8})", &model));
  const Model hf(model);
  const std::string text = textOfModel(hf);
  EXPECT_NE(text.find("model.entry"), std::string::npos);
  expectOk(sluice_model_import("auto", folder.write("m.mlir", text).c_str(), nullptr, &model));
  const Model mlir(model);
  EXPECT_EQ(compiled(mlir.get(), "mesh.shard = 2"), compiled(hf.get(), R"({"mesh": {"shard": 2}})"));
  expectOk(sluice_model_import("zoo", "linear-relu-linear", nullptr, &model));
  const Model zoo(model);
  char *json = nullptr;
  expectOk(sluice_model_report(zoo.get(), &json));
  EXPECT_EQ(nlohmann::json::parse(json), nlohmann::json({{"warnings", nlohmann::json::array()}}));
  sluice_compiler_text_free(json);
}

TEST(CapiCompiler, BadModelsAreErrorsWithTheirPlace) {
  const Folder folder;
  sluice_model *model = nullptr;
  const auto import = [&](const char *kind, const std::string &path, const char *options) {
    return sluice_model_import(kind, path.c_str(), options, &model);
  };
  const std::string config = folder.write("config.json", smallConfig);
  expectError(import("hf", config, R"({"sequence": 8})"), 2, "import options: 'batch' is missing");
  expectError(import("hf", config, R"({"batch": 0, "sequence": 8})"), 2, "'batch', expected an integer of at least 1");
  expectError(import("hf", config, R"({"batch": 1, "sequnce": 8})"), 2, "'sequnce' is unknown, expected 'sequence'");
  expectError(import("hf", config, R"({"batch": 1, "sequence": 8, "dropout": 1})"), 2, "'dropout', expected a number");
  expectError(import("hf", config, R"({"batch": 1, "sequence": 2000000000})"), 2, "'sequence', expected at most");
  expectError(import("onnx", config, nullptr), 2,
              "kind of model 'onnx', expected auto or one of mlir, hf, export, stablehlo, zoo");
  expectError(import("auto", folder.path("m.bin"), nullptr), 2, "the suffix names no kind of model");
  expectError(import("mlir", folder.path("none.mlir"), nullptr), 1, "cannot read the model");
  const std::string broken = folder.write("broken.mlir", "module {\n  func.func @f( {\n}\n");
  const std::string notes = expectError(import("mlir", broken, nullptr), 1, "broken.mlir:2:");
  EXPECT_NE(notes.find("model that cannot be parsed"), std::string::npos) << notes;
  expectError(import("export", folder.write("m.pt2", "no archive"), nullptr), 1, "m.pt2");
  expectError(import("export", folder.path("m.pt2"), R"({"inputs": {"x": "words"}})"), 2,
              "--inputs, expected NAME=tokens:VOCABULARY but got x=words");
  expectError(import("export", folder.path("m.pt2"), R"({"inputs": {"x": 1}})"), 2,
              "'inputs', expected an object with texts");
  expectError(import("export", folder.path("m.pt2"), R"({"set": {"s0": 0}})"), 2,
              "'set', expected an object with integers of at least 1");
  expectError(import("zoo", "linaer", nullptr), 2, "linaer");
  expectError(sluice_model_import(nullptr, "p", nullptr, &model), 2, "argument 'kind' is NULL");
  EXPECT_EQ(model, nullptr);
}

TEST(CapiCompiler, RecipesAreTomlOrJson) {
  const Model model = smallModel();
  void *bytes = nullptr;
  std::size_t size = 0;
  const auto compile = [&](const char *recipe) {
    return sluice_compile(model.get(), recipe, nullptr, &bytes, &size, nullptr);
  };
  expectError(compile("mesh.shrad = 2"), 1, "recipe:1: unknown recipe key, expected 'mesh.shard'");
  expectError(compile(R"({"mesh": {"shrad": 2}})"), 1, "recipe: unknown recipe key, expected 'mesh.shard'");
  expectError(compile(R"({"mesh.shard": null})"), 1, "recipe: 'mesh.shard' is null");
  expectError(compile(R"({"mesh.shard": 2)"), 1, "recipe: recipe that is not JSON: ");
  expectError(compile(R"({"loss.chunk_rows": 16, "mesh.shard": 0})"), 1, "value of 'mesh.shard'");
  EXPECT_EQ(compiled(model.get(), R"({"recompute": {"policy": {"h.0": "block"}}, "optimizer.betas": [0.8, 0.9]})"),
            compiled(model.get(), "recompute.policy = {\"h.0\" = \"block\"}\noptimizer.betas = [0.8, 0.9]"));
  // The model is unchanged by a compilation.
  EXPECT_EQ(compiled(model.get(), "mesh.shard = 2"), compiled(model.get(), "mesh.shard = 2"));
}

TEST(CapiCompiler, AnErrorOfAPassIsTheMessage) {
  sluice_model *zoo = nullptr;
  expectOk(sluice_model_import("zoo", "linear-relu-linear", nullptr, &zoo));
  const Model model(zoo);
  void *bytes = nullptr;
  std::size_t size = 0;
  const std::string notes = expectError(
      sluice_compile(model.get(), "loss.chunk_rows = 16", nullptr, &bytes, &size, nullptr), 1, "chunk_rows");
  EXPECT_NE(notes.find("cannot compile the module: phase 'prepare' refuses it"), std::string::npos) << notes;
  EXPECT_EQ(bytes, nullptr);
}

TEST(CapiCompiler, APlanOverTheBudgetHasRemedies) {
  const Model model = smallModel();
  void *bytes = nullptr;
  std::size_t size = 0;
  const std::string notes = expectError(
      sluice_compile(model.get(), "memory.budget = \"20KiB\"", nullptr, &bytes, &size, nullptr), 3, "memory budget");
  EXPECT_NE(notes.find("mesh.shard = 2"), std::string::npos) << notes;
}

TEST(CapiCompiler, FindsSettingsThatFit) {
  char *json = nullptr;
  const std::string model = std::string(SLUICE_SOURCE_DIR) + "/test/reference/gpt2-tiny/config.json";
  const auto fit = [&](const std::string &more) {
    return sluice_fit((R"({"model": ")" + model + R"(", "sequence": 16)" + more + "}").c_str(), &json);
  };
  expectOk(fit(R"(, "gpus": "2x1GiB", "batch": [2], "recompute": ["none"], "offload": ["none"])"));
  EXPECT_FALSE(nlohmann::json::parse(json)["rows"].empty());
  sluice_compiler_text_free(json);
  expectError(fit(R"(, "gpus": "2x1GiB", "batch": [2], "recompute": ["none"], "assert": "x")"), 2, "fit options");
  expectError(fit(R"(, "gpus": "2x1GiB", "batch": [2], "recompute": ["none"], "assert": ["peak<=1B"])"), 3, "peak");
  expectError(fit(R"(, "gpus": "2x1GiB", "batch": [0])"), 2,
              "fit options: 'batch', expected integers above 0 but got 0");
  expectError(fit(""), 2, "fit options: 'gpus' is missing");
  expectError(sluice_fit("{}", &json), 2, "fit options: 'model' is missing");
  expectError(sluice_fit(nullptr, &json), 2, "argument 'options' is NULL");
}

TEST(CapiCompiler, ReportsDecisionsWhatIfAndSimulation) {
  const Model model = smallModel();
  void *bytes = nullptr;
  std::size_t size = 0;
  char *json = nullptr;
  expectOk(sluice_compile(model.get(), "recompute.policy = \"budget\"\nmemory.budget = \"3MiB\"", nullptr, &bytes,
                          &size, &json));
  EXPECT_TRUE(nlohmann::json::parse(json)["decisions"].is_object() ||
              nlohmann::json::parse(json)["decisions"].is_array());
  sluice_compiler_text_free(json);
  sluice_compiler_bytes_free(bytes);

  const auto whatIf = [&](const char *options) { return sluice_what_if(model.get(), nullptr, options, &json); };
  expectOk(whatIf(R"({"what_if": {"gradient.microbatches": [1, 2], "recompute.policy": ["none", "block"]}})"));
  const nlohmann::json rows = nlohmann::json::parse(json)["rows"];
  EXPECT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1]["settings"]["recompute.policy"], "block");
  sluice_compiler_text_free(json);
  expectError(whatIf("{}"), 2, "what-if options: expected 'what_if', 'pareto' or 'fit'");
  expectError(whatIf(R"({"what_if": {"mesh.shard": 2}})"), 2, "'mesh.shard', expected a list of values");
  expectError(whatIf(R"({"what_if": [1]})"), 2, "'what_if', expected an object");
  expectError(whatIf(R"({"pareto": true})"), 2, "'pareto' requires 'machine'");

  const std::string gpu = compiled(model.get(), R"({"target": {"device": "cuda", "arch": "sm_90"}})");
  const std::string machine = std::string(SLUICE_SOURCE_DIR) + "/tools/machines/h100-sxm-80gb.toml";
  expectOk(sluice_simulate(gpu.data(), gpu.size(), machine.c_str(), nullptr, &json));
  EXPECT_TRUE(nlohmann::json::parse(json).contains("at_least_s"));
  sluice_compiler_text_free(json);
  expectError(sluice_simulate(gpu.data(), gpu.size() / 2, machine.c_str(), nullptr, &json), 4, "plan");
  expectError(sluice_simulate(gpu.data(), gpu.size(), machine.c_str(), "step", &json), 1, "step");
  expectError(sluice_simulate(gpu.data(), gpu.size(), nullptr, nullptr, &json), 2, "argument 'machine' is NULL");
}

} // namespace
} // namespace sluice::test
