//===- JsonTest.cpp - JSON as it is read and written ----------------------------------===//
//
// What stays of the library that reads and writes it, and what our values add.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace sluice {
namespace {

std::string again(std::string_view text, int indent = -1) {
  const Json json = Json::parse(text);
  return json.kind() == Json::Kind::invalid ? "invalid" : json.dump(indent);
}

TEST(Json, KeepsOrderAndValues) {
  EXPECT_EQ(again(R"( { "b" : [ 1 , -2 , true , null ] , "a" : { } , "c" : [ ] } )"), R"({"b":[1,-2,true,null],"a":{},"c":[]})");
  EXPECT_EQ(again(R"({"b":[1,{"x":"y"}],"a":{},"c":[]})", 2),
            "{\n  \"b\": [\n    1,\n    {\n      \"x\": \"y\"\n    }\n  ],\n  \"a\": {},\n  \"c\": []\n}");
  EXPECT_EQ(again("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(again("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(again("18446744073709551616"), "1.8446744073709552e+19");
  EXPECT_EQ(again("\xEF\xBB\xBF[1]"), "[1]");
}

TEST(Json, ReadsNothingElse) {
  for (const char *text :
       {"", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1]", "tru", "nul", "True",
        "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "1 2", "[1] x", "NaN", "Infinity", "1e999", "'a'", "\"", "\"a", "\"\\\"", "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\x01\"", "\"\x80\"",
        "\"\xC0\x80\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xF5\x80\x80\x80\"", "\"\xE2\x82\"", "//x\n1"}) {
    EXPECT_EQ(again(text), "invalid") << text;
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_EQ(again(std::string(150, '[') + std::string(150, ']')).size(), 300u);
  EXPECT_EQ(again(std::string(1000000, '[')), "invalid");
  EXPECT_EQ(again(std::string(100000, '[') + std::string(100000, ']')), "invalid");
}

TEST(Json, EscapesWhatMustBe) {
  EXPECT_EQ(again(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00\u0000\u001F")"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\u0000\\u001f\"");
  // What is not UTF-8 is replaced, one mark for each start of a character that does not go on.
  for (std::string_view bytes : {std::string_view("a\x80z"), std::string_view("\xE2\x82"), std::string_view("\xE2\x82z"),
                                 std::string_view("\xE0\x80\x80"), std::string_view("\xF0\x9F\x98"), std::string_view("\xC3\xC3\xA9"),
                                 std::string_view("\xFF\xFE"), std::string_view("\xED\xA0\x80"), std::string_view("\x7F\x1F")})
    EXPECT_EQ(Json(bytes).dump(),
              nlohmann::json(std::string(bytes)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

TEST(Json, WritesRealNumbersAsTheyReadBack) {
  std::mt19937_64 random(7);
  const auto expectSame = [](double value) {
    const std::string text = Json(value).dump();
    EXPECT_EQ(Json::parse(text), Json(value)) << text;
    EXPECT_EQ(nlohmann::json::parse(text).get<double>(), value) << text;
    // The other library's digits are not always the fewest.
    const std::string other = nlohmann::json(value).dump();
    EXPECT_TRUE(other == text || other.size() > text.size() || std::strtod(other.c_str(), nullptr) == value) << text << " " << other;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value))
      expectSame(value);
    expectSame(static_cast<double>(bits % 1000000) / 1000 * std::pow(10.0, static_cast<int>(bits >> 32 & 31) - 16));
  }
  for (double value : {0.0, -0.0, 1.0, -1.5, 0.1, 1e-4, 1e-5, 123456789012345.0, 1e14, 1e15, 1e16, 1e300, 5e-324, 0.00012, 1e-05, 2.5e-7, 1e22})
    EXPECT_EQ(Json(value).dump(), nlohmann::json(value).dump());
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(again("1e-999"), "0.0");
  EXPECT_EQ(again("[1.0,1E5,-0,2e0]"), "[1.0,100000.0,0,2.0]");
}

TEST(Json, TellsAKeyThatStandsTwice) {
  std::string duplicate;
  EXPECT_EQ(Json::parse(R"({"a":1,"b":[{"c":1,"d":2}],"e":1})", &duplicate).size(), 3u);
  EXPECT_EQ(duplicate, "");
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3})", &duplicate).dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(duplicate, "a");
  Json::parse(R"([{"x":{"y":1,"y":1}}])", &duplicate);
  EXPECT_EQ(duplicate, "y");
}

TEST(Json, IsBuiltAndAsked) {
  Json json = {{"name", "n"}, {"list", std::vector<int>{3, -1}}, {"inner", {{"on", true}}}};
  json["more"] = 2.5;
  json["name"] = std::string("m");
  json["rows"].append({{"i", 0}});
  EXPECT_EQ(json.dump(), R"({"name":"m","list":[3,-1],"inner":{"on":true},"more":2.5,"rows":[{"i":0}]})");
  const Json &same = json;
  EXPECT_TRUE(same["none"].isNull());
  EXPECT_FALSE(same.contains("none"));
  EXPECT_TRUE(same["inner"]["on"].asBool());
  EXPECT_EQ(same["list"][0].asWhole(), 3u);
  EXPECT_FALSE(same["list"][1].isWhole());
  EXPECT_EQ(same["list"][1].asWhole(), 0u);
  EXPECT_EQ(same["more"].asString(), "");
  for (auto [key, name] : {std::pair("name", "string"), std::pair("list", "array"), std::pair("inner", "object"), std::pair("more", "number"),
                           std::pair("none", "null")})
    EXPECT_EQ(same[key].typeName(), name);
  json.sortKeys();
  EXPECT_EQ(json.dump(), R"({"inner":{"on":true},"list":[3,-1],"more":2.5,"name":"m","rows":[{"i":0}]})");
  const Json copy = json;
  EXPECT_EQ(copy, json);
  json["name"] = "other";
  EXPECT_FALSE(copy == json);
}

} // namespace
} // namespace sluice
