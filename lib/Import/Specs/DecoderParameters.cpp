//===- DecoderParameters.cpp - The weights of a decoder ------------------------===//
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/DecoderBuilder.h"
#include "lib/Import/Specs/DecoderParts.h"

using namespace rapt;
using namespace rapt::importing;
using artifact::Slice;
using huggingface::Init;

namespace {

/// Adds the weights of one decoder.
class Lister {
public:
  Lister(const DecoderSpec &spec, const std::string &prefix) : spec(spec), prefix(prefix), top{parameters, prefix} {}

  ParameterSet list() {
    addEmbedding();
    addLayers(spec, {parameters, prefix + spec.layer, {}, Stack{spec.layers}});
    addHead();
    return std::move(parameters);
  }

private:
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
    const std::string tensor = spec.headPrefix + h.weight;
    parameters.addHead(h.weight, tensor + ".weight", {spec.vocabulary, width}, Init::weight(width), h.isTied,
                       spec.embedding.table);
    if (h.hasBias)
      parameters.add(h.weight + ".bias", tensor + ".bias", {spec.vocabulary}, Init::bias());
  }

  const DecoderSpec &spec;
  const std::string &prefix;
  ParameterSet parameters;
  ParameterScope top;
};

} // namespace

ParameterSet importing::listParameters(const DecoderSpec &spec, const std::string &prefix) {
  return Lister(spec, prefix).list();
}
