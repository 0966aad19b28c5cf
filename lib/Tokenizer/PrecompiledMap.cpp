//===- PrecompiledMap.cpp --------------------------------------------------===//
#include "lib/Tokenizer/PrecompiledMap.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt {

// A cluster above this is looked up character by character.
static constexpr size_t kLongestCluster = 5;

static int valueOfDigit(char digit) {
  if (digit >= 'A' && digit <= 'Z')
    return digit - 'A';
  if (digit >= 'a' && digit <= 'z')
    return digit - 'a' + 26;
  if (digit >= '0' && digit <= '9')
    return digit - '0' + 52;
  return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

static std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (char digit : text) {
    int value = valueOfDigit(digit);
    if (value < 0)
      return std::nullopt;
    bits = bits << 6 | uint32_t(value);
    if (count += 6; count >= 8)
      bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return bytes;
}

static uint32_t readWord(std::string_view bytes, size_t offset) {
  uint32_t word = 0;
  for (size_t index = 4; index-- > 0;)
    word = word << 8 | static_cast<unsigned char>(bytes[offset + index]);
  return word;
}

Expected<std::unique_ptr<Normalizer>> PrecompiledMap::fromJson(JsonFields &fields, const std::string &where) {
  std::optional<std::string> table = decodeBase64(fields.string("precompiled_charsmap", ""));
  if (!table)
    return Error{where + ".precompiled_charsmap: is not base64"};
  size_t bytes = table->size() < 4 ? 0 : readWord(*table, 0);
  if (bytes < 4 || bytes % 4 != 0 || bytes > table->size() - 4)
    return Error{where + ".precompiled_charsmap: says that its index has " + std::to_string(bytes) +
                 " bytes, and has " + std::to_string(table->size()) + " in all"};
  std::vector<uint32_t> units(bytes / 4);
  for (size_t index = 0; index < units.size(); ++index)
    units[index] = readWord(*table, 4 + 4 * index);
  std::string replacements = table->substr(4 + bytes);
  if (std::optional<size_t> offset = unicode::findInvalid(replacements))
    return Error{where + ".precompiled_charsmap: the replacements are not valid UTF-8 at byte " +
                 std::to_string(*offset)};
  return std::unique_ptr<Normalizer>(new PrecompiledMap(std::move(units), std::move(replacements)));
}

// A unit of the double array: a label of 8 bits, a leaf flag, and the offset to its children; a leaf's own value.
static uint32_t labelOf(uint32_t unit) { return unit & (uint32_t(1) << 31 | 0xFF); }
static bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
static size_t offsetOf(uint32_t unit) { return size_t(unit >> 10) << ((unit & 1 << 9) >> 6); }
static size_t valueOf(uint32_t unit) { return unit & ~(uint32_t(1) << 31); }

std::optional<size_t> PrecompiledMap::find(std::string_view text) const {
  size_t position = offsetOf(units[0]);
  for (char character : text) {
    unsigned char byte = static_cast<unsigned char>(character);
    position ^= byte;
    if (byte == 0 || position >= units.size() || labelOf(units[position]) != byte)
      return std::nullopt;
    uint32_t unit = units[position];
    position ^= offsetOf(unit);
    if (hasLeaf(unit))
      return position < units.size() ? valueOf(units[position]) : SIZE_MAX;
  }
  return std::nullopt;
}

/// Offset behind the grapheme cluster that begins at `begin`.
static size_t endOfCluster(std::string_view text, size_t begin) {
  unicode::ClusterBreaker breaker;
  size_t end = begin;
  do {
    char32_t last = unicode::decode(text, end);
    end += unicode::lengthOf(static_cast<unsigned char>(text[end]));
    if (end == text.size() || breaker.isBreak(last, unicode::decode(text, end)))
      return end;
  } while (true);
}

Expected<std::string> PrecompiledMap::apply(std::string text) const {
  const size_t limit = growthLimit(text.size());
  std::string result;
  result.reserve(text.size());
  std::optional<Error> failure;
  // Appends what stands for `part`; false: the table has nothing for it.
  auto replace = [&](std::string_view part) {
    std::optional<size_t> begin = find(part);
    if (!begin)
      return false;
    size_t end = replacements.find('\0', std::min(*begin, replacements.size()));
    bool inside =
        *begin <= replacements.size() && (*begin == replacements.size() || (replacements[*begin] & 0xC0) != 0x80);
    if (!inside)
      failure = Error{"the normalizer's precompiled_charsmap is damaged: its entry for '" + json::printable(part) +
                      "' leads outside of it"};
    else
      result.append(replacements, *begin, end == std::string::npos ? end : end - *begin);
    return true;
  };
  for (size_t begin = 0, end; begin < text.size() && !failure; begin = end) {
    if (result.size() > limit)
      return growthError(text.size(), limit);
    end = endOfCluster(text, begin);
    std::string_view cluster = std::string_view(text).substr(begin, end - begin);
    if (cluster.size() <= kLongestCluster && replace(cluster))
      continue;
    for (size_t length; !cluster.empty(); cluster.remove_prefix(length)) {
      length = unicode::lengthOf(static_cast<unsigned char>(cluster[0]));
      if (!replace(cluster.substr(0, length)))
        result.append(cluster.substr(0, length));
    }
  }
  if (failure)
    return *failure;
  return result;
}

} // namespace rapt
