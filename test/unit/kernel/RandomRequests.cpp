//===- RandomRequests.cpp - kernels with inconsistent operands stay within them -------------===//
//
// Plans are untrusted: a request that a kernel accepts must not make it access memory outside its operands and its
// workspace, whatever the extents, attributes and values. Each operand is next to a page without access, and each
// kernel runs in a child process.
//
//===----------------------------------------------------------------------===//
#include "RequestGenerator.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int mostAttempts = 4000, mostRuns = 150;

/// Memory with a page without access before and after it.
class GuardedMemory {
public:
  /// `atEnd`: the bytes end at the second page, otherwise they begin after the first.
  GuardedMemory(std::size_t bytes, bool atEnd) : page(std::size_t(sysconf(_SC_PAGESIZE))) {
    const std::size_t inner = (bytes + page - 1) / page * page;
    size = inner + 2 * page;
    base = static_cast<char *>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED || (inner && mprotect(base + page, inner, PROT_READ | PROT_WRITE) != 0))
      std::abort();
    data = base + page + (atEnd ? inner - bytes : 0);
  }
  ~GuardedMemory() { munmap(base, size); }
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  char *data;

private:
  std::size_t page, size;
  char *base;
};

/// Bytes from the first to the last element of the shape, as the checker bounds a view.
std::size_t hullBytes(const Operand &operand) {
  std::int64_t last = 0;
  for (int d = 0; d < operand.rank; ++d) {
    if (operand.shape[d] == 0)
      return 0;
    last += (operand.shape[d] - 1) * operand.strides[d];
  }
  return std::size_t(last + 1) * dtypeBytes(operand.dtype);
}

/// The request that runs, for the report of a crash.
char current[4096];

void reportCrash(int number) {
  (void)!write(STDERR_FILENO, current, std::strlen(current));
  signal(number, SIG_DFL);
  raise(number);
}

std::string textOf(const Operand &operand) {
  std::string text(dtypeName(operand.dtype));
  for (int d = 0; d < operand.rank; ++d)
    text += " " + std::to_string(operand.extent[d]) + "/" + std::to_string(operand.shape[d]) + ":" +
            std::to_string(operand.strides[d]);
  return text + "; ";
}

void fillWithNumbers(char *data, const Operand &operand, std::mt19937 &engine) {
  const std::size_t bytes = hullBytes(operand);
  const bool isInteger = operand.dtype == DType::i32 || operand.dtype == DType::i64;
  if (engine() % 100 < 50)
    for (std::size_t b = 0; b < bytes; ++b)
      data[b] = char(engine());
  else
    for (std::size_t b = 0; isInteger && b < bytes; b += dtypeBytes(operand.dtype))
      data[b] = char(engine() % 4);
}

void describe(const KernelRecord &record, const RandomRequest &request) {
  std::string text = std::string(record.name) + ": ";
  for (const auto *operands : {&request.inputs, &request.outputs})
    for (const Operand &operand : *operands)
      text += (operands == &request.inputs ? "in " : "out ") + textOf(operand);
  for (const Attributes::Item &item : request.attributes.all()) {
    text += std::string(item.name) + " " + std::to_string(item.integer) + " " + std::to_string(item.number);
    for (std::int64_t value : item.list)
      text += " " + std::to_string(value);
    text += "; ";
  }
  std::snprintf(current, sizeof current, "%s\n", text.c_str());
}

/// True if the kernel accepted the request.
bool runRequest(const KernelRecord &record, RandomRequest &made, std::mt19937 &engine) {
  auto &[attributes, inputs, outputs, sameMemory] = made;
  std::vector<Operand> whole[2] = {inputs, outputs};
  bool isEmpty = false;
  for (auto &operands : whole)
    for (Operand &operand : operands) {
      operand.extent = operand.shape;
      isEmpty = isEmpty || operand.elements() == 0;
    }
  const int threads = 1 + int(engine() % 2);
  KernelRequest request{inputs, outputs, &attributes, threads, 0};
  // As the checker demands.
  request.workspace =
      isEmpty ? 0 : workspaceCap(record.name, whole[0], whole[1], attributes, {"cpu", threads, testedIsa()});
  if (request.workspace > std::uint64_t(1) << 26)
    return false;
  describe(record, made);
  auto kernel = findCpuKernel(record.id)(request);
  if (!kernel.isOk())
    return false;
  const bool atEnd = engine() % 100 < 60;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void *> data[2];
  for (const auto *operands : {&inputs, &outputs})
    for (const Operand &operand : *operands) {
      memory.push_back(std::make_unique<GuardedMemory>(hullBytes(operand), atEnd));
      fillWithNumbers(memory.back()->data, operand, engine);
      data[operands == &outputs].push_back(memory.back()->data);
    }
  for (auto [input, output] : sameMemory)
    data[1][output] = data[0][input];
  const GuardedMemory workspace((request.workspace + 63) / 64 * 64, true);
  (void)(*kernel)->run(data[0], data[1], workspace.data);
  return true;
}

/// In the child.
[[noreturn]] void runRequests(const KernelRecord &record) {
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM})
    signal(number, reportCrash);
  alarm(100);
  int runs = 0;
  for (int attempt = 0; attempt < mostAttempts && runs < mostRuns; ++attempt) {
    std::mt19937 engine{unsigned(attempt)};
    RandomRequest request = makeRandomRequest(record, engine);
    runs += runRequest(record, request, engine);
  }
  std::fprintf(stderr, "accepted %d\n", runs);
  std::_Exit(runs > 0 ? 0 : 3);
}

class RandomRequests : public testing::TestWithParam<const KernelRecord *> {};

TEST_P(RandomRequests, StayWithinTheirOperands) {
  // The child is a new process, because OpenMP does not survive a fork.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runRequests(*GetParam()), testing::ExitedWithCode(0), "accepted");
}

[[noreturn]] void addEmptyOperands() {
  const GuardedMemory memory(0, true);
  Operand vector, repeated, matrix;
  vector.dtype = repeated.dtype = matrix.dtype = DType::bf16;
  vector.rank = repeated.rank = 1;
  vector.strides = {1};
  matrix.rank = 2;
  matrix.shape = matrix.extent = matrix.global = {16, 0};
  matrix.strides = {0, 1};
  const Operand inputs[] = {vector, repeated}, outputs[] = {matrix};
  void *const in[] = {memory.data, memory.data}, *const out[] = {memory.data};
  const KernelRequest request{inputs, outputs, nullptr, 1, 0};
  auto kernel = findCpuKernel("add")(request);
  std::_Exit(kernel.isOk() && (*kernel)->run(in, out, nullptr).isOk() ? 0 : 1);
}

TEST(EmptyOperands, AreNotRead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(addEmptyOperands(), testing::ExitedWithCode(0), "");
}

std::vector<const KernelRecord *> records() {
  std::vector<const KernelRecord *> all;
  for (const KernelRecord &record : catalogue())
    all.push_back(&record);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Kernels, RandomRequests, testing::ValuesIn(records()),
                         [](const auto &test) { return std::string(test.param->name); });

} // namespace
