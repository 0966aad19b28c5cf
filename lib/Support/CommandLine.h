//===- CommandLine.h - Arguments of a tool, by the table of its options -----===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// An option as the user writes it. A name of one letter has one dash, a longer one two, or one.
struct OptionName {
  std::string_view name;    ///< without dashes
  std::string_view aliases; ///< other names, with spaces between: one letter, or the names that related tools have
  const char *value; ///< what --help calls the value; null for a switch. It may be left out where it begins with [, and
                     ///< only stand behind an equals sign where it begins with [=
  const char *help;
  bool isHidden = false;  ///< only listed when asked for, and never offered for another name
  bool isGlued = false;   ///< a name of one letter, behind which the value may follow at once: -j2
  bool isForeign = false; ///< an option of related tools, which is refused: `help` says what to do instead

  bool mayLackValue() const { return value && value[0] == '['; }
  bool mayFollow() const { return value && !(value[0] == '[' && value[1] == '='); }
  /// "--name", and "-n" for a name of one letter.
  std::string shown() const;
};

/// The options of a tool's table in its order; each element of the table has its option as `name`.
template <typename Table> std::vector<OptionName> optionNames(const Table &table) {
  std::vector<OptionName> names;
  for (const auto &option : table)
    names.push_back(option.name);
  return names;
}

/// One argument of a command, with its value.
struct Argument {
  const OptionName *option; ///< null: an operand
  std::string text;         ///< the operand, or the option's value
  bool hasValue = false;
};

/// Reads argv[1..]: "--name=value", "--name value", "-n value", "-nvalue" where it may be so; "--" ends the options,
/// and "-" is an operand. Errors are for exit status 2 and say what to write instead.
Expected<std::vector<Argument>> readArguments(int argc, const char *const *argv, std::span<const OptionName> options);

/// The lines of --help; what the options do stands in column `column`.
std::string listOptions(std::span<const OptionName> options, size_t column, bool withHidden = false);

/// "a whole number from 1 to 8", or "from 1 on" where `most` is that of the type.
std::string expectedNumber(int64_t least, int64_t most);
/// The number that `text` is, if it is in [least, most].
std::optional<int64_t> parseWholeNumber(std::string_view text, int64_t least, int64_t most);
/// The number that `text` is; finite.
std::optional<double> parseRealNumber(std::string_view text);
/// The place of `text` in `choices`.
std::optional<size_t> parseChoice(std::string_view text, std::span<const std::string_view> choices);

} // namespace rapt
