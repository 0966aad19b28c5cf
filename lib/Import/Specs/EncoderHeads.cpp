//===- EncoderHeads.cpp - Heads of encoders of texts ---------------------------===//
#include "lib/Import/Parts/PackedRows.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// The columns of a text's vector.
static int64_t sentenceWidth(const EncoderSpec &spec) {
  return spec.sentence.dense.empty() ? spec.width : spec.sentence.dense.back().out;
}

namespace {

/// Walks a head behind the states x [tokens, width].
class HeadWalk {
public:
  HeadWalk(const Walk &walk, const EncoderSpec &spec, Value x, Value ids, Value rowBegin)
      : walk(walk), outside(walk.withPrefix("")), spec(spec), classifier(spec.classifier), x(x), ids(ids),
        rowBegin(rowBegin) {}

  SmallVector<Value> outputs() {
    if (walk.declares() && spec.hasPooler) // ahead of the head's
      pooled();
    switch (spec.head) {
    case EncoderHead::None: {
      SmallVector<Value> outputs{x, sentenceEmbedding()};
      if (spec.hasPooler)
        outputs.push_back(pooled());
      return outputs;
    }
    case EncoderHead::MaskedLM: {
      SmallVector<Value> outputs{wordLogits()};
      if (spec.textPair)
        outputs.push_back(matmul(outside, pooled(), spec.textPair->projection, 2, spec.width));
      return outputs;
    }
    case EncoderHead::SequenceClassification:
      return {matmul(outside, pooled(), classifier.projection, spec.labels, spec.width, classifier.hasBias)};
    case EncoderHead::TokenClassification:
      return {tokens(spec.tokens, spec.labels)};
    case EncoderHead::QuestionAnswering: {
      Value both = tokens(spec.spans, 2);
      return {column(spec.spans, both, 0), column(spec.spans, both, 1)};
    }
    case EncoderHead::Discriminator:
      return {column(spec.discriminator, tokens(spec.discriminator, 1), 0)};
    }
    llvm_unreachable("every head is handled");
  }

private:
  static Value matmul(const Walk &walk, Value x, const std::string &part, int64_t out, int64_t in,
                      bool hasBias = true) {
    return walk.matmul(x, {.part = part, .out = out, .in = in, .hasBias = hasBias});
  }

  /// A transform to `out` columns.
  Value transformed(const Walk &own, const TransformSpec &transform, Value from, int64_t out) {
    if (transform.dense.empty())
      return from;
    Value y = matmul(own, from, transform.dense, out, spec.width, transform.hasBias);
    return own.norm(own.activate(y, transform.dense, transform.activation), transform.norm, spec.norm, out);
  }

  Value tokens(const TokenHeadSpec &head, int64_t columns) {
    return matmul(outside, transformed(outside, head.transform, x, spec.width), head.projection, columns, spec.width);
  }

  Value column(const TokenHeadSpec &head, Value all, int64_t i) {
    return walk.emit(
        [&](const Scope &top) { return attn::ColumnOp::create(top.builder, top.at(head.projection), all, i); });
  }

  /// Pools the states as sentence-transformers does: a vector for each text, [rows, sentenceWidth].
  Value sentenceEmbedding() {
    using Pooling = huggingface::SentenceModules::Pooling;
    const std::string part = "sentence_embedding";
    auto kind = spec.sentence.pooling == Pooling::Mean    ? attn::PoolingKind::mean
                : spec.sentence.pooling == Pooling::First ? attn::PoolingKind::first
                : spec.sentence.pooling == Pooling::Last  ? attn::PoolingKind::last
                                                          : attn::PoolingKind::max;
    Value vector = walk.emit([&](const Scope &top) { return poolRows(top, top.at(part), kind, x, rowBegin); });
    for (const huggingface::SentenceModules::Dense &dense : spec.sentence.dense) {
      const Walk module = outside.inside(dense.folder + ".", dense.folder + ".");
      vector = matmul(module, vector, "linear", dense.out, dense.in, dense.hasBias);
      if (!dense.activation.empty())
        vector = module.activate(vector, "linear", activationNamed(dense.activation));
    }
    if (!spec.sentence.normalizes)
      return vector;
    return walk.emit([&](const Scope &top) { return unitLength(top, top.at(part), vector); });
  }

  /// The classifier's transform of each text, [rows, width].
  Value pooled() {
    const std::string &dense = classifier.transform.dense;
    Value vector = walk.emit([&](const Scope &top) -> Value {
      Location loc = top.at(classifier.isPooler ? "pooler" : dense.empty() ? classifier.projection : dense);
      if (!classifier.padding)
        return poolRows(top, loc, classifier.pooling, x, rowBegin);
      Value last = findTokens(top, loc, ids, rowBegin, {TokenChoice::LastOther, *classifier.padding});
      return attn::SelectRowsOp::create(top.builder, loc, x.getType(), x, last);
    });
    return transformed(classifier.isPooler ? walk : outside, classifier.transform, vector, spec.width);
  }

  /// Masked language modeling.
  Value wordLogits() {
    const MaskedLMSpec &masked = spec.masked;
    const int64_t narrow = spec.embeddingWidth();
    Value y = transformed(walk.withPrefix(masked.path), masked.transform, x, narrow);
    walk.declare([&](const ParameterScope &weights) {
      if (!masked.bias.empty())
        weights.parameters.add("predictions.bias", masked.path + masked.bias, {spec.vocabulary}, Init::bias());
      weights.parameters.addHead("predictions.weight", masked.path + masked.weight, {spec.vocabulary, narrow},
                                 Init::weight(narrow), spec.isTied, spec.embedding.words);
    });
    return walk.emit([&](const Scope &top) {
      Value table = top.weight(top.parameters.head());
      return project(top, y, table, "cls.predictions", masked.bias.empty() ? Value() : top.weight("predictions.bias"));
    });
  }

  const Walk &walk;
  Walk outside; ///< of parts without the transformer's prefix
  const EncoderSpec &spec;
  const ClassifierSpec &classifier;
  Value x, ids, rowBegin;
};

} // namespace

SmallVector<Value> importing::walkEncoderHead(const Walk &walk, const EncoderSpec &spec, Value x, Value ids,
                                              Value rowBegin) {
  return HeadWalk(walk, spec, x, ids, rowBegin).outputs();
}

SmallVector<EntryBuffer> importing::listEncoderOutputs(Builder builder, const EncoderSpec &spec) {
  int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  auto wide = [&](int64_t columns) { return tensorOf({any, columns}, f32); };
  switch (spec.head) {
  case EncoderHead::None: {
    SmallVector<EntryBuffer> outputs{{"last_hidden_state", wide(spec.width), {"tokens"}},
                                     {"sentence_embedding", wide(sentenceWidth(spec)), {"rows"}}};
    if (spec.hasPooler)
      outputs.push_back({"pooler_output", wide(spec.width), {"rows"}});
    return outputs;
  }
  case EncoderHead::MaskedLM: {
    SmallVector<EntryBuffer> outputs{{"logits", wide(spec.vocabulary), {"tokens"}}};
    if (spec.textPair)
      outputs.push_back({spec.textPair->output, wide(2), {"rows"}});
    return outputs;
  }
  case EncoderHead::SequenceClassification:
    return {{"logits", wide(spec.labels), {"rows"}}};
  case EncoderHead::TokenClassification:
    return {{"logits", wide(spec.labels), {"tokens"}}};
  case EncoderHead::QuestionAnswering:
    return {{"start_logits", tensorOf({any}, f32), {"tokens"}}, {"end_logits", tensorOf({any}, f32), {"tokens"}}};
  case EncoderHead::Discriminator:
    return {{"logits", tensorOf({any}, f32), {"tokens"}}};
  }
  llvm_unreachable("every head is handled");
}

std::string importing::taskOf(EncoderHead head) {
  switch (head) {
  case EncoderHead::None:
    return "feature-extraction";
  case EncoderHead::MaskedLM:
    return "fill-mask";
  case EncoderHead::SequenceClassification:
    return "text-classification";
  case EncoderHead::TokenClassification:
    return "token-classification";
  case EncoderHead::QuestionAnswering:
    return "question-answering";
  case EncoderHead::Discriminator:
    return "token-classification";
  }
  llvm_unreachable("every head is handled");
}
