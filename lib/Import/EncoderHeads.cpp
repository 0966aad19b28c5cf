//===- EncoderHeads.cpp - Heads of encoders of texts ---------------------------===//
#include "lib/Import/EncoderHeads.h"
#include "lib/Import/ParameterScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

void importing::addEncoderHead(ParameterSet &parameters, const EncoderSpec &spec, const std::string &prefix) {
  const int64_t width = spec.width, narrow = spec.embeddingWidth();
  ParameterScope top{parameters, ""}, masked{parameters, spec.masked.path, {}, {}, spec.normNames};
  const ClassifierSpec &classifier = spec.classifier;
  if (spec.hasPooler)
    ParameterScope{parameters, prefix}.dense(classifier.dense, width, width);
  switch (spec.head) {
  case EncoderHead::None:
    break;
  case EncoderHead::MaskedLM:
    masked.dense(spec.masked.dense, narrow, width);
    masked.layerNorm(spec.masked.norm, narrow);
    parameters.add("predictions.bias", spec.masked.path + spec.masked.bias, {spec.vocabulary}, Init::bias());
    parameters.addHead("predictions.weight", spec.masked.path + spec.masked.weight, {spec.vocabulary, narrow},
                       Init::weight(narrow), spec.isTied, "embeddings.word_embeddings");
    break;
  case EncoderHead::SequenceClassification:
    if (!classifier.isPooler)
      top.dense(classifier.dense, width, width);
    top.dense(classifier.classifier, spec.labels, width);
    break;
  case EncoderHead::TokenClassification:
    top.dense("classifier", spec.labels, width);
    break;
  case EncoderHead::QuestionAnswering:
    top.dense("qa_outputs", 2, width);
    break;
  }
}

/// Pools the last layer's states as sentence-transformers does: a vector for each text, [rows, width].
static Value buildSentenceEmbedding(const Scope &top, const EncoderSpec &spec, Value x, Value rowBegin) {
  using Pooling = huggingface::SentenceModules::Pooling;
  OpBuilder &builder = top.builder;
  Location loc = top.at("sentence_embedding");
  auto kind = spec.sentence.pooling == Pooling::Mean    ? attn::PoolingKind::mean
              : spec.sentence.pooling == Pooling::First ? attn::PoolingKind::first
              : spec.sentence.pooling == Pooling::Last  ? attn::PoolingKind::last
                                                        : attn::PoolingKind::max;
  auto type = tensorOf({ShapedType::kDynamic, spec.width}, builder.getF32Type());
  Value pooled = attn::PoolRowsOp::create(builder, loc, type, kind, x, rowBegin);
  if (!spec.sentence.normalizes)
    return pooled;
  // x / |x| is an RMS norm whose gains undo the mean; PyTorch divides by 1e-12 at least.
  const float gain = static_cast<float>(1 / std::sqrt(double(spec.width)));
  Value gains = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(tensorOf({spec.width}, builder.getF32Type()), gain));
  return attn::RMSNormOp::create(builder, loc, pooled, gains, builder.getF64FloatAttr(1e-24 / double(spec.width)),
                                 /*columns=*/nullptr);
}

/// activation(dense(x)) of each text's first token, [rows, width].
static Value buildPooled(const Scope &top, const EncoderSpec &spec, Value x, Value rowBegin) {
  OpBuilder &builder = top.builder;
  const ClassifierSpec &classifier = spec.classifier;
  Location loc = top.at(classifier.isPooler ? "pooler" : classifier.dense);
  auto type = tensorOf({ShapedType::kDynamic, spec.width}, builder.getF32Type());
  Value first = attn::PoolRowsOp::create(builder, loc, type, attn::PoolingKind::first, x, rowBegin);
  first = dense(top, first, classifier.dense);
  return attn::ActivationOp::create(builder, loc, classifier.activation, first);
}

SmallVector<Value> importing::buildEncoderHead(const Scope &top, const EncoderSpec &spec, Value x, Value rowBegin) {
  OpBuilder &builder = top.builder;
  switch (spec.head) {
  case EncoderHead::None: {
    SmallVector<Value> outputs{x, buildSentenceEmbedding(top, spec, x, rowBegin)};
    if (spec.hasPooler)
      outputs.push_back(buildPooled(top, spec, x, rowBegin));
    return outputs;
  }
  case EncoderHead::MaskedLM: {
    const MaskedLMSpec &masked = spec.masked;
    Value transformed = dense(top, x, masked.dense);
    transformed = attn::ActivationOp::create(builder, top.at(masked.dense), masked.activation, transformed);
    transformed = layerNorm(top, transformed, masked.norm, spec.epsilon);
    Value table = top.weight(top.parameters.head());
    return {project(top, transformed, table, "cls.predictions", top.weight("predictions.bias"))};
  }
  case EncoderHead::SequenceClassification:
    return {dense(top, buildPooled(top, spec, x, rowBegin), spec.classifier.classifier)};
  case EncoderHead::TokenClassification:
    return {dense(top, x, "classifier")};
  case EncoderHead::QuestionAnswering: {
    Value both = dense(top, x, "qa_outputs");
    auto column = [&](int64_t i) -> Value { return attn::ColumnOp::create(builder, top.at("qa_outputs"), both, i); };
    return {column(0), column(1)};
  }
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
                                     {"sentence_embedding", wide(spec.width), {"rows"}}};
    if (spec.hasPooler)
      outputs.push_back({"pooler_output", wide(spec.width), {"rows"}});
    return outputs;
  }
  case EncoderHead::MaskedLM:
    return {{"logits", wide(spec.vocabulary), {"tokens"}}};
  case EncoderHead::SequenceClassification:
    return {{"logits", wide(spec.labels), {"rows"}}};
  case EncoderHead::TokenClassification:
    return {{"logits", wide(spec.labels), {"tokens"}}};
  case EncoderHead::QuestionAnswering:
    return {{"start_logits", tensorOf({any}, f32), {"tokens"}}, {"end_logits", tensorOf({any}, f32), {"tokens"}}};
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
  }
  llvm_unreachable("every head is handled");
}
