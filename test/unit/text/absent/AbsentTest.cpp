//===- AbsentTest.cpp - a build without the libraries of tokenizers ---------------------------===//
#include "runtime/text/Tokenizer.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

TEST(AbsentTokenizers, OpeningOneIsAnErrorWithARemedy) {
  const std::string folder = SLUICE_SOURCE_DIR "/test/reference/tokenizers/gpt2";
  EXPECT_EQ(findTokenizer(folder), folder + "/tokenizer.json");
  const Result<std::unique_ptr<Tokenizer>> opened = openTokenizer(folder);
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().code(), StatusCode::input);
  EXPECT_EQ(opened.status().message(),
            "'" + folder + "' cannot be read, because this build of Sluice has no tokenizers");
  EXPECT_EQ(opened.status().notes().size(), 1u);
}

} // namespace
