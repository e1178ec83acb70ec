//===- ModelFiles.h - files beside the weights that training does not change ------------===//
#ifndef SLUICE_RUNTIME_TRAIN_MODELFILES_H
#define SLUICE_RUNTIME_TRAIN_MODELFILES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sluice {

/// The files of a tokenizer in a folder, or in the folder of a file.
std::vector<std::string> findTokenizerFiles(const std::string &path);
/// The file of this name in a folder, or in the folder of a file; empty if it does not exist.
std::string findBeside(const std::string &path, const std::string &name);

/// Copies files into a folder. Of files with the same name the last is copied; a file that is in the folder already is
/// kept.
Status copyFiles(const std::vector<std::string> &files, const std::string &folder);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_MODELFILES_H
