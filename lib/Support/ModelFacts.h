//===- ModelFacts.h - The facts about a model -----------------------------------===//
//
// One struct for those who find the facts out (lib/Import, passes), who hand them on
// (the attribute attn.model, the manifest) and who use them (the runtime). Its members
// are the rows of ModelFacts.def.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Json.h"
#include <algorithm>
#include <type_traits>

namespace rapt {

/// The types of facts. A model without the fact has what each begins as; the attribute and the manifest leave it out
/// there, unless the table says Always.
namespace fact {
using Text = std::string;               ///< none: empty
using Number = int64_t;                 ///< from 0 on; none: 0
using Id = std::optional<int64_t>;      ///< of a token; none: nullopt, and -1 in C
using Numbers = std::vector<int64_t>;   ///< of tokens, layers or heads; none: empty
using Names = std::vector<std::string>; ///< none: empty
} // namespace fact

struct ModelFacts {
#define RAPT_MODEL_FACT(TYPE, MEMBER, KEY, MANIFEST, DOC) fact::TYPE MEMBER = {};
#include "lib/Support/ModelFacts.def"

  /// Whether tokens of a text may stand for vectors of images, or of sounds.
  bool readsVectors() const { return imageToken || audioToken; }
  /// The tokens that do, and one that would, as the compiled code and C have them: -1, which no token is, where none
  /// does.
  int32_t imageId() const { return int32_t(imageToken.value_or(-1)); }
  int32_t audioId() const { return int32_t(audioToken.value_or(-1)); }
  int32_t videoId() const { return int32_t(videoToken.value_or(-1)); }
  /// Whether token `id` of a text stands for a vector.
  bool isPlaceholder(int32_t id) const { return id == imageId() || id == audioId(); }
  /// How many of the tokens do.
  int64_t countPlaceholders(const int32_t *ids, int64_t count) const {
    return std::count_if(ids, ids + count, [this](int32_t id) { return isPlaceholder(id); });
  }
  /// Positions of the longest source of an encoder that makes other ones of it than its tokens; else `ofText`.
  int64_t longestSource(int64_t ofText) const { return sourcePositions ? sourcePositions : ofText; }
  int64_t longestSource() const { return longestSource(positions); }
  /// Sources are features of sound.
  void readFeatures(int64_t channels, int64_t frames, int64_t madePositions) {
    featureChannels = channels, featureFrames = frames, sourcePositions = madePositions;
  }
  /// Ids that an encoder reads.
  int64_t readVocabulary() const { return sourceVocabulary ? sourceVocabulary : vocabulary; }
  bool operator==(const ModelFacts &) const = default;
};

enum class InManifest { Always, WhereGiven, Never };

/// A row of the table without its member.
struct FactRow {
  const char *key;
  InManifest manifest;
};

/// Calls visit(row, member) for each fact, in the order of the table.
template <typename Facts, typename Visit>
  requires std::is_same_v<std::remove_const_t<Facts>, ModelFacts>
void visitFacts(Facts &facts, Visit visit) {
#define RAPT_MODEL_FACT(TYPE, MEMBER, KEY, MANIFEST, DOC) visit(FactRow{KEY, InManifest::MANIFEST}, facts.MEMBER);
#include "lib/Support/ModelFacts.def"
}

/// The key of a fact: keyOf(&ModelFacts::layers) is "layers".
template <typename T> constexpr const char *keyOf(T ModelFacts::*member) {
#define RAPT_MODEL_FACT(TYPE, MEMBER, KEY, MANIFEST, DOC)                                                              \
  if constexpr (std::is_same_v<T, fact::TYPE>)                                                                         \
    if (member == &ModelFacts::MEMBER)                                                                                 \
      return KEY;
#include "lib/Support/ModelFacts.def"
  return nullptr;
}

template <typename T> bool isGiven(const T &fact) { return fact != T(); }

/// The object "model" of the manifest.
json::Object describeFacts(const ModelFacts &facts);

/// Reads such an object. Members that the table does not have are left alone. An error is told as what the manifest
/// has wrong: "\"layers\" is ...".
Status readFacts(const json::Value &model, ModelFacts &facts);

} // namespace rapt
