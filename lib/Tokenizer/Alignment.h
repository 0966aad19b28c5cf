//===- Alignment.h - Where in a text its tokens come from ------------------===//
//
// Normalizers and pre-tokenizers rewrite text without keeping book. The offsets
// are found afterwards: what the normalizers make of each character is compared
// with what they made of the whole, and the bytes of a word's tokens with the
// word. Where the two do not fit, a range is larger than need be, never wrong.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Tokenizer/Normalizer.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0, end = 0;
};

/// The text that an id stands for.
struct TokenSpan {
  int32_t source = 0; ///< 1: the first text, 2: the second; 0: a token that the post-processor put between them
  int32_t word = -1;  ///< the number of its word in that text: what the pre-tokenizer cut out; -1: none
  ByteRange bytes;    ///< without white space around it
};

/// From the bytes of a normalized text to those of the original.
class Alignment {
public:
  /// `normal` is what `normalizers` made of `text`, whose first byte has the offset `base` in the original.
  static Expected<Alignment> of(const NormalizerList &normalizers, std::string_view text, std::string_view normal,
                                size_t base);
  /// The original of a range of the normalized text.
  ByteRange original(ByteRange range) const;

private:
  Alignment(size_t base, size_t size) : base(base), size(size) {}
  size_t base, size;           // of the original
  std::vector<ByteRange> each; // of each byte, relative to base; empty: text and original are the same
};

/// Appends the spans of a stretch's tokens, word by word, in time linear in the stretch and the bytes of its tokens.
class SpanFinder {
public:
  /// `normal` is the text that the pre-tokenizer got. `words` counts on.
  SpanFinder(std::string_view normal, const Alignment &alignment, int32_t source, int32_t &words,
             std::vector<TokenSpan> &spans)
      : normal(normal), alignment(alignment), source(source), words(words), spans(spans) {}

  /// A word, as the pre-tokenizer gave it (a view into `normal`, or a text of its own), and the bytes of its tokens.
  void add(std::string_view word, const std::vector<std::string> &tokens);

private:
  std::optional<ByteRange> locate(std::string_view word, std::string_view bytes);
  std::optional<ByteRange> find(std::string_view bytes);
  ByteRange spanOf(ByteRange range) const;
  void append(size_t tokens, ByteRange bytes) { spans.insert(spans.end(), tokens, {source, words, bytes}); }

  std::string_view normal;
  const Alignment &alignment;
  int32_t source;
  int32_t &words;
  std::vector<TokenSpan> &spans;
  size_t done = 0;                     // of `normal`
  size_t blanksEnd = 0;                // of the white space from `done` on; below `done`: not known
  std::optional<ByteRange> everything; // the span of `normal`, once it is needed
};

} // namespace rapt
