//===- Conversations.cpp - conversations in JSON ---------------------------------------------===//
#include "runtime/train/Conversations.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using Names = std::span<const std::string_view>;

class RowReader {
public:
  RowReader(DataFormat format, const std::vector<std::string> &ignoredFields,
            const std::function<bool(std::string_view)> &isRead)
      : format(format), ignoredFields(ignoredFields), isRead(isRead) {}

  Result<Conversation> read(const Json &row) {
    SLUICE_RETURN_IF_ERROR(format == DataFormat::alpaca     ? readAlpaca(row)
                           : format == DataFormat::sharegpt ? readShareGpt(row)
                                                            : readMessages(row));
    return std::move(conversation);
  }

private:
  DataFormat format;
  const std::vector<std::string> &ignoredFields;
  const std::function<bool(std::string_view)> &isRead;
  Conversation conversation;

  bool isIgnored(std::string_view name) const { return std::ranges::find(ignoredFields, name) != ignoredFields.end(); }

  /// The member of this name; null if it is missing, null or ignored.
  const Json *find(const Json &object, std::string_view name) const {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() || isIgnored(name) ? nullptr : &*found;
  }

  Status checkMembers(const Json &row, Names known) const {
    for (auto item = row.begin(); item != row.end(); ++item)
      if (std::ranges::find(known, item.key()) == known.end() && !isIgnored(item.key()))
        return inputError(fmt::format("member '{}' of a conversation is unknown", item.key()))
            .withNote(fmt::format("--ignore-fields {} leaves it out", item.key()));
    return Status::ok();
  }

  void add(std::string_view role, Json content) {
    Json message = Json::object();
    message["role"] = role;
    message["content"] = std::move(content);
    conversation.messages.push_back(std::move(message));
    conversation.isIgnored.push_back(false);
  }

  /// A text that may be missing.
  Result<std::string> text(const Json &row, const char *name, bool isRequired) const {
    const Json *member = find(row, name);
    if (member && member->is_string())
      return member->get<std::string>();
    if (member || isRequired)
      return inputError(fmt::format("member '{}' of a conversation, expected a text", name));
    return std::string();
  }

  Status readSystem(const Json &row) {
    SLUICE_ASSIGN_OR_RETURN(std::string system, text(row, "system", false));
    if (!system.empty())
      add("system", std::move(system));
    return Status::ok();
  }

  /// `tools` and `documents`: lists of objects, or their JSON as a text, as TRL reads it.
  Status readList(const Json &row, const char *name) {
    const Json *member = find(row, name);
    if (!member)
      return Status::ok();
    const Json list = member->is_string() ? parseJson<Json>(member->get_ref<const std::string &>()) : *member;
    if (!list.is_array() || !std::ranges::all_of(list, [](const Json &item) { return item.is_object(); }))
      return inputError(fmt::format("member '{}' of a conversation, expected a list of objects", name));
    conversation.variables[name] = list;
    return Status::ok();
  }

  Status readVariables(const Json &row) {
    SLUICE_RETURN_IF_ERROR(readList(row, "tools"));
    SLUICE_RETURN_IF_ERROR(readList(row, "documents"));
    const Json *variables = find(row, "chat_template_kwargs");
    if (variables && !variables->is_object())
      return inputError("member 'chat_template_kwargs' of a conversation, expected an object");
    for (auto item = variables ? variables->begin() : Json::const_iterator(); variables && item != variables->end();
         ++item) {
      if (item.key() == "messages" || item.key() == "add_generation_prompt" || item.key() == "chat_template")
        return inputError(fmt::format("member '{}' of 'chat_template_kwargs' is not supported", item.key()));
      conversation.variables[item.key()] = *item;
    }
    return Status::ok();
  }

  /// Removes `weight` and `train`. False: the answer is no target.
  Result<bool> readWeight(Json &message) const {
    bool isTarget = true;
    for (const char *name : {"weight", "train"}) {
      const Json *member = find(message, name);
      if (!member)
        continue;
      const bool isZero = *member == Json(0) || *member == Json(false),
                 isOne = *member == Json(1) || *member == Json(true);
      if (!isZero && !isOne)
        return inputError(
            fmt::format("'{}' of a message, expected 0, 1, true or false but got {}", name, dumpJson(*member)));
      if (isOne && message["role"] != "assistant")
        return inputError(fmt::format("'{}' of a message of the role '{}': only answers of the assistant are targets",
                                      name, message["role"].get_ref<const std::string &>()));
      isTarget = isTarget && isOne;
    }
    message.erase("weight");
    message.erase("train");
    return isTarget;
  }

  /// A message as the template reads it: as in transformers, members that are null are left out, and the names of the
  /// reasoning are aliases.
  Status addMessage(Json message) {
    static constexpr std::array<std::string_view, 8> known = {"role", "content",           "tool_calls", "tool_call_id",
                                                              "name", "reasoning_content", "thinking",   "reasoning"};
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return inputError("expected a message with 'role' and 'content'");
    SLUICE_ASSIGN_OR_RETURN(const bool isTarget, readWeight(message));
    Json kept = Json::object(), reasoning;
    for (auto item = message.begin(); item != message.end(); ++item) {
      if (item->is_null() || isIgnored(item.key()))
        continue;
      if (std::ranges::find(known, item.key()) == known.end() && !isRead(item.key()))
        return inputError(fmt::format("member '{}' of a message is unknown, and the chat template does not read it",
                                      item.key()))
            .withNote(fmt::format("--ignore-fields {} leaves it out", item.key()));
      kept[item.key()] = *item;
    }
    for (const char *name : {"reasoning", "thinking", "reasoning_content"})
      if (kept.contains(name))
        reasoning = kept[name];
    if (!reasoning.is_null()) {
      kept["reasoning_content"] = reasoning;
      if (!kept.contains("thinking"))
        kept["thinking"] = reasoning;
    }
    conversation.messages.push_back(std::move(kept));
    conversation.isIgnored.push_back(!isTarget);
    return Status::ok();
  }

  Status readMessages(const Json &row) {
    static constexpr std::array<std::string_view, 5> known = {"messages", "tools", "documents", "chat_template_kwargs",
                                                              "id"};
    const Json *messages = row.is_object() ? find(row, "messages") : nullptr;
    if (!messages || !messages->is_array() || messages->empty()) {
      Status status = inputError("expected an object with 'messages', a list");
      if (row.is_object() && row.contains("conversations"))
        status.addNote("--data-format sharegpt reads 'conversations'");
      else if (row.is_object() && row.contains("instruction"))
        status.addNote("--data-format alpaca reads 'instruction', 'input' and 'output'");
      else
        status.addNote(
            R"(a conversation is {"messages": [{"role": "user", "content": "..."}, ...]}; --data-format text reads the JSON as text)");
      return status;
    }
    SLUICE_RETURN_IF_ERROR(checkMembers(row, known));
    SLUICE_RETURN_IF_ERROR(readVariables(row));
    for (const Json &message : *messages)
      SLUICE_RETURN_IF_ERROR(addMessage(message));
    return Status::ok();
  }

  Status readShareGpt(const Json &row) {
    static constexpr std::array<std::string_view, 6> known = {"conversations",        "system", "tools", "documents",
                                                              "chat_template_kwargs", "id"};
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> roles = {{{"human", "user"},
                                                                                            {"user", "user"},
                                                                                            {"gpt", "assistant"},
                                                                                            {"assistant", "assistant"},
                                                                                            {"system", "system"},
                                                                                            {"tool", "tool"},
                                                                                            {"observation", "tool"}}};
    const Json *messages = row.is_object() ? find(row, "conversations") : nullptr;
    if (!messages || !messages->is_array() || messages->empty())
      return inputError("expected an object with 'conversations', a list");
    SLUICE_RETURN_IF_ERROR(checkMembers(row, known));
    SLUICE_RETURN_IF_ERROR(readVariables(row));
    SLUICE_RETURN_IF_ERROR(readSystem(row));
    for (const Json &given : *messages) {
      if (!given.is_object() || !find(given, "from") || !given["from"].is_string() || !find(given, "value"))
        return inputError("expected a message with 'from' and 'value'");
      const auto *role = std::ranges::find(roles, given["from"].get_ref<const std::string &>(),
                                           &std::pair<std::string_view, std::string_view>::first);
      if (role == roles.end())
        return inputError(fmt::format("'from', expected human, gpt, system, tool or observation but got '{}'",
                                      given["from"].get_ref<const std::string &>()));
      Json message = Json::object();
      message["role"] = role->second;
      message["content"] = given["value"];
      for (auto item = given.begin(); item != given.end(); ++item)
        if (item.key() != "from" && item.key() != "value")
          message[item.key()] = *item;
      SLUICE_RETURN_IF_ERROR(addMessage(std::move(message)));
    }
    return Status::ok();
  }

  Status readAlpaca(const Json &row) {
    static constexpr std::array<std::string_view, 6> known = {"instruction", "input",   "output",
                                                              "system",      "history", "id"};
    if (!row.is_object() || !row.contains("instruction"))
      return inputError("expected an object with 'instruction' and 'output'");
    SLUICE_RETURN_IF_ERROR(checkMembers(row, known));
    SLUICE_RETURN_IF_ERROR(readSystem(row));
    const Json *history = find(row, "history");
    if (history && !history->is_array())
      return inputError("member 'history' of a conversation, expected a list of two texts each");
    for (std::size_t i = 0; history && i < history->size(); ++i) {
      const Json &turn = (*history)[i];
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string())
        return inputError("member 'history' of a conversation, expected a list of two texts each");
      add("user", turn[0]);
      add("assistant", turn[1]);
    }
    SLUICE_ASSIGN_OR_RETURN(std::string instruction, text(row, "instruction", true));
    SLUICE_ASSIGN_OR_RETURN(const std::string input, text(row, "input", false));
    SLUICE_ASSIGN_OR_RETURN(std::string output, text(row, "output", true));
    add("user", input.empty() ? instruction : instruction + "\n" + input);
    add("assistant", std::move(output));
    return Status::ok();
  }
};

} // namespace

static Result<Json> parseRow(std::string_view text) {
  std::string duplicate;
  Json row = parseJson<Json>(text, &duplicate);
  if (row.is_discarded())
    return inputError("not JSON: " + whyNotJson(text));
  if (!duplicate.empty())
    return inputError(fmt::format("an object has the member '{}' twice", duplicate));
  return row;
}

Result<Conversation> readConversation(std::string_view json, DataFormat format,
                                      const std::vector<std::string> &ignoredFields,
                                      const std::function<bool(std::string_view)> &isRead) {
  SLUICE_ASSIGN_OR_RETURN(const Json row, parseRow(json));
  return RowReader(format, ignoredFields, isRead).read(row);
}

Status forEachConversation(std::string_view text,
                           const std::function<Status(const std::string &place, std::string_view json)> &use) {
  constexpr std::string_view blanks = " \t\r\n", mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark))
    text.remove_prefix(mark.size());
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return Status::ok();
  if (text[first] == '[') {
    SLUICE_ASSIGN_OR_RETURN(const Json list, parseRow(text));
    for (std::size_t i = 0; i < list.size(); ++i)
      SLUICE_RETURN_IF_ERROR(use(fmt::format("element {}", i + 1), dumpJson(list[i])));
    return Status::ok();
  }
  // One object over several lines.
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  if (parseJson<Json>(line).is_discarded() && !parseJson<Json>(text).is_discarded())
    return use("element 1", text);
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = text.substr(begin, end - begin);
    begin = end + 1;
    if (row.find_first_not_of(blanks) != std::string_view::npos)
      SLUICE_RETURN_IF_ERROR(use(fmt::format("line {}", number), row));
  }
  return Status::ok();
}

} // namespace sluice
