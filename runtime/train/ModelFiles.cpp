//===- ModelFiles.cpp - files beside the weights that training does not change ----------===//
#include "runtime/train/ModelFiles.h"
#include "runtime/base/File.h"

#include <filesystem>

namespace sluice {

namespace fs = std::filesystem;

/// The names that transformers gives to these files.
static constexpr const char *names[] = {
    "tokenizer.json",     "tokenizer.model", "spiece.model",      "sentencepiece.bpe.model", "vocab.json",
    "merges.txt",         "vocab.txt",       "added_tokens.json", "tokenizer_config.json",   "special_tokens_map.json",
    "chat_template.jinja"};

std::string findBeside(const std::string &path, const std::string &name) {
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  std::string file = (folder / name).string();
  return isFile(file) ? file : "";
}

std::vector<std::string> findTokenizerFiles(const std::string &path) {
  std::vector<std::string> files;
  for (const char *name : names)
    if (std::string file = findBeside(path, name); !file.empty())
      files.push_back(std::move(file));
  return files;
}

Status copyFiles(const std::vector<std::string> &files, const std::string &folder) {
  for (const std::string &file : files) {
    const std::string copy = folder + "/" + fs::path(file).filename().string();
    std::error_code error;
    if (fs::equivalent(file, copy, error))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const std::string content, readFile(file));
    SLUICE_ASSIGN_OR_RETURN(OutputFile output, OutputFile::create(copy));
    SLUICE_RETURN_IF_ERROR(output.write(content));
    SLUICE_RETURN_IF_ERROR(output.commit());
  }
  return Status::ok();
}

} // namespace sluice
