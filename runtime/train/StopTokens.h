//===- StopTokens.h - the tokens that end a text, from a model's configuration --------===//
#ifndef SLUICE_RUNTIME_TRAIN_STOPTOKENS_H
#define SLUICE_RUNTIME_TRAIN_STOPTOKENS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// `eos_token_id` (a number, a list or null) of generation_config.json next to a checkpoint, else of config.json; empty
/// without either. `init` is a weights file or its folder. A file that is no JSON object, or has a different value, is
/// an input error.
Result<std::vector<std::int64_t>> readStopTokens(const std::string &init);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_STOPTOKENS_H
