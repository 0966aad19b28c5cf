//===- StackParameters.cpp - The weights of a stack of layers ------------------===//
#include "lib/Import/Parts/StackParameters.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

void importing::addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width) {
  if (part.empty())
    return;
  const std::string weight = part + "." + scope.norm[0];
  if (norm.isAroundOne)
    scope.parameters.addTransformed(scope.symbols + part + ".weight",
                                    {scope.tensors + weight, {width}, {artifact::Add{1}}}, Init::bias(), scope.stack);
  else if (norm.hasWeight)
    scope.add(part + ".weight", weight, {width}, Init::normWeight());
  if (norm.hasBias)
    scope.add(part + ".bias", part + "." + scope.norm[1], {width}, Init::bias());
}

static std::string replaced(std::string name, std::string_view placeholder, const std::string &by) {
  if (const size_t at = name.find(placeholder); at != std::string::npos)
    name.replace(at, placeholder.size(), by);
  return name;
}

static std::string partOfExpert(const std::string &part, int64_t expert) {
  return replaced(part, expertPlaceholder, std::to_string(expert));
}

std::string importing::partOfExperts(const std::string &part) {
  return replaced(part, std::string(expertPlaceholder) + ".", "");
}

namespace {

/// Adds the weights of a layer in the order in which it reads them.
class LayerLister {
public:
  LayerLister(const StackSpec &spec, const ParameterScope &layer)
      : spec(spec), layer(layer), parameters(layer.parameters) {}

  void list() {
    auto norm = [&](const std::string &part) { addNorm(layer, part, spec.norm, spec.width); };
    const ResidualSpec &residual = spec.residual;
    ParameterScope later = layer;
    if (residual.isFirstWithout && layer.stack)
      later.stack = Stack{layer.stack->layers - 1, layer.stack->name, layer.stack->first + 1};
    if (!residual.isFirstWithout || spec.layers > 1)
      addNorm(later, residual.beforeAttention, spec.norm, spec.width);
    addAttention();
    addScale(residual.scaleOfAttention);
    norm(residual.afterAttention);
    norm(residual.ofAttentionSum);
    if (spec.cross) {
      norm(spec.cross->before);
      addCross();
      norm(spec.cross->ofSum);
    }
    norm(residual.beforeFeedForward);
    addFeedForwards();
    addScale(residual.scaleOfFeedForward);
    norm(residual.afterFeedForward);
    norm(residual.ofFeedForwardSum);
  }

private:
  void addScale(const std::string &name) {
    if (!name.empty())
      layer.add(name, {spec.width}, Init::normWeight());
  }

  void addMatrix(const std::string &part, const std::string &tensor, int64_t out, int64_t in, Init init) {
    layer.add(part + ".weight", tensor, spec.isConv1D ? std::vector{in, out} : std::vector{out, in}, init);
    if (spec.isConv1D)
      parameters.markConv1D();
  }

  void addMatmul(const std::string &part, int64_t out, int64_t in, bool hasBias) {
    addMatmul(part, out, in, hasBias, Init::weight(in));
  }
  void addMatmul(const std::string &part, int64_t out, int64_t in, bool hasBias, Init init) {
    addMatrix(part, part + ".weight", out, in, init);
    if (hasBias)
      layer.add(part + ".bias", {out}, Init::bias());
  }

  void addRows(const std::string &symbol, const std::string &stem, const std::vector<int64_t> &groups, Slice slice,
               int64_t rows, bool hasBias) {
    addRows(symbol, stem, groups, slice, rows, spec.width, hasBias);
  }
  /// Rows of a weight [.., in] that several matmuls share, and of its bias. `stem` is the name of its tensors without
  /// "weight" or "bias", `groups` are the dims that the weight's rows have, `slice` the ones to take, and `symbol` is
  /// their own name.
  void addRows(const std::string &symbol, const std::string &stem, const std::vector<int64_t> &groups, Slice slice,
               int64_t rows, int64_t in, bool hasBias) {
    auto add = [&](const char *name, const std::vector<int64_t> &columns, Init init) {
      auto withColumns = [&](std::vector<int64_t> shape) {
        shape.insert(shape.end(), columns.begin(), columns.end());
        return shape;
      };
      const std::vector<artifact::Transform> steps = {Reshape{withColumns(groups)}, slice,
                                                      Reshape{withColumns({rows})}};
      parameters.addTransformed(layer.symbols + symbol + "." + name,
                                {layer.tensors + stem + name, withColumns({llvm::product_of(groups)}), steps}, init,
                                layer.stack);
    };
    add("weight", {in}, Init::weight(in));
    if (hasBias)
      add("bias", {}, Init::bias());
  }

  /// Queries carry the scale that their scores do not get.
  Init initOf(int64_t which) const {
    const AttentionSpec &a = spec.attention;
    const bool isUnscaled = which == 0 && a.scale == 1 && !a.isScaledByLayer && !a.norm;
    return isUnscaled ? Init::unscaledQuery(spec.width, a.headDim) : Init::weight(spec.width);
  }

  /// All rows of queries, keys and values.
  void addPacked(int64_t rows) {
    const AttentionSpec &a = spec.attention;
    addMatrix(a.packed, a.stem() + "weight", rows, spec.width, Init::weight(spec.width));
    if (a.hasBias)
      layer.add(a.packed + ".bias", a.stem() + "bias", {rows}, Init::bias());
  }

  /// Some of the `rows` of a packed weight and its bias.
  void addRowsOfPacked(const std::string &symbol, const std::string &stem, Slice slice, int64_t rows, bool hasBias) {
    parameters.addTransformed(layer.symbols + symbol + ".weight",
                              {layer.tensors + stem + "weight", {rows, spec.width}, {slice}}, Init::weight(spec.width),
                              layer.stack);
    if (hasBias)
      parameters.addTransformed(layer.symbols + symbol + ".bias", {layer.tensors + stem + "bias", {rows}, {slice}},
                                Init::bias(), layer.stack);
  }

  void addCross() {
    const CrossAttentionSpec &c = *spec.cross;
    const AttentionSpec &a = spec.attention;
    const int64_t columns = a.queryColumns();
    for (int64_t i = 0; i < 3; ++i)
      if (c.packedStem.empty())
        addMatmul(c.parts[i], columns, spec.width, c.hasBias && (i != 1 || c.hasKeyBias), initOf(i));
      else
        addRowsOfPacked(c.parts[i], c.packedStem, Slice{0, i * columns, (i + 1) * columns}, 3 * columns, c.hasBias);
    addMatmul(c.out, spec.width, columns, c.hasBias);
  }

  /// The norm of queries or keys.
  void addHeadNorm(const std::string &part, int64_t heads) {
    const QueryKeyNormSpec &n = *spec.attention.norm;
    const int64_t channels = spec.attention.headDim;
    if (n.extent == QueryKeyNormSpec::Head)
      return addNorm(layer, part, n.norm, channels);
    if (n.extent == QueryKeyNormSpec::All)
      return addNorm(layer, part, n.norm, heads * channels);
    assert(n.norm.hasWeight && !n.norm.hasBias && !n.norm.isAroundOne && "a head's own norm has a weight alone");
    std::vector<artifact::Source> rows;
    const bool isOne = part.find(headPlaceholder) == std::string::npos;
    if (isOne)
      rows.push_back({layer.tensors + part + ".weight", {heads, channels}});
    for (int64_t head = 0; !isOne && head < heads; ++head)
      rows.push_back({layer.tensors + replaced(part, headPlaceholder, std::to_string(head)) + ".weight",
                      {channels},
                      {Reshape{{1, channels}}}});
    parameters.addRows(layer.symbols + part + ".weight", std::move(rows), Init::normWeight(), layer.stack,
                       /*isTable=*/true);
  }

  /// A matrix for each head of latent attention, [rows, rank] of the tensor's rows [begin, end) of the head; transposed
  /// where queries are multiplied by it.
  void addUp(const LatentSpec &l, const std::string &symbol, int64_t begin, int64_t end, bool isTransposed) {
    const int64_t heads = spec.attention.heads, plain = spec.attention.headDim - l.rotated, rows = plain + l.valueDim;
    std::vector<artifact::Transform> steps = {Reshape{{heads, rows, l.rank}}, Slice{1, begin, end}};
    if (isTransposed)
      steps.push_back(artifact::Transpose{{0, 2, 1}});
    const int64_t out = isTransposed ? l.rank : end - begin, in = isTransposed ? end - begin : l.rank;
    steps.push_back(Reshape{{heads * out, in}});
    parameters.addTransformed(layer.symbols + symbol + ".weight",
                              {layer.tensors + l.up + ".weight", {heads * rows, l.rank}, steps}, Init::weight(l.rank),
                              layer.stack);
  }

  void addLatentAttention(const LatentSpec &l) {
    const AttentionSpec &a = spec.attention;
    const int64_t plain = a.headDim - l.rotated, in = l.queryRank ? l.queryRank : spec.width;
    if (l.queryRank) {
      addMatmul(l.queryDown, l.queryRank, spec.width, l.hasDownBias);
      addNorm(layer, l.queryNorm, latentNorm, l.queryRank);
    }
    auto addQueries = [&](const std::string &symbol, int64_t begin, int64_t end) {
      addRows(symbol, l.queryUp + ".", {a.heads, a.headDim}, Slice{1, begin, end}, a.heads * (end - begin), in,
              /*hasBias=*/false);
    };
    addQueries(l.plainQuery(), 0, plain);
    addQueries(l.rotatedQuery(), plain, a.headDim);
    const int64_t rows = l.rank + l.rotated;
    addRowsOfPacked(l.latent(), l.down + ".", Slice{0, 0, l.rank}, rows, l.hasDownBias);
    addRowsOfPacked(l.rotatedKey(), l.down + ".", Slice{0, l.rank, rows}, rows, l.hasDownBias);
    addNorm(layer, l.norm, latentNorm, l.rank);
    addUp(l, l.keyUp(), 0, plain, /*isTransposed=*/true);
    addUp(l, l.valueUp(), plain, plain + l.valueDim, /*isTransposed=*/false);
    addMatmul(a.out, spec.width, a.outColumns(), a.hasOutBias);
  }

  void addAttention() {
    const AttentionSpec &a = spec.attention;
    if (a.latent)
      return addLatentAttention(*a.latent);
    const int64_t columns[] = {a.queryColumns(), a.keyColumns(), a.keyColumns()};
    if (a.packing == Packing::Rows)
      addPacked(a.queryColumns() + 2 * a.keyColumns());
    for (int64_t i = 0; i < 3 && a.packing != Packing::Rows; ++i)
      if (a.packing == Packing::None) {
        addMatmul(a.parts[i], columns[i], spec.width, a.hasBiasOf(i), initOf(i));
      } else {
        const int64_t group = a.heads / a.kvHeads, begin = i == 0 ? 0 : group + i - 1, end = i == 0 ? group : begin + 1;
        addRows(a.parts[i], a.stem(), {a.kvHeads, group + 2, a.headDim}, Slice{1, begin, end}, columns[i], a.hasBias);
      }
    if (a.norm) {
      addHeadNorm(a.norm->query, a.heads);
      addHeadNorm(a.norm->key, a.kvHeads);
    }
    if (!a.sinks.empty())
      layer.add(a.sinks, {a.heads}, Init::bias());
    addMatmul(a.out, spec.width, a.queryColumns(), a.hasOutBias);
  }

  /// Feed-forwards and experts, of runs of layers that all have the one or the other.
  void addFeedForwards() {
    const Stack all = layer.stack.value_or(Stack{1});
    for (int64_t begin = all.first, end = begin, last = all.first + all.layers; begin < last; begin = end) {
      while (end < last && spec.hasExperts(end) == spec.hasExperts(begin))
        ++end;
      ParameterScope run = layer;
      if (layer.stack)
        run.stack = Stack{end - begin, all.name, begin};
      LayerLister lister(spec, run);
      if (spec.hasExperts(begin))
        lister.addExperts(*spec.experts);
      else
        lister.addFeedForward(spec.feedForward);
    }
  }

  void addExperts(const ExpertsSpec &e) {
    addMatmul(e.router, e.number, spec.width, e.hasRouterBias);
    if (!e.choiceBias.empty())
      layer.add(e.choiceBias, {e.number}, Init::bias());
    for (int64_t which = 0; which < 3; ++which)
      if (e.stacking == Stacking::None)
        addRowsOfExperts(e, which);
      else
        addStackedExperts(e, which);
    if (e.shared)
      addFeedForward(*e.shared);
    if (!e.sharedGate.empty())
      addMatmul(e.sharedGate, 1, spec.width, /*hasBias=*/false);
  }

  /// The part of gate (0), up (1) or down (2).
  static const std::string &partOf(const ExpertsSpec &e, int64_t which) {
    return which == 0 ? e.each.gate : which == 1 ? e.each.up : e.each.down;
  }

  /// The matrices [out, in] of all experts, one behind another, and their biases.
  void addRowsOfExperts(const ExpertsSpec &e, int64_t which) {
    const std::string &part = partOf(e, which);
    const bool isDown = which == 2;
    const int64_t out = isDown ? spec.width : e.each.inner, in = isDown ? e.each.inner : spec.width;
    auto add = [&](const std::string &name, const std::vector<int64_t> &shape, Init init) {
      std::vector<artifact::Source> rows;
      for (int64_t expert = 0; expert < e.number; ++expert)
        rows.push_back({layer.tensors + partOfExpert(part, expert) + name, shape});
      parameters.addRows(layer.symbols + partOfExperts(part) + name, std::move(rows), init, layer.stack);
    };
    add(".weight", {out, in}, Init::weight(in));
    if (isDown ? e.each.hasDownBias : e.each.hasBias)
      add(".bias", {out}, Init::bias());
  }

  /// Matrices and biases from tensors that have all experts, each of which is [in, out] where they are interleaved.
  void addStackedExperts(const ExpertsSpec &e, int64_t which) {
    const std::string &part = partOf(e, which);
    const bool isDown = which == 2, isTransposed = e.stacking == Stacking::Interleaved,
               areInTurn = e.stacking != Stacking::Rows;
    const int64_t out = isDown ? spec.width : e.each.inner, in = isDown ? e.each.inner : spec.width, all = e.number;
    const std::string tensor = layer.tensors + (isDown ? e.each.down : e.each.packed);
    const std::string symbol = layer.symbols + partOfExperts(part);
    // Gate and up, of which one is taken, are the next to last or the last of what the rows are cut into.
    const std::vector<int64_t> cut = isDown      ? std::vector<int64_t>{out, 1}
                                     : areInTurn ? std::vector<int64_t>{out, 2}
                                                 : std::vector<int64_t>{2, out};
    const int64_t begin = isDown ? 0 : which, dim = isDown || areInTurn ? 1 : 0;
    auto joined = [](std::vector<int64_t> shape, const std::vector<int64_t> &more) {
      shape.insert(shape.end(), more.begin(), more.end());
      return shape;
    };
    const int64_t rows = cut[0] * cut[1];
    if (isTransposed)
      parameters.addTransformed(symbol + ".weight",
                                {tensor,
                                 {all, in, rows},
                                 {Reshape{joined({all, in}, cut)}, Slice{2 + dim, begin, begin + 1},
                                  Reshape{{all, in, out}}, artifact::Transpose{{0, 2, 1}}, Reshape{{all * out, in}}}},
                                Init::weight(in), layer.stack);
    else
      parameters.addTransformed(
          symbol + ".weight",
          {tensor,
           {all, rows, in},
           {Reshape{joined(joined({all}, cut), {in})}, Slice{1 + dim, begin, begin + 1}, Reshape{{all * out, in}}}},
          Init::weight(in), layer.stack);
    if (isDown ? e.each.hasDownBias : e.each.hasBias)
      parameters.addTransformed(symbol + ".bias",
                                {tensor + "_bias",
                                 {all, rows},
                                 {Reshape{joined({all}, cut)}, Slice{1 + dim, begin, begin + 1}, Reshape{{all * out}}}},
                                Init::bias(), layer.stack);
  }

  void addFeedForward(const FeedForwardSpec &f) {
    if (!f.packed.empty()) {
      addRows(f.gate, f.packed + ".", {2, f.inner}, Slice{0, 0, 1}, f.inner, f.hasBias);
      addRows(f.up, f.packed + ".", {2, f.inner}, Slice{0, 1, 2}, f.inner, f.hasBias);
    } else {
      if (f.isGated)
        addMatmul(f.gate, f.inner, spec.width, f.hasBias);
      addMatmul(f.up, f.inner, spec.width, f.hasBias);
    }
    addMatmul(f.down, spec.width, f.inner, f.hasDownBias);
  }

  const StackSpec &spec;
  const ParameterScope &layer;
  ParameterSet &parameters;
};

} // namespace

void importing::addLayers(const StackSpec &spec, const ParameterScope &layer) { LayerLister(spec, layer).list(); }
