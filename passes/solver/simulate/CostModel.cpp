//===- CostModel.cpp - predicted time of one instruction on a machine -------------------------===//
#include "passes/solver/simulate/CostModel.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sluice {
namespace {

double elements(const plan::ViewT &view) {
  double count = 1;
  for (std::int64_t extent : view.shape)
    count *= static_cast<double>(extent);
  return count;
}

/// The type of the first input that is a number, else of the first output.
DType dtypeOf(const plan::LaunchT &launch) {
  for (const auto *views : {&launch.inputs, &launch.outputs})
    for (const auto &view : *views)
      if (isFloat(baseType(view->dtype)))
        return baseType(view->dtype);
  return DType::f32;
}

KernelWork workOf(const std::string &kernel) {
  const KernelRecord *record = findKernelRecord(kernel);
  return record ? record->work : KernelWork::stream;
}

/// m, n and k of a product of matrices; of a convolution as a product.
std::array<double, 3> productSize(const plan::LaunchT &launch, const std::string &kernel) {
  if (workOf(kernel) == KernelWork::chunkedProduct) {
    const bool isGradient = kernel == "linear_cross_entropy_grad";
    const plan::ViewT &x = *launch.inputs[isGradient ? 1 : 0], &weight = *launch.inputs[isGradient ? 2 : 1];
    const double width = static_cast<double>(x.shape.back());
    return {elements(x) / width, elements(weight) / width, width};
  }
  const plan::ViewT &out = *launch.outputs[0];
  const double columns = out.shape.empty() ? 1 : static_cast<double>(out.shape.back());
  const double depth = static_cast<double>(launch.flops) / (2 * elements(out));
  // A batch of products has the size of one of them.
  const bool isBatch = launch.inputs.size() > 1 && launch.inputs[1]->shape.size() > 2 && out.shape.size() > 2;
  const double rows = isBatch ? static_cast<double>(out.shape[out.shape.size() - 2]) : elements(out) / columns;
  return {rows, columns, std::max(1.0, std::round(depth))};
}

std::string threadsText(std::uint32_t threads) { return concat(threads, threads == 1 ? " thread" : " threads"); }

} // namespace

bool isByDnn(const plan::LaunchT &launch) {
  return std::ranges::any_of(launch.attributes, [](const auto &each) { return each->name == "cudnn"; });
}

double rateAt(const KernelRates &rates, const std::array<double, 3> &size, std::size_t sizes) {
  const std::vector<KernelRates::Point> &points = rates.points;
  if (sizes == 1) {
    const auto after = std::ranges::find_if(points, [&](const auto &point) { return point.size[0] >= size[0]; });
    if (after == points.begin() || after == points.end())
      return after == points.end() ? points.back().perSecond : after->perSecond;
    const KernelRates::Point &low = *(after - 1), &high = *after;
    const double part = std::log(size[0] / low.size[0]) / std::log(high.size[0] / low.size[0]);
    return low.perSecond * std::pow(high.perSecond / low.perSecond, part);
  }
  std::vector<std::pair<double, const KernelRates::Point *>> near;
  for (const KernelRates::Point &point : points) {
    double distance = 0;
    for (std::size_t s = 0; s < sizes; ++s)
      distance += std::pow(std::log(size[s] / point.size[s]), 2);
    if (distance == 0)
      return point.perSecond;
    near.push_back({distance, &point});
  }
  std::ranges::stable_sort(near, {}, [](const auto &each) { return each.first; });
  near.resize(std::min<std::size_t>(near.size(), 4));
  double weights = 0, sum = 0;
  for (const auto &[distance, point] : near) {
    weights += 1 / distance;
    sum += std::log(point->perSecond) / distance;
  }
  return std::exp(sum / weights);
}

std::optional<CollectiveTime> collectiveTime(const CollectiveRates &rates, plan::CollectiveKind kind,
                                             const GroupPlacement &group, double bytes, bool fillsHosts) {
  const bool isReduce = kind == plan::CollectiveKind::all_reduce;
  const bool isKind = isReduce                                       ? rates.allReduce
                      : kind == plan::CollectiveKind::all_gather     ? rates.allGather
                      : kind == plan::CollectiveKind::reduce_scatter ? rates.reduceScatter
                      : kind == plan::CollectiveKind::all_to_all     ? rates.allToAll
                                                                     : false;
  const bool isOneHost = rates.algorithm == CollectiveRates::Algorithm::host;
  if (!isKind || isOneHost != (group.hosts == 1))
    return std::nullopt;
  const double n = static_cast<double>(group.ranks), h = static_cast<double>(group.hosts),
               d = static_cast<double>(group.ranksOfHost);
  if (isOneHost) {
    const auto after = std::ranges::find_if(rates.points, [&](const auto &point) { return point.ranks >= n; });
    const CollectiveRates::Point &high = after == rates.points.end() ? rates.points.back() : *after;
    const CollectiveRates::Point &low =
        after == rates.points.begin() || after == rates.points.end() ? high : *(after - 1);
    const double part = high.ranks > low.ranks ? (n - low.ranks) / (high.ranks - low.ranks) : 0;
    const auto between = [&](double from, double to) { return from + part * (to - from); };
    return CollectiveTime{between(low.latency, high.latency), bytes / between(low.bytesPerSecond, high.bytesPerSecond)};
  }
  if (rates.algorithm == CollectiveRates::Algorithm::direct)
    return CollectiveTime{rates.base + (d - 1) * rates.link + rates.network,
                          (n - d) / n * bytes / rates.bytesPerSecond};
  double bus = d * rates.bytesPerSecond;
  if (rates.limit > 0)
    bus = std::min(bus, rates.limit);
  if (fillsHosts && !rates.shares.empty()) {
    const auto at = std::ranges::find_if(rates.shares, [&](const auto &share) { return share.bytes > bytes / n; });
    bus *= at == rates.shares.begin() ? at->share : (at - 1)->share;
  }
  if (rates.algorithm == CollectiveRates::Algorithm::tree)
    return CollectiveTime{rates.base + 2 * ((d - 1) * rates.link + std::ceil(std::log2(h)) * rates.network),
                          2 * bytes / bus};
  const double passes = isReduce ? 2 : 1;
  return CollectiveTime{rates.base + passes * ((n - h) * rates.link + (h - 1) * rates.network),
                        passes * (n - 1) / n * bytes / bus};
}

CostModel::CostModel(const plan::PlanT &plan, const Machine &machine) : plan(plan), machine(machine) {}

GroupPlacement CostModel::placement(std::span<const std::uint32_t> axes) {
  const auto [found, isNew] = placements.try_emplace({axes.begin(), axes.end()});
  GroupPlacement &group = found->second;
  if (!isNew)
    return group;
  group.ranks = groupSize(plan, axes);
  group.ranksOfHost = group.ranks;
  if (!machine.times.hostDevices)
    return group;
  std::map<std::uint64_t, std::uint64_t> hosts;
  for (int member : groupMembers(plan, 0, axes))
    ++hosts[static_cast<std::uint64_t>(member) / *machine.times.hostDevices];
  group.hosts = hosts.size();
  group.ranksOfHost = 0;
  for (const auto &[host, ranks] : hosts)
    group.ranksOfHost = std::max(group.ranksOfHost, ranks);
  return group;
}

const KernelRates *CostModel::findRates(const std::vector<KernelRates> &rates, const std::string &kernel, DType dtype,
                                        Library library) const {
  // Of the same library, measured with as many threads as the plan's, then with as many ranks as share the machine.
  const auto threads = static_cast<double>(std::max(1u, plan.target->threads));
  const double cores = machine.times.constant("cores").value_or(1e9);
  const double ranks = std::max(1.0, std::min(static_cast<double>(meshSize(plan)), std::floor(cores / threads)));
  const KernelRates *best = nullptr;
  std::tuple<int, double, double> least;
  for (const KernelRates &group : rates) {
    if (group.kernel != kernel || group.dtype != dtype)
      continue;
    const int other = group.library == library ? 0 : group.library == Library::any ? 1 : 2;
    const std::tuple distance{other, std::abs(std::log(group.threads / threads)),
                              std::abs(std::log(group.ranks / ranks))};
    if (!best || distance < least) {
      best = &group;
      least = distance;
    }
  }
  return best;
}

double CostModel::seconds(const std::vector<KernelRates> &rates, const std::string &kernel, DType dtype,
                          Library library, const std::array<double, 3> &size, std::size_t sizes, double amount) {
  const std::string name = concat("'", kernel, "' in ", std::string(dtypeName(dtype)));
  const KernelRates *group = findRates(rates, kernel, dtype, library);
  if (!group) {
    ++missing["rate of " + name];
    return 0;
  }
  if (machine.device == "cpu" && group->threads != std::max(1u, plan.target->threads))
    ++assumed[concat(name, ": rate of ", threadsText(group->threads))];
  if (group->library != Library::any && group->library != library)
    ++assumed[concat(name, ": rate of ", group->library == Library::cudnn ? "cuDNN's kernel" : "Sluice's kernel")];
  return amount / rateAt(*group, size, sizes);
}

InstructionCost CostModel::launchCost(const plan::LaunchT &launch) {
  const std::string &kernel = plan.kernels[launch.kernel];
  const DType dtype = dtypeOf(launch);
  InstructionCost cost;
  cost.threads = std::max(1u, plan.target->threads);
  const MachineTimes &times = machine.times;
  const Library library = isByDnn(launch) ? Library::cudnn : Library::own;
  const KernelWork work = workOf(kernel);
  if (work != KernelWork::stream && work != KernelWork::attention && launch.flops > 0 && !launch.inputs.empty() &&
      !launch.outputs.empty()) {
    // Kernels around a product have its rate unless they were measured.
    const std::string name = findRates(times.products, kernel, dtype, library) ? kernel : "matmul";
    if (name != kernel && findRates(times.products, name, dtype, library))
      ++assumed[concat("'", kernel, "': rate of 'matmul'")];
    cost.work = seconds(times.products, name, dtype, library, productSize(launch, kernel), 3,
                        static_cast<double>(launch.flops));
    return cost;
  }
  if (work == KernelWork::attention && !launch.inputs.empty()) {
    // q [B, T, H, D], after the output's gradient.
    const plan::ViewT &q = *launch.inputs[kernel.ends_with("_grad") ? 1 : 0];
    cost.work = seconds(times.attention, kernel, dtype, library,
                        {static_cast<double>(q.shape[1]), static_cast<double>(q.shape[3]), 1}, 2,
                        static_cast<double>(launch.flops));
    return cost;
  }
  if (launch.bytes == 0) {
    ++assumed[concat("'", kernel, "': no time, because the plan has no cost of it")];
    return cost;
  }
  const bool isMeasured = findRates(times.streaming, kernel, dtype, library);
  const double bytes = static_cast<double>(launch.bytes);
  if (!isMeasured && machine.device == "cpu" && findRates(times.streaming, "*", dtype, library))
    ++assumed[concat("'", kernel, "' in ", std::string(dtypeName(dtype)), ": rate of a copy")];
  cost.work = seconds(times.streaming, isMeasured ? kernel : "*", dtype, library, {bytes, 1, 1}, 1, bytes);
  return cost;
}

double CostModel::collectiveSeconds(const plan::CollectiveT &collective, double &latency) {
  const GroupPlacement group = placement(collective.axes);
  if (group.ranks == 1)
    return 0;
  const auto bytes = static_cast<double>(collectiveBytes(collective));
  const bool fillsHosts = machine.times.hostDevices && group.ranksOfHost == *machine.times.hostDevices;
  std::optional<CollectiveTime> best;
  for (const CollectiveRates &rates : machine.times.collectives)
    if (const auto time = collectiveTime(rates, collective.kind, group, bytes, fillsHosts);
        time && (!best || time->latency + time->transfer < best->latency + best->transfer))
      best = time;
  if (!best) {
    ++missing[concat("rate of ", plan::EnumNameCollectiveKind(collective.kind),
                     group.hosts == 1 ? " within a host" : " over several hosts")];
    return 0;
  }
  latency += best->latency;
  return best->transfer;
}

double CostModel::copySeconds(std::uint64_t bytes, plan::Space from, plan::Space to) {
  if (machine.device == "cuda" && from != to) {
    const std::optional<double> &rate = machine.times.constant("host_copy_bytes_per_second");
    if (!rate)
      ++missing["host_copy_bytes_per_second"];
    return rate ? static_cast<double>(bytes) / *rate : 0;
  }
  // Read and written.
  const double moved = 2 * static_cast<double>(bytes);
  return seconds(machine.times.streaming, "*", DType::f32, Library::own, {moved, 1, 1}, 1, moved);
}

double CostModel::hostSeconds(std::uint64_t bytes) {
  const std::optional<double> &memory = machine.times.constant("host_memory_bytes_per_second"),
                              &thread = machine.times.constant("host_thread_bytes_per_second");
  if (!memory) {
    ++missing["host_memory_bytes_per_second"];
    return 0;
  }
  const std::uint32_t threads = std::max(1u, plan.target->threads);
  if (!thread)
    ++assumed["launches on the host: rate of its memory on " + threadsText(threads)];
  return static_cast<double>(bytes) / (thread ? std::min(*memory, threads * *thread) : *memory);
}

InstructionCost CostModel::cost(const plan::InstructionT &instruction) {
  InstructionCost cost;
  const auto spaceOf = [&](const plan::ViewT &view) { return plan.buffers[view.buffer]->space; };
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
    if (machine.device != "cpu" && plan.streams[instruction.stream]->processor == plan::Processor::host)
      cost.work = hostSeconds(launch->bytes);
    else
      cost = launchCost(*launch);
  } else if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
    cost.work = collectiveSeconds(*collective, cost.latency);
  else if (const plan::CopyT *copy = instruction.operation.AsCopy())
    cost.work = copySeconds(viewElementBytes(*copy->source), spaceOf(*copy->source), spaceOf(*copy->destination));
  else if (const plan::FillT *fill = instruction.operation.AsFill())
    cost.work = copySeconds(viewElementBytes(*fill->destination) / 2, plan::Space::device, plan::Space::device);
  else
    return cost;
  const std::optional<double> &launch = machine.times.constant("launch_seconds");
  if (!launch)
    ++missing["launch_seconds"];
  cost.latency += launch.value_or(0);
  return cost;
}

} // namespace sluice
