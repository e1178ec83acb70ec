//===- DigestStreamTest.cpp - a digest that finds damage --------------------------===//
#include "runtime/base/DigestStream.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

// Tests the digest against the value that the xxHash library's documentation gives for no bytes.
TEST(DigestStreamTest, IsXxh3) {
  EXPECT_EQ(digestOf(""), "99aa06d3014798d86001c324468d497f");
  DigestStream parts;
  parts.add(std::as_bytes(std::span("ab", 2)));
  parts.add(std::as_bytes(std::span("c", 1)));
  EXPECT_EQ(parts.text(), digestOf("abc"));
}

} // namespace
