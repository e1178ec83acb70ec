//===- Calibrate.cpp - writes the machine file of this machine ----------------------------------===//
#include "tools/calibrate/Calibrate.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "tools/calibrate/Measure.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
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

class Calibration {
public:
  explicit Calibration(const CalibrateOptions &options) : options(options) {
    cores = usableCores();
    if (options.isQuick)
      measure.seconds = 0.0005;
    else
      measure.displacedBytes = cacheShare();
    note = "sluice-plan calibrate" + std::string(options.isQuick ? " --quick" : "") + ", " + today();
  }

  Result<std::string> run() {
    text = concat(
        "# Rates of this machine's CPU, measured by sluice-plan calibrate; processor time where one thread works.\n",
        "name = \"", processorName(), ", ", cores, cores == 1 ? " core" : " cores", "\"\ndevice = \"cpu\"\narch = \"",
        machineIsa(), "\"\n\n");
    std::string kernels;
    std::map<DType, double> peaks;
    for (int threads : options.threads)
      for (int ranks : {1, std::max(1, cores / threads)}) {
        if (!measured.emplace(threads, ranks).second)
          continue;
        for (DType dtype : {DType::f32, DType::bf16}) {
          SLUICE_ASSIGN_OR_RETURN(const std::string group, measureKernels(dtype, threads, ranks, peaks[dtype]));
          kernels += group;
        }
      }
    SLUICE_RETURN_IF_ERROR(writeConstants(peaks));
    text += kernels;
    SLUICE_RETURN_IF_ERROR(writeCollectives());
    return text;
  }

private:
  /// The groups of one type; the largest rate of a product, of all cores.
  Result<std::string> measureKernels(DType dtype, int threads, int ranks, double &peak) {
    std::map<std::pair<std::string, std::string>, std::string> points;
    for (const KernelCase &kernel : kernelCases(dtype, options.isQuick)) {
      Result<KernelTime> time = measureKernel(kernel, threads, ranks, measure);
      // A kernel that does not take a type has no rate in it.
      if (!time.isOk() && time.status().code() == StatusCode::refused)
        continue;
      if (!time.isOk())
        return time.takeStatus();
      const bool isStream = kernel.flops == 0;
      const double rate = (isStream ? time->bytes : kernel.flops) / std::max(time->seconds, 1e-9);
      std::string &list = points[{kernel.table, kernel.kernel}];
      list += list.empty() ? "  [" : ", [";
      if (isStream)
        list += significant(time->bytes);
      else
        for (std::size_t s = 0; s < (kernel.table == "attention" ? 2 : 3); ++s)
          list += (s == 0 ? "" : ", ") + significant(kernel.size[s]);
      list += ", " + significant(rate) + "]";
      if (kernel.table == "products")
        peak = std::max(peak, rate * double(std::max(1, ranks)));
    }
    std::string groups;
    for (const auto &[key, list] : points)
      groups += concat("[[", key.first, "]]\nkernel = \"", key.second, "\"\ndtype = \"", std::string(dtypeName(dtype)),
                       "\"\nthreads = ", threads, "\nranks = ", ranks, "\nfrom = \"measured\"\nnote = \"", note,
                       "\"\npoints = [\n", list, ",\n]\n");
    return groups;
  }

  Status writeConstants(const std::map<DType, double> &peaks) {
    SLUICE_ASSIGN_OR_RETURN(const StreamTimes streams, measureStreams(measure));
    text += "[times]\n";
    const auto constant = [&](std::string_view name, const std::string &value) {
      text += concat(name, " = { value = ", value, ", from = \"measured\", note = \"", note, "\" }\n");
    };
    for (const auto &[dtype, peak] : peaks)
      if (peak > 0)
        constant(std::string(dtypeName(dtype)) + "_flops_per_second", significant(peak));
    constant("launch_seconds", significant(std::max(streams.launch, 1e-9)));
    constant("wait_seconds", significant(std::max(streams.wait, 1e-9)));
    constant("cores", std::to_string(cores));
    text += "\n";
    return {};
  }

  Status writeCollectives() {
    for (auto [kind, name] :
         {std::pair(CallKind::allGather, "all_gather"), std::pair(CallKind::reduceScatter, "reduce_scatter"),
          std::pair(CallKind::allReduce, "all_reduce")}) {
      std::string points;
      for (int ranks : options.isQuick ? std::vector<int>{2} : std::vector<int>{2, 4, 8}) {
        SLUICE_ASSIGN_OR_RETURN(const CollectiveTimes times, measureCollective(kind, ranks, measure));
        points +=
            concat("  [", ranks, ", ", significant(times.latency), ", ", significant(1 / times.secondsPerByte), "],\n");
      }
      text += concat("[[collectives]]\nkinds = [\"", name, "\"]\nalgorithm = \"host\"\nfrom = \"measured\"\nnote = \"",
                     note, "\"\npoints = [\n", points, "]\n");
    }
    return {};
  }

  const CalibrateOptions &options;
  MeasureOptions measure;
  int cores = 1;
  std::string note, text;
  /// Threads and ranks.
  std::set<std::pair<int, int>> measured;
};

} // namespace

Status calibrate(const CalibrateOptions &options) {
  // An output that cannot be written is reported before the measurements.
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(options.output));
  SLUICE_ASSIGN_OR_RETURN(const std::string text, Calibration(options).run());
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

} // namespace sluice
