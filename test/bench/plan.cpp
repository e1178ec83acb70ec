//===- plan.cpp - where a step's time goes, and its products alone ------------===//
//
// Runs, alternately, the steps of a plan for the CPU and only their matrix products and
// collectives, which bound the time of the step with this library on this machine. Prints both times of a
// step, the products' rate in either, and the processor time of each kernel. The library's products in a `matmul_gelu`
// count as products, their GELU does not.
//
//   bench-plan PLAN [STEPS]        a plan of one thread a rank
//
//===----------------------------------------------------------------------===//
#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Reader.h"
#include "test/bench/Bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

using namespace sluice;
using namespace sluice::bench;

namespace {

/// Written only between runs.
bool productsAlone = false;

struct Spent {
  std::uint64_t runs = 0;
  double seconds = 0, flops = 0;
  void operator+=(const Spent &other) { runs += other.runs, seconds += other.seconds, flops += other.flops; }
};

/// A kernel that counts its processor time; of a product, also that of the library's part when that runs alone.
class Counted final : public BoundKernel {
public:
  std::string name;
  std::unique_ptr<BoundKernel> kernel, product;
  double flops = 0;
  Spent spent;

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    if (productsAlone && !product)
      return {};
    const double begin = bench::seconds();
    Status status = productsAlone ? product->run(inputs.first(productInputs), outputs.first(1), workspace)
                                  : kernel->run(inputs, outputs, workspace);
    spent += {1, bench::seconds() - begin, flops};
    return status;
  }

  /// Prepares the product in `request`, where there is one: the product of the two operands, without bias and residual.
  Status prepareProduct(const KernelRequest &request) {
    if (name != "matmul" && name != "matmul_gelu" && name != "matmul_gelu_grad")
      return {};
    KernelRequest inner = request;
    inner.inputs = request.inputs.first(productInputs);
    inner.outputs = request.outputs.first(1);
    const Attributes forms({integer("transpose_a", request.attributes->integer("transpose_a")),
                            integer("transpose_b", request.attributes->integer("transpose_b"))});
    inner.attributes = &forms;
    SLUICE_ASSIGN_OR_RETURN(product, findCpuKernel("matmul")(inner));
    const Operand &a = request.inputs[0];
    const std::int64_t depth = a.extent[a.rank - (forms.integer("transpose_a") ? 2 : 1)];
    flops = 2.0 * static_cast<double>(request.outputs[0].elements()) * static_cast<double>(depth);
    return {};
  }

private:
  static constexpr std::size_t productInputs = 2;
};

/// Of all ranks; they live as long as the group.
std::mutex lock;
std::vector<Counted *> all;

/// A plain function prepares a kernel, so each name has a separate one.
constexpr std::size_t mostNames = 128;
std::vector<std::string> names;

template <std::size_t index> Result<std::unique_ptr<BoundKernel>> prepare(const KernelRequest &request) {
  auto counted = std::make_unique<Counted>();
  counted->name = names[index];
  SLUICE_ASSIGN_OR_RETURN(counted->kernel, findCpuKernel(counted->name)(request));
  SLUICE_RETURN_IF_ERROR(counted->prepareProduct(request));
  std::lock_guard guard(lock);
  all.push_back(counted.get());
  return std::unique_ptr<BoundKernel>(std::move(counted));
}

template <std::size_t... indices> PrepareFunction prepareAt(std::size_t at, std::index_sequence<indices...>) {
  static constexpr PrepareFunction functions[] = {prepare<indices>...};
  return functions[at];
}

PrepareFunction finder(std::string_view name, KernelFlavour) {
  std::lock_guard guard(lock);
  if (!findCpuKernel(name))
    return nullptr;
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() && names.size() < mostNames)
    found = names.insert(names.end(), std::string(name));
  return found == names.end()
             ? nullptr
             : prepareAt(static_cast<std::size_t>(found - names.begin()), std::make_index_sequence<mostNames>());
}

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

void require(const Status &status) {
  if (!status.isOk())
    fail(status.message());
}

/// Any valid numbers: the measurement does not depend on them.
Status writeInputs(Executor &executor, const plan::EntryT &entry) {
  for (const auto &input : entry.inputs) {
    SLUICE_ASSIGN_OR_RETURN(PortMemory port, executor.input(entry.name, input->name));
    const std::int64_t count = static_cast<std::int64_t>(port.bytes / dtypeBytes(port.dtype));
    const std::int64_t limit = port.limit ? static_cast<std::int64_t>(port.limit) : 2;
    for (std::uint32_t repetition = 0; repetition < port.repetitions; ++repetition)
      for (std::int64_t i = 0; i < count; ++i)
        cpu::storeNumber(static_cast<char *>(port.at(repetition)), port.dtype, i,
                         isFloat(port.dtype) ? 1e-3 : static_cast<double>((i * 7919 + 1) % limit));
  }
  return {};
}

/// One step, in seconds.
double step(RankGroup &group) {
  const auto begin = std::chrono::steady_clock::now();
  require(group.runEntry("train_step"));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Reading {
  std::vector<double> times;
  std::map<std::string, Spent> kernels;

  void take(RankGroup &group, bool alone) {
    productsAlone = alone;
    for (Counted *kernel : all)
      kernel->spent = {};
    times.push_back(step(group));
    for (const Counted *kernel : all)
      kernels[kernel->name] += kernel->spent;
  }
  double median() {
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }
  Spent products() const {
    Spent sum;
    for (const auto &[name, spent] : kernels)
      if (spent.flops > 0)
        sum += spent;
    return sum;
  }
};

} // namespace

int main(int count, char **arguments) {
  const int steps = count > 2 ? std::atoi(arguments[2]) : 8;
  if (count < 2 || count > 3 || steps < 1)
    fail("usage: bench-plan PLAN [STEPS]");
  auto file = readCheckedPlan(arguments[1]);
  require(file.status());
  const plan::PlanT &plan = file->plan;
  if (plan.target->device != "cpu" || plan.target->threads != 1)
    fail("expected a plan for the CPU with one thread a rank");
  const auto entry =
      std::find_if(plan.entries.begin(), plan.entries.end(), [](auto &e) { return e->name == "train_step"; });
  if (entry == plan.entries.end())
    fail("expected a plan with an entry point train_step");
  ExecutorOptions options;
  options.findKernel = finder;
  auto group = RankGroup::create(plan, options);
  require(group.status());
  require((*group)->runEntry("init"));
  for (int rank = 0; rank < (*group)->size(); ++rank)
    require(writeInputs((*group)->executor(rank), **entry));
  step(**group);

  Reading whole, alone;
  for (int i = 0; i < steps; ++i) {
    whole.take(**group, false);
    alone.take(**group, true);
  }
  const double ranks = (*group)->size(), runs = steps;
  double total = 0;
  for (const auto &[name, spent] : whole.kernels)
    total += spent.seconds;
  const Spent in = whole.products(), by = alone.products();
  std::printf("a step %.1f ms, with its products alone %.1f ms: %.2f of it\n", whole.median() * 1e3,
              alone.median() * 1e3, alone.median() / whole.median());
  std::printf("products: %.3g GFLOP a rank, %.1f GFLOP/s of processor time in a step, %.1f alone\n",
              in.flops / ranks / runs * 1e-9, in.flops / in.seconds * 1e-9, by.flops / by.seconds * 1e-9);
  std::printf("%-24s %8s %10s %7s\n", "kernel", "launches", "ms a rank", "share");
  std::vector<std::pair<double, std::string>> order;
  for (const auto &[name, spent] : whole.kernels)
    order.emplace_back(-spent.seconds, name);
  std::sort(order.begin(), order.end());
  for (const auto &[seconds, name] : order)
    if (const Spent &spent = whole.kernels[name]; spent.runs)
      std::printf("%-24s %8.0f %10.2f %6.1f%%\n", name.c_str(), static_cast<double>(spent.runs) / ranks / runs,
                  spent.seconds / ranks / runs * 1e3, spent.seconds / total * 100);
  return 0;
}
