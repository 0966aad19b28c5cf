//===- OwnInputs.cpp - Inputs that each layer has of its own -------------------===//
#include "lib/Import/Parts/OwnInputs.h"
#include "lib/Import/Parts/Elements.h"
#include "lib/Import/Parts/FeedForward.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// f(element) of each number of a list.
static Value mapList(const Scope &scope, Location loc, Value list,
                     llvm::function_ref<Value(OpBuilder &builder, Value element)> f) {
  return mapElements(scope, loc, {{list, {0}}},
                     [&](const Scope &inner, ValueRange elements) { return f(inner.builder, elements[0]); });
}

static Value asInteger(OpBuilder &builder, Location loc, Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

/// The rows of the table that the tokens have, as if all layers had one row.
static Value rowsOf(const Scope &scope, Location loc, const OwnInputsSpec &o, Value ids) {
  if (o.placeholders.empty())
    return ids;
  return mapElements(scope, loc, {{ids, {0}}}, [&](const Scope &inner, ValueRange elements) -> Value {
    OpBuilder &b = inner.builder;
    auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
    Value row = elements[0];
    for (int64_t id : o.placeholders) {
      Value isVector = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, elements[0], number(id));
      row = arith::SelectOp::create(b, loc, isVector, number(o.placeholderRow), row);
    }
    return row;
  });
}

OwnInputs importing::walkOwnInputs(const Walk &walk, const StackSpec &stack, Value ids, Value x) {
  const OwnInputsSpec &o = *stack.ownInputs;
  const int64_t all = stack.layers * o.columns;
  walk.declare([&](const ParameterScope &weights) {
    weights.parameters.addTransformed(weights.symbols + o.table,
                                      {weights.tensors + o.table + ".weight",
                                       {o.words, all},
                                       {artifact::Reshape{{o.words * stack.layers, o.columns}}}},
                                      Init::embedding());
  });
  Value said = walk.matmul(x, {.part = o.projection, .out = all, .in = stack.width, .hasBias = false});
  said = scaleResult(walk, said, 1 / std::sqrt(double(stack.width)));
  said = walk.splitHeads(said, o.projection, stack.layers);
  said = walk.norm(said, o.projectionNorm, stack.norm, o.columns);
  return {said, walk.emit([&](const Scope &scope) {
            Location loc = scope.at(o.table);
            return mapList(scope, loc, rowsOf(scope, loc, o, ids), [&](OpBuilder &b, Value id) -> Value {
              Value layers = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(stack.layers)));
              return arith::MulIOp::create(b, loc, id, layers);
            });
          })};
}

/// The layer's input, [tokens, columns].
static Value readOwnInput(const Scope &scope, const OwnInputsSpec &o, const OwnInputs &inputs, Type type) {
  OpBuilder &builder = scope.builder;
  Location loc = scope.at(o.table);
  Value layer = asInteger(builder, loc, scope.layer->number);
  Value tokens = mapList(scope, loc, inputs.rows,
                         [&](OpBuilder &b, Value) { return asInteger(b, loc, linalg::IndexOp::create(b, loc, 0)); });
  Value said = attn::SelectRowsOp::create(builder, loc, type, inputs.columns, scope.layer->number, tokens);
  Value rows = mapList(scope, loc, inputs.rows,
                       [&](OpBuilder &b, Value row) -> Value { return arith::AddIOp::create(b, loc, row, layer); });
  attn::EmbeddingOp words = embed(scope, rows, o.table);
  words.setScaleAttr(builder.getF32FloatAttr(float(o.tableScale)));
  return arith::AddFOp::create(builder, loc, said, words);
}

Value importing::addOwnInput(const Walk &walk, const StackSpec &stack, Value x, const OwnInputs &inputs) {
  const OwnInputsSpec &o = *stack.ownInputs;
  Value gate = walk.matmul(x, {.part = o.gate, .out = o.columns, .in = stack.width, .hasBias = false});
  Value gated = walk.emit([&](const Scope &scope) -> Value {
    Value own = readOwnInput(scope, o, inputs, gate.getType());
    return attn::GLUOp::create(scope.builder, scope.at(o.gate), stack.feedForward.activation, gate, own);
  });
  Value y = walk.matmul(gated, {.part = o.up, .out = stack.width, .in = o.columns, .hasBias = false});
  // The mean of the two parts of the input, but for the root of their number.
  y = scaleResult(walk, y, 1 / std::sqrt(2.0));
  return walk.add(x, walk.norm(y, o.norm, stack.norm, stack.width), o.up);
}
