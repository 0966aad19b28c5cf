//===- DecoderParts.h - Parts of the import of a decoder ------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Columns of the embedding.
inline int64_t embeddingWidth(const DecoderSpec &spec) {
  return spec.embedding.width ? spec.embedding.width : spec.width;
}

class DecoderModule;
struct WindowedLayers;
struct Scope;

/// Replaces embeddings of tokens, [tokens, width].
using MapEmbeddings = llvm::function_ref<mlir::Value(const Scope &top, mlir::Value embeddings)>;

/// Arguments of the entry `step` that not every decoder has: those of adapters, and the length of texts where rotary
/// embedding depends on it.
MoreOfEntry moreOfStep(mlir::MLIRContext &context, const DecoderSpec &spec, const ModelFacts &facts,
                       const ImportOptions &options);

/// The body of the entry `step`, from tokens to logits, and its end.
Status buildStep(DecoderModule &decoder, const DecoderSpec &spec, const ParameterSet &parameters,
                 MapEmbeddings map = {});

/// Those of a decoder whose sequences have so many positions.
WindowedLayers windowedLayersOf(const DecoderSpec &spec, int64_t positions);

/// The facts that a decoder's specification has.
ModelFacts factsOf(const DecoderSpec &spec, const huggingface::ModelDescription &model, int64_t positions,
                   std::vector<int64_t> endTokens);

/// The decoder as an encoder of whole texts, of a specification whose `wholeHead` is set; it refers to the strings of
/// both. An error names what such a program cannot have.
Expected<EncoderSpec> asEncoder(const DecoderSpec &spec, const DecoderFamily &family,
                                const huggingface::ModelDescription &model);

/// All weights; their symbols are the names of the parts that have them, behind `prefix` and the layer's path.
ParameterSet listParameters(const DecoderSpec &spec, const std::string &prefix);

} // namespace rapt::importing
