//===- DecoderParameters.cpp - The weights of a decoder ------------------------===//
#include "lib/Import/DecoderBuilder.h"
#include "lib/Import/DecoderParts.h"
#include "lib/Import/ParameterScope.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

namespace {

/// Adds the weights of one decoder, in the order in which a layer reads them.
class Lister {
public:
  Lister(const DecoderSpec &spec, const std::string &prefix)
      : spec(spec), stack{spec.layers}, layer{parameters, prefix + spec.layer, {}, stack}, top{parameters, prefix} {}

  ParameterSet list() {
    addEmbedding();
    const ResidualSpec &residual = spec.residual;
    addNorm(residual.beforeAttention);
    addAttention();
    addNorm(residual.afterAttention);
    addNorm(residual.ofAttentionSum);
    addNorm(residual.beforeFeedForward);
    addFeedForward();
    addNorm(residual.afterFeedForward);
    addNorm(residual.ofFeedForwardSum);
    addHead();
    return std::move(parameters);
  }

private:
  void addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width) {
    if (part.empty())
      return;
    const std::string weight = part + ".weight";
    if (norm.isAroundOne)
      parameters.addTransformed(scope.symbols + weight, {scope.tensors + weight, {width}, {artifact::Add{1}}},
                                Init::bias(), scope.stack);
    else if (norm.hasWeight)
      scope.add(weight, {width}, Init::normWeight());
    if (norm.hasBias)
      scope.add(part + ".bias", {width}, Init::bias());
  }
  void addNorm(const std::string &part) { addNorm(layer, part, spec.norm, spec.width); }

  void addMatmul(const std::string &part, int64_t out, int64_t in, bool hasBias) {
    addMatmul(part, out, in, hasBias, Init::weight(in));
  }
  void addMatmul(const std::string &part, int64_t out, int64_t in, bool hasBias, Init init) {
    layer.add(part + ".weight", spec.isConv1D ? std::vector{in, out} : std::vector{out, in}, init);
    if (hasBias)
      layer.add(part + ".bias", {out}, Init::bias());
  }

  /// Rows of a weight that several matmuls share, and of its bias. `groups` are the dims that the weight's rows have,
  /// `slice` the ones to take, and `symbol` is their own name.
  void addRows(const std::string &symbol, const std::string &part, const std::vector<int64_t> &groups, Slice slice,
               int64_t rows, bool hasBias) {
    auto add = [&](const char *name, const std::vector<int64_t> &columns, Init init) {
      auto withColumns = [&](std::vector<int64_t> shape) {
        shape.insert(shape.end(), columns.begin(), columns.end());
        return shape;
      };
      const std::vector<artifact::Transform> steps = {Reshape{withColumns(groups)}, slice,
                                                      Reshape{withColumns({rows})}};
      parameters.addTransformed(layer.symbols + symbol + name,
                                {layer.tensors + part + name, withColumns({llvm::product_of(groups)}), steps}, init,
                                stack);
    };
    add(".weight", {spec.width}, Init::weight(spec.width));
    if (hasBias)
      add(".bias", {}, Init::bias());
  }

  /// Queries carry the scale that their scores do not get.
  Init initOf(int64_t which) const {
    const AttentionSpec &a = spec.attention;
    const bool isUnscaled = which == 0 && a.scale == 1 && !a.isScaledByLayer && !a.norm;
    return isUnscaled ? Init::unscaledQuery(spec.width, a.headDim) : Init::weight(spec.width);
  }

  void addAttention() {
    const AttentionSpec &a = spec.attention;
    const int64_t columns[] = {a.queryColumns(), a.keyColumns(), a.keyColumns()};
    if (a.packing == Packing::Rows)
      addMatmul(a.packed, a.queryColumns() + 2 * a.keyColumns(), spec.width, a.hasBias);
    for (int64_t i = 0; i < 3 && a.packing != Packing::Rows; ++i)
      if (a.packing == Packing::None) {
        addMatmul(a.parts[i], columns[i], spec.width, a.hasBias, initOf(i));
      } else {
        const int64_t group = a.heads / a.kvHeads, begin = i == 0 ? 0 : group + i - 1, end = i == 0 ? group : begin + 1;
        addRows(a.parts[i], a.packed, {a.kvHeads, group + 2, a.headDim}, Slice{1, begin, end}, columns[i], a.hasBias);
      }
    if (a.norm) {
      const bool isHead = a.norm->extent == QueryKeyNormSpec::Head;
      addNorm(layer, a.norm->query, a.norm->norm, isHead ? a.headDim : columns[0]);
      addNorm(layer, a.norm->key, a.norm->norm, isHead ? a.headDim : columns[1]);
    }
    addMatmul(a.out, spec.width, a.queryColumns(), a.hasOutBias);
  }

  void addFeedForward() {
    const FeedForwardSpec &f = spec.feedForward;
    if (!f.packed.empty()) {
      addRows(f.gate, f.packed, {2, f.inner}, Slice{0, 0, 1}, f.inner, f.hasBias);
      addRows(f.up, f.packed, {2, f.inner}, Slice{0, 1, 2}, f.inner, f.hasBias);
    } else {
      if (f.isGated)
        addMatmul(f.gate, f.inner, spec.width, f.hasBias);
      addMatmul(f.up, f.inner, spec.width, f.hasBias);
    }
    addMatmul(f.down, spec.width, f.inner, f.hasDownBias);
  }

  void addEmbedding() {
    const EmbeddingSpec &e = spec.embedding;
    auto table = [&](const std::string &symbol, int64_t rows, int64_t columns) {
      parameters.add(symbol, top.tensors + symbol + ".weight", {rows, columns}, Init::embedding());
    };
    table(e.table, spec.vocabulary, embeddingWidth(spec));
    if (!e.positions.empty() && e.firstPosition == 0)
      table(e.positions, spec.positions, spec.width);
    else if (!e.positions.empty())
      parameters.addTransformed(e.positions,
                                {top.tensors + e.positions + ".weight",
                                 {spec.positions + e.firstPosition, spec.width},
                                 {Slice{0, e.firstPosition, spec.positions + e.firstPosition}}},
                                Init::embedding());
    addNorm(top, e.norm, spec.norm, spec.width);
    if (!e.projection.empty())
      top.dense(e.projection, spec.width, e.width, /*hasBias=*/false);
  }

  /// The norm behind the last layer, and the head.
  void addHead() {
    const HeadSpec &h = spec.head;
    const int64_t width = embeddingWidth(spec);
    addNorm(top, h.norm, spec.norm, spec.width);
    if (!h.projection.empty())
      top.dense(h.projection, width, spec.width, /*hasBias=*/false);
    parameters.addHead(h.weight, h.weight + ".weight", {spec.vocabulary, width}, Init::weight(width), h.isTied,
                       spec.embedding.table);
    if (h.hasBias)
      parameters.add(h.weight + ".bias", h.weight + ".bias", {spec.vocabulary}, Init::bias());
  }

  const DecoderSpec &spec;
  ParameterSet parameters;
  Stack stack;
  ParameterScope layer, top;
};

} // namespace

ParameterSet importing::listParameters(const DecoderSpec &spec, const std::string &prefix) {
  return Lister(spec, prefix).list();
}
