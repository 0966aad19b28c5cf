//===- LogProbabilities.cpp ---------------------------------------------------------===//
#include "lib/Generation/CommandLine/LogProbabilities.h"
#include "lib/Drawing/Label.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace rapt::run {
namespace {

/// The logarithm of the sum of the exponentials.
double logSumExp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return largest + std::log(sum);
}

Outcome pieceOf(const Tokenizer &tokenizer, int32_t id, std::string &piece) {
  std::vector<std::string> pieces;
  Outcome outcome = piecesOf(tokenizer, {id}, pieces);
  piece = outcome ? pieces[0] : "";
  return outcome;
}

Outcome addLine(const Tokenizer &tokenizer, const TokenProbability &token, std::string &lines) {
  char number[32];
  snprintf(number, sizeof number, "%.4f\t", token.logarithm);
  lines += number + std::to_string(token.id);
  std::string piece;
  Outcome outcome = tokenizer ? pieceOf(tokenizer, token.id, piece) : Outcome{};
  lines += (tokenizer ? "\t" + drawing::label(piece) : "") + "\n";
  return outcome;
}

Outcome describe(const Tokenizer &tokenizer, const TokenProbability &token, json::Object &object) {
  object.emplace_back("token", json::Value(int64_t(token.id)));
  std::string piece;
  Outcome outcome = tokenizer ? pieceOf(tokenizer, token.id, piece) : Outcome{};
  if (tokenizer)
    object.emplace_back("piece", jsonOfPiece(piece));
  object.emplace_back("logprob", json::Value(token.logarithm));
  return outcome;
}

} // namespace

JudgedToken judgeToken(int32_t id, std::span<const float> logits, size_t vocabulary, size_t most) {
  const double whole = logSumExp(logits);
  auto judge = [&](int32_t one) { return TokenProbability{one, double(logits[size_t(one)]) - whole}; };
  JudgedToken token{judge(id), {}};
  Ids ids(std::min(vocabulary, logits.size()));
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + ptrdiff_t(std::min(most, ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    return logits[size_t(a)] != logits[size_t(b)] ? logits[size_t(a)] > logits[size_t(b)] : a < b;
  });
  std::transform(ids.begin(), end, std::back_inserter(token.best), judge);
  return token;
}

Outcome showTokens(const Tokenizer &tokenizer, const std::vector<JudgedToken> &tokens, std::string &lines) {
  for (const JudgedToken &token : tokens) {
    RAPT_RETURN_IF_ERROR(addLine(tokenizer, token.own, lines));
    for (const TokenProbability &one : token.best) {
      lines += "\t";
      RAPT_RETURN_IF_ERROR(addLine(tokenizer, one, lines));
    }
  }
  return {};
}

Outcome listTokens(const Tokenizer &tokenizer, const std::vector<JudgedToken> &tokens, json::Array &list) {
  for (const JudgedToken &token : tokens) {
    json::Object object;
    RAPT_RETURN_IF_ERROR(describe(tokenizer, token.own, object));
    json::Array top;
    for (const TokenProbability &one : token.best) {
      json::Object best;
      RAPT_RETURN_IF_ERROR(describe(tokenizer, one, best));
      top.emplace_back(std::move(best));
    }
    object.emplace_back("top", json::Value(std::move(top)));
    list.emplace_back(std::move(object));
  }
  return {};
}

} // namespace rapt::run
