//===- Fixture.h - plans, tensors and sessions for tests of the C interfaces -----------===//
#ifndef SLUICE_TEST_UNIT_CAPI_FIXTURE_H
#define SLUICE_TEST_UNIT_CAPI_FIXTURE_H

#include "passes/capi/sluice_compiler.h"
#include "runtime/capi/sluice.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

namespace sluice::test {

/// Code, message and notes of a status, which is freed.
struct Outcome {
  int code = 0;
  std::string message;
  std::vector<std::string> notes;

  bool isOk() const { return code == 0; }
};

inline Outcome outcome(sluice_status *status) {
  Outcome result{sluice_status_code(status), sluice_status_message(status), {}};
  for (std::size_t i = 0; i < sluice_status_note_count(status); ++i)
    result.notes.emplace_back(sluice_status_note(status, i));
  EXPECT_EQ(sluice_status_note(status, result.notes.size()), nullptr);
  sluice_status_free(status);
  return result;
}

inline Outcome outcome(sluice_compiler_status *status) {
  Outcome result{sluice_compiler_status_code(status), sluice_compiler_status_message(status), {}};
  for (std::size_t i = 0; i < sluice_compiler_status_note_count(status); ++i)
    result.notes.emplace_back(sluice_compiler_status_note(status, i));
  EXPECT_EQ(sluice_compiler_status_note(status, result.notes.size()), nullptr);
  sluice_compiler_status_free(status);
  return result;
}

template <typename Status> void expectOk(Status *status) {
  const Outcome result = outcome(status);
  EXPECT_EQ(result.code, 0) << result.message << ::testing::PrintToString(result.notes);
}

/// Expects a status with this code whose message contains `text`. The result: its notes, one a line.
template <typename Status> std::string expectError(Status *status, int code, const std::string &text) {
  const Outcome result = outcome(status);
  EXPECT_EQ(result.code, code) << result.message;
  EXPECT_NE(result.message.find(text), std::string::npos) << result.message << "\nexpected: " << text;
  return std::accumulate(result.notes.begin(), result.notes.end(), std::string(),
                         [](const std::string &all, const std::string &note) { return all + note + "\n"; });
}

/// A folder of the running test, removed at the end.
class Folder {
public:
  Folder() {
    static int folders = 0;
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    root = std::filesystem::temp_directory_path() /
           (std::string("sluice-capi-") + info->test_suite_name() + "-" + info->name() + "-" +
            std::to_string(getpid()) + "-" + std::to_string(folders++));
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  ~Folder() { std::filesystem::remove_all(root); }
  std::string path(const std::string &name) const { return (root / name).string(); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::filesystem::path root;
};

inline std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

constexpr const char *smallConfig = R"({"model_type": "gpt2", "vocab_size": 256, "n_positions": 32, "n_embd": 16,
  "n_layer": 2, "n_head": 2, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0})";

struct ModelDeleter {
  void operator()(sluice_model *model) const { sluice_model_free(model); }
};
using Model = std::unique_ptr<sluice_model, ModelDeleter>;

/// A GPT-2 with 256 tokens, micro-batches of 2 rows of 8 tokens.
inline Model smallModel() {
  const Folder folder;
  sluice_model *model = nullptr;
  expectOk(sluice_model_import("hf", folder.write("config.json", smallConfig).c_str(), R"({"batch": 2, "sequence": 8})",
                               &model));
  return Model(model);
}

inline std::string compiled(const sluice_model *model, const std::string &recipe) {
  void *bytes = nullptr;
  std::size_t size = 0;
  expectOk(sluice_compile(model, recipe.c_str(), nullptr, &bytes, &size, nullptr));
  std::string plan(static_cast<const char *>(bytes), bytes ? size : 0);
  sluice_compiler_bytes_free(bytes);
  return plan;
}

/// The plan of the small model; each recipe is compiled once.
inline const std::string &smallPlan(const std::string &recipe = R"({"mesh.shard": 2, "gradient.microbatches": 2})") {
  static std::map<std::string, std::string> plans;
  std::string &plan = plans[recipe];
  if (plan.empty())
    plan = compiled(smallModel().get(), recipe);
  return plan;
}

struct PlanDeleter {
  void operator()(sluice_plan *plan) const { sluice_plan_free(plan); }
};
using Plan = std::unique_ptr<sluice_plan, PlanDeleter>;

inline Plan openPlan(const std::string &bytes) {
  sluice_plan *plan = nullptr;
  expectOk(sluice_plan_from_bytes(bytes.data(), bytes.size(), "small.plan", &plan));
  return Plan(plan);
}

struct SessionDeleter {
  void operator()(sluice_session *session) const { sluice_session_free(session); }
};
using Session = std::unique_ptr<sluice_session, SessionDeleter>;

inline Session openSession(const std::string &bytes, const char *options = nullptr) {
  sluice_session *session = nullptr;
  expectOk(sluice_session_open(openPlan(bytes).get(), options, &session));
  return Session(session);
}

inline nlohmann::json describe(sluice_session *session) {
  char *text = nullptr;
  expectOk(sluice_session_describe(session, &text));
  const nlohmann::json json = nlohmann::json::parse(text ? text : "null");
  sluice_text_free(text);
  return json;
}

/// Dense rows of integers or floats.
template <typename T> struct Tensor {
  Tensor(std::vector<std::int64_t> extents, std::vector<T> elements)
      : shape(std::move(extents)), values(std::move(elements)) {
    view.data = values.data();
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<std::int32_t>(shape.size());
    view.dtype.code = std::is_floating_point_v<T> ? kDLFloat : std::is_signed_v<T> ? kDLInt : kDLUInt;
    view.dtype.bits = sizeof(T) * 8;
    view.dtype.lanes = 1;
    view.shape = shape.data();
  }
  Tensor(const Tensor &) = delete;

  std::vector<std::int64_t> shape, strides;
  std::vector<T> values;
  DLTensor view{};
};

struct TensorDeleter {
  void operator()(DLManagedTensorVersioned *tensor) const { tensor->deleter(tensor); }
};
using Managed = std::unique_ptr<DLManagedTensorVersioned, TensorDeleter>;

template <typename T> std::vector<T> valuesOf(const DLTensor &tensor) {
  std::int64_t count = 1;
  for (int d = 0; d < tensor.ndim; ++d)
    count *= tensor.shape[d];
  const auto *data = reinterpret_cast<const T *>(static_cast<const char *>(tensor.data) + tensor.byte_offset);
  return {data, data + count};
}

inline Managed readTensor(sluice_session *session, const std::string &name) {
  DLManagedTensorVersioned *tensor = nullptr;
  expectOk(sluice_session_read(session, name.c_str(), &tensor));
  return Managed(tensor);
}

/// Rows of 8 tokens, in the order of the data of a file of bytes: row r has bytes from r * 8.
inline std::vector<std::int32_t> rowsOf(const std::string &text, std::size_t first, std::size_t count) {
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(static_cast<unsigned char>(text[(first + i) % text.size()]));
  return rows;
}

/// One step of the small plan on 8 rows.
inline sluice_status *setRows(sluice_session *session, const std::string &text, std::size_t first,
                              const char *entry = "train_step") {
  Tensor<std::int32_t> tokens({8, 8}, rowsOf(text, first, 64)), targets({8, 8}, rowsOf(text, first + 1, 64));
  if (sluice_status *status = sluice_session_set_input(session, entry, "tokens", &tokens.view))
    return status;
  return sluice_session_set_input(session, entry, "targets", &targets.view);
}

inline sluice_step trainStep(sluice_session *session, const std::string &text, std::size_t step, double lr = NAN) {
  sluice_step result{};
  expectOk(setRows(session, text, step * 64));
  expectOk(sluice_session_run(session, "train_step", lr, &result));
  return result;
}

inline std::string someText() {
  std::string text;
  for (int i = 0; i < 4096; ++i)
    text += static_cast<char>('a' + (i * i + i / 7) % 23);
  return text;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CAPI_FIXTURE_H
