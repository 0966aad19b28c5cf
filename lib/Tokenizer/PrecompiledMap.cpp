//===- PrecompiledMap.cpp --------------------------------------------------===//
#include "lib/Tokenizer/PrecompiledMap.h"
#include "lib/Support/Base64.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt {

// A cluster above this is looked up character by character.
static constexpr size_t kLongestCluster = 5;

static uint32_t readWord(std::string_view bytes, size_t offset) {
  uint32_t word = 0;
  for (size_t index = 4; index-- > 0;)
    word = word << 8 | static_cast<unsigned char>(bytes[offset + index]);
  return word;
}

Expected<std::unique_ptr<Normalizer>> PrecompiledMap::fromJson(JsonFields &fields, const std::string &where) {
  const bool takesLongest = fields.boolean("longest_match", false);
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
  return std::unique_ptr<Normalizer>(new PrecompiledMap(std::move(units), std::move(replacements), takesLongest));
}

// A unit of the double array: a label of 8 bits, a leaf flag, and the offset to its children; a leaf's own value.
static uint32_t labelOf(uint32_t unit) { return unit & (uint32_t(1) << 31 | 0xFF); }
static bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
static size_t offsetOf(uint32_t unit) { return size_t(unit >> 10) << ((unit & 1 << 9) >> 6); }
static size_t valueOf(uint32_t unit) { return unit & ~(uint32_t(1) << 31); }

std::optional<PrecompiledMap::Match> PrecompiledMap::find(std::string_view text) const {
  std::optional<Match> found;
  size_t position = offsetOf(units[0]);
  for (size_t index = 0; index < text.size() && (takesLongest || !found); ++index) {
    unsigned char byte = static_cast<unsigned char>(text[index]);
    position ^= byte;
    if (byte == 0 || position >= units.size() || labelOf(units[position]) != byte)
      break;
    uint32_t unit = units[position];
    position ^= offsetOf(unit);
    if (hasLeaf(unit))
      found = {position < units.size() ? valueOf(units[position]) : SIZE_MAX, index + 1};
  }
  return found;
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

Expected<size_t> PrecompiledMap::replace(std::string_view text, std::string &result) const {
  std::optional<Match> match = find(text);
  if (!match)
    return size_t(0);
  auto isInside = [](std::string_view bytes, size_t offset) { // a character
    return offset < bytes.size() && (bytes[offset] & 0xC0) == 0x80;
  };
  const size_t begin = match->replacement, end = replacements.find('\0', std::min(begin, replacements.size()));
  if (begin > replacements.size() || isInside(replacements, begin) || isInside(text, match->length))
    return Error{"the normalizer's precompiled_charsmap is damaged: its entry for '" +
                 json::printable(text.substr(0, match->length)) + "' leads outside of it"};
  result.append(replacements, begin, end == std::string::npos ? end : end - begin);
  return match->length;
}

Expected<size_t> PrecompiledMap::applyToCharacter(std::string_view text, std::string &result) const {
  const size_t bytes = unicode::lengthOf(static_cast<unsigned char>(text[0]));
  RAPT_ASSIGN_OR_RETURN(size_t length, replace(takesLongest ? text : text.substr(0, bytes), result));
  if (length == 0) {
    result.append(text.substr(0, bytes));
    length = bytes;
  }
  return length;
}

Expected<size_t> PrecompiledMap::applyToCluster(std::string_view text, std::string &result) const {
  const std::string_view cluster = text.substr(0, endOfCluster(text, 0));
  if (cluster.size() <= kLongestCluster) {
    RAPT_ASSIGN_OR_RETURN(size_t length, replace(cluster, result));
    if (length > 0)
      return cluster.size();
  }
  for (size_t offset = 0; offset < cluster.size();) {
    RAPT_ASSIGN_OR_RETURN(size_t length, applyToCharacter(cluster.substr(offset), result));
    offset += length;
  }
  return cluster.size();
}

Expected<size_t> PrecompiledMap::applyToFirst(std::string_view text, std::string &result) const {
  return takesLongest ? applyToCharacter(text, result) : applyToCluster(text, result);
}

Expected<std::string> PrecompiledMap::applyWithFront(std::string text, size_t &front) const {
  size_t dropped = 0;
  for (std::string made; front > 0 && dropped < text.size();) {
    RAPT_ASSIGN_OR_RETURN(size_t length, applyToFirst(std::string_view(text).substr(dropped), made));
    if (!made.empty())
      break;
    dropped += length;
  }
  const std::string rest = text.substr(dropped);
  const size_t end = unicode::lengthOfAsMany(rest, std::string_view(text).substr(0, front));
  RAPT_ASSIGN_OR_RETURN(const std::string alone, apply(rest.substr(0, end)));
  RAPT_ASSIGN_OR_RETURN(std::string rewritten, apply(std::move(text)));
  front = unicode::lengthOfAsMany(rewritten, alone);
  return rewritten;
}

Expected<std::string> PrecompiledMap::apply(std::string text) const {
  const size_t limit = growthLimit(text.size());
  std::string result;
  result.reserve(text.size());
  for (size_t begin = 0; begin < text.size();) {
    if (result.size() > limit)
      return growthError(text.size(), limit);
    const std::string_view rest = std::string_view(text).substr(begin);
    RAPT_ASSIGN_OR_RETURN(size_t length, applyToFirst(rest, result));
    begin += length;
  }
  return result;
}

} // namespace rapt
