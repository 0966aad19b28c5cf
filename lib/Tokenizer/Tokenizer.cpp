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

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
  if (std::optional<size_t> offset = unicode::findInvalid(text))
    return Error{"the text is not valid UTF-8 at byte " + std::to_string(*offset) + " of " +
                 std::to_string(text.size())};
  std::vector<int32_t> ids;
  if (options.addSpecialTokens)
    ids = around.prefix;
  std::unique_ptr<Model::Scratch> scratch = model->newScratch();
  scratch->stopAbove = options.stopAbove;
  Status status = plainFinder.cut(
      text, !options.parseSpecialTokens, [&](size_t begin, size_t end, const AddedToken *token) -> Status {
        if (token)
          return ids.push_back(token->id), Status();
        return encodeStretch(text.substr(begin, end - begin), begin == 0, options, *scratch, ids);
      });
  if (!status && status.error().message != kStopped)
    return status.error();
  if (options.addSpecialTokens)
    ids.insert(ids.end(), around.suffix.begin(), around.suffix.end());
  if (options.embeddingRows < size)
    for (int32_t id : ids)
      if (id >= options.embeddingRows)
        return Error{"the text has the token '" + json::printable(tokenBytes(id).value_or("")) +
                     describeCount("' with id ", id) +
                     describeCount(", but the model has embeddings only for ids below ", options.embeddingRows)};
  return ids;
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
