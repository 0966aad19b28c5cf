//===- BytePairModel.cpp ---------------------------------------------------===//
#include "lib/Tokenizer/BytePairModel.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordCache.h"
#include "lib/Tokenizer/WordMerger.h"
#include <cstdio>

namespace rapt {

// Below this a piece is one word of the cache; above it is cut first where no merge can reach across.
static constexpr size_t kCutAbove = 64;

class BytePairModel::Words final : public Model::Scratch {
public:
  WordCache cache;
  WordMerger merger;
  std::vector<int32_t> symbols;
};

BytePairModel::BytePairModel(Vocabulary vocabulary, BytePairOptions options)
    : Model(std::move(vocabulary)), options(std::move(options)) {}

std::unique_ptr<Model::Scratch> BytePairModel::newScratch() const { return std::make_unique<Words>(); }

Expected<std::unique_ptr<Model>> BytePairModel::create(Vocabulary vocabulary, const MergeList &merges,
                                                       BytePairOptions options, const std::string &where) {
  std::unique_ptr<BytePairModel> model(new BytePairModel(std::move(vocabulary), std::move(options)));
  if (model->options.unknownToken) {
    std::optional<int32_t> id = model->tokens.find(*model->options.unknownToken);
    if (!id)
      return Error{where + ": unk_token '" + json::printable(*model->options.unknownToken) +
                   "' is not in the vocabulary"};
    model->unknownId = *id;
  }
  model->indexCharacters();
  RAPT_RETURN_IF_ERROR(model->addMerges(merges, where));
  return std::unique_ptr<Model>(std::move(model));
}

Status BytePairModel::renumber(Vocabulary ids, const std::string &where) {
  std::optional<int32_t> unknown = options.unknownToken ? ids.find(*options.unknownToken) : std::nullopt;
  if (!unknown)
    return Error{where + ".ids: have no unk_token"};
  idOf = ids.idsOf(tokens, *unknown);
  own = std::make_unique<const Vocabulary>(std::move(tokens));
  tokens = std::move(ids);
  return {};
}

void BytePairModel::indexCharacters() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte);
    byteIds[byte] = options.byteFallback ? tokens.find(name).value_or(-1) : -1;
  }
  for (char32_t character = 0; character < characterIds.size(); ++character) {
    std::string text;
    unicode::append(text, character);
    characterIds[character] = tokens.find(text).value_or(-1);
  }
}

Status BytePairModel::addMerges(const MergeList &pairs, const std::string &where) {
  merges.reserve(pairs.size());
  std::vector<std::array<int32_t, 3>> joins;
  joins.reserve(pairs.size());
  std::string joined;
  for (size_t rank = 0; rank < pairs.size(); ++rank) {
    const auto &[left, right] = pairs[rank];
    auto unknown = [&, left = left, right = right](std::string_view token) {
      return Error{where + ": merge " + std::to_string(rank) + " ('" + json::printable(left) + "' + '" +
                   json::printable(right) + "') needs token '" + json::printable(token) +
                   "', which the vocabulary lacks"};
    };
    if (right.size() < options.subwordPrefix.size())
      return unknown(right);
    joined.assign(left).append(right.substr(options.subwordPrefix.size()));
    std::optional<int32_t> leftId = tokens.find(left), rightId = tokens.find(right), id = tokens.find(joined);
    if (!leftId || !rightId || !id)
      return unknown(!leftId ? left : !rightId ? right : std::string_view(joined));
    merges.set(*leftId, *rightId, {uint32_t(rank), *id});
    joins.push_back({*leftId, *rightId, *id});
  }
  findSafeCuts(joins);
  return {};
}

/// A merge joins the last first-symbol of its left part with the first first-symbol of its right part. Where two
/// neighboring characters are no such pair of any merge, no merge ever crosses, and a long piece can be cut there
/// without changing its ids. That makes text without pre-tokenization (SentencePiece's) take linear time and memory of
/// one word.
void BytePairModel::findSafeCuts(const std::vector<std::array<int32_t, 3>> &joins) {
  if (!options.subwordPrefix.empty() || !options.wordSuffix.empty() || options.ignoreMerges)
    return;
  struct Ends {
    int32_t first = -1, last = -1;
    bool operator==(const Ends &) const = default;
  };
  std::vector<Ends> ends(size_t(tokens.size()));
  for (int32_t id = 0; id < tokens.size(); ++id)
    if (std::optional<std::string_view> text = tokens.token(id); text && !text->empty())
      if (unicode::lengthOf(static_cast<unsigned char>((*text)[0])) == text->size())
        ends[id] = {id, id};
  for (int32_t id : byteIds)
    if (id >= 0)
      ends[id] = {id, id};
  // Merges are normally listed after those that make their parts, so that one round and a check suffice.
  for (int round = 0, changed = 1; changed; ++round) {
    changed = 0;
    if (round == 16)
      return;
    for (const auto &[left, right, id] : joins) {
      if (ends[left].first < 0 || ends[right].first < 0)
        continue;
      Ends joined = {ends[left].first, ends[right].last};
      if (ends[id].first < 0)
        ends[id] = joined, changed = 1;
      else if (ends[id] != joined)
        return; // one token in two spellings: leave pieces whole
    }
  }
  boundaries = std::make_unique<PairTable>();
  boundaries->reserve(joins.size());
  for (const auto &[left, right, id] : joins)
    if (ends[left].first >= 0 && ends[right].first >= 0)
      boundaries->set(ends[left].last, ends[right].first, {0, 0});
}

int32_t BytePairModel::idOfCharacter(std::string_view character) const {
  if (character.size() <= 2)
    return characterIds[unicode::decode(character, 0)];
  return pieces().find(character).value_or(-1);
}

bool BytePairModel::spellsBytes(std::string_view text) const {
  for (char byte : text)
    if (byteIds[static_cast<unsigned char>(byte)] < 0)
      return false;
  return true;
}

void BytePairModel::appendSymbols(std::string_view word, std::vector<int32_t> &symbols) const {
  bool pendingUnknown = false;
  std::string affixed;
  for (size_t offset = 0, next; offset < word.size(); offset = next) {
    next = offset + unicode::lengthOf(static_cast<unsigned char>(word[offset]));
    std::string_view character = word.substr(offset, next - offset);
    const bool hasPrefix = offset > 0 && !options.subwordPrefix.empty();
    const bool hasSuffix = next == word.size() && !options.wordSuffix.empty();
    if (hasPrefix || hasSuffix) {
      affixed = hasPrefix ? options.subwordPrefix : std::string();
      affixed.append(character).append(hasSuffix ? options.wordSuffix : std::string());
      character = affixed;
    }
    const int32_t id = hasPrefix || hasSuffix ? pieces().find(character).value_or(-1) : idOfCharacter(character);
    if (id >= 0) {
      if (pendingUnknown)
        symbols.push_back(unknownId);
      pendingUnknown = false;
      symbols.push_back(id);
    } else if (spellsBytes(character)) {
      // An unknown run before it stays pending: the order Hugging Face's tokenizers produce.
      for (char byte : character)
        symbols.push_back(byteIds[static_cast<unsigned char>(byte)]);
    } else if (unknownId >= 0) {
      if (pendingUnknown && !options.fuseUnknown)
        symbols.push_back(unknownId);
      pendingUnknown = true;
    } // else it is dropped, and its neighbors may merge
  }
  if (pendingUnknown)
    symbols.push_back(unknownId);
}

Status BytePairModel::encodeWord(std::string_view word, Words &words, std::vector<int32_t> &ids) const {
  if (words.cache.append(word, ids))
    return {};
  if (word.size() > wordLimit)
    return Error{
        "a stretch of " + std::to_string(word.size()) + " bytes starting '" + json::printable(word.substr(0, 24)) +
        "' has no place where the tokenizer may split it; the limit is " + std::to_string(wordLimit) + " bytes"};
  words.symbols.clear();
  appendSymbols(word, words.symbols);
  words.merger.run(merges, words.symbols);
  for (int32_t &symbol : words.symbols)
    symbol = shownId(symbol);
  words.cache.store(word, words.symbols);
  ids.insert(ids.end(), words.symbols.begin(), words.symbols.end());
  return {};
}

Status BytePairModel::encodeCut(std::string_view piece, Words &words, std::vector<int32_t> &ids) const {
  size_t begin = 0;
  int32_t last = -1; // last symbol of the character before; -1: unknown, which may fuse with the next
  for (size_t offset = 0, next; offset < piece.size(); offset = next) {
    next = offset + unicode::lengthOf(static_cast<unsigned char>(piece[offset]));
    std::string_view character = piece.substr(offset, next - offset);
    int32_t id = idOfCharacter(character), firstSymbol = id, lastSymbol = id;
    if (id < 0 && spellsBytes(character)) {
      firstSymbol = byteIds[static_cast<unsigned char>(character.front())];
      lastSymbol = byteIds[static_cast<unsigned char>(character.back())];
    } else if (id < 0 && unknownId < 0) {
      continue; // it is dropped
    }
    if (last >= 0 && firstSymbol >= 0 && !boundaries->find(last, firstSymbol)) {
      RAPT_RETURN_IF_ERROR(encodeWord(piece.substr(begin, offset - begin), words, ids));
      if (ids.size() > words.stopAbove)
        return {};
      begin = offset;
    }
    last = lastSymbol;
  }
  return encodeWord(piece.substr(begin), words, ids);
}

Status BytePairModel::encode(std::string_view piece, Scratch &scratch, std::vector<int32_t> &ids) const {
  Words &words = static_cast<Words &>(scratch);
  if (options.ignoreMerges)
    if (std::optional<int32_t> id = pieces().find(piece)) {
      ids.push_back(shownId(*id));
      return {};
    }
  return boundaries && piece.size() > kCutAbove ? encodeCut(piece, words, ids) : encodeWord(piece, words, ids);
}

} // namespace rapt
