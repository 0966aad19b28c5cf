//===- AmxMatmul.cpp - Matmuls by AMX tile instructions ----------------------------------===//
#include "lib/Target/CPU/Codegen/AmxMatmul.h"
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

/// Rows of an AMX tile; a tile of a panel has as many lines of 64 bytes.
constexpr int64_t kRows = 16;
/// Columns of an accumulator tile.
constexpr int64_t kColumns = 16;

/// The matmul of one or two tiles of rows with both halves of each panel.
struct AmxTiles {
  Value rows, dest;
  SmallVector<Value> panels;
  bool fromZero;
  int64_t row, tiles;

  Type element() const { return getElementTypeOrSelf(rows.getType()); }
  Type accumulated() const { return getElementTypeOrSelf(dest.getType()); }
  /// Consecutive k of a column that share 32 bits.
  int64_t interleave() const { return 32 / element().getIntOrFloatBitWidth(); }
  bool isBf16() const { return element().isBF16(); }
  amx::TileType operandType() const { return amx::TileType::get({kRows, kColumns * interleave()}, element()); }
  amx::TileType accumulatorType() const { return amx::TileType::get({kRows, kColumns}, accumulated()); }

  int64_t halves() const { return 2 * panels.size(); }

  /// Offsets in `dest` of accumulator `nth`: all halves of the first tile of rows, then those of the second.
  SmallVector<Value> offsetsOf(ImplicitLocOpBuilder &b, int64_t nth) const {
    return {index(b, row + nth / halves() * kRows), index(b, nth % halves() * kColumns)};
  }

  SmallVector<Value> start(ImplicitLocOpBuilder &b) const {
    SmallVector<Value> accumulators;
    for (int64_t i = 0; i < tiles * halves(); ++i)
      accumulators.push_back(fromZero ? Value(amx::TileZeroOp::create(b, accumulatorType()))
                                      : Value(amx::TileLoadOp::create(b, accumulatorType(), dest, offsetsOf(b, i))));
    return accumulators;
  }

  /// Indices of line `line` of a panel, from column `column` on.
  SmallVector<Value> lineAt(ImplicitLocOpBuilder &b, Value line, int64_t column) const {
    Value offset = index(b, column * interleave());
    if (isBf16())
      return {line, offset};
    Value byte = arith::MulIOp::create(b, line, index(b, kPanel * interleave()));
    return {index(b, 0), arith::AddIOp::create(b, byte, offset)};
  }

  /// Loads 16 lines of half `nth` of the panels, from `line` on.
  Value loadHalf(ImplicitLocOpBuilder &b, Value line, int64_t nth) const {
    Value stride = isBf16() ? Value() : index(b, kPanel * interleave());
    return amx::TileLoadOp::create(b, operandType(), panels[nth / 2], lineAt(b, line, nth % 2 * kColumns), stride);
  }

  Value loadRows(ImplicitLocOpBuilder &b, int64_t nth, Value column) const {
    return amx::TileLoadOp::create(b, operandType(), rows, ValueRange{index(b, row + nth * kRows), column}, Value());
  }

  Value multiply(ImplicitLocOpBuilder &b, Value tile, Value half, Value sum) const {
    if (isBf16())
      return amx::TileMulFOp::create(b, sum.getType(), tile, half, sum);
    return amx::TileMulIOp::create(b, sum.getType(), tile, half, sum, /*isZextLhs=*/false, /*isZextRhs=*/true);
  }

  /// Multiplies columns of the rows, from `column` on, by 16 lines of the panels, from `line` on. Two panels are loaded
  /// half by half, as four of the eight tile registers hold accumulators.
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

  /// A step over fewer than 16 lines, `lines` from `line` on: works on copies that zeros fill up.
  SmallVector<Value> lastStep(ImplicitLocOpBuilder &b, int64_t line, int64_t lines, ValueRange sums) const {
    int64_t panelWidth = kPanel * interleave();
    AmxTiles last = *this;
    last.row = 0;
    last.rows = cpu::stackBuffer(b, b.getLoc(), {tiles * kRows, kColumns * interleave()}, element());
    SmallVector<int64_t> shape{kRows, panelWidth};
    clear(b, last.rows);
    for (Value &panel : last.panels) {
      panel =
          cpu::stackBuffer(b, b.getLoc(), isBf16() ? shape : SmallVector<int64_t>{1, kRows * panelWidth}, element());
      clear(b, panel);
    }
    Value column = index(b, line * interleave());
    for (int64_t r = 0; r < tiles * kRows; ++r)
      copy(b, rows, {index(b, row + r), column}, lines * interleave(), last.rows, {index(b, r), index(b, 0)});
    for (auto [from, to] : llvm::zip_equal(panels, last.panels))
      for (int64_t i = 0; i < lines; ++i)
        copy(b, from, lineAt(b, index(b, line + i), 0), panelWidth, to, last.lineAt(b, index(b, i), 0));
    return last.step(b, index(b, 0), index(b, 0), sums);
  }

  void emit(ImplicitLocOpBuilder &b, int64_t depth) const {
    int64_t lines = depth / interleave(), whole = lines / kRows * kRows;
    SmallVector<Value> accumulators = start(b);
    if (whole > 0)
      accumulators = loop(b, index(b, 0), index(b, whole), kRows, accumulators,
                          [&](ImplicitLocOpBuilder &b, Value line, ValueRange carried) {
                            return step(b, line, arith::MulIOp::create(b, line, index(b, interleave())), carried);
                          });
    if (lines > whole)
      accumulators = lastStep(b, whole, lines - whole, accumulators);
    for (auto [i, accumulator] : llvm::enumerate(accumulators))
      amx::TileStoreOp::create(b, dest, offsetsOf(b, i), accumulator, Value());
  }
};

} // namespace

void cpu::amxMatmul(ImplicitLocOpBuilder &b, Value rows, ArrayRef<Value> panels, Value dest, int64_t depth,
                    bool fromZero) {
  int64_t m = cast<MemRefType>(dest.getType()).getDimSize(0);
  for (int64_t row = 0; row < m; row += 2 * kRows)
    AmxTiles{rows, dest, SmallVector<Value>(panels), fromZero, row, std::min<int64_t>((m - row) / kRows, 2)}.emit(
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
