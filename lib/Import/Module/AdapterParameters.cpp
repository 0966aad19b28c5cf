//===- AdapterParameters.cpp - The narrow matrices of adapters as weights -------===//
//
// An adapter changes a weight [out, in] by B A. The steps that make a weight of a tensor, such
// as a slice of packed projections, act on its rows, so B takes them as well.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace rapt;
using namespace rapt::importing;

/// The source with rows of `rank` numbers in place of its own, if its steps work on whole rows: no value where one of
/// them does not. `source` has the shape [out, in].
static std::optional<artifact::Source> withRowsOf(int64_t rank, const artifact::Source &source) {
  artifact::Source narrow{source.name, {source.shape[0], rank}};
  artifact::Shape shape = source.shape;
  const int64_t in = shape.back();
  for (const artifact::Transform &step : source.transforms) {
    const auto last = int64_t(shape.size()) - 1;
    artifact::Transform own = step;
    if (const auto *slice = std::get_if<artifact::Slice>(&step)) {
      if (slice->dim == last)
        return std::nullopt;
    } else if (auto *reshape = std::get_if<artifact::Reshape>(&own)) {
      if (reshape->shape.empty() || reshape->shape.back() != in)
        return std::nullopt;
      reshape->shape.back() = rank;
    } else if (const auto *transpose = std::get_if<artifact::Transpose>(&step)) {
      if (transpose->order.back() != last)
        return std::nullopt;
    } else if (!std::holds_alternative<artifact::Scale>(step)) {
      return std::nullopt;
    }
    shape = *artifact::shapeAfter(step, shape);
    narrow.transforms.push_back(std::move(own));
  }
  return narrow;
}

/// "h.{layer}.attn.c_attn" of "h.{layer}.attn.c_attn.weight".
static std::string moduleOf(const std::string &tensor) {
  constexpr std::string_view suffix = ".weight";
  return tensor.ends_with(suffix) ? tensor.substr(0, tensor.size() - suffix.size()) : tensor;
}

/// Whether the weight of a layer is the matrix of a matmul by itself, which an adapter may change.
static bool isMatrix(const std::string &symbol, const std::vector<artifact::Source> &sources, bool isConv1D) {
  if (!symbol.ends_with(".weight") || sources.size() != 1 || sources[0].shape.size() != 2)
    return false;
  return isConv1D ? sources[0].transforms.empty() : withRowsOf(/*rank=*/1, sources[0]).has_value();
}

/// Whether the tensor is of a layer that the checkpoint has and the program does not read, such as the last ones of a
/// llava's images.
static bool isOfFurtherLayer(const std::string &tensor, const artifact::Source &source) {
  constexpr std::string_view mark = "{layer}";
  const size_t at = source.name.find(mark), tail = source.name.size() - at - mark.size();
  if (at == std::string::npos || tensor.size() <= at + tail || tensor.compare(0, at, source.name, 0, at) != 0 ||
      !std::string_view(tensor).ends_with(std::string_view(source.name).substr(at + mark.size())))
    return false;
  return llvm::all_of(tensor.substr(at, tensor.size() - at - tail), llvm::isDigit);
}

/// Adds both matrices of all adapters for the weight at `index`.
void ParameterSet::addAdaptersOf(size_t index, huggingface::ModelDescription &model, int64_t rank) {
  const Weight weight = weights[index];
  const bool isConv1D = weight.isConv1D;
  const artifact::Source &source = weight.sources[0];
  const std::string module = moduleOf(source.name);
  const int64_t in = source.shape[isConv1D ? 0 : 1], out = source.shape[isConv1D ? 1 : 0];
  const auto &adapters = model.namedAdapters();
  for (const bool isFirst : {true, false}) {
    const std::string part = isFirst ? ".lora_A" : ".lora_B";
    const std::vector<int64_t> stored = isFirst ? std::vector{rank, in} : std::vector{out, rank};
    std::vector<artifact::Source> rows;
    for (size_t i = 0; i <= adapters.size(); ++i) { // the first one is zeros
      artifact::Source own{module + part + (i ? "." + adapters[i - 1].name : ""), stored};
      if (!isFirst && !isConv1D)
        own.transforms = withRowsOf(rank, source)->transforms;
      for (const Run &run : weight.runs)
        for (int64_t place : run.places) {
          const int64_t layer = numberOf(weight, place);
          huggingface::AdapterTensor tensor{{run.storage.dtype, stored}, nullptr, isFirst};
          if (i)
            if (auto changed = adapters[i - 1].changes.find(artifact::sourceName(source, layer));
                changed != adapters[i - 1].changes.end())
              tensor.change = &changed->second.front();
          model.addTensor(artifact::sourceName(own, layer), std::move(tensor));
        }
      rows.push_back(std::move(own));
    }
    const std::string symbol = moduleOf(weight.symbol) + part;
    addRows(symbol, std::move(rows), huggingface::Init::weight(in), weight.stack);
    weights.back().isOfAdapters = true;
    weights.back().runs = weight.runs;
    for (Run &run : weights.back().runs)
      run.symbol = symbol + run.symbol.substr(weight.symbol.size());
  }
}

Status ParameterSet::addAdapters(huggingface::ModelDescription &model) {
  std::set<std::string> readOtherwise;
  std::set<std::string> changeable;
  const size_t count = weights.size();
  std::vector<int64_t> ranks(count, 0);
  std::vector<size_t> own; // weights that an adapter may change
  for (size_t i = 0; i < count; ++i) {
    const Weight &weight = weights[i];
    const bool isOwn = weight.stack && isMatrix(weight.symbol, weight.sources, weight.isConv1D);
    if (isOwn)
      own.push_back(i);
    for (const artifact::Source &source : weight.sources)
      for (int64_t place = 0; place < layersOf(weight); ++place) {
        const std::string name = weight.stack ? artifact::sourceName(source, numberOf(weight, place)) : source.name;
        (isOwn ? changeable : readOtherwise).insert(name);
        for (const huggingface::NamedAdapter &adapter : model.namedAdapters())
          if (auto changed = adapter.changes.find(name); changed != adapter.changes.end())
            ranks[i] = std::max(ranks[i], changed->second.front().rank);
      }
  }
  for (const huggingface::NamedAdapter &adapter : model.namedAdapters())
    for (const auto &[name, changes] : adapter.changes) {
      auto refuse = [&](const std::string &why) {
        return Error{shownPath(adapter.source.directory) + ": changes \"" + json::printable(name) + "\"" + why +
                     "; merge the adapter instead: --adapter"};
      };
      if (!readOtherwise.contains(name) && !changeable.contains(name) &&
          llvm::any_of(own, [&, &name = name](size_t i) { return isOfFurtherLayer(name, weights[i].sources[0]); }))
        continue;
      if (!changeable.contains(name) || readOtherwise.contains(name))
        return refuse(", which is no linear map of a layer by itself");
    }
  for (size_t i = 0; i < count; ++i)
    if (ranks[i])
      addAdaptersOf(i, model, ranks[i]);
  return {};
}
