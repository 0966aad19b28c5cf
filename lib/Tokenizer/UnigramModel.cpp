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
  int32_t id = -1;
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

static Status readPieces(const json::Array &list, const std::string &where, Vocabulary &vocabulary,
                         std::vector<double> &scores) {
  vocabulary.reserve(list.size());
  scores.reserve(list.size());
  for (const json::Value &entry : list) {
    const json::Array *pair = entry.asArray();
    const std::string *piece = pair && pair->size() == 2 ? (*pair)[0].asString() : nullptr;
    std::optional<double> score = piece ? (*pair)[1].asNumber() : std::nullopt;
    if (!score || !std::isfinite(*score))
      return Error{where + "[" + std::to_string(scores.size()) + "]: is not a pair of a piece and its score"};
    if (Status status = vocabulary.add(*piece, int64_t(scores.size()), where); !status)
      return status;
    scores.push_back(*score);
  }
  return {};
}

Expected<std::unique_ptr<Model>> UnigramModel::fromJson(const json::Value &value, const std::string &where) {
  JsonFields fields(value, where);
  int64_t unknownId = fields.integer("unk_id", -1);
  bool byteFallback = fields.boolean("byte_fallback", false);
  if (Status status = fields.finish({"type", "vocab"}); !status)
    return status.error();
  const json::Array *list = fields.value("vocab").asArray();
  if (!list)
    return Error{where + ".vocab: is not a list of pieces and scores"};
  if (unknownId < -1 || unknownId >= int64_t(list->size()))
    return Error{where + ".unk_id: is " + std::to_string(unknownId) + ", but there are " +
                 std::to_string(list->size()) + " pieces"};
  Vocabulary vocabulary;
  std::vector<double> scores;
  if (Status status = readPieces(*list, where + ".vocab", vocabulary, scores); !status)
    return status.error();
  Expected<PieceTrie> trie = PieceTrie::build(vocabulary, where + ".vocab");
  if (!trie)
    return trie.error();
  std::unique_ptr<UnigramModel> model(new UnigramModel(std::move(vocabulary), std::move(*trie)));
  model->unknownId = int32_t(unknownId);
  double least = std::numeric_limits<double>::infinity();
  for (double score : scores)
    least = std::min(least, score);
  model->unknownScore = least - kUnknownPenalty;
  model->scores = std::move(scores);
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
    auto propose = [&](size_t end, double score, int32_t id) {
      Step &step = best[end];
      if (step.length == 0 || before + score > step.score)
        step = {before + score, id, uint32_t(end - begin)};
    };
    bool hasCharacter = false;
    PieceTrie::Node node = PieceTrie::root;
    for (size_t end = begin; end < text.size();) {
      node = trie.child(node, static_cast<unsigned char>(text[end++]));
      if (node == PieceTrie::none)
        break;
      if (int32_t id = trie.tokenAt(node); id >= 0) {
        propose(end, scores[size_t(id)], id);
        hasCharacter |= end == next;
      }
    }
    if (hasCharacter)
      continue;
    if (unknownId < 0)
      return Error{"the vocabulary has no piece for the character '" +
                   json::printable(text.substr(begin, next - begin)) + "' and the tokenizer defines no unk_id"};
    propose(next, unknownScore, unknownId);
  }
  return {};
}

/// A run of characters that the cut left unknown.
void UnigramModel::appendUnknown(std::string_view text, std::vector<int32_t> &ids) const {
  auto idOf = [&](char byte) { return byteIds[static_cast<unsigned char>(byte)]; };
  if (std::optional<int32_t> whole = tokens.find(text))
    ids.push_back(*whole);
  else if (std::all_of(text.begin(), text.end(), [&](char byte) { return idOf(byte) >= 0; }))
    for (char byte : text)
      ids.push_back(idOf(byte));
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
        "' has no place where the tokenizer may split it; the limit is " + std::to_string(stretchLimit) + " bytes"};
  if (Status status = findBest(text, work.best); !status)
    return status;
  work.cuts.clear();
  for (size_t end = text.size(); end > 0; end -= work.best[end].length)
    work.cuts.push_back(end);
  work.ids.clear();
  size_t begin = 0, unknownBegin = 0;
  bool unknown = false;
  for (auto end = work.cuts.rbegin(); end != work.cuts.rend(); begin = *end++) {
    bool known = work.best[*end].id != unknownId;
    if (unknown && known)
      appendUnknown(text.substr(unknownBegin, begin - unknownBegin), work.ids);
    if (!unknown && !known)
      unknownBegin = begin;
    unknown = !known;
    if (known)
      work.ids.push_back(work.best[*end].id);
  }
  if (unknown)
    appendUnknown(text.substr(unknownBegin), work.ids);
  work.cache.store(text, work.ids);
  ids.insert(ids.end(), work.ids.begin(), work.ids.end());
  return {};
}

} // namespace rapt
