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

Status Tokenizer::encodeStretch(std::string_view text, bool atStart, const EncodeOptions &options,
                                Model::Scratch &scratch, std::vector<int32_t> &ids) const {
  std::string rewritten;
  if (!normalizers.empty()) {
    Expected<std::string> result = normalize(normalizers, text);
    if (!result)
      return result.error();
    rewritten = std::move(*result);
    text = rewritten;
  }
  auto encodePiece = [&](Piece piece) -> Status {
    if (Status status = model->encode(piece.text, scratch, ids); !status)
      return status;
    return ids.size() > options.stopAbove ? Status(Error{kStopped}) : Status();
  };
  auto visit = [&](size_t begin, size_t end, const AddedToken *token) -> Status {
    if (token)
      return ids.push_back(token->id), Status();
    return preTokenize(preTokenizers, {text.substr(begin, end - begin), atStart && begin == 0}, encodePiece);
  };
  if (normalizedFinder.empty())
    return text.empty() ? Status() : visit(0, text.size(), nullptr);
  return normalizedFinder.cut(text, !options.parseSpecialTokens, visit);
}

static std::string describeCount(std::string_view what, int64_t count) {
  return std::string(what) + std::to_string(count);
}

Status Tokenizer::encodeText(std::string_view text, const EncodeOptions &options, Model::Scratch &scratch,
                             std::vector<int32_t> &ids) const {
  if (std::optional<size_t> offset = unicode::findInvalid(text))
    return Error{"the text is not valid UTF-8 at byte " + std::to_string(*offset) + " of " +
                 std::to_string(text.size())};
  return plainFinder.cut(text, !options.parseSpecialTokens,
                         [&](size_t begin, size_t end, const AddedToken *token) -> Status {
                           if (token)
                             return ids.push_back(token->id), Status();
                           return encodeStretch(text.substr(begin, end - begin), begin == 0, options, scratch, ids);
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

Expected<std::vector<int32_t>> Tokenizer::encodeParts(const std::vector<FramePart> &parts, std::string_view first,
                                                      std::string_view second, const EncodeOptions &options,
                                                      std::vector<int32_t> *types) const {
  std::vector<int32_t> ids;
  std::unique_ptr<Model::Scratch> scratch = model->newScratch();
  scratch->stopAbove = options.stopAbove;
  for (const FramePart &part : parts) {
    if (part.kind == FramePart::Kind::Special) {
      if (options.addSpecialTokens)
        ids.push_back(part.id);
    } else {
      std::string_view text = part.kind == FramePart::Kind::First ? first : second;
      Status status = encodeText(text, options, *scratch, ids);
      if (!status && status.error().message != kStopped)
        return status.error();
    }
    if (types)
      types->resize(ids.size(), part.type);
  }
  if (Status status = checkRows(ids, options.embeddingRows); !status)
    return status.error();
  return ids;
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
  return encodeParts(around.single, text, {}, options, nullptr);
}

Expected<Encoding> Tokenizer::encodeTyped(std::string_view text, const EncodeOptions &options) const {
  Encoding encoding;
  Expected<std::vector<int32_t>> ids = encodeParts(around.single, text, {}, options, &encoding.types);
  if (!ids)
    return ids.error();
  encoding.ids = std::move(*ids);
  return encoding;
}

Expected<Encoding> Tokenizer::encodePair(std::string_view first, std::string_view second,
                                         const EncodeOptions &options) const {
  if (!canEncodePairs())
    return Error{"the tokenizer's post-processor does not say how two texts are put together"};
  Encoding encoding;
  Expected<std::vector<int32_t>> ids = encodeParts(around.pair, first, second, options, &encoding.types);
  if (!ids)
    return ids.error();
  encoding.ids = std::move(*ids);
  return encoding;
}

Status Tokenizer::decodeNext(Decoding &decoding, int32_t id, bool skipSpecialTokens, std::string &text) const {
  if (const AddedToken *token = addedToken(id)) {
    if (!(skipSpecialTokens && token->special))
      decoding.push(token->content, /*isAdded=*/true, text);
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
    if (Status status = decodeNext(decoding, id, skipSpecialTokens, text); !status)
      return status.error();
  decoding.finish(text);
  return text;
}

} // namespace rapt
