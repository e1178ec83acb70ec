//===- AlgorithmsTest.cpp - measured choices of algorithms and their file ---------------------------------------===//
#include "test/cuda/KernelHarness.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace sluice::test {

/// In FakeBlas.cpp: its algorithm 3 is the fastest, 0 splits its sums over blocks.
extern bool fakeTimesAlgorithms;

namespace {

class CudaAlgorithms : public CudaKernels {
protected:
  void SetUp() override {
    CudaKernels::SetUp();
    fakeTimesAlgorithms = true;
    path = std::filesystem::temp_directory_path() / ("sluice-algorithms-" + std::to_string(::getpid()) + ".txt");
    std::filesystem::remove(path);
  }
  void TearDown() override {
    fakeTimesAlgorithms = false;
    std::filesystem::remove(path);
    CudaKernels::TearDown();
  }

  /// A run of a plan with this file: a product of `k` terms; the number of its algorithm.
  Result<int> runProduct(const std::string &plan, std::int64_t k = 5, cuda::Algorithms::Share share = {},
                         bool isRoot = true) {
    auto algorithms = std::make_shared<cuda::Algorithms>(path.string(), std::move(share), isRoot);
    SLUICE_ASSIGN_OR_RETURN(kernels, cuda::KernelContext::create(device->functions(), 0, false));
    SLUICE_RETURN_IF_ERROR(kernels->useAlgorithms(algorithms, plan));
    std::vector<Tensor> in = {Tensor(DType::f32, {4, k}).normal(1), Tensor(DType::f32, {k, 3}).normal(2)},
                        out = {Tensor(DType::f32, {4, 3})};
    FakeCuda::takeCalls();
    SLUICE_RETURN_IF_ERROR(runOnDevice({"matmul"}, in, out));
    SLUICE_RETURN_IF_ERROR(algorithms->finish());
    unused = algorithms->whyUnused();
    std::vector<FakeCall> products;
    copied.clear();
    zeroed = 0;
    for (FakeCall &call : FakeCuda::takeCalls()) {
      if (call.kind == FakeCall::Kind::matmul)
        products.push_back(call);
      if (call.kind == FakeCall::Kind::copy && products.empty())
        copied.push_back(call);
      zeroed += call.kind == FakeCall::Kind::fill && !products.empty();
    }
    timed = products.size() - 1;
    return products.back().op;
  }
  std::string file() const {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void replace(const std::string &from, const std::string &to) {
    std::string text = file();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(path) << text.replace(at, from.size(), to);
  }

  std::filesystem::path path;
  std::string unused;
  std::size_t timed = 0;
  /// Copies before the first product, and fills after it.
  std::vector<FakeCall> copied;
  std::size_t zeroed = 0;
};

// Tests that the fastest candidate that does not split its sums is used and written, that the next run uses it without
// measurements, and that the heuristic chooses if no algorithms are measured.
TEST_F(CudaAlgorithms, AreMeasuredOnceAndKept) {
  auto first = runProduct("digest");
  ASSERT_TRUE(first.isOk()) << first.status().message();
  EXPECT_EQ(*first, 3);
  EXPECT_EQ(timed, 3u * 4);
  const std::string written = file();
  EXPECT_TRUE(written.starts_with("sluice algorithms 1\nplan digest\ndevice fake, ")) << written;
  EXPECT_NE(written.find("\nlibrary cublasLt 13.1.2, driver 13000\nproduct f32,f32,"), std::string::npos) << written;
  EXPECT_TRUE(written.ends_with(" a190 0 0 0 0 0 0 3\nend 1\n")) << written;
  replace(" 3\nend", " 2\nend");
  auto second = runProduct("digest");
  ASSERT_TRUE(second.isOk()) << second.status().message();
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(timed, 0u);
  EXPECT_EQ(unused, "");
  std::vector<Tensor> in = {Tensor(DType::f32, {4, 5}).normal(1), Tensor(DType::f32, {5, 3}).normal(2)},
                      out = {Tensor(DType::f32, {4, 3})};
  auto plain = cuda::KernelContext::create(device->functions(), 0, false);
  kernels = std::move(*plain);
  FakeCuda::takeCalls();
  ASSERT_TRUE(runOnDevice({"matmul"}, in, out).isOk());
  EXPECT_EQ(FakeCuda::takeCalls().front().op, 0);
}

// Tests that a file of a different plan, device or library is not used, with a note.
TEST_F(CudaAlgorithms, OfADifferentPlanOrDeviceAreNotUsed) {
  ASSERT_TRUE(runProduct("digest").isOk());
  const std::string written = file();
  auto other = runProduct("another");
  ASSERT_TRUE(other.isOk()) << other.status().message();
  EXPECT_EQ(*other, 0);
  EXPECT_EQ(unused, "algorithms '" + path.string() + "' are not used: expected plan another but got digest");
  EXPECT_EQ(file(), written);
  replace("13.1.2", "13.0.9");
  ASSERT_TRUE(runProduct("digest").isOk());
  EXPECT_EQ(unused,
            "algorithms '" + path.string() +
                "' are not used: expected library cublasLt 13.1.2, driver 13000 but got cublasLt 13.0.9, driver 13000");
}

// Tests that of several processes rank 0 measures and the others use its choice without a file or measurements;
// that a product which rank 0 lacks uses the heuristic; and that a failure to send ends all ranks.
TEST_F(CudaAlgorithms, ProcessesUseTheChoiceOfRankZero) {
  std::string sent;
  const auto send = [&](std::string &text) { return sent = text, Status(); };
  const auto take = [&](std::string &text) { return text = sent, Status(); };
  auto root = runProduct("digest", 5, send);
  ASSERT_TRUE(root.isOk()) << root.status().message();
  EXPECT_EQ(*root, 3);
  EXPECT_EQ(timed, 3u * 4);
  EXPECT_EQ(sent, file());
  std::filesystem::remove(path);
  auto other = runProduct("digest", 5, take, false);
  ASSERT_TRUE(other.isOk()) << other.status().message();
  EXPECT_EQ(*other, 3);
  EXPECT_EQ(timed, 0u);
  EXPECT_FALSE(std::filesystem::exists(path));
  auto lacking = runProduct("digest", 6, take, false);
  ASSERT_TRUE(lacking.isOk()) << lacking.status().message();
  EXPECT_EQ(*lacking, 0);
  EXPECT_EQ(runProduct(
                "digest", 5, [](std::string &) { return failedError("rank 0 has died"); }, false)
                .status()
                .message(),
            "rank 0 has died");
}

// Tests that products are timed on random inputs, and that memory is zero after.
TEST_F(CudaAlgorithms, AreMeasuredOnRandomValues) {
  ASSERT_TRUE(runProduct("digest").isOk());
  ASSERT_GE(copied.size(), 2u);
  for (const FakeCall &copy : copied)
    EXPECT_GT(copy.bytes, 0u);
  EXPECT_EQ(zeroed, 3u);
}

// Tests the errors of damaged files, and of one that lacks a product.
TEST_F(CudaAlgorithms, FilesThatAreDamagedAreRefused) {
  const std::string where = "algorithms '" + path.string() + "'";
  ASSERT_TRUE(runProduct("digest").isOk());
  const std::string good = file();
  const std::pair<std::string, std::string> damages[] = {
      {"sluice algorithms 1", "line 1, expected 'sluice algorithms 1' but got 'x'"},
      {"device", "line 3, expected 'device ...' but got 'x"},
      {" a190", "line 5, expected 'product PROBLEM WORKSPACE' and 8 words, once a problem but got '"},
      {"end 1", "line 6, expected 'end 1' but got 'x'"}};
  for (const auto &[from, message] : damages) {
    replace(from, "x");
    auto damaged = runProduct("digest");
    EXPECT_EQ(damaged.status().code(), StatusCode::refused);
    EXPECT_TRUE(damaged.status().message().starts_with(where + " " + message)) << damaged.status().message();
    std::ofstream(path) << good;
  }
  replace("end 1\n", "end 1\nmore\n");
  EXPECT_EQ(runProduct("digest").status().message(), where + " line 7, expected the end of the file but got 'more'");
  std::ofstream(path) << good;
  EXPECT_TRUE(runProduct("digest", 6).status().message().ends_with("but it is not there"))
      << runProduct("digest", 6).status().message();
  // An algorithm that the library rejects.
  replace(" a190", " a191");
  EXPECT_TRUE(runProduct("digest").status().message().starts_with(
      "kernel 'matmul': the file's algorithm is not one of this cublasLt"));
}

// Tests that devices of one run must be equal, and that a file that cannot be written is an error.
TEST_F(CudaAlgorithms, RequireEqualDevices) {
  cuda::Algorithms algorithms(path.string());
  ASSERT_TRUE(algorithms.open({"plan", "one", "library"}).isOk());
  EXPECT_EQ(algorithms.open({"plan", "two", "library"}).message(),
            "devices of one run with measured algorithms, expected one but got two");
  cuda::Algorithms nowhere((path / "nowhere").string());
  ASSERT_TRUE(nowhere.open({"plan", "one", "library"}).isOk());
  EXPECT_EQ(nowhere.finish().message(), "cannot write '" + (path / "nowhere").string() + ".part'");
}

} // namespace
} // namespace sluice::test
