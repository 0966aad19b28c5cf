//===- Model.h - Models that turn pieces of text into ids ------------------===//
//
// The last stage of encoding. A model sees one piece at a time, after
// normalization and pre-tokenization.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Vocabulary.h"
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rapt {

class Model {
public:
  /// Memory that one call of Tokenizer::encode uses for all its pieces (a cache of words, work arrays).
  class Scratch {
  public:
    virtual ~Scratch() = default;
    size_t stopAbove = SIZE_MAX; ///< A long piece need not be finished once there are more ids than this.
  };

  virtual ~Model() = default;
  virtual std::unique_ptr<Scratch> newScratch() const = 0;
  /// Appends the ids of `piece` (valid UTF-8, not empty). `scratch` is from newScratch of this model.
  virtual Status encode(std::string_view piece, Scratch &scratch, std::vector<int32_t> &ids) const = 0;

  virtual bool isOfBytePairs() const { return false; }
  const Vocabulary &vocabulary() const { return tokens; }

protected:
  explicit Model(Vocabulary vocabulary) : tokens(std::move(vocabulary)) {}
  Vocabulary tokens;
};

/// From the "model" member of tokenizer.json. Kinds other than BPE, WordPiece, WordLevel and Unigram are refused by
/// name.
Expected<std::unique_ptr<Model>> readModel(const json::Value &model, const std::string &where);

} // namespace rapt
