//===- Alignment.cpp -------------------------------------------------------===//
#include "lib/Tokenizer/Alignment.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <functional>

namespace rapt {

/// The end of the character at `offset` and the marks behind it, which normal forms may join with it.
static size_t endOfCluster(std::string_view text, size_t offset) {
  do
    offset += unicode::lengthOf(static_cast<unsigned char>(text[offset]));
  while (offset < text.size() && unicode::isMark(unicode::decode(text, offset)));
  return offset;
}

Expected<Alignment> Alignment::of(const NormalizerList &normalizers, std::string_view text, std::string_view normal,
                                  size_t base) {
  Alignment alignment(base, text.size());
  if (text == normal)
    return alignment;
  std::vector<ByteRange> &each = alignment.each;
  each.reserve(normal.size());
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = endOfCluster(text, begin);
    RAPT_ASSIGN_OR_RETURN(std::string part, normalize(normalizers, text.substr(begin, end - begin)));
    if (!normal.substr(each.size()).starts_with(part))
      break;
    each.resize(each.size() + part.size(), {begin, end});
  }
  if (each.size() != normal.size()) // it depends on the neighbors: no more is known than that it is in here
    each.assign(normal.size(), {0, text.size()});
  return alignment;
}

ByteRange Alignment::original(ByteRange range) const {
  if (each.empty())
    return {base + std::min(range.begin, size), base + std::min(range.end, size)};
  if (range.begin == range.end) {
    size_t at = range.begin < each.size() ? each[range.begin].begin : size;
    return {base + at, base + at};
  }
  return {base + each[range.begin].begin, base + each[range.end - 1].end};
}

/// False also for the bytes of an unfinished character.
static bool isBlank(std::string_view text, size_t at) {
  return at + unicode::lengthOf(static_cast<unsigned char>(text[at])) <= text.size() &&
         unicode::isWhitespace(unicode::decode(text, at));
}

static size_t endOfBlanks(std::string_view text, size_t at) {
  while (at < text.size() && isBlank(text, at))
    at += unicode::lengthOf(static_cast<unsigned char>(text[at]));
  return at;
}

/// The place of `bytes` behind what is done: at once, or behind white space, of which they may begin with the end.
std::optional<ByteRange> SpanFinder::find(std::string_view bytes) {
  blanksEnd = endOfBlanks(normal, std::max(blanksEnd, done));
  const size_t blanks = endOfBlanks(bytes, 0);
  const size_t at = blanks == bytes.size() ? done : blanksEnd - std::min(blanks, blanksEnd - done);
  if (!normal.substr(at).starts_with(bytes))
    return std::nullopt;
  return ByteRange{at, at + bytes.size()};
}

/// Where `word` lies in the normalized text: by its address, or by the bytes of its tokens, which may begin with a
/// blank that the pre-tokenizer added.
std::optional<ByteRange> SpanFinder::locate(std::string_view word, std::string_view bytes) {
  std::less_equal<const char *> notBehind;
  if (notBehind(normal.data(), word.data()) && notBehind(word.data() + word.size(), normal.data() + normal.size())) {
    size_t begin = size_t(word.data() - normal.data());
    return ByteRange{begin, begin + word.size()};
  }
  std::optional<ByteRange> found = find(bytes);
  return found || !bytes.starts_with(' ') ? found : find(bytes.substr(1));
}

/// The original of a range, without the white space around it.
ByteRange SpanFinder::spanOf(ByteRange range) const {
  auto isInside = [&](size_t at) { return at < normal.size() && (normal[at] & 0xC0) == 0x80; };
  while (range.begin < range.end && isInside(range.begin)) // bytes of a character stand for all of it
    --range.begin;
  while (isInside(range.end))
    ++range.end;
  ByteRange trimmed = {endOfBlanks(normal.substr(0, range.end), range.begin), range.end};
  while (trimmed.begin < trimmed.end && isBlank(normal, unicode::previous(normal, trimmed.end)))
    trimmed.end = unicode::previous(normal, trimmed.end);
  return alignment.original(trimmed.begin < trimmed.end ? trimmed : range);
}

void SpanFinder::add(std::string_view word, const std::vector<std::string> &tokens) {
  std::string bytes;
  for (const std::string &token : tokens)
    bytes += token;
  const std::optional<ByteRange> located = locate(word, bytes);
  const ByteRange whole = located.value_or(ByteRange{0, normal.size()});
  if (whole.begin >= done)
    done = whole.end;
  const std::string_view text = normal.substr(whole.begin, whole.end - whole.begin);
  const bool blankAdded = bytes.starts_with(' ') && std::string_view(bytes).substr(1) == text;
  if (bytes != text && !blankAdded) { // an unknown token, for example: all have the span of the word
    if (!located && !everything)
      everything = spanOf(whole);
    append(tokens.size(), located ? spanOf(whole) : *everything);
  } else {
    size_t at = whole.begin, added = blankAdded;
    for (const std::string &token : tokens) {
      const size_t skipped = std::min(added, token.size()), end = at + token.size() - skipped;
      added -= skipped;
      append(1, spanOf({at, end}));
      at = end;
    }
  }
  ++words;
}

} // namespace rapt
