//===- JsonOptionsTest.cpp - options in a JSON object ----------------------------------===//
#include "runtime/base/JsonOptions.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

struct Values {
  bool flag = false;
  std::string text = "default";
  double number = 1;
  std::uint64_t count = 7;
  std::vector<std::string> names;
  std::map<std::string, std::int64_t> sizes;
};

Status read(const std::string &text, Values &values) {
  JsonOptions options(text, "options");
  options.read("flag", values.flag);
  options.read("text", values.text);
  options.read("number", values.number);
  options.read("count", values.count, 1, 9);
  options.read("names", values.names);
  options.read("sizes", values.sizes, 1);
  return options.finish();
}

std::string errorOf(const std::string &text) {
  Values values;
  const Status status = read(text, values);
  EXPECT_EQ(status.code(), StatusCode::usage);
  return status.message();
}

TEST(JsonOptions, MembersReplaceDefaults) {
  Values values;
  ASSERT_TRUE(read("", values).isOk());
  EXPECT_EQ(values.text, "default");
  EXPECT_EQ(values.count, 7u);
  ASSERT_TRUE(
      read(R"({"flag": true, "text": "t", "number": 2, "count": 9, "names": ["a", "b"], "sizes": {"s": 3}})", values)
          .isOk());
  EXPECT_TRUE(values.flag);
  EXPECT_EQ(values.text, "t");
  EXPECT_EQ(values.number, 2);
  EXPECT_EQ(values.count, 9u);
  EXPECT_EQ(values.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(values.sizes.at("s"), 3);
}

TEST(JsonOptions, ErrorsNameTheMember) {
  EXPECT_EQ(errorOf("{"), "options: they are not JSON: it ends within a value");
  EXPECT_EQ(errorOf("[]"), "options: expected a JSON object");
  EXPECT_EQ(errorOf(R"({"flag": 1})"), "options: 'flag', expected true or false but got 1");
  EXPECT_EQ(errorOf(R"({"text": 1})"), "options: 'text', expected a text but got 1");
  EXPECT_EQ(errorOf(R"({"number": "1"})"), "options: 'number', expected a number but got \"1\"");
  EXPECT_EQ(errorOf(R"({"count": 10})"), "options: 'count', expected an integer from 1 to 9 but got 10");
  EXPECT_EQ(errorOf(R"({"count": 18446744073709551615})"),
            "options: 'count', expected an integer from 1 to 9 but got 18446744073709551615");
  EXPECT_EQ(errorOf(R"({"names": ["a", 1]})"), "options: 'names', expected a list of texts but got [\"a\",1]");
  EXPECT_EQ(errorOf(R"({"sizes": {"s": 0}})"),
            "options: 'sizes', expected an object with integers of at least 1 but got {\"s\":0}");
  EXPECT_EQ(errorOf(R"({"nams": []})"), "options: 'nams' is unknown, expected 'names' or another option");
}

TEST(JsonOptions, LongValuesAreCutOff) {
  const std::string message = errorOf(R"({"flag": ")" + std::string(500, 'x') + "\"}");
  EXPECT_LT(message.size(), 150u);
  EXPECT_TRUE(message.ends_with("x..."));
}

TEST(JsonOptions, TheNearestNameHasTheFewestChanges) {
  EXPECT_EQ(nearestName("seed", {"steps", "seed", "every"}), "seed");
  EXPECT_EQ(nearestName("chekpoint", {"every", "checkpoint"}), "checkpoint");
}

} // namespace
} // namespace sluice
