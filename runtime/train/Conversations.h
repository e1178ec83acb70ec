//===- Conversations.h - conversations in JSON -----------------------------------------------===//
//
// A file has a conversation on each line, or is a list of conversations, or one of them. Formats:
//   messages: {"messages": [{"role": R, "content": C, ...}, ...], "tools": [...], "documents": [...],
//             "chat_template_kwargs": {...}}, as TRL reads it
//   sharegpt: {"conversations": [{"from": R, "value": C}, ...], "system": S}
//   alpaca: {"instruction": I, "input": C, "output": O, "system": S, "history": [[I, O], ...]}
//
//===------------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CONVERSATIONS_H
#define SLUICE_RUNTIME_TRAIN_CONVERSATIONS_H

#include "runtime/text/ChatTemplate.h"
#include "runtime/train/DataFormat.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Reads the conversation of a line or an element. Members that are neither known nor among `ignoredFields` are errors;
/// those of a message are known if `isRead`, because the chat template reads them.
Result<Conversation> readConversation(std::string_view json, DataFormat format,
                                      const std::vector<std::string> &ignoredFields,
                                      const std::function<bool(std::string_view)> &isRead);

/// Calls `use` with each conversation's place in the text, "line 3" or "element 3", and its JSON. An error of `use`
/// ends the calls. An error if the text is a list that is not JSON.
Status forEachConversation(std::string_view text,
                           const std::function<Status(const std::string &place, std::string_view json)> &use);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CONVERSATIONS_H
