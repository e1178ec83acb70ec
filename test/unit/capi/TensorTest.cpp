//===- TensorTest.cpp - tensors and views of sluice.h -----------------------------------===//
#include "test/unit/capi/Fixture.h"

namespace sluice::test {
namespace {

constexpr const char *position = "wpe.weight";

/// The loss of the first step with these tokens, set by `set`.
template <typename Set> double lossWith(Set set) {
  const Session session = openSession(smallPlan());
  Tensor<std::int32_t> targets({8, 8}, rowsOf(someText(), 1, 64));
  expectOk(sluice_session_set_input(session.get(), "train_step", "targets", &targets.view));
  set(session.get());
  sluice_step step{};
  expectOk(sluice_session_run(session.get(), "train_step", NAN, &step));
  return step.loss;
}

double denseLoss() {
  return lossWith([](sluice_session *session) {
    Tensor<std::int32_t> tokens({8, 8}, rowsOf(someText(), 0, 64));
    expectOk(sluice_session_set_input(session, "train_step", "tokens", &tokens.view));
  });
}

TEST(CapiTensor, StridesOfAnySignAreCopied) {
  const double expected = denseLoss();
  const std::vector<std::int32_t> rows = rowsOf(someText(), 0, 64);
  const auto loss = [&](std::vector<std::int32_t> memory, std::vector<std::int64_t> strides, std::int64_t begin) {
    return lossWith([&](sluice_session *session) {
      Tensor<std::int32_t> tokens({8, 8}, memory);
      tokens.strides = strides;
      tokens.view.strides = tokens.strides.data();
      tokens.view.data = tokens.values.data() + begin;
      expectOk(sluice_session_set_input(session, "train_step", "tokens", &tokens.view));
    });
  };
  std::vector<std::int32_t> transposed(64), reversed(rows.rbegin(), rows.rend()), spaced(128), offset(65);
  for (std::size_t r = 0; r < 8; ++r)
    for (std::size_t c = 0; c < 8; ++c) {
      transposed[c * 8 + r] = rows[r * 8 + c];
      spaced[(r * 8 + c) * 2] = rows[r * 8 + c];
      offset[r * 8 + c + 1] = rows[r * 8 + c];
    }
  EXPECT_EQ(loss(rows, {8, 1}, 0), expected);
  EXPECT_EQ(loss(transposed, {1, 8}, 0), expected);
  EXPECT_EQ(loss(reversed, {-8, -1}, 63), expected);
  EXPECT_EQ(loss(spaced, {16, 2}, 0), expected);
  const double shifted = lossWith([&](sluice_session *session) {
    Tensor<std::int32_t> tokens({8, 8}, offset);
    tokens.view.byte_offset = 4;
    expectOk(sluice_session_set_input(session, "train_step", "tokens", &tokens.view));
  });
  EXPECT_EQ(shifted, expected);
}

TEST(CapiTensor, WideIntegersAreConverted) {
  const std::vector<std::int32_t> rows = rowsOf(someText(), 0, 64);
  const double loss = lossWith([&](sluice_session *session) {
    Tensor<std::int64_t> tokens({8, 8}, {rows.begin(), rows.end()});
    expectOk(sluice_session_set_input(session, "train_step", "tokens", &tokens.view));
  });
  EXPECT_EQ(loss, denseLoss());
}

TEST(CapiTensor, WrongTensorsAreRefused) {
  const Session session = openSession(smallPlan());
  const auto refuse = [&](const DLTensor &tensor, const std::string &message) {
    return expectError(sluice_session_set_input(session.get(), "train_step", "tokens", &tensor), 1, message);
  };
  std::vector<std::int32_t> rows = rowsOf(someText(), 0, 64);
  Tensor<float> floats({8, 8}, std::vector<float>(64));
  refuse(floats.view, "input 'tokens', expected element type i32 but got f32");
  Tensor<std::int32_t> flat({64}, rows);
  refuse(flat.view, "input 'tokens', expected shape [8, 8] but got [64]");
  Tensor<std::int32_t> tokens({8, 8}, rows);
  tokens.view.device.device_type = kDLCUDA;
  EXPECT_NE(refuse(tokens.view, "expected a tensor in CPU memory but got DLPack device 2").find("copy it to the CPU"),
            std::string::npos);
  tokens.view.device.device_type = kDLCPU;
  tokens.view.dtype.lanes = 2;
  refuse(tokens.view, "got DLPack type 0 of 32 bits in 2 lanes");
  tokens.view.dtype.lanes = 1;
  tokens.view.data = nullptr;
  refuse(tokens.view, "the tensor has no data");
  tokens.view.shape = nullptr;
  refuse(tokens.view, "the tensor has no shape");
  rows[5] = 256;
  Tensor<std::int32_t> large({8, 8}, rows);
  refuse(large.view, "input 'tokens', expected integers up to 255 but got 256");
  Tensor<std::int64_t> wide({8, 8}, std::vector<std::int64_t>(64, std::int64_t(1) << 40));
  refuse(wide.view, "expected integers up to 255 but got 1099511627776");
  // A refused input is not set.
  expectError(sluice_session_run(session.get(), "train_step", NAN, nullptr), 1, "is not set");
}

TEST(CapiTensor, ReadAndWriteAreUnsharded) {
  for (const char *recipe : {R"({"mesh.shard": 2, "gradient.microbatches": 2})", R"({"mesh.shard": 3})",
                             R"({"mesh.tensor": 2, "sharding.tensor": "auto"})"}) {
    const Session session = openSession(smallPlan(recipe));
    for (const auto &parameter : describe(session.get())["parameters"]) {
      const std::string name = parameter["name"];
      std::vector<std::int64_t> shape = parameter["shape"];
      std::int64_t count = 1;
      for (const std::int64_t extent : shape)
        count *= extent;
      std::vector<float> values(static_cast<std::size_t>(count));
      std::iota(values.begin(), values.end(), 0.5f);
      Tensor<float> tensor(shape, values);
      expectOk(sluice_session_write(session.get(), name.c_str(), &tensor.view));
      const Managed read = readTensor(session.get(), name);
      EXPECT_EQ(valuesOf<float>(read->dl_tensor), values) << recipe << " " << name;
      EXPECT_EQ(read->version.major, 1u);
      EXPECT_EQ(read->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    }
  }
}

TEST(CapiTensor, NamesThatAreUnknownGetTheNearest) {
  const Session session = openSession(smallPlan());
  DLManagedTensorVersioned *tensor = nullptr;
  const std::string notes = expectError(sluice_session_read(session.get(), "wpe.wight", &tensor), 1,
                                        "'wpe.wight' is no parameter and no state of the plan");
  EXPECT_NE(notes.find("the nearest name is 'wpe.weight'"), std::string::npos);
  Tensor<float> small({2}, {1, 2});
  expectError(sluice_session_write(session.get(), position, &small.view), 1, "expected shape [32, 16] but got [2]");
}

TEST(CapiTensor, ViewsAreTheShardsAndShowLaterSteps) {
  const Session session = openSession(smallPlan(R"({"mesh.shard": 3})"));
  const Managed before = readTensor(session.get(), position);
  const std::vector<float> full = valuesOf<float>(before->dl_tensor);
  std::vector<float> joined;
  std::vector<Managed> views;
  for (int rank = 0; rank < 3; ++rank) {
    DLManagedTensorVersioned *tensor = nullptr;
    expectOk(sluice_session_view(session.get(), position, rank, &tensor));
    views.emplace_back(tensor);
    EXPECT_EQ(tensor->flags, 0u);
    const std::vector<float> shard = valuesOf<float>(tensor->dl_tensor);
    joined.insert(joined.end(), shard.begin(), shard.end());
  }
  EXPECT_EQ(joined, full);
  Tensor<std::int32_t> tokens({6, 8}, rowsOf(someText(), 0, 48)), targets({6, 8}, rowsOf(someText(), 1, 48));
  expectOk(sluice_session_set_input(session.get(), "train_step", "tokens", &tokens.view));
  expectOk(sluice_session_set_input(session.get(), "train_step", "targets", &targets.view));
  expectOk(sluice_session_run(session.get(), "train_step", NAN, nullptr));
  const std::vector<float> shown = valuesOf<float>(views[0]->dl_tensor);
  EXPECT_NE(shown[0], full[0]);
  EXPECT_EQ(shown[0], valuesOf<float>(readTensor(session.get(), position)->dl_tensor)[0]);
  // A write through the view is one to the parameter.
  static_cast<float *>(views[0]->dl_tensor.data)[0] = 42;
  EXPECT_EQ(valuesOf<float>(readTensor(session.get(), position)->dl_tensor)[0], 42);
  DLManagedTensorVersioned *none = nullptr;
  expectError(sluice_session_view(session.get(), position, 3, &none), 1,
              "rank 3, expected one of this process, 0, 1, 2");
}

TEST(CapiTensor, ViewsOutliveTheSession) {
  Session session = openSession(smallPlan());
  DLManagedTensorVersioned *tensor = nullptr;
  expectOk(sluice_session_view(session.get(), position, 0, &tensor));
  Managed view(tensor);
  const std::vector<float> values = valuesOf<float>(view->dl_tensor);
  auto *shared = static_cast<DLManagedTensor *>(sluice_tensor_share(view.get(), 0));
  auto *versioned = static_cast<DLManagedTensorVersioned *>(sluice_tensor_share(view.get(), 1));
  ASSERT_TRUE(shared && versioned);
  session.reset();
  EXPECT_EQ(valuesOf<float>(view->dl_tensor), values);
  view.reset();
  EXPECT_EQ(valuesOf<float>(shared->dl_tensor), values);
  shared->deleter(shared);
  static_cast<float *>(versioned->dl_tensor.data)[0] = 1;
  versioned->deleter(versioned);
}

TEST(CapiTensor, ACapsuleHasNoEffectWithoutPython) { sluice_capsule_free(nullptr); }

} // namespace
} // namespace sluice::test
