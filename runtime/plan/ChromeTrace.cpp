//===- ChromeTrace.cpp - times of instructions, for chrome://tracing and Perfetto -------------===//
#include "runtime/plan/ChromeTrace.h"

#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"

#include <cstdio>
#include <limits>
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

static std::string jsonString(const std::string &text) { return dumpJson(Json(text)); }

static std::string microseconds(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

Status writeTrace(const std::string &path, std::span<const Span> spans) {
  std::map<std::pair<int, std::string>, int> threads;
  for (const Span &span : spans)
    threads.emplace(std::pair(span.rank, span.stream), 0);
  std::string text = "{\"traceEvents\": [\n";
  int next = 0;
  for (auto &[key, thread] : threads) {
    thread = next++;
    const auto name = [&](std::string_view kind, const std::string &ids, const std::string &value) {
      return concat(R"({"ph": "M", "name": ")", kind, R"(", "pid": )", key.first, ids, R"(, "args": {"name": )",
                    jsonString(value), "}}");
    };
    text += name("process_name", "", concat("rank ", key.first)) + ",\n" +
            name("thread_name", concat(R"(, "tid": )", thread), key.second);
    text += next == static_cast<int>(threads.size()) && spans.empty() ? "\n" : ",\n";
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span &span = spans[i];
    text += concat(R"({"ph": "X", "name": )", jsonString(span.name), R"(, "pid": )", span.rank, R"(, "tid": )",
                   threads[{span.rank, span.stream}], R"(, "ts": )", microseconds(span.begin), R"(, "dur": )",
                   microseconds(span.end - span.begin), R"(, "args": {"entry": )", jsonString(span.entry),
                   R"(, "instruction": )", span.instruction, R"(, "repetition": )", span.repetition, "}}",
                   i + 1 < spans.size() ? ",\n" : "\n");
  }
  text += "]}\n";
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

namespace {

/// The number of a member; nullopt if it is missing, no number, or not one of the type.
template <typename T> std::optional<T> numberOf(const nlohmann::json &object, const char *key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number())
    return std::nullopt;
  const auto value = member->get<double>();
  if (!std::is_floating_point_v<T> && !(value >= 0 && value <= static_cast<double>(std::numeric_limits<T>::max())))
    return std::nullopt;
  return static_cast<T>(value);
}

} // namespace

Result<std::vector<Span>> readTrace(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  const auto json = parseJson<nlohmann::json>(text);
  const auto wrong = [&](const std::string &fact) {
    return inputError("'" + path + "' is not a trace of Sluice: " + fact)
        .withNote("write one with 'sluice-train PLAN --data ... --trace FILE'");
  };
  if (json.is_discarded())
    return wrong("it is not JSON");
  const auto events = json.is_object() ? json.find("traceEvents") : json.end();
  if (!json.is_object() || events == json.end() || !events->is_array())
    return wrong("it has no list 'traceEvents'");
  std::map<std::pair<int, int>, std::string> streams;
  std::vector<Span> spans;
  std::size_t number = 0;
  for (const nlohmann::json &event : *events) {
    const std::string at = concat("event ", number++);
    const auto phase = event.is_object() ? event.find("ph") : event.end();
    if (!event.is_object() || phase == event.end() || !phase->is_string())
      return wrong(at + " has no 'ph'");
    const auto name = event.find("name"), args = event.find("args");
    if (name == event.end() || !name->is_string() || args == event.end() || !args->is_object())
      return wrong(at + " has no 'name' or no 'args'");
    const auto rank = numberOf<int>(event, "pid");
    if (!rank)
      return wrong(at + " has no 'pid'");
    const std::string &kind = *phase->get_ptr<const std::string *>();
    const std::string &title = *name->get_ptr<const std::string *>();
    if (kind == "M" && title == "process_name")
      continue;
    const auto thread = numberOf<int>(event, "tid");
    if (!thread)
      return wrong(at + " has no 'tid'");
    if (kind == "M") {
      const auto stream = args->find("name");
      if (stream == args->end() || !stream->is_string())
        return wrong(at + " has no name of a stream");
      streams[{*rank, *thread}] = *stream->get_ptr<const std::string *>();
      continue;
    }
    const auto begin = numberOf<double>(event, "ts"), duration = numberOf<double>(event, "dur");
    const auto instruction = numberOf<std::uint32_t>(*args, "instruction"),
               repetition = numberOf<std::uint32_t>(*args, "repetition");
    const auto entry = args->find("entry");
    if (kind != "X" || !begin || !duration || *duration < 0 || !instruction || !repetition || entry == args->end() ||
        !entry->is_string())
      return wrong(at + " is not the time of an instruction");
    spans.push_back({*rank, streams[{*rank, *thread}], title, *begin, *begin + *duration,
                     *entry->get_ptr<const std::string *>(), *instruction, *repetition});
  }
  return spans;
}

} // namespace sluice
