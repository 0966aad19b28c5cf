//===- Tokenizer.h - Text to token ids and back ----------------------------===//
//
// The tokenizer of a Hugging Face directory: added tokens, normalizer,
// pre-tokenizer, model, post-processor and decoder as tokenizer.json describes
// them, with the ids that Hugging Face's library gives. Parts that are not supported
// are refused by name when the file is read, never approximated.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Tokenizer/AddedTokens.h"
#include "lib/Tokenizer/Alignment.h"
#include "lib/Tokenizer/Decoder.h"
#include "lib/Tokenizer/Model.h"
#include "lib/Tokenizer/Normalizer.h"
#include "lib/Tokenizer/PostProcessor.h"
#include "lib/Tokenizer/PreTokenizer.h"
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Contents of a model directory's files; an empty one is absent. Read only while the tokenizer is made.
struct TokenizerFiles {
  std::string_view tokenizerJson = {};    ///< tokenizer.json
  std::string_view tokenizerConfig = {};  ///< tokenizer_config.json
  std::string_view specialTokensMap = {}; ///< special_tokens_map.json
  std::string_view addedTokens = {};      ///< added_tokens.json
  std::string_view vocabulary = {};       ///< vocab.json, read only without tokenizer.json
  std::string_view merges = {};           ///< merges.txt, read only without tokenizer.json
  std::string_view wordPieces = {};       ///< vocab.txt, read only without tokenizer.json and vocab.json
};

struct EncodeOptions {
  bool addSpecialTokens = true;      ///< Put the post-processor's tokens around the ids.
  bool parseSpecialTokens = true;    ///< False: the text of a special token is ordinary text (a user's chat message).
  size_t stopAbove = SIZE_MAX;       ///< Encoding may stop once there are more ids than this; compare sizes.
  int64_t embeddingRows = INT64_MAX; ///< An id at or above this is an error that names its token.
  bool wantSpans = false;            ///< Fill Encoding::spans.
};

/// The input of a model with token types: `types[i]` is the segment of `ids[i]`, `spans[i]` its text.
struct Encoding {
  std::vector<int32_t> ids, types;
  std::vector<TokenSpan> spans;
};

/// A stretch of a text that has several authors.
struct TextPart {
  std::string_view text;
  bool isPlain = false; ///< The text of a special token in it, or partly in it, is ordinary text.
};

/// Ids of the tokens that have a role; an absent one is empty.
struct SpecialTokenIds {
  std::optional<int32_t> begin, end, unknown, padding, mask;
};

/// Immutable after it is made; every const member may be called from many threads at once.
class Tokenizer {
public:
  /// Errors name the file and the member. Without tokenizer.json, vocab.json and merges.txt of a GPT-2, RoBERTa, BART,
  /// Qwen2 or CLIP are read, or vocab.txt of a BERT.
  static Expected<std::unique_ptr<Tokenizer>> create(const TokenizerFiles &files);

  /// Errors: invalid UTF-8 (with its byte offset), a limit of the pre-tokenizer's regular expression, a character
  /// without a token. Time and memory are linear in the text, but for stretches that cannot be split (see
  /// BytePairModel).
  Expected<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions &options = {}) const;
  /// The parts as one text, of which only some may write special tokens: a chat.
  Expected<std::vector<int32_t>> encodeParts(const std::vector<TextPart> &parts,
                                             const EncodeOptions &options = {}) const;
  /// As `encode`, with the types of the ids.
  Expected<Encoding> encodeTyped(std::string_view text, const EncodeOptions &options = {}) const;
  /// Two texts, put together as the post-processor says: a question and its passage, a premise and a hypothesis.
  /// Errors: as `encode`, and a tokenizer whose file does not say how (see canEncodePairs).
  Expected<Encoding> encodePair(std::string_view first, std::string_view second,
                                const EncodeOptions &options = {}) const;
  bool canEncodePairs() const { return !around.pair.empty(); }

  /// Valid UTF-8; bytes that form no character become U+FFFD. Errors: an id without a token.
  Expected<std::string> decode(const std::vector<int32_t> &ids, bool skipSpecialTokens = true) const;

  /// One more than the largest id, added tokens included.
  int32_t vocabularySize() const { return size; }
  /// The bytes a token stands for, possibly a part of a character; nothing for an id without a token.
  std::optional<std::string> tokenBytes(int32_t id) const;
  /// The id of a token as it is written in the vocabulary or among the added tokens.
  std::optional<int32_t> tokenId(std::string_view token) const;
  bool isSpecial(int32_t id) const;
  const SpecialTokenIds &specialIds() const { return specials; }
  /// The special tokens around one text and around two.
  const Framing &framing() const { return around; }

  /// A decoding that goes on from token to token.
  Decoding startDecoding() const { return Decoding(decoder); }
  /// Appends to `text` what is certain after `id`. Errors: an id without a token.
  Status decodeNext(Decoding &decoding, int32_t id, bool skipSpecialTokens, std::string &text) const;

private:
  friend class TokenizerReader;
  Tokenizer() = default;
  struct Job;
  Expected<Encoding> encodeFramed(const std::vector<FramePart> &parts, std::string_view first, std::string_view second,
                                  const EncodeOptions &options, const std::vector<ByteRange> &plain = {}) const;
  Status encodeText(std::string_view text, Job &job) const;
  Status checkRows(const std::vector<int32_t> &ids, int64_t embeddingRows) const;
  Status encodeStretch(std::string_view text, size_t base, Job &job) const;
  const AddedToken *addedToken(int32_t id) const;

  std::vector<std::unique_ptr<AddedToken>> added; // sorted by id
  TokenFinder plainFinder, normalizedFinder;
  NormalizerList normalizers;
  PreTokenizerList preTokenizers;
  std::unique_ptr<Model> model;
  Framing around;
  Decoder decoder;
  SpecialTokenIds specials;
  bool splitsSpecialTokens = false; ///< The text of a special token is always ordinary text.
  int32_t size = 0;
};

} // namespace rapt
