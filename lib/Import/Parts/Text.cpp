//===- Text.cpp - Words ahead of a stack of layers, logits behind it -------------===//
#include "lib/Import/Parts/Text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

static constexpr const char *typesTable = "embeddings.token_type_embeddings";

static std::string locationOf(const PositionSpec &p) {
  return !p.location.empty() ? p.location : p.table.empty() ? "positions" : p.table;
}

/// Whether padding has no position. Behind a past all tokens count, as they do where a text is written token by token.
static bool skipsPadding(const PositionSpec &p, const TextTokens &tokens) { return p.padding && !tokens.past; }

/// x [tokens, width] with zeros in the rows of tokens that are `padding`.
static Value clearPadding(OpBuilder &builder, Location loc, Value x, Value ids, int64_t padding) {
  auto type = cast<RankedTensorType>(x.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type, tensor::DimOp::create(builder, loc, x, 0).getResult());
  AffineMap whole = builder.getMultiDimIdentityMap(2),
            row = AffineMap::get(2, 0, {builder.getAffineDimExpr(0)}, builder.getContext());
  AffineMap maps[] = {whole, row, whole};
  Value inputs[] = {x, ids};
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, loops,
             [&](OpBuilder &b, Location at, ValueRange elements) {
               Value id = arith::ConstantOp::create(b, at, b.getI32IntegerAttr(int32_t(padding)));
               Value isPadding = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, elements[1], id);
               Value zero = arith::ConstantOp::create(b, at, b.getZeroAttr(elements[0].getType()));
               linalg::YieldOp::create(b, at, arith::SelectOp::create(b, at, isPadding, zero, elements[0]).getResult());
             })
      .getResult(0);
}

/// Sinusoids of the type of embeddings.
static Value buildSinusoids(const Scope &scope, const PositionSpec &p, Type type, Value positions,
                            const TextTokens &tokens) {
  OpBuilder &builder = scope.builder;
  Location loc = scope.at(locationOf(p));
  const int64_t first = p.first - (skipsPadding(p, tokens) ? 1 : 0); // those that are counted begin at 1
  Value x = attn::SinusoidsOp::create(builder, loc, type, positions, p.frequencies, p.areHalves,
                                      first ? builder.getI64IntegerAttr(first) : IntegerAttr());
  return p.padding ? clearPadding(builder, loc, x, tokens.ids, *p.padding) : x;
}

Value importing::walkWords(const Walk &walk, const TextSpec &text, Value ids) {
  const EmbeddingSpec &e = text.embedding;
  walk.declare([&](const ParameterScope &weights) {
    weights.add(e.words, e.tensor.empty() ? e.words + ".weight" : e.tensor, {text.vocabulary, text.embeddingWidth()},
                Init::embedding());
  });
  return walk.emit([&](const Scope &scope) {
    attn::EmbeddingOp rows = embed(scope, ids, e.words);
    if (e.scale != 1)
      rows.setScaleAttr(scope.builder.getF32FloatAttr(float(e.scale)));
    return rows;
  });
}

Value importing::walkPositions(const Walk &walk, const TextSpec &text, const TextTokens &tokens) {
  const PositionSpec &p = text.embedding.positions;
  return walk.emit([&](const Scope &scope) -> Value {
    if (!p.exist())
      return {};
    OpBuilder &builder = scope.builder;
    return attn::PositionsOp::create(
        builder, scope.at(locationOf(p)), tokens.ids.getType(), tokens.ids, tokens.rowBegin, tokens.past,
        skipsPadding(p, tokens) ? builder.getI32IntegerAttr(int32_t(*p.padding)) : IntegerAttr());
  });
}

Value importing::walkEmbedding(const Walk &walk, const TextSpec &text, Value x, Value positions,
                               const TextTokens &tokens) {
  const EmbeddingSpec &e = text.embedding;
  const PositionSpec &p = e.positions;
  const int64_t narrow = text.embeddingWidth(), width = e.projected == EmbeddingSpec::Words ? text.width : narrow;
  const std::string part = e.location.empty() ? locationOf(p) : e.location;
  auto add = [&](Value y) { x = walk.add(x, y, part); };
  auto project = [&](EmbeddingSpec::Projected what) {
    if (what == e.projected && narrow != text.width)
      x = walk.matmul(x,
                      {.part = e.projection, .out = text.width, .in = narrow, .hasBias = what == EmbeddingSpec::Norm});
  };
  walk.declareLast({typesTable, e.norm, e.projection}, [&] {
    project(EmbeddingSpec::Words);
    if (e.types)
      add(walk.embed(tokens.types, typesTable, e.types, width));
    // Rows ahead of the first position and that of padding are read by no token.
    if (!p.table.empty())
      add(walk.embed(positions, p.table, text.positions + p.first, width, p.first - (p.padding ? 1 : 0)));
    else if (p.exist())
      add(walk.emit([&](const Scope &scope) { return buildSinusoids(scope, p, x.getType(), positions, tokens); }));
    project(EmbeddingSpec::Sum);
    x = walk.norm(x, e.norm, text.norm, e.projected == EmbeddingSpec::Norm ? narrow : text.width);
    project(EmbeddingSpec::Norm);
  });
  return x;
}

Value importing::walkHead(const Walk &walk, const Walk &outside, const TextSpec &text, const HeadSpec &head, Value x,
                          Value want) {
  const int64_t words = text.vocabulary, width = text.embeddingWidth();
  const bool hasNorm = !text.finalNorm.empty();
  x = (hasNorm ? walk : outside).emit([&](const Scope &scope) {
    Location loc = scope.at(hasNorm ? text.finalNorm : head.weight);
    return attn::SelectRowsOp::create(scope.builder, loc, x.getType(), x, want);
  });
  x = walk.norm(x, text.finalNorm, text.norm, text.width);
  if (!head.projection.empty())
    x = walk.matmul(x, {.part = head.projection, .out = width, .in = text.width, .hasBias = false});
  const std::string tensor = head.prefix + head.weight, bias = head.weight + ".bias";
  outside.declare([&](const ParameterScope &weights) {
    weights.parameters.addHead(head.weight, tensor + ".weight", {words, width}, Init::weight(width), head.isTied,
                               text.embedding.words);
    if (head.hasBias)
      weights.parameters.addTransformed(bias,
                                        {head.bias.empty() ? tensor + ".bias" : head.bias,
                                         head.isBiasMatrix ? std::vector<int64_t>{1, words} : std::vector{words},
                                         {artifact::Reshape{{words}}}},
                                        Init::bias());
  });
  return outside.emit([&](const Scope &top) {
    Value added = head.hasBias ? top.weight(bias) : Value();
    Value logits = project(top, x, top.weight(top.parameters.head()), head.weight, added);
    if (head.scale != 1 || head.softCap != 0)
      mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) {
        if (head.scale != 1)
          logit = arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, head.scale));
        return head.softCap != 0 ? softCapped(inner, loc, logit, head.softCap) : logit;
      });
    return logits;
  });
}
