//===- EncoderHeads.cpp - Heads of encoders of texts ---------------------------===//
#include "lib/Import/Specs/EncoderHeads.h"
#include "lib/Import/Parts/PackedRows.h"
#include "lib/Import/Parts/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// The weights of a transform of `in` columns to `out`.
static void addTransform(const ParameterScope &scope, const TransformSpec &transform, const NormSpec &norm, int64_t out,
                         int64_t in) {
  if (transform.dense.empty())
    return;
  scope.dense(transform.dense, out, in, transform.hasBias);
  addNorm(scope, transform.norm, norm, out);
}

void importing::addEncoderHead(ParameterSet &parameters, const EncoderSpec &spec, const std::string &prefix) {
  const int64_t width = spec.width, narrow = spec.embeddingWidth();
  ParameterScope top{parameters, ""}, masked{parameters, spec.masked.path, {}, {}, spec.normNames};
  const ClassifierSpec &classifier = spec.classifier;
  if (spec.hasPooler)
    addTransform({parameters, prefix}, classifier.transform, spec.norm, width, width);
  auto addTokenHead = [&](const TokenHeadSpec &head, int64_t columns) {
    addTransform(top, head.transform, spec.norm, width, width);
    top.dense(head.projection, columns, width);
  };
  switch (spec.head) {
  case EncoderHead::None:
    for (const huggingface::SentenceModules::Dense &dense : spec.sentence.dense)
      ParameterScope{parameters, dense.folder + ".", dense.folder + "."}.dense("linear", dense.out, dense.in,
                                                                               dense.hasBias);
    break;
  case EncoderHead::MaskedLM:
    addTransform(masked, spec.masked.transform, spec.norm, narrow, width);
    parameters.add("predictions.bias", spec.masked.path + spec.masked.bias, {spec.vocabulary}, Init::bias());
    parameters.addHead("predictions.weight", spec.masked.path + spec.masked.weight, {spec.vocabulary, narrow},
                       Init::weight(narrow), spec.isTied, spec.embedding.words);
    if (spec.textPair)
      top.dense(spec.textPair->projection, 2, width);
    break;
  case EncoderHead::SequenceClassification:
    if (!classifier.isPooler)
      addTransform(top, classifier.transform, spec.norm, width, width);
    top.dense(classifier.projection, spec.labels, width, classifier.hasBias);
    break;
  case EncoderHead::TokenClassification:
    addTokenHead(spec.tokens, spec.labels);
    break;
  case EncoderHead::QuestionAnswering:
    addTokenHead(spec.spans, 2);
    break;
  case EncoderHead::Discriminator:
    addTokenHead(spec.discriminator, 1);
    break;
  }
}

static Value applyTransform(const Scope &top, const TransformSpec &transform, const NormSpec &norm, Value x) {
  if (transform.dense.empty())
    return x;
  x = dense(top, x, transform.dense);
  x = attn::ActivationOp::create(top.builder, top.at(transform.dense), transform.activation, x);
  return transform.norm.empty() ? x : normalize(top, x, transform.norm, norm);
}

/// The columns of a text's vector.
static int64_t sentenceWidth(const EncoderSpec &spec) {
  return spec.sentence.dense.empty() ? spec.width : spec.sentence.dense.back().out;
}

/// Pools the last layer's states as sentence-transformers does: a vector for each text, [rows, sentenceWidth].
static Value buildSentenceEmbedding(const Scope &top, const EncoderSpec &spec, Value x, Value rowBegin) {
  using Pooling = huggingface::SentenceModules::Pooling;
  OpBuilder &builder = top.builder;
  Location loc = top.at("sentence_embedding");
  auto kind = spec.sentence.pooling == Pooling::Mean    ? attn::PoolingKind::mean
              : spec.sentence.pooling == Pooling::First ? attn::PoolingKind::first
              : spec.sentence.pooling == Pooling::Last  ? attn::PoolingKind::last
                                                        : attn::PoolingKind::max;
  Value pooled = poolRows(top, loc, kind, x, rowBegin);
  for (const huggingface::SentenceModules::Dense &module : spec.sentence.dense) {
    const Scope scope{builder, top.parameters, module.folder + ".", nullptr, module.folder + "."};
    pooled = dense(scope, pooled, "linear");
    if (!module.activation.empty())
      pooled = attn::ActivationOp::create(builder, scope.at("linear"), activationNamed(module.activation), pooled);
  }
  return spec.sentence.normalizes ? unitLength(top, loc, pooled) : pooled;
}

/// The classifier's transform of each text, [rows, width].
static Value buildPooled(const Scope &top, const EncoderSpec &spec, Value x, Value ids, Value rowBegin) {
  const ClassifierSpec &classifier = spec.classifier;
  const std::string &dense = classifier.transform.dense;
  Location loc = top.at(classifier.isPooler ? "pooler" : dense.empty() ? classifier.projection : dense);
  if (classifier.padding) {
    Value last = findTokens(top, loc, ids, rowBegin, {TokenChoice::LastOther, *classifier.padding});
    x = attn::SelectRowsOp::create(top.builder, loc, x.getType(), x, last);
  } else {
    x = poolRows(top, loc, classifier.pooling, x, rowBegin);
  }
  return applyTransform(top, classifier.transform, spec.norm, x);
}

SmallVector<Value> importing::buildEncoderHead(const Scope &top, const EncoderSpec &spec, Value x, Value ids,
                                               Value rowBegin) {
  auto tokens = [&](const TokenHeadSpec &head) {
    return dense(top, applyTransform(top, head.transform, spec.norm, x), head.projection);
  };
  auto column = [&](const TokenHeadSpec &head, Value all, int64_t i) -> Value {
    return attn::ColumnOp::create(top.builder, top.at(head.projection), all, i);
  };
  switch (spec.head) {
  case EncoderHead::None: {
    SmallVector<Value> outputs{x, buildSentenceEmbedding(top, spec, x, rowBegin)};
    if (spec.hasPooler)
      outputs.push_back(buildPooled(top, spec, x, ids, rowBegin));
    return outputs;
  }
  case EncoderHead::MaskedLM: {
    Value transformed = applyTransform(top, spec.masked.transform, spec.norm, x);
    Value table = top.weight(top.parameters.head());
    SmallVector<Value> outputs{project(top, transformed, table, "cls.predictions", top.weight("predictions.bias"))};
    if (spec.textPair)
      outputs.push_back(dense(top, buildPooled(top, spec, x, ids, rowBegin), spec.textPair->projection));
    return outputs;
  }
  case EncoderHead::SequenceClassification:
    return {dense(top, buildPooled(top, spec, x, ids, rowBegin), spec.classifier.projection)};
  case EncoderHead::TokenClassification:
    return {tokens(spec.tokens)};
  case EncoderHead::QuestionAnswering: {
    Value both = tokens(spec.spans);
    return {column(spec.spans, both, 0), column(spec.spans, both, 1)};
  }
  case EncoderHead::Discriminator:
    return {column(spec.discriminator, tokens(spec.discriminator), 0)};
  }
  llvm_unreachable("every head is handled");
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
