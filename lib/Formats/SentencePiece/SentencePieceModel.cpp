//===- SentencePieceModel.cpp --------------------------------------------------===//
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include "lib/Support/Json.h"
#include <bit>
#include <climits>
#include <cmath>
#include <google/protobuf/unknown_field_set.h>
#include <optional>

namespace rapt::sentencepiece {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Field numbers of sentencepiece_model.proto.
namespace model { // ModelProto
constexpr int pieces = 1, trainer = 2, normalizer = 3, denormalizer = 5;
}
namespace piece { // SentencePiece
constexpr int text = 1, score = 2, kind = 3;
}
namespace trainer { // TrainerSpec
constexpr int algorithm = 3, spaceAsSuffix = 24, byteFallback = 35;
}
namespace normalizer { // NormalizerSpec
constexpr int characterMap = 2, addsPrefix = 3, removesExtraSpaces = 4, escapesSpaces = 5;
}

constexpr size_t longestPiece = 512; // bytes, as of a token; finding merges tries every cut of a piece

/// The fields of one message. One of another wire type than asked for is not there.
class Message {
public:
  bool parse(std::string_view bytes) {
    return bytes.size() <= INT_MAX && fields.ParseFromArray(bytes.data(), int(bytes.size()));
  }

  const UnknownFieldSet &all() const { return fields; }
  /// The last of several fields of one number counts.
  std::string_view text(int number) const {
    const UnknownField *field = find(number, UnknownField::TYPE_LENGTH_DELIMITED);
    return field ? std::string_view(field->length_delimited()) : std::string_view();
  }
  uint64_t integer(int number, uint64_t otherwise) const {
    const UnknownField *field = find(number, UnknownField::TYPE_VARINT);
    return field ? field->varint() : otherwise;
  }
  float real(int number) const {
    const UnknownField *field = find(number, UnknownField::TYPE_FIXED32);
    return field ? std::bit_cast<float>(field->fixed32()) : 0.0f;
  }

private:
  const UnknownField *find(int number, UnknownField::Type type) const {
    for (int i = fields.field_count(); i-- > 0;)
      if (fields.field(i).number() == number && fields.field(i).type() == type)
        return &fields.field(i);
    return nullptr;
  }
  UnknownFieldSet fields;
};

std::optional<Piece> readPiece(std::string_view bytes) {
  Message fields;
  if (!fields.parse(bytes))
    return std::nullopt;
  const uint64_t kind = fields.integer(piece::kind, 1);
  Piece result{std::string(fields.text(piece::text)), fields.real(piece::score), PieceKind(kind)};
  const bool isOne = kind >= 1 && kind <= 6 && !result.text.empty() && result.text.size() <= longestPiece &&
                     std::isfinite(result.score);
  return isOne ? std::optional(std::move(result)) : std::nullopt;
}

} // namespace

Expected<Model> readModel(std::string_view bytes) {
  const Error foreign{"is no SentencePiece model"};
  Message file, trainer, normalizer, denormalizer;
  if (!file.parse(bytes) || !trainer.parse(file.text(model::trainer)) ||
      !normalizer.parse(file.text(model::normalizer)) || !denormalizer.parse(file.text(model::denormalizer)))
    return foreign;
  Model result;
  size_t unknown = 0;
  for (int i = 0; i < file.all().field_count(); ++i) {
    const UnknownField &field = file.all().field(i);
    if (field.number() != model::pieces)
      continue;
    if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED)
      return foreign;
    std::optional<Piece> piece = readPiece(field.length_delimited());
    if (!piece)
      return Error{"piece " + std::to_string(result.pieces.size()) +
                   " has no text, more than 512 bytes of it, no finite score or an unknown kind"};
    unknown += piece->kind == PieceKind::Unknown;
    result.pieces.push_back(std::move(*piece));
  }
  if (result.pieces.empty())
    return foreign;
  if (unknown != 1)
    return Error{"has " + std::to_string(unknown) + " pieces for unknown text, not 1"};
  auto refuse = [&](const std::string &what) { return Error{what + "; add the tokenizer.json that belongs to it"}; };
  const uint64_t algorithm = trainer.integer(trainer::algorithm, 1);
  if (algorithm != 1 && algorithm != 2)
    return refuse("a model of whole words or characters is not supported");
  if (trainer.integer(trainer::spaceAsSuffix, 0))
    return refuse("a space behind a word as part of it is not supported");
  if (!normalizer.integer(normalizer::escapesSpaces, 1))
    return refuse("spaces that are not written as U+2581 are not supported");
  if (!denormalizer.text(normalizer::characterMap).empty())
    return refuse("a map of characters for written text is not supported");
  result.algorithm = Algorithm(algorithm);
  result.byteFallback = trainer.integer(trainer::byteFallback, 0);
  result.characterMap = normalizer.text(normalizer::characterMap);
  result.addsPrefix = normalizer.integer(normalizer::addsPrefix, 1);
  result.removesExtraSpaces = normalizer.integer(normalizer::removesExtraSpaces, 1);
  return result;
}

} // namespace rapt::sentencepiece
