//===- Trace.cpp - spans for chrome://tracing and Perfetto -------------------------===//
#include "runtime/train/Trace.h"

#include "runtime/base/Json.h"
#include "runtime/train/File.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

static std::string jsonString(const std::string &text) { return dumpJson(Json(text)); }

Status writeTrace(const std::string &path, std::span<const Span> spans) {
  std::map<std::pair<int, std::string>, int> threads;
  for (const Span &span : spans)
    threads.emplace(std::pair(span.rank, span.stream), 0);
  std::string text = "{\"traceEvents\": [\n";
  int next = 0;
  for (auto &[key, thread] : threads) {
    thread = next++;
    text += fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {0}, "args": {{"name": "rank {0}"}}}},)"
                        "\n"
                        R"({{"ph": "M", "name": "thread_name", "pid": {0}, "tid": {1}, "args": {{"name": {2}}}}})",
                        key.first, thread, jsonString(key.second));
    text += next == static_cast<int>(threads.size()) && spans.empty() ? "\n" : ",\n";
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span &span = spans[i];
    text += fmt::format(R"({{"ph": "X", "name": {}, "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}}{})",
                        jsonString(span.name), span.rank, threads[{span.rank, span.stream}], span.begin,
                        span.end - span.begin, i + 1 < spans.size() ? ",\n" : "\n");
  }
  text += "]}\n";
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

} // namespace sluice
