//===- Trace.cpp - spans of instructions, for chrome://tracing and Perfetto ---------===//
#include "runtime/train/Trace.h"

#include "runtime/base/File.h"
#include "runtime/base/Json.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

std::vector<std::vector<std::string>> instructionNames(const plan::PlanT &plan) {
  std::vector<std::vector<std::string>> names(plan.entries.size());
  for (std::size_t e = 0; e < plan.entries.size(); ++e)
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      const std::string unit = instruction.unit >= 0 ? " " + plan.units[instruction.unit]->name : "";
      names[e].push_back(operationName(plan, instruction) + unit);
    });
  return names;
}

std::int64_t traceBegin(const Executor &executor) {
  std::int64_t begin = -1;
  for (std::uint32_t stream = 0; stream < executor.plan().streams.size(); ++stream)
    if (const std::span<const TraceRecord> records = executor.trace(stream); !records.empty())
      begin = begin < 0 ? records[0].begin : std::min(begin, records[0].begin);
  return begin;
}

void appendSpans(const plan::PlanT &plan, int rank, std::uint32_t stream, std::span<const TraceRecord> records,
                 const std::vector<std::vector<std::string>> &names, std::int64_t start, std::vector<Span> &spans) {
  for (const TraceRecord &record : records)
    spans.push_back({rank, plan.streams[stream]->name, names[record.entry][record.instruction],
                     static_cast<double>(record.begin - start) / 1000, static_cast<double>(record.end - start) / 1000});
}

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
