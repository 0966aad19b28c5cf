//===- MatrixTiles.cpp - Products by instructions on tiles -------------------------------===//
#include "lib/Target/CPU/Codegen/MatrixTiles.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// Rows of a tile, and lines of 64 bytes of its second operand.
constexpr int64_t kRows = 16;
/// Columns of a product of two tiles.
constexpr int64_t kColumns = 16;

/// One or two tiles of rows times both halves of each panel.
struct TileProduct {
  Value rows, dest;
  SmallVector<Value> panels;
  bool fromZero;
  int64_t row, tiles;

  Type element() const { return getElementTypeOrSelf(rows.getType()); }
  Type sum() const { return getElementTypeOrSelf(dest.getType()); }
  /// Elements of a word of 32 bits.
  int64_t width() const { return 32 / element().getIntOrFloatBitWidth(); }
  bool isPairs() const { return element().isBF16(); }
  amx::TileType operandType() const { return amx::TileType::get({kRows, kColumns * width()}, element()); }
  amx::TileType sumType() const { return amx::TileType::get({kRows, kColumns}, sum()); }

  /// Halves of panels.
  int64_t halves() const { return 2 * panels.size(); }

  /// Where sum `nth` is: the halves' of one tile of rows after another.
  SmallVector<Value> place(ImplicitLocOpBuilder &b, int64_t nth) const {
    return {index(b, row + nth / halves() * kRows), index(b, nth % halves() * kColumns)};
  }

  SmallVector<Value> start(ImplicitLocOpBuilder &b) const {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < tiles * halves(); ++i)
      sums.push_back(fromZero ? Value(amx::TileZeroOp::create(b, sumType()))
                              : Value(amx::TileLoadOp::create(b, sumType(), dest, place(b, i))));
    return sums;
  }

  /// Where line `line` of a panel is, from column `column` on.
  SmallVector<Value> lineAt(ImplicitLocOpBuilder &b, Value line, int64_t column) const {
    Value offset = index(b, column * width());
    if (isPairs())
      return {line, offset};
    Value byte = arith::MulIOp::create(b, line, index(b, kPanel * width()));
    return {index(b, 0), arith::AddIOp::create(b, byte, offset)};
  }

  /// Half `nth` of the panels, 16 lines of it from `line` on.
  Value loadHalf(ImplicitLocOpBuilder &b, Value line, int64_t nth) const {
    Value stride = isPairs() ? Value() : index(b, kPanel * width());
    return amx::TileLoadOp::create(b, operandType(), panels[nth / 2], lineAt(b, line, nth % 2 * kColumns), stride);
  }

  Value loadRows(ImplicitLocOpBuilder &b, int64_t nth, Value column) const {
    return amx::TileLoadOp::create(b, operandType(), rows, ValueRange{index(b, row + nth * kRows), column}, Value());
  }

  Value multiply(ImplicitLocOpBuilder &b, Value tile, Value half, Value sum) const {
    if (isPairs())
      return amx::TileMulFOp::create(b, sum.getType(), tile, half, sum);
    return amx::TileMulIOp::create(b, sum.getType(), tile, half, sum, /*isZextLhs=*/false, /*isZextRhs=*/true);
  }

  /// Adds the products of 16 lines of the panels, from `line` on, which meet the input from `column` on. One half of
  /// several panels is in a register at a time, as four of the eight registers hold sums.
  SmallVector<Value> step(ImplicitLocOpBuilder &b, Value line, Value column, ValueRange sums) const {
    SmallVector<Value> next;
    if (panels.size() > 1) {
      Value tile = loadRows(b, 0, column);
      for (int64_t nth = 0; nth < halves(); ++nth)
        next.push_back(multiply(b, tile, loadHalf(b, line, nth), sums[nth]));
      return next;
    }
    Value both[] = {loadHalf(b, line, 0), loadHalf(b, line, 1)};
    for (int64_t nth = 0; nth < tiles; ++nth) {
      Value tile = loadRows(b, nth, column);
      for (Value half : both)
        next.push_back(multiply(b, tile, half, sums[next.size()]));
    }
    return next;
  }

  /// Copies `count` elements from `source` to `dest`.
  static void copy(ImplicitLocOpBuilder &b, Value source, ValueRange from, int64_t count, Value dest, ValueRange to) {
    auto type = cast<MemRefType>(dest.getType());
    auto copied = VectorType::get({count}, type.getElementType());
    vector::StoreOp::create(b, vector::LoadOp::create(b, copied, source, from), dest, to);
  }

  static void clear(ImplicitLocOpBuilder &b, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    Value zeros =
        arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({type.getDimSize(1)}, type.getElementType())));
    auto each = scf::ForOp::create(b, index(b, 0), index(b, type.getDimSize(0)), index(b, 1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(each.getBody());
    vector::StoreOp::create(b, zeros, buffer, ValueRange{each.getInductionVar(), index(b, 0)});
  }

  /// A step of the `lines` lines from `line` on, fewer than 16: of copies.
  SmallVector<Value> lastStep(ImplicitLocOpBuilder &b, int64_t line, int64_t lines, ValueRange sums) const {
    int64_t panelWidth = kPanel * width();
    TileProduct last = *this;
    last.row = 0;
    last.rows = cpu::stackBuffer(b, b.getLoc(), {tiles * kRows, kColumns * width()}, element());
    SmallVector<int64_t> shape{kRows, panelWidth};
    clear(b, last.rows);
    for (Value &panel : last.panels) {
      panel =
          cpu::stackBuffer(b, b.getLoc(), isPairs() ? shape : SmallVector<int64_t>{1, kRows * panelWidth}, element());
      clear(b, panel);
    }
    Value column = index(b, line * width());
    for (int64_t r = 0; r < tiles * kRows; ++r)
      copy(b, rows, {index(b, row + r), column}, lines * width(), last.rows, {index(b, r), index(b, 0)});
    for (auto [from, to] : llvm::zip_equal(panels, last.panels))
      for (int64_t i = 0; i < lines; ++i)
        copy(b, from, lineAt(b, index(b, line + i), 0), panelWidth, to, last.lineAt(b, index(b, i), 0));
    return last.step(b, index(b, 0), index(b, 0), sums);
  }

  void emit(ImplicitLocOpBuilder &b, int64_t depth) const {
    int64_t lines = depth / width(), whole = lines / kRows * kRows;
    SmallVector<Value> sums = start(b);
    if (whole > 0)
      sums = loop(b, index(b, 0), index(b, whole), kRows, sums,
                  [&](ImplicitLocOpBuilder &b, Value line, ValueRange carried) {
                    return step(b, line, arith::MulIOp::create(b, line, index(b, width())), carried);
                  });
    if (lines > whole)
      sums = lastStep(b, whole, lines - whole, sums);
    for (auto [i, sum] : llvm::enumerate(sums))
      amx::TileStoreOp::create(b, dest, place(b, i), sum, Value());
  }
};

} // namespace

void cpu::multiplyByTiles(ImplicitLocOpBuilder &b, Value rows, ArrayRef<Value> panels, Value dest, int64_t depth,
                          bool fromZero) {
  int64_t m = cast<MemRefType>(dest.getType()).getDimSize(0);
  for (int64_t row = 0; row < m; row += 2 * kRows)
    TileProduct{rows, dest, SmallVector<Value>(panels), fromZero, row, std::min<int64_t>((m - row) / kRows, 2)}.emit(
        b, depth);
}

Value cpu::stackBuffer(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  auto function = b.getInsertionBlock()->getParentOp();
  if (!isa<FunctionOpInterface>(function))
    function = function->getParentOfType<FunctionOpInterface>();
  // In the first block: loops must not grow the stack.
  b.setInsertionPointToStart(&cast<FunctionOpInterface>(function).getFunctionBody().front());
  return memref::AllocaOp::create(b, loc, MemRefType::get(shape, element), b.getI64IntegerAttr(64));
}
