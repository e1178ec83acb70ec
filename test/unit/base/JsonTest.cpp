//===- JsonTest.cpp - JSON as it is read and written ----------------------------------===//
//
// Requirements of Sluice: no exceptions, limits, duplicate keys, and one text for one value.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

std::string again(std::string_view text, int indent = -1) {
  const Json json = parseJson<Json>(text);
  EXPECT_EQ(parseJson<nlohmann::json>(text).is_discarded(), json.is_discarded());
  return json.is_discarded() ? "invalid" : dumpJson(json, indent);
}

TEST(Json, KeepsOrderAndValues) {
  EXPECT_EQ(again(R"( { "b" : [ 1 , -2 , true , null ] , "a" : { } , "c" : [ ] } )"),
            R"({"b":[1,-2,true,null],"a":{},"c":[]})");
  EXPECT_EQ(again(R"({"b":[1,{"x":"y"}],"a":{},"c":[]})", 2),
            "{\n  \"b\": [\n    1,\n    {\n      \"x\": \"y\"\n    }\n  ],\n  \"a\": {},\n  \"c\": []\n}");
  EXPECT_EQ(again("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(again("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(again("18446744073709551616"), "1.8446744073709552e+19");
  EXPECT_EQ(again("\xEF\xBB\xBF[1]"), "[1]");
}

TEST(Json, CausesOfErrors) {
  EXPECT_EQ(whyNotJson(" \n"), "it is empty");
  EXPECT_EQ(whyNotJson("[1,"), "it ends within a value");
  EXPECT_EQ(whyNotJson("[1, x]"), "byte 4 is not expected there");
  EXPECT_EQ(whyNotJson("{\"a\": \"\xE9\"}"), "byte 7 is not UTF-8");
  EXPECT_EQ(whyNotJson("\"\xFF\""), "byte 1 is not UTF-8");
  EXPECT_EQ(whyNotJson("\"\xED\xA0\x80\""), "byte 2 is not UTF-8");
  EXPECT_EQ(whyNotJson(std::string(201, '[')), "it nests deeper than 200 levels");
}

TEST(Json, MembersOfTheFirstObject) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(firstMembers(R"({"a": {"x": 1}, "b": [{"y": 1}]} {"c": 1})"), (Names{"a", "b"}));
  EXPECT_EQ(firstMembers(R"([1, {"a": 1, "b": 2}, {"c": 1}])"), (Names{"a", "b"}));
  EXPECT_EQ(firstMembers(R"({"a": 1, "b": "cut)"), (Names{"a", "b"}));
  EXPECT_EQ(firstMembers(R"([[{"a": 1}]])"), Names());
  EXPECT_EQ(firstMembers(R"({})"), Names());
  EXPECT_EQ(firstMembers("text"), Names());
}

TEST(Json, RefusesOtherText) {
  for (const char *text : {"",
                           " ",
                           "{",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":1]",
                           "tru",
                           "nul",
                           "True",
                           "01",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "0x1",
                           "1 2",
                           "[1] x",
                           "NaN",
                           "Infinity",
                           "1e999",
                           "'a'",
                           "\"",
                           "\"a",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\u+123\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\n\"",
                           "\"\x01\"",
                           "\"\x80\"",
                           "\"\xC0\x80\"",
                           "\"\xE0\x80\x80\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\xE2\x82\"",
                           "//x\n1"}) {
    EXPECT_EQ(again(text), "invalid") << text;
  }
  // The limit of depth, before any of it is read.
  EXPECT_EQ(again(std::string(200, '[') + std::string(200, ']')).size(), 400u);
  EXPECT_EQ(again(std::string(201, '[') + std::string(201, ']')), "invalid");
  EXPECT_EQ(again(std::string(150, '[') + std::string(150, ']')).size(), 300u);
  EXPECT_EQ(again(std::string(1000000, '[')), "invalid");
  EXPECT_EQ(again(std::string(100000, '[') + std::string(100000, ']')), "invalid");
}

TEST(Json, EscapesStrings) {
  EXPECT_EQ(again(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00\u0000\u001F")"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\u0000\\u001f\"");
  // Bytes that are not UTF-8 are replaced, one replacement for each truncated character.
  for (auto [bytes, marks] : {std::pair("a\x80z", 1),
                              {"\xE2\x82", 1},
                              {"\xE2\x82z", 1},
                              {"\xE0\x80\x80", 3},
                              {"\xF0\x9F\x98", 1},
                              {"\xC3\xC3\xA9", 1},
                              {"\xFF\xFE", 2},
                              {"\xED\xA0\x80", 3},
                              {"\x7Fz", 0}}) {
    const std::string text = dumpJson(Json(bytes));
    int found = 0;
    for (std::size_t at = text.find("\xEF\xBF\xBD"); at != std::string::npos; at = text.find("\xEF\xBF\xBD", at + 3))
      ++found;
    EXPECT_EQ(found, marks) << text;
    EXPECT_FALSE(parseJson<Json>(text).is_discarded());
  }
}

TEST(Json, NumbersRoundTrip) {
  EXPECT_EQ(dumpJson(Json(std::nan(""))), "null");
  EXPECT_EQ(dumpJson(Json(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(again("1e-999"), "0.0");
  EXPECT_EQ(again("[1.0,1E5,-0,2e0,0.1,1e22,5e-324]"), "[1.0,100000.0,0,2.0,0.1,1e+22,5e-324]");
}

TEST(Json, FindsDuplicateKeys) {
  std::string duplicate;
  EXPECT_EQ(parseJson<Json>(R"({"a":1,"b":[{"c":1,"d":2},{"c":1}],"e":1})", &duplicate).size(), 3u);
  EXPECT_EQ(duplicate, "");
  EXPECT_EQ(dumpJson(parseJson<Json>(R"({"a":1,"b":2,"a":3})", &duplicate)), R"({"a":3,"b":2})");
  EXPECT_EQ(duplicate, "a");
  parseJson<nlohmann::json>(R"([{"x":{"y":1,"y":1}}])", &duplicate);
  EXPECT_EQ(duplicate, "y");
}

TEST(Json, OrdersMembersByName) {
  EXPECT_EQ(dumpJson(parseJson<nlohmann::json>(R"({"b":1,"a":{"d":2,"c":3}})")), R"({"a":{"c":3,"d":2},"b":1})");
}

} // namespace
} // namespace sluice
