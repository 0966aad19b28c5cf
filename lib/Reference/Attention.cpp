//===- Attention.cpp - Attention --------------------------------------------------===//
#include "lib/Reference/Ops.h"
#include "lib/Reference/Similarity.h"
#include <cmath>
#include <limits>

using namespace mlir;
namespace rapt::reference {

namespace {

using Op = attn::AttentionOp;

/// An operand's element stride along each iteration dim; 0 where its map lacks the dim.
using Strides = std::array<int64_t, Op::NumDims>;

Strides stridesOf(Op op, unsigned operand, ArrayRef<int64_t> shape) {
  Strides strides{};
  AffineMap map = op.getMap(operand);
  if (map.getNumResults() != shape.size()) // a table
    return strides;
  int64_t stride = 1;
  for (unsigned i = shape.size(); i-- > 0;) {
    strides[cast<AffineDimExpr>(map.getResult(i)).getPosition()] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// Extents: of the dims, and of a second pair's channels.
constexpr unsigned kSecondChannels = Op::NumDims, kExtents = kSecondChannels + 1;

/// Finds the extents of all dims, on which every operand must agree. The extents of q and kv are those of the operands
/// whose maps leave b out, where rows are packed.
template <typename S> class Shapes {
public:
  Shapes(Op op, const AttentionOperands<S> &o) : op(op), o(o) { std::fill_n(extents, kExtents, -1); }

  LogicalResult run() {
    const Tensor<S> *first[] = {o.query, o.key, o.value};
    for (unsigned i = 0; i < 3; ++i)
      if (failed(take(i, *first[i])))
        return failure();
    for (auto [i, extra] : llvm::enumerate(o.extras))
      if (failed(take(4 + i, *extra)))
        return failure();
    const Tensor<S> *second[] = {o.secondQuery, o.secondKey};
    for (unsigned i = 0; i < 2 && o.secondQuery; ++i)
      if (failed(take(op.getSecondMap() + i, *second[i])))
        return failure();
    if (failed(rowsOf("q_begin", o.qBegin, 1)) || failed(rowsOf("q_offset", o.qOffset, 0)) ||
        failed(rowsOf("kv_begin", o.kvBegin, 1)) || failed(rowsOf("kv_length", o.kvLength, 0)))
      return failure();
    if (failed(takeResult()))
      return failure();
    for (int64_t &extent : extents)
      extent = extent < 0 ? 1 : extent;
    for (Op::Dim dim : {Op::B, Op::HKV, Op::G})
      if (extents[dim] != 1 && op.isSingle(dim))
        return op.emitOpError() << "extent of dim " << names[dim] << " is " << extents[dim]
                                << ", but the result has no dim " << names[dim] << "; expected 1";
    if (o.additive && o.additive->dim(0) != extents[Op::DQK])
      return op.emitOpError() << "additive vector has " << o.additive->dim(0) << " elements for " << extents[Op::DQK]
                              << " channels";
    if (o.sink && o.sink->dim(0) != extents[Op::HKV] * extents[Op::G])
      return op.emitOpError() << "has " << o.sink->dim(0) << " sinks for " << extents[Op::HKV] * extents[Op::G]
                              << " query heads";
    if (o.qBegin && failed(checkOffsets(op, "q_begin", *o.qBegin, extents[Op::Q])))
      return failure();
    if (o.kvBegin && failed(checkOffsets(op, "kv_begin", *o.kvBegin, extents[Op::KV])))
      return failure();
    return success();
  }

  int64_t extents[kExtents];

private:
  static constexpr const char *names[] = {"b", "hkv", "g", "q", "kv", "dqk", "dv", "dqk of the second pair"};

  LogicalResult agree(unsigned dim, int64_t size) {
    if (extents[dim] >= 0 && extents[dim] != size)
      return op.emitOpError() << "extent of dim " << names[dim] << " is both " << extents[dim] << " and " << size;
    extents[dim] = size;
    return success();
  }

  /// Static extents of the result count too: nothing else may give a head count.
  LogicalResult takeResult() {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    for (auto [expr, size] : llvm::zip(op.getMap(3).getResults(), type.getShape()))
      if (unsigned dim = cast<AffineDimExpr>(expr).getPosition(); !ShapedType::isDynamic(size))
        if (failed(agree(dim, size)))
          return failure();
    return success();
  }

  LogicalResult take(unsigned operand, const Tensor<S> &tensor) {
    for (auto [expr, size] : llvm::zip(op.getMap(operand).getResults(), tensor.shape)) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      if (dim == Op::DQK && operand >= op.getSecondMap())
        dim = kSecondChannels; // A46
      // With b in its map, an extra's q counts within a row where the query's is packed: each access is checked.
      bool within = op.dimOf(operand, Op::B) && ((dim == Op::Q && o.qBegin) || (dim == Op::KV && o.kvBegin));
      if (!within && failed(agree(dim, size)))
        return failure();
    }
    return success();
  }

  LogicalResult rowsOf(StringRef name, const Tensor<S> *tensor, int64_t more) {
    if (tensor && tensor->dim(0) < more)
      return op.emitOpError() << name << " is empty, but needs an offset more than rows";
    return tensor ? agree(Op::B, tensor->dim(0) - more) : success();
  }

  Op op;
  const AttentionOperands<S> &o;
};

/// The attention of one query (A5): `score(j)` for each key that is kept, then the weighted sum of values.
template <typename S> class Row {
public:
  Row(Op op, const AttentionOperands<S> &o, const int64_t *extents) : op(op), o(o), extents(extents) {
    query = stridesOf(op, 0, o.query->shape);
    key = stridesOf(op, 1, o.key->shape);
    value = stridesOf(op, 2, o.value->shape);
    for (auto [i, extra] : llvm::enumerate(o.extras))
      extras.push_back(stridesOf(op, 4 + i, extra->shape));
    if (o.secondQuery) {
      secondQuery = stridesOf(op, op.getSecondMap(), o.secondQuery->shape);
      secondKey = stridesOf(op, op.getSecondMap() + 1, o.secondKey->shape);
    }
  }

  int64_t b = 0, hkv = 0, g = 0, q = 0; ///< q within the row
  int64_t packedQ = 0, absoluteQ = 0, firstKV = 0, keys = 0;

  /// e^(score - maximum) of each key that is kept, for the methods behind. A sink is a score of no key (A41).
  LogicalResult prepare() {
    probabilities.assign(keys, S(0));
    kept.assign(keys, false);
    const S sink = o.sink ? o.sink->floats[hkv * extents[Op::G] + g] : -std::numeric_limits<S>::infinity();
    max = std::max(std::numeric_limits<S>::lowest(), sink);
    for (int64_t j = 0; j < keys; ++j) {
      if (failed(keep(j)))
        return failure();
      if (!kept[j])
        continue;
      probabilities[j] = score(j);
      max = std::max(max, probabilities[j]);
    }
    sum = o.sink ? std::exp(sink - max) : S(0);
    for (int64_t j = 0; j < keys; ++j)
      if (kept[j])
        sum += probabilities[j] = std::exp(probabilities[j] - max);
    return success();
  }

  void mixValues(S *out, int64_t outStride) const {
    for (int64_t d = 0; d < extents[Op::DV]; ++d) {
      S total = 0;
      for (int64_t j = 0; j < keys; ++j)
        if (kept[j])
          total += probabilities[j] * o.value->floats[at(value, true, j) + d * value[Op::DV]];
      out[d * outStride] = sum == 0 ? S(0) : total / sum;
    }
  }

  S logSumExp() const { return sum == 0 ? -std::numeric_limits<S>::infinity() : max + std::log(sum); }

  /// The weight of each key into out[0 .. keys).
  void weigh(S *out) const {
    for (int64_t j = 0; j < keys; ++j)
      out[j] = kept[j] && sum != 0 ? probabilities[j] / sum : S(0);
  }

private:
  /// Offset of the operand's element at channel 0 and key j. q and kv are packed unless its map has b (A29).
  int64_t at(const Strides &s, bool packed, int64_t j) const {
    return b * s[Op::B] + hkv * s[Op::HKV] + g * s[Op::G] + (packed ? packedQ : q) * s[Op::Q] +
           (packed ? firstKV + j : j) * s[Op::KV];
  }

  S score(int64_t j) {
    const S *x = o.query->floats.data() + at(query, true, j), *y = o.key->floats.data() + at(key, true, j);
    S s = similarity(o.additive, extents[Op::DQK], x, query[Op::DQK], y, key[Op::DQK]);
    if (o.secondQuery) { // A45
      x = o.secondQuery->floats.data() + at(secondQuery, true, j),
      y = o.secondKey->floats.data() + at(secondKey, true, j);
      s += similarity<S>(nullptr, extents[kSecondChannels], x, secondQuery[Op::DQK], y, secondKey[Op::DQK]);
    }
    s *= o.scale;
    if (!o.score)
      return s;
    o.score->argument(0).f = s;
    bind(*o.score, 1, j);
    return o.score->run().f;
  }

  /// Checks that the extras have elements for key j, and asks the mask.
  LogicalResult keep(int64_t j) {
    for (auto [i, extra] : llvm::enumerate(o.extras))
      if (op.dimOf(4 + i, Op::B))
        for (auto [dim, index] : {std::pair(Op::Q, q), std::pair(Op::KV, j)})
          if (auto place = op.dimOf(4 + i, dim); place && index >= extra->dim(*place))
            return op.emitOpError() << "extra operand " << i << " has no element at "
                                    << (dim == Op::Q ? "query " : "key ") << index << " of row " << b;
    if (!o.mask) {
      kept[j] = true;
      return success();
    }
    bind(*o.mask, 0, j);
    kept[j] = o.mask->run().i != 0;
    return success();
  }

  void bind(ScalarProgram<S> &program, unsigned first, int64_t j) {
    for (int64_t index : {b, hkv * extents[Op::G] + g, absoluteQ, j}) // A2, A14
      program.argument(first++).i = index;
    for (auto [i, extra] : llvm::enumerate(o.extras)) {
      int64_t offset = at(extras[i], !op.dimOf(4 + i, Op::B), j);
      if (op.isTable(i))
        program.argument(first++).table = extra;
      else if (extra->floats.empty())
        program.argument(first++).i = extra->ints[offset];
      else
        program.argument(first++).f = extra->floats[offset];
    }
  }

  Op op;
  const AttentionOperands<S> &o;
  const int64_t *extents;
  Strides query, key, value, secondQuery, secondKey;
  SmallVector<Strides> extras;
  std::vector<S> probabilities;
  std::vector<bool> kept;
  S max = 0, sum = 0;
};

/// Keys of row b (A27), checked against the extent of the dim kv.
template <typename S>
FailureOr<int64_t> keysOf(Op op, const AttentionOperands<S> &o, int64_t extent, int64_t b, int64_t queries) {
  int64_t first = o.kvBegin ? o.kvBegin->ints[b] : 0, keys = extent;
  if (o.kvLength)
    keys = o.kvLength->ints[b];
  else if (o.kvBegin)
    keys = o.kvBegin->ints[b + 1] - first;
  else if (o.qOffset)
    keys = o.qOffset->ints[b] + queries;
  if (keys < 0 || keys > extent - first)
    return op.emitOpError() << "row " << b << " has " << keys << " keys from " << first
                            << " on, but the extent of dim kv is " << extent;
  if (o.kvBegin && keys > o.kvBegin->ints[b + 1] - first)
    return op.emitOpError() << "row " << b << " has " << keys << " keys from " << first
                            << " on, but kv_begin ends it at " << o.kvBegin->ints[b + 1];
  constexpr int64_t end = (int64_t(1) << 31) - 64; // so that differences have 32 bits in compiled programs (A15)
  if (int64_t offset = o.qOffset ? o.qOffset->ints[b] : 0; queries > 0 && (offset < 0 || offset + queries > end))
    return op.emitOpError() << "row " << b << " has " << queries << " queries from position " << offset
                            << " on, but positions are 0 to " << end - 1;
  return keys;
}

} // namespace

namespace {

/// The results of one attention under construction.
template <typename S> class Attention {
public:
  Attention(Op op, const AttentionOperands<S> &o) : op(op), o(o), shapes(op, o) {}

  FailureOr<AttentionResults<S>> run() {
    if (failed(shapes.run()) || failed(makeResults()))
      return failure();
    Row<S> row(op, o, shapes.extents);
    for (row.b = 0; row.b < shapes.extents[Op::B]; ++row.b) {
      int64_t firstQ = o.qBegin ? o.qBegin->ints[row.b] : 0; // A26
      int64_t queries = o.qBegin ? o.qBegin->ints[row.b + 1] - firstQ : shapes.extents[Op::Q];
      FailureOr<int64_t> keys = keysOf(op, o, shapes.extents[Op::KV], row.b, queries);
      if (failed(keys))
        return failure();
      if (results.weights && isLayerInside() && *keys > results.weights->dim(3))
        return op.emitOpError() << "row " << row.b << " has " << *keys << " keys for weights of "
                                << results.weights->dim(3);
      row.keys = *keys;
      row.firstKV = o.kvBegin ? o.kvBegin->ints[row.b] : 0;
      for (row.hkv = 0; row.hkv < shapes.extents[Op::HKV]; ++row.hkv)
        for (row.g = 0; row.g < shapes.extents[Op::G]; ++row.g)
          for (row.q = 0; row.q < queries; ++row.q) {
            row.packedQ = firstQ + row.q;
            row.absoluteQ = (o.qOffset ? o.qOffset->ints[row.b] : 0) + row.q;
            if (failed(row.prepare()))
              return failure();
            write(row);
          }
    }
    return std::move(results);
  }

private:
  LogicalResult makeResults() {
    auto shapeOf = [&](AffineMap map) {
      return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
        return int64_t(shapes.extents[cast<AffineDimExpr>(expr).getPosition()]);
      });
    };
    SmallVector<int64_t> shape = shapeOf(op.getMap(3));
    Result<S> result = makeTensor<S>(op, shape);
    if (failed(result))
      return failure();
    results.result = std::move(*result);
    out = stridesOf(op, 3, shape);
    if (std::optional<AffineMap> lseMap = op.getLseMap()) {
      Result<S> lse = makeTensor<S>(op, shapeOf(*lseMap));
      if (failed(lse))
        return failure();
      // Queries behind the last row have no keys (A28).
      std::fill(lse->floats.begin(), lse->floats.end(), -std::numeric_limits<S>::infinity());
      results.lse = std::move(*lse);
      int64_t stride = 1;
      for (AffineExpr expr : llvm::reverse(lseMap->getResults())) {
        const unsigned dim = cast<AffineDimExpr>(expr).getPosition();
        lseOut[dim] = stride;
        stride *= shapes.extents[dim];
      }
    }
    if (o.weights) {
      if (o.weights->dim(0) != shapes.extents[Op::Q])
        return op.emitOpError() << "has " << shapes.extents[Op::Q] << " queries for weights of " << o.weights->dim(0);
      results.weights = *o.weights;
    }
    return success();
  }

  bool isLayerInside() const { return o.layer >= 0 && o.layer < o.weights->dim(1); }

  static int64_t at(const Strides &s, const Row<S> &row) {
    return row.b * s[Op::B] + row.hkv * s[Op::HKV] + row.g * s[Op::G] + row.packedQ * s[Op::Q];
  }

  void write(const Row<S> &row) {
    row.mixValues(results.result.floats.data() + at(out, row), out[Op::DV]);
    if (results.lse)
      results.lse->floats[at(lseOut, row)] = row.logSumExp();
    if (!results.weights || !isLayerInside())
      return;
    Tensor<S> &weights = *results.weights;
    const int64_t head = row.hkv * shapes.extents[Op::G] + row.g, most = weights.dim(3);
    for (auto [i, asked] : llvm::enumerate(*op.getHeads())) {
      if (asked != head)
        continue;
      S *line = weights.floats.data() + ((row.packedQ * weights.dim(1) + o.layer) * weights.dim(2) + int64_t(i)) * most;
      std::fill_n(line, most, S(0));
      row.weigh(line);
    }
  }

  Op op;
  const AttentionOperands<S> &o;
  Shapes<S> shapes;
  AttentionResults<S> results;
  Strides out{}, lseOut{};
};

} // namespace

template <typename S> FailureOr<AttentionResults<S>> evaluate(Op op, const AttentionOperands<S> &o) {
  return Attention<S>(op, o).run();
}

#define INSTANTIATE(S) template FailureOr<AttentionResults<S>> evaluate(Op, const AttentionOperands<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
