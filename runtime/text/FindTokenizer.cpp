//===- FindTokenizer.cpp - the tokenizer in a folder ------------------------------------------===//
#include "runtime/base/File.h"
#include "runtime/text/Tokenizer.h"

#include <filesystem>

namespace sluice {

std::string findTokenizer(const std::string &path) {
  std::error_code error;
  const std::filesystem::path given(path);
  const std::filesystem::path folder = std::filesystem::is_directory(given, error) ? given
                                       : given.has_parent_path()                   ? given.parent_path()
                                                                                   : ".";
  for (const char *name : {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})
    if (std::string file = (folder / name).string(); isFile(file))
      return file;
  return "";
}

} // namespace sluice
