//===- CommandLine.cpp - Arguments of a tool, by the table of its options ---===//
#include "lib/Support/CommandLine.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <charconv>
#include <cmath>

using namespace rapt;

/// The option that has `name`, without dashes, among its names.
static const OptionName *findOption(std::string_view name, std::span<const OptionName> options) {
  for (const OptionName &option : options) {
    const std::vector<std::string_view> aliases = words(option.aliases);
    if (name == option.name || std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return &option;
  }
  return nullptr;
}

static Error noSuchOption(std::string_view argument, std::string_view name, std::span<const OptionName> options) {
  std::vector<std::string_view> names;
  for (const OptionName &option : options) {
    if (option.isHidden || option.isForeign)
      continue;
    names.push_back(option.name);
    for (std::string_view alias : words(option.aliases))
      names.push_back(alias);
  }
  const OptionName *nearest = findOption(findNearest(name, names), options);
  return Error{unknownOption(argument, nearest ? nearest->shown() : "")};
}

/// Clang's -### has one dash, too.
std::string OptionName::shown() const { return (name.size() == 1 || name[0] == '#' ? "-" : "--") + std::string(name); }

namespace {
/// The parts of an argument that begins with a dash.
struct Parts {
  const OptionName *option; ///< null: there is none
  std::string_view name;    ///< as it was written, without dashes
  std::optional<std::string_view> value;
};
} // namespace

static Parts split(std::string_view text, std::span<const OptionName> options) {
  const size_t equals = std::min(text.find('='), text.size());
  const bool isLong = text[1] == '-';
  const std::string_view name = text.substr(isLong ? 2 : 1, equals - (isLong ? 2 : 1));
  if (const OptionName *option = isLong && name.size() < 2 ? nullptr : findOption(name, options))
    return {option, name, equals < text.size() ? std::optional(text.substr(equals + 1)) : std::nullopt};
  const OptionName *glued = isLong || equals < text.size() ? nullptr : findOption(text.substr(1, 1), options);
  if (glued && glued->isGlued)
    return {glued, text.substr(1, 1), text.substr(2)};
  return {nullptr, name, std::nullopt};
}

/// "-" is an operand.
static bool isOption(std::string_view text) { return text.size() > 1 && text[0] == '-'; }

Expected<std::vector<Argument>> rapt::readArguments(int argc, const char *const *argv,
                                                    std::span<const OptionName> options) {
  std::vector<Argument> arguments;
  bool onlyOperands = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (onlyOperands || !isOption(text)) {
      arguments.push_back({nullptr, std::string(text)});
      continue;
    }
    if ((onlyOperands = text == "--"))
      continue;
    auto [option, name, value] = split(text, options);
    if (!option)
      return noSuchOption(text.substr(0, text.find('=')), name, options);
    if (option->isForeign)
      return Error{json::printable(text.substr(0, text.find('='))) + ": " + option->help};
    if (!option->value && value)
      return Error{option->shown() + " takes no value"};
    if (option->value && !value && !option->mayLackValue()) {
      if (++i == argc)
        return Error{option->shown() + " needs a value: " + option->value};
      value = argv[i];
    }
    if (!value && option->mayFollow() && option->value && i + 1 < argc && !isOption(argv[i + 1]))
      value = argv[++i];
    arguments.push_back({option, std::string(value.value_or("")), value.has_value()});
  }
  return arguments;
}

std::string rapt::listOptions(std::span<const OptionName> options, size_t column, bool withHidden) {
  std::string result;
  for (const OptionName &option : options) {
    if (option.isForeign || (option.isHidden && !withHidden))
      continue;
    std::string left = "      " + option.shown();
    for (std::string_view alias : words(option.aliases))
      if (alias.size() == 1)
        left.replace(0, 6, "  -" + std::string(alias) + ", ");
    if (option.value)
      left += (option.mayFollow() ? " " : "") + std::string(option.value);
    left.resize(std::max(left.size() + 2, column), ' ');
    result += left + option.help + "\n";
  }
  return result;
}

std::string rapt::expectedNumber(int64_t least, int64_t most) {
  return "a whole number from " + std::to_string(least) + (most == INT64_MAX ? " on" : " to " + std::to_string(most));
}

std::optional<int64_t> rapt::parseWholeNumber(std::string_view text, int64_t least, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isWhole = error == std::errc() && end == text.data() + text.size();
  return isWhole && number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<double> rapt::parseRealNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  return isNumber ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> rapt::parseSeed(std::string_view text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(seed) : std::nullopt;
}

std::optional<size_t> rapt::parseChoice(std::string_view text, std::span<const std::string_view> choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  return found == choices.end() ? std::nullopt : std::optional(size_t(found - choices.begin()));
}

std::string rapt::addNamedFile(std::vector<std::pair<std::string, std::string>> &files, const std::string &text) {
  const size_t equals = std::min(text.find('='), text.size());
  if (equals == 0 || equals + 1 >= text.size())
    return "NAME=FILE.npy";
  files.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return {};
}
