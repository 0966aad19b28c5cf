//===- UnigramModel.cpp ----------------------------------------------------===//
#include "lib/Tokenizer/UnigramModel.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordCache.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace rapt {

static constexpr double kUnknownPenalty = 10.0;

/// The best way to reach a byte: the score of all of it, and its last piece (length 0 = not reached).
struct UnigramModel::Step {
  double score = 0;
  int32_t index = -1;
  uint32_t length = 0;
};

class UnigramModel::Work final : public Model::Scratch {
public:
  WordCache cache;
  std::vector<Step> best;
  std::vector<size_t> cuts;
  std::vector<int32_t> ids;
};

std::unique_ptr<Model::Scratch> UnigramModel::newScratch() const { return std::make_unique<Work>(); }

/// A list of pieces, numbered by their indices.
struct UnigramModel::Pieces {
  Vocabulary all, cut;        // without and with those that no text is cut into
  std::vector<double> scores; // of those that are not in `cut`, infinity
};

Expected<UnigramModel::Pieces> UnigramModel::readPieces(const json::Array &list, const std::string &where) {
  Pieces pieces;
  pieces.all.reserve(list.size());
  pieces.cut.reserve(list.size());
  pieces.scores.reserve(list.size());
  for (const json::Value &entry : list) {
    const int64_t index = int64_t(pieces.scores.size());
    const json::Array *pair = entry.asArray();
    const std::string *piece = pair && pair->size() == 2 ? (*pair)[0].asString() : nullptr;
    const bool isCut = piece && !(*pair)[1].isNull();
    std::optional<double> score = isCut ? (*pair)[1].asNumber() : std::nullopt;
    if (!piece || (isCut && !(score && std::isfinite(*score))))
      return Error{where + "[" + std::to_string(index) + "]: is not a pair of a piece and its score"};
    RAPT_RETURN_IF_ERROR(pieces.all.add(*piece, index, where));
    if (isCut)
      RAPT_RETURN_IF_ERROR(pieces.cut.add(*piece, index, where));
    pieces.scores.push_back(score.value_or(std::numeric_limits<double>::infinity()));
  }
  return pieces;
}

static Error beyond(int64_t unknownId, const std::string &where, const std::string &what) {
  return Error{where + ".unk_id: is " + std::to_string(unknownId) + what};
}

Expected<std::unique_ptr<Model>> UnigramModel::fromJson(const json::Value &value, const std::string &where) {
  JsonFields fields(value, where);
  int64_t unknownId = fields.integer("unk_id", -1);
  bool byteFallback = fields.boolean("byte_fallback", false);
  const json::Value &ids = fields.value("ids");
  RAPT_RETURN_IF_ERROR(fields.finish({"type", "vocab"}));
  const json::Array *list = fields.value("vocab").asArray();
  if (!list)
    return Error{where + ".vocab: is not a list of pieces and scores"};
  if (ids.isNull() && (unknownId < -1 || unknownId >= int64_t(list->size())))
    return beyond(unknownId, where, ", but there are " + std::to_string(list->size()) + " pieces");
  RAPT_ASSIGN_OR_RETURN(Pieces pieces, readPieces(*list, where + ".vocab"));
  RAPT_ASSIGN_OR_RETURN(PieceTrie trie, PieceTrie::build(pieces.cut, where + ".vocab"));
  Vocabulary vocabulary = std::move(pieces.all);
  std::vector<int32_t> idOf;
  if (!ids.isNull()) {
    RAPT_ASSIGN_OR_RETURN(Vocabulary given, Vocabulary::fromJson(ids, where + ".ids"));
    if (unknownId != int32_t(unknownId) || !given.token(int32_t(unknownId)))
      return beyond(unknownId, where, ", which is no id of a token");
    idOf = given.idsOf(vocabulary, int32_t(unknownId));
    vocabulary = std::move(given);
  }
  std::unique_ptr<UnigramModel> model(new UnigramModel(std::move(vocabulary), std::move(trie)));
  model->unknownId = int32_t(unknownId);
  model->unknownIndex = idOf.empty() ? model->unknownId : -1;
  model->idOf = std::move(idOf);
  double least = std::numeric_limits<double>::infinity();
  for (double score : pieces.scores)
    least = std::min(least, score);
  model->unknownScore = least - kUnknownPenalty;
  model->scores = std::move(pieces.scores);
  for (unsigned byte = 0; byte < 256; ++byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte);
    model->byteIds[byte] = byteFallback ? model->tokens.find(name).value_or(-1) : -1;
  }
  return std::unique_ptr<Model>(std::move(model));
}

Status UnigramModel::findBest(std::string_view text, std::vector<Step> &best) const {
  best.assign(text.size() + 1, Step{});
  for (size_t begin = 0, next; begin < text.size(); begin = next) {
    next = begin + unicode::lengthOf(static_cast<unsigned char>(text[begin]));
    const double before = best[begin].score;
    // Among equals the first found stays: the one whose last piece begins first.
    auto propose = [&](size_t end, double score, int32_t index) {
      Step &step = best[end];
      if (step.length == 0 || before + score > step.score)
        step = {before + score, index, uint32_t(end - begin)};
    };
    bool hasCharacter = false;
    PieceTrie::Node node = PieceTrie::root;
    for (size_t end = begin; end < text.size();) {
      node = trie.child(node, static_cast<unsigned char>(text[end++]));
      if (node == PieceTrie::none)
        break;
      if (int32_t index = trie.tokenAt(node); index >= 0) {
        propose(end, scores[size_t(index)], index);
        hasCharacter |= end == next;
      }
    }
    if (hasCharacter)
      continue;
    if (unknownId < 0)
      return Error{"the vocabulary has no piece for the character '" +
                   json::printable(text.substr(begin, next - begin)) + "' and the tokenizer defines no unk_id"};
    propose(next, unknownScore, unknownIndex);
  }
  return {};
}

/// A run of characters that the cut left unknown.
void UnigramModel::appendUnknown(std::string_view text, std::vector<int32_t> &ids) const {
  auto byteId = [&](char byte) { return byteIds[static_cast<unsigned char>(byte)]; };
  std::optional<int32_t> whole = tokens.find(text);
  if (whole && (!idOf.empty() || std::isfinite(scores[size_t(*whole)])))
    ids.push_back(*whole);
  else if (std::all_of(text.begin(), text.end(), [&](char byte) { return byteId(byte) >= 0; }))
    for (char byte : text)
      ids.push_back(byteId(byte));
  else
    ids.push_back(unknownId);
}

Status UnigramModel::encode(std::string_view text, Scratch &scratch, std::vector<int32_t> &ids) const {
  Work &work = static_cast<Work &>(scratch);
  if (work.cache.append(text, ids))
    return {};
  if (text.size() > stretchLimit)
    return Error{
        "a stretch of " + std::to_string(text.size()) + " bytes starting '" + json::printable(text.substr(0, 24)) +
        "' has no index where the tokenizer may split it; the limit is " + std::to_string(stretchLimit) + " bytes"};
  RAPT_RETURN_IF_ERROR(findBest(text, work.best));
  work.cuts.clear();
  for (size_t end = text.size(); end > 0; end -= work.best[end].length)
    work.cuts.push_back(end);
  work.ids.clear();
  size_t begin = 0, unknownBegin = 0;
  bool unknown = false;
  for (auto end = work.cuts.rbegin(); end != work.cuts.rend(); begin = *end++) {
    const int32_t index = work.best[*end].index;
    bool known = index != unknownIndex;
    if (unknown && known)
      appendUnknown(text.substr(unknownBegin, begin - unknownBegin), work.ids);
    if (!unknown && !known)
      unknownBegin = begin;
    unknown = !known;
    if (known)
      work.ids.push_back(idOf.empty() ? index : idOf[size_t(index)]);
  }
  if (unknown)
    appendUnknown(text.substr(unknownBegin), work.ids);
  work.cache.store(text, work.ids);
  ids.insert(ids.end(), work.ids.begin(), work.ids.end());
  return {};
}

} // namespace rapt
