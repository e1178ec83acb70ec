//===- RegexTest.cpp - patterns of Oniguruma in PCRE2, and splits at their matches ----------===//
#include "runtime/text/Regex.h"
#include "runtime/text/Unicode.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::text;

namespace {

std::vector<std::string> matchesOf(std::string_view pattern, std::string_view text) {
  Result<Regex> regex = Regex::compile(pattern, "here");
  EXPECT_TRUE(regex.isOk()) << regex.status().message();
  std::vector<Range> ranges;
  EXPECT_TRUE(regex->match(text, ranges).isOk());
  std::vector<std::string> parts;
  for (const Range &range : ranges)
    parts.emplace_back(text.substr(range.begin, range.end - range.begin));
  return parts;
}

using Texts = std::vector<std::string>;

TEST(Regex, WhiteSpaceAndWordsAreUnicodes) {
  // The Mongolian vowel separator is not white space; a next line is.
  EXPECT_EQ(matchesOf("\\s", "a\u180Eb\u0085c\u3000"), (Texts{"\u0085", "\u3000"}));
  EXPECT_EQ(matchesOf("[^\\s]+", "a\u180Eb\u0085c"), (Texts{"a\u180Eb", "c"}));
  EXPECT_EQ(matchesOf("\\S+", "a\u180Eb c"), (Texts{"a\u180Eb", "c"}));
  // Marks and connectors belong to words.
  EXPECT_EQ(matchesOf("\\w+", "e\u0301\u203Fx-y"), (Texts{"e\u0301\u203Fx", "y"}));
  EXPECT_EQ(matchesOf("\\W", "e\u0301-"), (Texts{"-"}));
}

TEST(Regex, RepeatedRepetitionsAreNotPossessive) {
  EXPECT_EQ(matchesOf("\\d{1,3}+", "12345"), (Texts{"12345"}));
  EXPECT_EQ(matchesOf("\\d{1,3}", "12345"), (Texts{"123", "45"}));
  EXPECT_EQ(matchesOf("\\d{1}+5", "12345"), (Texts{"12345"}));
  // Possessive: it leaves no letter.
  EXPECT_EQ(matchesOf("a++a", "aaa"), Texts());
}

TEST(Regex, EmptyMatchesAdvanceByACharacter) {
  EXPECT_EQ(matchesOf("x*", "\u00E9x"), (Texts{"", "x", ""}));
  EXPECT_EQ(matchesOf("^", "a\nb").size(), 2u);
}

TEST(Regex, ABracketMayBeTheFirstMemberOfAClass) {
  EXPECT_EQ(matchesOf("[]a]+", "]a["), (Texts{"]a"}));
  EXPECT_EQ(matchesOf("[^]a]", "]a["), (Texts{"["}));
}

std::string errorOf(std::string_view pattern) {
  const Result<Regex> regex = Regex::compile(pattern, "here");
  return regex.isOk() ? "" : regex.status().message();
}

TEST(Regex, WhatCannotBeTranslatedIsAnError) {
  EXPECT_EQ(errorOf("[a&&b]"), "here: regular expression '[a&&b]', '&&' is not supported");
  EXPECT_EQ(errorOf("[a[b]]"), "here: regular expression '[a[b]]', 'a class within a class' is not supported");
  EXPECT_EQ(errorOf("[\\S]"), "here: regular expression '[\\S]', '\\S in a class' is not supported");
  EXPECT_EQ(errorOf("\\h"), "here: regular expression '\\h', '\\h' is not supported");
  EXPECT_EQ(errorOf("a{2,3}+"), "here: regular expression 'a{2,3}+', '{2,3}+' is not supported");
  EXPECT_EQ(errorOf("a\\"), "here: regular expression 'a\\', '\\' is not supported");
  EXPECT_EQ(errorOf("(a"), "here: regular expression '(a': missing closing parenthesis");
}

TEST(Regex, TooMuchBacktrackingIsAnError) {
  Result<Regex> regex = Regex::compile("(x+x+)+[yz]", "here");
  ASSERT_TRUE(regex.isOk());
  std::vector<Range> ranges;
  EXPECT_EQ(regex->match(std::string(60, 'x'), ranges).message(),
            "the tokenizer's regular expression fails at byte 0 of the text: match limit exceeded");
}

TEST(Split, Behaviors) {
  // "a--b-": the delimiters are single hyphens.
  const std::vector<Range> hyphens{{1, 2}, {2, 3}, {4, 5}};
  using enum SplitBehavior;
  using Ranges = std::vector<Range>;
  EXPECT_EQ(splitAt(5, hyphens, removed, false), (Ranges{{0, 1}, {3, 4}}));
  EXPECT_EQ(splitAt(5, hyphens, removed, true), (Ranges{{1, 2}, {2, 3}, {4, 5}}));
  EXPECT_EQ(splitAt(5, hyphens, isolated, false), (Ranges{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(splitAt(5, hyphens, mergedWithPrevious, false), (Ranges{{0, 2}, {2, 3}, {3, 5}}));
  EXPECT_EQ(splitAt(5, hyphens, mergedWithNext, false), (Ranges{{0, 1}, {1, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(splitAt(5, hyphens, contiguous, false), (Ranges{{0, 1}, {1, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(splitAt(3, {}, isolated, false), (Ranges{{0, 3}}));
  EXPECT_EQ(splitAt(0, {}, isolated, false), Ranges());
  EXPECT_EQ(splitAt(2, {{0, 0}, {2, 2}}, isolated, false), (Ranges{{0, 2}}));
}

TEST(Unicode, InvalidSequences) {
  EXPECT_FALSE(findInvalid("a\u00E9\U0001F600"));
  EXPECT_EQ(findInvalid("ab\xE2\x82"), 2u);
  EXPECT_EQ(findInvalid("\xED\xA0\x80"), 0u);
  EXPECT_EQ(replaceInvalid("a\xE2\x82z\xFF\xF0\x9F\x98"), "a\uFFFDz\uFFFD\uFFFD");
}

} // namespace
