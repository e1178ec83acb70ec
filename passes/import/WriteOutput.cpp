//===- WriteOutput.cpp - atomic writing of files ------------------------------------------===//

#include "passes/import/WriteOutput.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace sluice;

Status sluice::writeOutput(const std::string &path, llvm::StringRef bytes) {
  auto failed = [&](std::error_code error) {
    return inputError(path + ": cannot write the output: " + error.message());
  };
  if (path == "-") {
    llvm::outs() << bytes;
    llvm::outs().flush();
    if (llvm::outs().has_error()) {
      std::error_code error = llvm::outs().error();
      llvm::outs().clear_error();
      return failed(error);
    }
    return Status::ok();
  }
  // A file that is not regular (a pipe, /dev/full) cannot be replaced by a rename.
  llvm::sys::fs::file_status kind;
  bool isSpecial =
      !llvm::sys::fs::status(path, kind) && llvm::sys::fs::exists(kind) && !llvm::sys::fs::is_regular_file(kind);
  if (isSpecial && llvm::sys::fs::is_directory(kind))
    return inputError(path + ": cannot write the output, expected a file but got a directory");
  std::string target = path;
  if (!isSpecial) {
    llvm::SmallString<128> unique;
    if (std::error_code error = llvm::sys::fs::createUniqueFile(path + ".tmp-%%%%%%", unique,
                                                                llvm::sys::fs::all_read | llvm::sys::fs::all_write))
      return failed(error);
    target = unique.str().str();
  }
  std::error_code error;
  {
    llvm::raw_fd_ostream file(target, error);
    if (!error) {
      file << bytes;
      file.close();
      error = file.error();
      file.clear_error();
    }
  }
  if (!error && !isSpecial)
    error = llvm::sys::fs::rename(target, path);
  if (error) {
    if (!isSpecial)
      llvm::sys::fs::remove(target);
    return failed(error);
  }
  return Status::ok();
}

std::string sluice::printModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo();
  module.print(stream, flags);
  stream << "\n";
  return text;
}
