//===- FormatSpecification.h - How a value is written ------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <optional>

namespace rapt::chat {

/// The text behind the colon of a replacement field, and between % and the letter of a conversion.
struct FormatSpecification {
  char32_t fill = ' ', align = 0, sign = '-', group = 0, type = 0; ///< 0: not given
  bool alternate = false, zero = false;
  int64_t width = 0, precision = -1;

  static constexpr int64_t most = 1 << 23;
  static std::optional<FormatSpecification> parse(const Text &text);
};

/// Digits of a number without its sign; `digits` < 0: as many as the type has by default.
std::string realDigits(double number, char type, int digits);
std::string wholeDigits(const BigInteger &number, char type, bool hasPrefix);
/// Such digits with sign, groups, zeros and padding.
Text numberText(std::string digits, bool isNegative, const FormatSpecification &how);
/// `otherwise`: the alignment where none is given.
Text padded(const Text &text, const FormatSpecification &how, char32_t otherwise);

} // namespace rapt::chat
