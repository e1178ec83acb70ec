//===- TomlDepthTest.cpp - keys of TOML with too many parts ------------------------------===//
#include "runtime/base/TomlDepth.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

/// A key of this many parts.
std::string key(std::size_t parts, const std::string &part = "a") {
  std::string text = part;
  for (std::size_t i = 1; i < parts; ++i)
    text += "." + part;
  return text;
}

TEST(TomlDepth, KeysWithTooManyPartsAreFound) {
  for (const std::string part : {"a", "1", "\"a b\"", "'.'", " a-b_c ", "\"\\\"\""}) {
    for (const std::string before :
         {"", "[", "[[", "x = {", "x = 1\n", "# \"\n", "x = \"\"\"\n\"\"\"\n", "x = '''\n'''\n"}) {
      EXPECT_EQ(findDeepKey(before + key(mostKeyParts, part) + " = 1"), std::nullopt) << before << part;
      EXPECT_NE(findDeepKey(before + key(mostKeyParts + 1, part) + " = 1"), std::nullopt) << before << part;
    }
    EXPECT_EQ(findDeepKey("\n\n" + key(40000, part) + " = 1"), 3u);
  }
}

TEST(TomlDepth, OtherDotsAreNoKeys) {
  const std::string dots = key(1000);
  for (const std::string &text : {"a = \"" + dots + "\"", "a = '" + dots + "'", "a = \"\"\"\n" + dots + "\"\"\"",
                                  "a = '''\n" + dots + "'''", "# " + dots, "a = \"\\\"" + dots + "\"",
                                  key(1000, "1.5,"), std::string(), std::string("'"), std::string("\"\"\"")})
    EXPECT_EQ(findDeepKey(text), std::nullopt) << text.substr(0, 20);
}

} // namespace
} // namespace sluice
