//===- Normalizer.h - the normalizers of tokenizer.json ---------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_NORMALIZER_H
#define SLUICE_RUNTIME_TEXT_NORMALIZER_H

#include "runtime/base/Status.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sluice::text {

/// Changes a UTF-8 text in place.
using Normalizer = std::function<Status(std::string &)>;

/// `where` is the position of the object in the file. An unknown type is an error.
Result<Normalizer> readNormalizer(const nlohmann::json &json, const std::string &where);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_NORMALIZER_H
