//===- BaseTest.cpp - digest, text and status --------------------------------------------===//
//
// SHA-256 against the examples of FIPS 180-4, in one part and in several.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/DType.h"
#include "runtime/base/File.h"
#include "runtime/base/Message.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice {
namespace {

std::string sha256Text(const std::string &text) {
  return toHex(sha256({reinterpret_cast<const std::uint8_t *>(text.data()), text.size()}));
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256Text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Text(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, SeveralPartsHaveTheSameDigest) {
  std::vector<std::uint8_t> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::uint8_t(i * 7);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::span<const std::uint8_t> all(bytes);
    ASSERT_EQ(sha256({all.first(cut), all.subspan(cut)}), sha256(bytes)) << cut;
  }
}

TEST(Message, OneLineAndItsNotes) {
  const Status status = inputError("a gate is stuck").withNote("oil it").withNote("or wait");
  EXPECT_EQ(messageText(status), "error: a gate is stuck\nnote: oil it\nnote: or wait\n");
  EXPECT_EQ(messageText(failedError("x"), true), "\033[1;31merror:\033[0m x\n");
}

TEST(Files, OutputCannotBeAnInput) {
  const std::string folder = ::testing::TempDir();
  const std::string read = folder + "/files-read", other = folder + "/files-other";
  for (const std::string &path : {read, other})
    std::ofstream(path) << "x";
  EXPECT_TRUE(checkNoInput(other, {"", read}).isOk());
  EXPECT_TRUE(checkNoInput("", {"", read}).isOk());
  EXPECT_TRUE(checkNoInput(folder + "/files-none", {folder + "/files-none"}).isOk());
  EXPECT_TRUE(checkNoInput("/dev/null", {"/dev/null"}).isOk());
  // The same file by another path.
  EXPECT_EQ(checkNoInput(folder + "/./files-read", {other, read}).message(),
            "output '" + folder + "/./files-read' is the same file as the input '" + read + "'");
}

TEST(Text, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(std::uint64_t(24) << 20), "24.00 MiB");
  EXPECT_EQ(formatBytesExact(300), "300 B");
  EXPECT_EQ(formatBytesExact(1536), "1536 (1.50 KiB)");
  EXPECT_EQ(formatBytes(~std::uint64_t(0)), "16.00 EiB");
}

TEST(Text, ShapesAndNumbers) {
  EXPECT_EQ(formatShape(std::vector<std::int64_t>{}), "");
  EXPECT_EQ(formatShape(std::vector<std::int64_t>{4, 64}), "4x64");
  EXPECT_EQ(formatNumber(0.1), "0.1");
  EXPECT_EQ(formatNumber(1), "1");
  EXPECT_EQ(padRight("ab", 4), "ab  ");
  EXPECT_EQ(padLeft("ab", 4), "  ab");
  EXPECT_EQ(padLeft("abcdef", 4), "abcdef");
}

TEST(Status, CarriesCodeMessageAndNotes) {
  EXPECT_TRUE(Status::ok().isOk());
  const Status status = refusedError("no").withNote("why");
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "no");
  EXPECT_EQ(status.notes(), std::vector<std::string>{"why"});
}

Result<int> half(int value) {
  if (value % 2 != 0)
    return inputError("odd");
  return value / 2;
}

Status quarter(int value, int &out) {
  SLUICE_ASSIGN_OR_RETURN(const int once, half(value));
  SLUICE_ASSIGN_OR_RETURN(out, half(once));
  return Status::ok();
}

TEST(Result, PassesErrorsOn) {
  int out = 0;
  EXPECT_TRUE(quarter(8, out).isOk());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(quarter(6, out).message(), "odd");
}

TEST(DType, BytesAndNames) {
  EXPECT_EQ(dtypeBytes(DType::f64), 8u);
  EXPECT_EQ(dtypeBytes(DType::bf16), 2u);
  EXPECT_EQ(dtypeName(DType::u8), "u8");
  EXPECT_TRUE(isFloat(DType::f16));
  EXPECT_FALSE(isFloat(DType::i32));
}

} // namespace
// Tests that a text of somebody else cannot control a terminal, and that other text does not change.
TEST(Text, Printable) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("caf\u00e9 \u4e2d \U0001F600 'a\\b'"), "caf\u00e9 \u4e2d \U0001F600 'a\\b'");
  EXPECT_EQ(printable(std::string_view("\0\x1b[2J\x1b]0;x\a\x7f", 12)), "\\u0000\\u001b[2J\\u001b]0;x\\u0007\\u007f");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\u000ab\\u0009c\\u000d");
  EXPECT_EQ(printable("a\nb\tc\r", /*isLine=*/false), "a\nb\tc\\u000d");
  // CSI as one code point, and a reversed direction.
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J\u202e"),
            "\\u009b2J\\u202e");
  // Bytes that are not UTF-8: alone, cut off, too long, of a surrogate, beyond the last code point.
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(messageText(inputError("a\x1b").withNote("b\nerror: c")), "error: a\\u001b\nnote: b\\u000aerror: c\n");
}

} // namespace sluice
