//===- CheckOutput.cpp - the report of the checker as text and JSON ------------------------===//
//
// See CheckOutput.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/CheckOutput.h"

#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace sluice {
namespace {

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", 1000 * seconds);
  return text;
}

std::string nameOf(int number) { return concat("P", number); }

struct PropertyTime {
  double seconds = 0;
  bool hasStage = false;
  /// Part of it is the time of a stage that decides other properties too.
  bool isShared = false;
};

PropertyTime timeOf(const CheckReport &report, int number) {
  PropertyTime time;
  for (const CheckReport::Stage &stage : report.stages)
    if (std::ranges::count(stage.properties, number)) {
      time.seconds += stage.seconds;
      time.hasStage = true;
      time.isShared = time.isShared || stage.properties.size() > 1;
    }
  return time;
}

double totalSeconds(const CheckReport &report) {
  double total = 0;
  for (const CheckReport::Stage &stage : report.stages)
    total += stage.seconds;
  return total;
}

} // namespace

std::string checkText(const CheckReport &report) {
  std::string text;
  for (int number = 1; number <= propertyCount; ++number) {
    const CheckReport::Property &property = report.properties[std::size_t(number - 1)];
    std::string line =
        concat(padRight(nameOf(number), 4), padRight(propertyTitle(number), 52), outcomeName(property.outcome));
    if (const PropertyTime time = timeOf(report, number); time.hasStage)
      line = concat(padRight(line, 71), padRight(concat(property.facts, " ", factUnit(number)), 40),
                    padLeft(milliseconds(time.seconds), 12), (time.isShared ? "*" : ""));
    text += line + "\n";
    if (!property.reason.empty())
      text += "    reason: " + property.reason + "\n";
  }
  text += concat(padRight("all stages", 111), padLeft(milliseconds(totalSeconds(report)), 12), "\n");
  for (const CheckReport::Stage &stage : report.stages)
    if (stage.properties.size() > 1) {
      text += "*";
      for (int number : stage.properties)
        text += concat((number == stage.properties.front() ? " " : ", "), nameOf(number));
      text += concat(" are decided in one stage of ", milliseconds(stage.seconds), "\n");
    }
  return text;
}

Json checkJson(const CheckReport &report) {
  Json properties = Json::array(), stages = Json::array();
  for (int number = 1; number <= propertyCount; ++number) {
    const CheckReport::Property &property = report.properties[std::size_t(number - 1)];
    Json row = {
        {"property", nameOf(number)}, {"title", propertyTitle(number)}, {"outcome", outcomeName(property.outcome)}};
    if (const PropertyTime time = timeOf(report, number); time.hasStage) {
      row["facts"] = property.facts;
      row["unit"] = factUnit(number);
      row["seconds"] = time.seconds;
    }
    if (!property.reason.empty())
      row["reason"] = property.reason;
    properties.push_back(std::move(row));
  }
  for (const CheckReport::Stage &stage : report.stages) {
    Json names = Json::array();
    for (int number : stage.properties)
      names.push_back(nameOf(number));
    stages.push_back({{"properties", std::move(names)}, {"seconds", stage.seconds}});
  }
  return {{"properties", std::move(properties)}, {"stages", std::move(stages)}, {"seconds", totalSeconds(report)}};
}

} // namespace sluice
