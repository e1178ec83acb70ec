//===- Config.cpp - options in a TOML file ----------------------------------------------===//
#include "tools/train/Config.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/base/Toml.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

namespace sluice {
namespace {

class TomlReader : public CLI::Config {
public:
  explicit TomlReader(CLI::App &app) : app(app) {}

  std::string to_config(const CLI::App *, bool, bool, std::string) const override {
    return configText(optionValues(app));
  }

  std::vector<CLI::ConfigItem> from_config(std::istream &input) const override {
    const std::string path = app.get_config_ptr()->as<std::string>();
    const std::string text(std::istreambuf_iterator<char>(input), {});
    const toml::parse_result parsed = parseToml(text, path);
    if (!parsed)
      throw errorAt(path, parsed.error().source(), std::string(parsed.error().description()));
    std::vector<CLI::ConfigItem> items;
    for (const auto &[key, node] : parsed.table()) {
      const std::string name(key.str());
      const CLI::Option *option = app.get_option_no_throw("--" + name);
      if (!option)
        option = app.get_option_no_throw(name);
      if (!option || !option->get_configurable()) {
        ConfigError unknown = errorAt(path, key.source(), concat("unknown key '", name, "'"));
        unknown.status.addNote("a key is a long option of sluice-train, without '--'");
        throw unknown;
      }
      CLI::ConfigItem &item = items.emplace_back();
      item.name = name;
      if (const toml::array *list = node.as_array())
        for (const toml::node &element : *list)
          item.inputs.push_back(textOf(path, name, element));
      else
        item.inputs.push_back(textOf(path, name, node));
    }
    return items;
  }

private:
  static ConfigError errorAt(const std::string &path, const toml::source_region &where, const std::string &message) {
    return {inputError(concat(path, ":", where.begin.line, ": ", message))};
  }

  static std::string textOf(const std::string &path, const std::string &name, const toml::node &node) {
    if (const auto *text = node.as_string())
      return text->get();
    if (const auto *integer = node.as_integer())
      return std::to_string(integer->get());
    if (const auto *number = node.as_floating_point())
      return formatNumber(number->get());
    if (const auto *flag = node.as_boolean())
      return flag->get() ? "true" : "false";
    throw errorAt(path, node.source(),
                  concat("value of '", name, "', expected a text, a number, true or false, or an array of these"));
  }

  CLI::App &app;
};

/// A value as TOML writes it.
std::string literal(OptionType type, const std::string &text) {
  if (type != OptionType::text)
    return text;
  std::ostringstream quoted;
  quoted << toml::value(text);
  return quoted.str();
}

} // namespace

void declareConfig(CLI::App &app) {
  app.set_config("--config", "", "options in a TOML file, by their long names; the command line takes precedence")
      ->check(CLI::Validator(
          [](const std::string &path) {
            const Result<InputFile> file = InputFile::open(path);
            return !file.isOk() ? file.status().message()
                   : file->size() <= largestTextFile
                       ? ""
                       : concat("'", path, "', expected at most ", largestTextFile, " bytes but got ", file->size());
          },
          ""));
  app.config_formatter(std::make_shared<TomlReader>(app));
}

std::vector<OptionValue> optionValues(const CLI::App &app) {
  std::vector<OptionValue> options;
  for (const CLI::Option *option : app.get_options()) {
    if (!option->get_configurable())
      continue;
    OptionValue &value = options.emplace_back();
    value.name = option->get_single_name();
    const std::string type = option->get_type_name();
    value.type = option->get_expected_min() == 0                       ? OptionType::flag
                 : type.starts_with("UINT") || type.starts_with("INT") ? OptionType::integer
                 : type.starts_with("FLOAT")                           ? OptionType::number
                                                                       : OptionType::text;
    value.isList = option->get_items_expected_max() > 1 || option->get_delimiter() != '\0';
    value.values = option->results();
    std::string standard = option->get_default_str();
    // An option that excludes another one replaces its default.
    const bool isReplaced =
        std::ranges::any_of(option->get_excludes(), [](const CLI::Option *other) { return !other->empty(); });
    if (!value.values.empty() || standard.empty() || isReplaced)
      continue;
    // CLI11 writes the default of a list in brackets.
    if (value.isList)
      value.values = CLI::detail::split(standard.substr(1, standard.size() - 2), ',');
    else
      value.values = {standard};
  }
  return options;
}

std::string configText(std::span<const OptionValue> options) {
  std::string text = "# the options of a run, for sluice-train --config\n";
  for (const OptionValue &option : options) {
    const std::string values =
        join(option.values, ", ", [&](const std::string &value) { return literal(option.type, value); });
    if (!option.values.empty())
      text += concat(option.name, " = ", option.isList ? "[" + values + "]" : values, "\n");
  }
  return text;
}

} // namespace sluice
