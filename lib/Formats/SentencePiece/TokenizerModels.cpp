//===- TokenizerModels.cpp ------------------------------------------------------------===//
#include "lib/Formats/SentencePiece/TokenizerModels.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace rapt::sentencepiece {

bool hasPiecesOverSpaces(const Model &model) {
  return std::any_of(model.pieces.begin(), model.pieces.end(), [](const Piece &piece) {
    return piece.kind == PieceKind::Normal && piece.text.find(spaceMark, 1) != std::string::npos;
  });
}

std::vector<double> scoresOf(const Model &model) {
  float best = -std::numeric_limits<float>::infinity();
  for (const Piece &piece : model.pieces)
    if (piece.kind == PieceKind::Normal)
      best = std::max(best, piece.score);
  std::vector<double> scores;
  scores.reserve(model.pieces.size());
  for (const Piece &piece : model.pieces) {
    const bool isForced = piece.kind == PieceKind::UserDefined && std::isfinite(best);
    scores.push_back(isForced ? float(double(float(piece.text.size()) * best) - 0.1) : piece.score);
  }
  return scores;
}

/// Two pieces that make a third, by its score; among those of one score by the parts' lengths, as transformers orders
/// them, and what is equal then by its bytes.
json::Value mergesOf(const Model &model) {
  struct Merge {
    float score;
    std::string_view left, right;
  };
  std::map<std::string_view, float> scores;
  for (const Piece &piece : model.pieces)
    if (piece.kind == PieceKind::Normal)
      scores.emplace(piece.text, piece.score);
  std::vector<Merge> merges;
  for (const auto &[piece, score] : scores)
    for (size_t cut = 1; cut < piece.size(); ++cut)
      if (scores.contains(piece.substr(0, cut)) && scores.contains(piece.substr(cut)))
        merges.push_back({score, piece.substr(0, cut), piece.substr(cut)});
  std::sort(merges.begin(), merges.end(), [](const Merge &a, const Merge &b) {
    return std::tuple(a.score, a.left.size(), a.right.size(), a.left, a.right) >
           std::tuple(b.score, b.left.size(), b.right.size(), b.left, b.right);
  });
  json::Array list;
  for (const Merge &merge : merges)
    list.push_back(
        json::Value(json::Array{json::Value(std::string(merge.left)), json::Value(std::string(merge.right))}));
  return json::Value(std::move(list));
}

json::Value bytePairModel(json::Object vocabulary, json::Value unknown, bool byteFallback, json::Value merges) {
  return json::Value(json::Object{{"type", json::Value("BPE")},
                                  {"unk_token", std::move(unknown)},
                                  {"fuse_unk", json::Value(true)},
                                  {"byte_fallback", json::Value(byteFallback)},
                                  {"vocab", json::Value(std::move(vocabulary))},
                                  {"merges", std::move(merges)}});
}

json::Value unigramModel(json::Array pieces, int64_t unknown, bool byteFallback) {
  return json::Value(json::Object{{"type", json::Value("Unigram")},
                                  {"unk_id", json::Value(unknown)},
                                  {"byte_fallback", json::Value(byteFallback)},
                                  {"vocab", json::Value(std::move(pieces))}});
}

} // namespace rapt::sentencepiece
