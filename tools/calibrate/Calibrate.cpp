//===- Calibrate.cpp - writes the machine file of this machine ----------------------------------===//
#include "tools/calibrate/Calibrate.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/base/Thread.h"
#include "tools/calibrate/Measure.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <set>

namespace sluice {
namespace {

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  localtime_r(&now, &date);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

std::string significant(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// Other work on the machine and other guests of its host slow a part of a calibration down, and nothing makes it
/// faster. Each measurement is therefore repeated in rounds, and the least of their medians counts.
constexpr int rounds = 3;
constexpr double unknown = std::numeric_limits<double>::infinity();

/// The kernels of one type with one number of threads and ranks.
struct MeasuredType {
  int threads, ranks;
  DType dtype;
  std::vector<KernelCase> cases;
  /// By case.
  std::vector<KernelTime> times;
};

struct MeasuredCollective {
  /// In the machine file.
  std::string_view name;
  CallKind kind;
  int ranks;
  CollectiveTimes times = {unknown, unknown};
};

class Calibration {
public:
  explicit Calibration(const CalibrateOptions &options) {
    if (options.isQuick)
      measure.seconds = 0.0005;
    else
      measure.displacedBytes = cacheShare();
    note = "sluice-plan calibrate" + std::string(options.isQuick ? " --quick" : "") + ", " + today();
    std::set<std::pair<int, int>> known;
    for (int threads : options.threads)
      for (int ranks : {1, std::max(1, cores / threads)})
        if (known.emplace(threads, ranks).second)
          for (DType dtype : {DType::f32, DType::bf16})
            types.push_back({threads, ranks, dtype, kernelCases(dtype, options.isQuick), {}});
    for (MeasuredType &type : types)
      type.times.assign(type.cases.size(), {.seconds = unknown});
    for (auto [name, kind] :
         {std::pair("all_gather", CallKind::allGather), std::pair("reduce_scatter", CallKind::reduceScatter),
          std::pair("all_reduce", CallKind::allReduce), std::pair("all_to_all", CallKind::allToAll)})
      for (int ranks : options.isQuick ? std::vector<int>{2} : std::vector<int>{2, 4, 8})
        collectives.push_back({name, kind, ranks});
  }

  /// Measures everything once, and keeps the least times.
  Status measureRound() {
    for (MeasuredType &type : types)
      for (std::size_t i = 0; i < type.cases.size(); ++i) {
        Result<KernelTime> time = measureKernel(type.cases[i], type.threads, type.ranks, measure);
        // A kernel that does not take a type has no rate in it.
        if (!time.isOk() && time.status().code() == StatusCode::refused)
          continue;
        if (!time.isOk())
          return time.takeStatus();
        if (time->seconds < type.times[i].seconds)
          type.times[i] = *time;
      }
    SLUICE_ASSIGN_OR_RETURN(const StreamTimes times, measureStreams(measure));
    streams = {std::min(streams.launch, times.launch), std::min(streams.wait, times.wait)};
    for (auto &[name, kind, ranks, least] : collectives) {
      SLUICE_ASSIGN_OR_RETURN(const CollectiveTimes times, measureCollective(kind, ranks, measure));
      least = {std::min(least.latency, times.latency), std::min(least.secondsPerByte, times.secondsPerByte)};
    }
    return {};
  }

  /// The machine file.
  std::string text() const {
    std::string kernels;
    std::map<DType, double> peaks;
    for (const MeasuredType &type : types)
      kernels += groupsOf(type, peaks[type.dtype]);
    return concat("# Rates of this machine's CPU, measured by sluice-plan calibrate; processor time where one thread "
                  "works.\n",
                  "name = \"", processorName(), ", ", cores, cores == 1 ? " core" : " cores",
                  "\"\ndevice = \"cpu\"\narch = \"", machineIsa(), "\"\n\n") +
           constants(peaks) + kernels + collectiveRates();
  }

private:
  /// The groups of one type; the largest rate of a product, of all cores.
  std::string groupsOf(const MeasuredType &type, double &peak) const {
    std::map<std::pair<std::string, std::string>, std::string> points;
    for (std::size_t i = 0; i < type.cases.size(); ++i) {
      const KernelCase &kernel = type.cases[i];
      const KernelTime &time = type.times[i];
      if (time.seconds == unknown)
        continue;
      const bool isStream = kernel.flops == 0;
      const double rate = (isStream ? time.bytes : kernel.flops) / std::max(time.seconds, 1e-9);
      std::string &list = points[{kernel.table, kernel.kernel}];
      list += list.empty() ? "  [" : ", [";
      if (isStream)
        list += significant(time.bytes);
      else
        for (std::size_t s = 0; s < (kernel.table == "attention" ? 2 : 3); ++s)
          list += (s == 0 ? "" : ", ") + significant(kernel.size[s]);
      list += ", " + significant(rate) + "]";
      if (kernel.table == "products")
        peak = std::max(peak, rate * double(type.ranks));
    }
    std::string groups;
    for (const auto &[key, list] : points)
      groups += concat("[[", key.first, "]]\nkernel = \"", key.second, "\"\ndtype = \"",
                       std::string(dtypeName(type.dtype)), "\"\nthreads = ", type.threads, "\nranks = ", type.ranks,
                       "\nfrom = \"measured\"\nnote = \"", note, "\"\npoints = [\n", list, ",\n]\n");
    return groups;
  }

  std::string constants(const std::map<DType, double> &peaks) const {
    std::string text = "[times]\n";
    const auto constant = [&](std::string_view name, const std::string &value) {
      text += concat(name, " = { value = ", value, ", from = \"measured\", note = \"", note, "\" }\n");
    };
    for (const auto &[dtype, peak] : peaks)
      if (peak > 0)
        constant(std::string(dtypeName(dtype)) + "_flops_per_second", significant(peak));
    constant("launch_seconds", significant(std::max(streams.launch, 1e-9)));
    constant("wait_seconds", significant(std::max(streams.wait, 1e-9)));
    constant("cores", std::to_string(cores));
    return text + "\n";
  }

  std::string collectiveRates() const {
    std::string text;
    std::string_view group;
    for (const auto &[name, kind, ranks, times] : collectives) {
      if (name != group)
        text += concat(group.empty() ? "" : "]\n", "[[collectives]]\nkinds = [\"", name,
                       "\"]\nalgorithm = \"host\"\nfrom = \"measured\"\nnote = \"", note, "\"\npoints = [\n");
      group = name;
      text +=
          concat("  [", ranks, ", ", significant(times.latency), ", ", significant(1 / times.secondsPerByte), "],\n");
    }
    return text + "]\n";
  }

  const int cores = usableProcessors();
  MeasureOptions measure;
  std::string note;
  std::vector<MeasuredType> types;
  StreamTimes streams = {unknown, unknown};
  std::vector<MeasuredCollective> collectives;
};

} // namespace

Status calibrate(const CalibrateOptions &options) {
  // An output that cannot be written is reported before the measurements.
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(options.output));
  Calibration calibration(options);
  for (int round = 0; round < rounds; ++round)
    SLUICE_RETURN_IF_ERROR(calibration.measureRound());
  SLUICE_RETURN_IF_ERROR(file.write(calibration.text()));
  return file.commit();
}

} // namespace sluice
