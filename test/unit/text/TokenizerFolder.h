//===- TokenizerFolder.h - a folder with the files of a tokenizer ----------------------------===//
#ifndef SLUICE_TEST_UNIT_TEXT_TOKENIZERFOLDER_H
#define SLUICE_TEST_UNIT_TEXT_TOKENIZERFOLDER_H

#include "runtime/text/Tokenizer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice {

/// A folder with these files.
class TokenizerFolder : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "/tokenizer-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  void write(const std::string &name, const std::string &text) const { std::ofstream(path + "/" + name) << text; }
  std::string error(const std::string &name = "") const {
    const auto result = openTokenizer(path + name);
    return result.isOk() ? "" : result.status().message();
  }

  std::string path;
};

} // namespace sluice

#endif // SLUICE_TEST_UNIT_TEXT_TOKENIZERFOLDER_H
