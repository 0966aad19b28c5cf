//===- CommandLine.h - Arguments of a tool, by the table of its options -----===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
/// The whole numbers between commas; no value where one is not in [least, most].
template <typename T> std::optional<std::vector<T>> parseWholeNumbers(std::string_view text, T least, T most) {
  std::vector<T> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::optional<int64_t> number = parseWholeNumber(text.substr(at, end - at), least, most);
    if (!number)
      return std::nullopt;
    numbers.push_back(T(*number));
    at = end + 1;
  }
  return numbers;
}
inline constexpr const char *expectedIds = "a list of token ids, such as 1,2,3";
/// The number that `text` is; finite.
std::optional<double> parseRealNumber(std::string_view text);
/// A seed of 64 bits.
std::optional<uint64_t> parseSeed(std::string_view text);
inline constexpr const char *expectedSeed = "a whole number from 0 to 2^64 - 1";
/// The place of `text` in `choices`.
std::optional<size_t> parseChoice(std::string_view text, std::span<const std::string_view> choices);

/// An option of a tool and what takes its value into the tool's options. `set` returns what was expected instead, empty
/// where the value is right.
template <typename Options> struct ToolOption {
  OptionName name;
  std::string (*set)(Options &, const std::string &);
};

template <typename Member> struct ClassOfMember;
template <typename Class, typename Value> struct ClassOfMember<Value Class::*> {
  using Type = Class;
};
/// The options that have the member `field`.
template <auto field> using OptionsOf = typename ClassOfMember<decltype(field)>::Type;

// Setters of single members.

template <auto field> std::string setFlag(OptionsOf<field> &options, const std::string &) {
  options.*field = true;
  return {};
}

template <auto field> std::string setText(OptionsOf<field> &options, const std::string &text) {
  options.*field = text;
  return {};
}

template <auto field> std::string setFile(OptionsOf<field> &options, const std::string &text) {
  options.*field = text;
  return text.empty() ? "a file" : "";
}

template <auto field, int64_t least, int64_t most = INT64_MAX>
std::string setNumber(OptionsOf<field> &options, const std::string &text) {
  const std::optional<int64_t> number = parseWholeNumber(text, least, most);
  options.*field = number.value_or(least);
  return number ? "" : expectedNumber(least, most);
}

template <auto field> std::string setSeed(OptionsOf<field> &options, const std::string &text) {
  const std::optional<uint64_t> seed = parseSeed(text);
  options.*field = seed.value_or(0);
  return seed ? "" : expectedSeed;
}

/// NAME=FILE.npy, one more of the option's.
std::string addNamedFile(std::vector<std::pair<std::string, std::string>> &files, const std::string &text);

} // namespace rapt
