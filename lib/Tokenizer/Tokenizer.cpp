//===- Tokenizer.cpp -------------------------------------------------------===//
#include "lib/Tokenizer/Tokenizer.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt {

const AddedToken *Tokenizer::addedToken(int32_t id) const {
  auto found =
      std::lower_bound(added.begin(), added.end(), id, [](const auto &token, int32_t id) { return token->id < id; });
  return found != added.end() && (*found)->id == id ? found->get() : nullptr;
}

bool Tokenizer::isSpecial(int32_t id) const {
  const AddedToken *token = addedToken(id);
  return token && token->special;
}

std::optional<int32_t> Tokenizer::tokenId(std::string_view token) const {
  for (const auto &entry : added)
    if (entry->content == token)
      return entry->id;
  return model->vocabulary().find(token);
}

std::optional<std::string> Tokenizer::tokenBytes(int32_t id) const {
  if (const AddedToken *token = addedToken(id))
    return token->content;
  std::optional<std::string_view> token = model->vocabulary().token(id);
  return token ? std::optional(decoder.bytesOf(*token)) : std::nullopt;
}

/// Stops the chain of callbacks without being a failure of the text.
static const std::string kStopped = "stopped";

/// One text on its way to ids.
struct Tokenizer::Job {
  const EncodeOptions &options;
  Model::Scratch &scratch;
  Encoding &encoding;
  const std::vector<ByteRange> &plain; ///< where special tokens are ordinary text; in order
  bool parsesSpecialTokens = true;     ///< but where the text is plain
  int32_t source = 0;                  ///< of the text, for TokenSpan
  int32_t words = 0;                   ///< counted so far

  bool isPlain(ByteRange range) const {
    const auto other = std::partition_point(plain.begin(), plain.end(),
                                            [&](const ByteRange &part) { return part.end <= range.begin; });
    return !parsesSpecialTokens || (other != plain.end() && other->begin < range.end);
  }
  /// An added token.
  Status add(int32_t id, ByteRange range) {
    encoding.ids.push_back(id);
    if (options.wantSpans)
      encoding.spans.push_back({source, words, range});
    ++words;
    return {};
  }
};

/// Encodes the bytes of the text from `base` on that no added token of the first list takes.
Status Tokenizer::encodeStretch(std::string_view text, size_t base, Job &job) const {
  std::vector<int32_t> &ids = job.encoding.ids;
  std::string rewritten;
  std::string_view normal = text;
  size_t front = base == 0 && !text.empty() ? unicode::lengthOf(static_cast<unsigned char>(text[0])) : 0;
  if (!normalizers.empty()) {
    RAPT_ASSIGN_OR_RETURN(rewritten, normalize(normalizers, text, front));
    normal = rewritten;
  }
  const Piece whole = {normal, base == 0 ? front : 0};
  std::optional<Alignment> alignment;
  if (job.options.wantSpans || !job.plain.empty()) {
    RAPT_ASSIGN_OR_RETURN(alignment, Alignment::of(normalizers, text, normal, base));
  }
  std::optional<SpanFinder> finder;
  if (job.options.wantSpans)
    finder.emplace(normal, *alignment, job.source, job.words, job.encoding.spans);
  auto encodePiece = [&](Piece piece) -> Status {
    const size_t before = ids.size();
    RAPT_RETURN_IF_ERROR(model->encode(piece.text, job.scratch, ids));
    if (finder) {
      std::vector<std::string> bytes;
      for (size_t i = before; i < ids.size(); ++i)
        bytes.push_back(tokenBytes(ids[i]).value_or(""));
      finder->add(piece.text, bytes);
    }
    return ids.size() > job.options.stopAbove ? Status(Error{kStopped}) : Status();
  };
  auto original = [&](size_t begin, size_t end) {
    return alignment ? alignment->original({begin, end}) : ByteRange{base + begin, base + end};
  };
  auto visit = [&](size_t begin, size_t end, const AddedToken *token) -> Status {
    if (token)
      return job.add(token->id, original(begin, end));
    return preTokenize(preTokenizers, whole.part(begin, end), encodePiece);
  };
  if (normalizedFinder.empty())
    return normal.empty() ? Status() : visit(0, normal.size(), nullptr);
  return normalizedFinder.cut(
      normal, [&](size_t begin, size_t end) { return job.isPlain(original(begin, end)); }, visit);
}

static std::string describeCount(std::string_view what, int64_t count) {
  return std::string(what) + std::to_string(count);
}

Status Tokenizer::encodeText(std::string_view text, Job &job) const {
  if (std::optional<size_t> offset = unicode::findInvalid(text))
    return Error{"the text is not valid UTF-8 at byte " + std::to_string(*offset) + " of " +
                 std::to_string(text.size())};
  return plainFinder.cut(
      text, [&](size_t begin, size_t end) { return job.isPlain({begin, end}); },
      [&](size_t begin, size_t end, const AddedToken *token) -> Status {
        return token ? job.add(token->id, {begin, end}) : encodeStretch(text.substr(begin, end - begin), begin, job);
      });
}

Status Tokenizer::checkRows(const std::vector<int32_t> &ids, int64_t embeddingRows) const {
  if (embeddingRows >= size)
    return {};
  for (int32_t id : ids)
    if (id >= embeddingRows)
      return Error{"the text has the token '" + json::printable(tokenBytes(id).value_or("")) +
                   describeCount("' with id ", id) +
                   describeCount(", but the model has embeddings only for ids below ", embeddingRows)};
  return {};
}

Expected<Encoding> Tokenizer::encodeFramed(const std::vector<FramePart> &parts, std::string_view first,
                                           std::string_view second, const EncodeOptions &options,
                                           const std::vector<ByteRange> &plain) const {
  Encoding encoding;
  std::unique_ptr<Model::Scratch> scratch = model->newScratch();
  scratch->stopAbove = options.stopAbove;
  for (const FramePart &part : parts) {
    if (part.kind == FramePart::Kind::Special) {
      if (options.addSpecialTokens)
        encoding.ids.push_back(part.id);
    } else {
      bool isFirst = part.kind == FramePart::Kind::First;
      Job job{options, *scratch, encoding, plain, options.parseSpecialTokens && !splitsSpecialTokens, isFirst ? 1 : 2};
      Status status = encodeText(isFirst ? first : second, job);
      if (!status && status.error().message != kStopped)
        return status.error();
    }
    encoding.types.resize(encoding.ids.size(), part.type);
    if (options.wantSpans)
      encoding.spans.resize(encoding.ids.size());
  }
  RAPT_RETURN_IF_ERROR(checkRows(encoding.ids, options.embeddingRows));
  return encoding;
}

static Expected<std::vector<int32_t>> idsOf(Expected<Encoding> encoding) {
  RAPT_RETURN_IF_ERROR(encoding);
  return std::move(encoding->ids);
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
  return idsOf(encodeFramed(around.single, text, {}, options));
}

Expected<std::vector<int32_t>> Tokenizer::encodeParts(const std::vector<TextPart> &parts,
                                                      const EncodeOptions &options) const {
  std::string text;
  std::vector<ByteRange> plain;
  for (const TextPart &part : parts) {
    if (part.isPlain && !part.text.empty())
      plain.push_back({text.size(), text.size() + part.text.size()});
    text += part.text;
  }
  return idsOf(encodeFramed(around.single, text, {}, options, plain));
}

Expected<Encoding> Tokenizer::encodeTyped(std::string_view text, const EncodeOptions &options) const {
  return encodeFramed(around.single, text, {}, options);
}

Expected<Encoding> Tokenizer::encodePair(std::string_view first, std::string_view second,
                                         const EncodeOptions &options) const {
  if (!canEncodePairs())
    return Error{"the tokenizer's post-processor does not say how two texts are put together"};
  return encodeFramed(around.pair, first, second, options);
}

Status Tokenizer::decodeNext(Decoding &decoding, int32_t id, bool skipSpecialTokens, std::string &text) const {
  if (const AddedToken *token = addedToken(id)) {
    if (!(skipSpecialTokens && token->special))
      decoding.push(token->pattern, /*isAdded=*/true, text);
    return {};
  }
  std::optional<std::string_view> token = model->vocabulary().token(id);
  if (!token)
    return Error{describeCount("id ", id) + describeCount(" has no token; the vocabulary ends at ", size - 1)};
  decoding.push(*token, /*isAdded=*/false, text);
  return {};
}

Expected<std::string> Tokenizer::decode(const std::vector<int32_t> &ids, bool skipSpecialTokens) const {
  Decoding decoding = startDecoding();
  std::string text;
  for (int32_t id : ids)
    RAPT_RETURN_IF_ERROR(decodeNext(decoding, id, skipSpecialTokens, text));
  decoding.finish(text);
  return text;
}

} // namespace rapt
