#include "lib/Runtime/Cost.h"
#include <algorithm>

namespace rapt::runtime {
namespace {

/// An entry's run, for the numbers that depend on its rows' lengths.
struct Lengths {
  const ManifestEntry &entry;
  void *const *buffers;
  const int64_t *dims;

  int64_t rowsOf(const ManifestCount &count) const {
    const ManifestExtent &extent = entry.buffers[count.queries].shape[0];
    return (extent.dim < 0 ? 0 : dims[extent.dim]) + extent.plus - 1;
  }
  const int32_t *of(int buffer) const { return static_cast<const int32_t *>(buffers[buffer]); }

  /// Visible pairs of queries and keys of one sequence, or its visible keys.
  double visible(const ManifestCount &c, int64_t row) const {
    const int32_t *begin = of(c.queries);
    int64_t queries = begin[row + 1] - begin[row], past = c.past < 0 ? 0 : of(c.past)[row];
    int64_t keys = c.keys >= 0        ? of(c.keys)[row]
                   : c.keysBegin >= 0 ? of(c.keysBegin)[row + 1] - of(c.keysBegin)[row]
                                      : past + queries;
    auto from = [&](int64_t i) { return c.lower == INT64_MIN ? 0 : std::max<int64_t>(past + i + c.lower, 0); };
    auto to = [&](int64_t i) { return c.upper == INT64_MAX ? keys : std::min(past + i + c.upper, keys); };
    if (c.kind == ManifestCount::Keys)
      return queries > 0 ? double(std::max<int64_t>(to(queries - 1) - from(0), 0)) : 0;
    double pairs = 0;
    for (int64_t i = 0; i < queries; ++i)
      pairs += double(std::max<int64_t>(to(i) - from(i), 0));
    return pairs;
  }

  double evaluate(const ManifestCount &c) const {
    double total = 0;
    const int64_t rows = rowsOf(c);
    if (c.kind != ManifestCount::Steps) {
      for (int64_t row = 0; row < rows; ++row)
        total += visible(c, row);
      return total;
    }
    const int32_t *begin = of(c.queries);
    for (int64_t tile = 0; tile < rows; tile += c.rows) {
      int64_t longest = 0;
      for (int64_t row = tile; row < std::min(tile + c.rows, rows); ++row)
        longest = std::max<int64_t>(longest, begin[row + 1] - begin[row]);
      total += double(longest);
    }
    return total;
  }
};

double evaluate(const ManifestSum &sum, const int64_t *dims, const double *counts) {
  double total = 0;
  for (const ManifestSum::Term &term : sum.terms) {
    double product = double(term.number);
    for (const ManifestSum::Factor &factor : term.factors)
      product *= factor.count >= 0 ? counts[factor.count] : double(dims[factor.dim] / factor.divisor);
    total += product;
  }
  return total;
}

} // namespace

Cost &Cost::operator+=(const Cost &other) {
  flops += other.flops;
  weights += other.weights;
  cache += other.cache;
  activations += other.activations;
  return *this;
}

void countLengths(const ManifestEntry &entry, void *const *buffers, const int64_t *dims, double *counts) {
  const Lengths lengths{entry, buffers, dims};
  for (size_t i = 0; i < entry.counts.size(); ++i)
    counts[i] = lengths.evaluate(entry.counts[i]);
}

Cost evaluateCost(const ManifestOp &op, const int64_t *dims, const double *counts) {
  return {evaluate(op.flops, dims, counts), evaluate(op.weights, dims, counts), evaluate(op.cache, dims, counts),
          evaluate(op.activations, dims, counts)};
}

} // namespace rapt::runtime
