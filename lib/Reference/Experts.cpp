//===- Experts.cpp - Mixtures of experts: routing, and rows by expert ------------===//
#include "lib/Reference/Ops.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
namespace rapt::reference {

namespace {

/// The `count` first of `candidates` with the largest numbers, the largest first: of equal numbers the first candidate,
/// NaN as the least.
template <typename S>
SmallVector<int64_t> largest(SmallVector<int64_t> candidates, int64_t count, function_ref<S(int64_t)> numberOf) {
  auto key = [&](int64_t i) { return std::isnan(numberOf(i)) ? -std::numeric_limits<S>::infinity() : numberOf(i); };
  llvm::stable_sort(candidates, [&](int64_t a, int64_t b) { return key(a) > key(b); });
  candidates.truncate(count);
  return candidates;
}

SmallVector<int64_t> from(int64_t first, int64_t count) { return llvm::to_vector(llvm::seq(first, first + count)); }

template <typename S> std::vector<S> scoresOf(attn::RouteOp op, ArrayRef<S> logits) {
  std::vector<S> scores(logits.size());
  if (op.getKind() == attn::RoutingKind::sigmoid) {
    llvm::transform(logits, scores.begin(), [](S x) { return 1 / (1 + std::exp(-x)); });
    return scores;
  }
  S most = -std::numeric_limits<S>::infinity(), sum = 0;
  for (S x : logits)
    most = x > most ? x : most;
  for (auto [score, x] : llvm::zip(scores, logits))
    sum += score = std::exp(x - most);
  for (S &score : scores)
    score /= sum;
  return scores;
}

/// The experts of one token, the numbers of which decide.
template <typename S> SmallVector<int64_t> choose(attn::RouteOp op, ArrayRef<S> numbers) {
  auto numberOf = [&](int64_t expert) { return numbers[expert]; };
  SmallVector<int64_t> candidates = from(0, numbers.size());
  if (std::optional<attn::ExpertGroupsAttr> within = op.getWithin()) {
    const int64_t size = numbers.size() / within->getGroups();
    auto groupOf = [&](int64_t group) {
      S sum = 0;
      for (int64_t expert : largest<S>(from(group * size, size), within->getBy(), numberOf))
        sum += numbers[expert];
      return sum;
    };
    SmallVector<int64_t> kept = largest<S>(from(0, within->getGroups()), within->getKept(), groupOf);
    llvm::erase_if(candidates, [&](int64_t expert) { return !llvm::is_contained(kept, expert / size); });
  }
  return largest<S>(candidates, op.getExperts().getType().getDimSize(1), numberOf);
}

} // namespace

template <typename S>
FailureOr<SmallVector<Tensor<S>>> evaluate(attn::RouteOp op, const Tensor<S> &logits, const Tensor<S> *bias) {
  const int64_t tokens = logits.dim(0), all = op.getOf(), k = op.getWeights().getType().getDimSize(1);
  Result<S> weights = makeTensor<S>(op, {tokens, k});
  Result<S> experts = makeTensor<S>(op, {tokens, k}, IntegerType::get(op.getContext(), 32));
  if (failed(weights) || failed(experts))
    return failure();
  const S scale = op.getScale() ? S(op.getScale()->convertToFloat()) : S(1);
  for (int64_t t = 0; t < tokens; ++t) {
    const std::vector<S> scores = scoresOf<S>(op, ArrayRef(logits.floats).slice(t * logits.dim(1), all));
    std::vector<S> numbers = scores;
    for (int64_t e = 0; bias && e < all; ++e)
      numbers[e] += bias->floats[e];
    const SmallVector<int64_t> chosen = choose<S>(op, numbers);
    S sum = 0;
    for (int64_t expert : chosen)
      sum += scores[expert];
    for (auto [j, expert] : llvm::enumerate(chosen)) {
      experts->ints[t * k + j] = expert;
      weights->floats[t * k + j] =
          (op.getNormalized() ? scores[expert] / (sum + S(op.floorOfSum())) : scores[expert]) * scale;
    }
  }
  return SmallVector<Tensor<S>>{std::move(*weights), std::move(*experts)};
}

template <typename S> FailureOr<SmallVector<Tensor<S>>> evaluate(attn::GroupRowsOp op, const Tensor<S> &experts) {
  const int64_t pairs = experts.ints.size(), k = experts.dim(1), all = op.getGroups().getType().getDimSize(0) - 1;
  Type i32 = IntegerType::get(op.getContext(), 32);
  Result<S> rows = makeTensor<S>(op, {pairs}, i32), indices = makeTensor<S>(op, experts.shape, i32),
            groups = makeTensor<S>(op, {all + 1, 2}, i32);
  if (failed(rows) || failed(indices) || failed(groups))
    return failure();
  for (auto [i, expert] : llvm::enumerate(experts.ints))
    if (expert < 0 || expert >= all)
      return op.emitOpError() << "orders by expert " << expert << " (element " << i << ") of " << all;
  SmallVector<int64_t> order = from(0, pairs);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return experts.ints[a] < experts.ints[b]; });
  int64_t group = 0;
  for (auto [p, pair] : llvm::enumerate(order)) {
    rows->ints[p] = pair / k;
    indices->ints[pair] = p;
    if (p > 0 && experts.ints[pair] == experts.ints[order[p - 1]])
      continue;
    groups->ints[2 * group] = p;
    groups->ints[2 * group + 1] = experts.ints[pair];
    ++group;
  }
  for (; group <= all; ++group)
    groups->ints[2 * group] = pairs;
  return SmallVector<Tensor<S>>{std::move(*rows), std::move(*indices), std::move(*groups)};
}

template <typename S>
Result<S> evaluate(attn::CombineRowsOp op, const Tensor<S> &input, const Tensor<S> &weights, const Tensor<S> *indices) {
  const int64_t tokens = weights.dim(0), k = weights.dim(1), columns = input.dim(1);
  if (indices && weights.shape != indices->shape)
    return op.emitOpError("has weights and indices of different extents");
  Result<S> result = makeTensor<S>(op, {tokens, columns});
  if (failed(result))
    return failure();
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t place = indices ? indices->ints[t * k + j] : t * k + j;
      if (place < 0 || place >= input.dim(0))
        return op.emitOpError() << "adds row " << place << " of " << input.dim(0);
      for (int64_t c = 0; c < columns; ++c)
        result->floats[t * columns + c] += weights.floats[t * k + j] * input.floats[place * columns + c];
    }
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<SmallVector<Tensor<S>>> evaluate(attn::RouteOp, const Tensor<S> &, const Tensor<S> *);            \
  template FailureOr<SmallVector<Tensor<S>>> evaluate(attn::GroupRowsOp, const Tensor<S> &);                           \
  template Result<S> evaluate(attn::CombineRowsOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> *);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
