//===- TileValues.cpp - What the tiles of quantized matmuls are built of ------------------===//
#include "lib/Target/CPU/Codegen/TileValues.h"
#include "lib/Target/CPU/Tile/Tile.h"

using namespace mlir;
using namespace rapt;
using tile::index;

Value cpu::splatOf(ImplicitLocOpBuilder &b, VectorType type, int64_t value) {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
}

Value cpu::times(ImplicitLocOpBuilder &b, Value value, int64_t factor) {
  return arith::MulIOp::create(b, value, index(b, factor));
}

Value cpu::asType(ImplicitLocOpBuilder &b, VectorType type, Value value) {
  return value.getType() == type ? value : Value(vector::BitCastOp::create(b, type, value));
}

void cpu::overEach(ImplicitLocOpBuilder &b, int64_t count, function_ref<void(ImplicitLocOpBuilder &, Value nth)> body) {
  if (count == 1)
    return body(b, index(b, 0));
  auto each = scf::ForOp::create(b, index(b, 0), index(b, count), index(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(each.getBody());
  body(b, each.getInductionVar());
}
