#include "lib/Support/NumberList.h"
#include <algorithm>
#include <charconv>

namespace rapt {
namespace {

std::optional<int64_t> parseNumber(std::string_view text) {
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

} // namespace

std::optional<std::vector<int64_t>> parseNumberList(std::string_view text) {
  std::vector<int64_t> result;
  if (text.empty() || text == "all")
    return result;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const size_t dash = std::min(part.find('-'), part.size());
    const std::optional<int64_t> from = parseNumber(part.substr(0, dash));
    const std::optional<int64_t> to = dash == part.size() ? from : parseNumber(part.substr(dash + 1));
    if (!from || !to || *to < *from || (!result.empty() && *from <= result.back()))
      return std::nullopt;
    for (int64_t i = *from; i <= *to; ++i)
      result.push_back(i);
    at = end + 1;
  }
  return result;
}

std::string showNumberList(std::span<const int64_t> numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (i ? "," : "") + std::to_string(numbers[i]) + (last > i ? "-" + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return text;
}

} // namespace rapt
