//===- QuantizedTile.cpp - int8 and int4 matmuls in vectors of 32 bytes ------------------===//
#include "lib/Target/CPU/Codegen/QuantizedTile.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Codegen/AmxMatmul.h"
#include "lib/Target/CPU/Codegen/ByteDots.h"
#include "lib/Target/CPU/Codegen/MatmulPrefetch.h"
#include "lib/Target/CPU/Codegen/TileValues.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;
using attn_cpu::kPanel;
using attn_cpu::QuantizedLayout;
using rapt::attn_cpu::kLineBytes;

namespace {

/// Rows of the weight whose terms with codes of 4 bits 16 bits can add.
constexpr int64_t kBlock = 32;

class Emitter {
public:
  Emitter(attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel, bool hasInt8Dot)
      : op(op), type(cast<attn::QuantizedType>(op.getWeight())), kernel(kernel), hasInt8Dot(hasInt8Dot),
        inWords(op.getWords()), isUnpacked(op.getUnpacked()), panel(op.getPanel()),
        panels(cast<MemRefType>(op.getDest().getType()).getDimSize(1) / kPanel), layout(type, op.getDepth()),
        ofRows(QuantizedLayout::ofRows(type, op.getDepth(), inWords)), lanes(kernel.getColumns() / 2),
        groups(layout.groups()) {}

  void emit(ImplicitLocOpBuilder &b) {
    const int64_t m = cast<MemRefType>(op.getDest().getType()).getDimSize(0),
                  parts = llvm::divideCeil(m, kernel.getRows());
    const bool isWide = panels > 1 || (!isUnpacked && m <= kernel.getWideRows().value_or(0));
    // Those of words have twice as many accumulators and weights, which one or two rows leave registers for.
    const bool isNarrow = inWords && llvm::divideCeil(m, parts) > 2;
    vectors = isWide ? kPanel / lanes : isNarrow ? 1 : 2;
    overEach(b, kPanel / columns(), [&](ImplicitLocOpBuilder &b, Value nth) {
      Value column = times(b, nth, columns());
      if (m % parts == 0) {
        overEach(b, parts, [&](ImplicitLocOpBuilder &b, Value part) {
          emitTile(b, times(b, part, m / parts), m / parts, column);
        });
        return;
      }
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t row = m * part / parts;
        emitTile(b, index(b, row), m * (part + 1) / parts - row, column);
      }
    });
  }

private:
  VectorType words(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  VectorType pairs(ImplicitLocOpBuilder &b) const { return VectorType::get({2 * lanes}, b.getI16Type()); }
  VectorType bytes(ImplicitLocOpBuilder &b) const { return VectorType::get({4 * lanes}, b.getI8Type()); }
  VectorType floats(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }
  int64_t columns() const { return vectors * lanes; }
  /// Vectors of accumulators, row after row.
  int64_t accumulators() const { return rows * vectors; }
  bool takesNibbles() const { return type.bits() == 4 && !isUnpacked; }

  /// The element at byte `at` of row `r` in all lanes.
  Value broadcast(ImplicitLocOpBuilder &b, int64_t r, Value at, VectorType type) const {
    auto bytes = VectorType::get({type.getElementTypeBitWidth() / 8}, b.getI8Type());
    Value loaded = vector::LoadOp::create(b, bytes, rowsOfTile, ValueRange{index(b, r), at});
    Value one = asType(b, VectorType::get({1}, type.getElementType()), loaded);
    return vector::BroadcastOp::create(b, type, vector::ExtractOp::create(b, one, 0));
  }

  /// Byte `at` of a group of the current panel.
  SmallVector<Value> placeInPanel(ImplicitLocOpBuilder &b, Value group, Value at) const {
    if (cast<MemRefType>(panel.getType()).getRank() == 3)
      return {index(b, nthPanel), group, at};
    return {arith::AddIOp::create(b, firstGroup, group), at};
  }
  /// `count` bytes of a group of the panel from byte `at` on.
  Value loadBytes(ImplicitLocOpBuilder &b, Value group, Value at, int64_t count) const {
    return vector::LoadOp::create(b, VectorType::get({count}, b.getI8Type()), panel, placeInPanel(b, group, at));
  }
  /// Bytes of a line of the panel: of 4 rows for all its columns, or of 8 rows of 4 bits.
  int64_t lineBytes() const { return 4 * (isUnpacked ? QuantizedLayout::kUnpackedColumns : kPanel); }
  /// The tile's vectors of line `line` of a group.
  SmallVector<Value> loadLine(ImplicitLocOpBuilder &b, Value group, Value line) const {
    Value at = arith::AddIOp::create(b, times(b, line, lineBytes()), times(b, firstColumn, 4));
    SmallVector<Value> loaded;
    for (int64_t v = 0; v < vectors; ++v)
      loaded.push_back(loadBytes(b, group, plus(b, at, 4 * v * lanes), 4 * lanes));
    return loaded;
  }

  /// Few rows are bound by memory: they prefetch lines `stream_bytes` behind. More rows read a panel again and again
  /// from L2, and prefetch a line `prefetch_steps` ahead. A prefetch is also what keeps LLVM from loading the lines of
  /// several steps first.
  void prefetchLine(ImplicitLocOpBuilder &b, Value group, Value line) const {
    if (!kernel.getPrefetch())
      return;
    const int64_t tail =
        isUnpacked ? layout.unpackedBytes() - layout.unpackedCodeBytes() : layout.groupBytes() - layout.codeBytes();
    const int64_t ahead = rows < kernel.getPrefetch().getStreamRows()
                              ? kernel.getPrefetch().getStreamBytes()
                              : kernel.getPrefetch().getSteps() * lineBytes() + (groups > 1 ? tail : 0);
    Value at = arith::AddIOp::create(b, times(b, line, lineBytes()), times(b, firstColumn, 4));
    for (int64_t byte = 0; byte < 4 * columns(); byte += kLineBytes)
      prefetch(b, group, plus(b, at, ahead + byte));
  }
  void prefetch(ImplicitLocOpBuilder &b, Value group, Value at) const {
    memref::PrefetchOp::create(b, panel, placeInPanel(b, group, at), /*isWrite=*/false, kFirstLevel,
                               /*isDataCache=*/true);
  }

  /// The low (0) or high (1) nibbles of each byte.
  Value nibbles(ImplicitLocOpBuilder &b, Value loaded, int64_t high) const {
    if (high) {
      Value pairs = asType(b, this->pairs(b), loaded);
      loaded = asType(b, bytes(b), arith::ShRUIOp::create(b, pairs, splatOf(b, this->pairs(b), 4)));
    }
    return arith::AndIOp::create(b, loaded, splatOf(b, bytes(b), 15));
  }

  /// Calls `add` with an accumulator's number, its weights and its row's values, for all of a tile: the weights `codes`
  /// and the rows' four bytes at `at`.
  void overTile(ImplicitLocOpBuilder &b, ArrayRef<Value> codes, Value at, VectorType type,
                function_ref<void(int64_t nth, Value weights, Value values)> add) const {
    for (int64_t r = 0; r < rows; ++r) {
      Value values = asType(b, type, broadcast(b, r, at, words(b)));
      for (auto [v, weights] : llvm::enumerate(codes))
        add(r * vectors + v, weights, values);
    }
  }

  /// Calls `body` with the weights of four rows and the first of these in the group, for all of line `line`.
  void overFours(ImplicitLocOpBuilder &b, Value group, Value line,
                 function_ref<void(ArrayRef<Value> codes, Value row)> body) const {
    prefetchLine(b, group, line);
    SmallVector<Value> loaded = loadLine(b, group, line);
    if (!takesNibbles())
      return body(loaded, times(b, line, 4));
    for (int64_t high = 0; high < 2; ++high)
      body(llvm::map_to_vector(loaded, [&](Value bytes) { return nibbles(b, bytes, high); }),
           plus(b, times(b, line, 8), 4 * high));
  }

  /// Where a row's values for row `row` of a group begin.
  Value valuesOf(ImplicitLocOpBuilder &b, Value group, Value row) const {
    Value place = arith::AddIOp::create(b, times(b, group, layout.groupDepth()), row);
    return inWords ? times(b, place, 2) : place;
  }

  int64_t linesOf(int64_t depth) const { return depth / (takesNibbles() ? 8 : 4); }

  /// The int16 sums of a block of 32 rows of a group.
  SmallVector<Value> blockSums(ImplicitLocOpBuilder &b, Value group, Value block) const {
    SmallVector<Value> sums(accumulators());
    for (int64_t line = 0; line < linesOf(kBlock); ++line)
      overFours(b, group, plus(b, times(b, block, linesOf(kBlock)), line), [&](ArrayRef<Value> codes, Value row) {
        overTile(b, codes, valuesOf(b, group, row), bytes(b), [&](int64_t nth, Value weights, Value values) {
          Value terms = addBytePairs(b, weights, values);
          sums[nth] = sums[nth] ? Value(arith::AddIOp::create(b, sums[nth], terms)) : terms;
        });
      });
    return sums;
  }

  /// `sums` plus others, int32 or the int16 sums of a block.
  SmallVector<Value> added(ImplicitLocOpBuilder &b, ArrayRef<Value> others, ValueRange sums) const {
    SmallVector<Value> next;
    for (auto [sum, other] : llvm::zip_equal(sums, others)) {
      Value wide = other.getType() == words(b) ? other : addPairs(b, other, splatOf(b, pairs(b), 1));
      next.push_back(arith::AddIOp::create(b, wide, sum));
    }
    return next;
  }

  /// A loop over the lines of a group, a few an iteration.
  SmallVector<Value>
  overLines(ImplicitLocOpBuilder &b, ValueRange sums,
            function_ref<void(ImplicitLocOpBuilder &, Value line, MutableArrayRef<Value> sums)> step) const {
    const int64_t together = kernel.getUnroll().value_or(1);
    return loop(b, index(b, 0), index(b, linesOf(layout.groupDepth())), together, sums,
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  for (int64_t nth = 0; nth < together; ++nth)
                    step(b, plus(b, first, nth), next);
                  return next;
                });
  }

  SmallVector<Value> addFours(ImplicitLocOpBuilder &b, Value group, ValueRange sums) const {
    return overLines(b, sums, [&](ImplicitLocOpBuilder &b, Value line, MutableArrayRef<Value> next) {
      overFours(b, group, line, [&](ArrayRef<Value> codes, Value row) {
        overTile(b, codes, valuesOf(b, group, row), bytes(b), [&](int64_t nth, Value weights, Value values) {
          next[nth] = cpu::addFours(b, next[nth], weights, values);
        });
      });
    });
  }

  /// Vectors of the bytes of half a vector's columns each, in 16 bits.
  SmallVector<Value> loadWords(ImplicitLocOpBuilder &b, Value group, Value line) const {
    Value at = arith::AddIOp::create(b, times(b, line, lineBytes()), times(b, firstColumn, 4));
    SmallVector<Value> loaded;
    for (int64_t half = 0; half < 2 * vectors; ++half)
      loaded.push_back(
          arith::ExtUIOp::create(b, pairs(b), loadBytes(b, group, plus(b, at, 2 * half * lanes), 2 * lanes)));
    return loaded;
  }

  /// The sums of a group whose codes have 8 bits. Accumulators have two partial sums for each column, of the first and
  /// the second pairs of four rows.
  SmallVector<Value> addWords(ImplicitLocOpBuilder &b, Value group) const {
    const int64_t halves = 2 * vectors, lines = linesOf(layout.groupDepth());
    auto fours = VectorType::get({lanes / 2}, b.getI64Type());
    auto step = [&](ImplicitLocOpBuilder &b, Value line, MutableArrayRef<Value> sums) {
      prefetchLine(b, group, line);
      SmallVector<Value> loaded = loadWords(b, group, line);
      for (int64_t r = 0; r < rows; ++r) {
        Value values = asType(b, pairs(b), broadcast(b, r, valuesOf(b, group, times(b, line, 4)), fours));
        for (auto [half, weights] : llvm::enumerate(loaded)) {
          Value &sum = sums[r * halves + half], added = addPairs(b, weights, values);
          sum = sum ? Value(arith::AddIOp::create(b, sum, added)) : added;
        }
      }
    };
    SmallVector<Value> sums(rows * halves);
    if (lines <= kBlock / 4) {
      for (int64_t line = 0; line < lines; ++line)
        step(b, index(b, line), sums);
    } else {
      sums.assign(rows * halves, splatOf(b, words(b), 0));
      sums = overLines(b, sums, step);
    }
    SmallVector<int64_t> first, second;
    for (int64_t i = 0; i < lanes; ++i)
      first.push_back(2 * i), second.push_back(2 * i + 1);
    SmallVector<Value> whole;
    for (size_t nth = 0; nth < sums.size(); nth += 2)
      whole.push_back(arith::AddIOp::create(b, vector::ShuffleOp::create(b, sums[nth], sums[nth + 1], first),
                                            vector::ShuffleOp::create(b, sums[nth], sums[nth + 1], second)));
    return whole;
  }

  /// Minus the zero point times the sum of row `r`'s values, which rows store for the zero point 128, in each vector.
  SmallVector<Value> corrections(ImplicitLocOpBuilder &b, Value group, int64_t r) const {
    Value sum = broadcast(b, r, plus(b, times(b, group, 4), ofRows.rowSum(0)), words(b));
    if (const int64_t shift = type.getZeroPoints() ? 7 : 8 - type.bits(); shift > 0)
      sum = arith::ShRSIOp::create(b, sum, splatOf(b, words(b), shift));
    SmallVector<Value> sums(vectors, sum);
    for (int64_t v = 0; v < vectors && type.getZeroPoints(); ++v)
      sums[v] = arith::MulIOp::create(b, sum, loadZeros(b, group, v));
    return sums;
  }

  /// The sums of a group in integers; those of its only block are int16. Where `lacksCorrections`, they begin with
  /// zero.
  SmallVector<Value> groupSums(ImplicitLocOpBuilder &b, Value group) const {
    if (isOneBlock())
      return blockSums(b, group, index(b, 0));
    if (inWords)
      return addWords(b, group);
    SmallVector<Value> sums;
    for (int64_t r = 0; r < rows; ++r)
      sums.append(corrections(b, group, r));
    if (hasInt8Dot)
      return addFours(b, group, sums);
    return loop(b, index(b, 0), index(b, layout.groupDepth() / kBlock), 1, sums,
                [&](ImplicitLocOpBuilder &b, Value block, ValueRange before) {
                  return added(b, blockSums(b, group, block), before);
                });
  }
  bool isOneBlock() const { return !hasInt8Dot && !inWords && layout.groupDepth() == kBlock; }
  bool lacksCorrections() const { return isOneBlock() || inWords; }

  /// Where what the group has for its vector `v` begins, `width` bytes a column, behind `before` bytes a column of the
  /// panel.
  Value tailOf(ImplicitLocOpBuilder &b, int64_t before, int64_t width, int64_t v) const {
    const int64_t all = isUnpacked ? QuantizedLayout::kUnpackedColumns : kPanel,
                  codes = isUnpacked ? layout.unpackedCodeBytes() : layout.codeBytes();
    return plus(b, times(b, firstColumn, width), codes + before * all + v * lanes * width);
  }
  Value loadZeros(ImplicitLocOpBuilder &b, Value group, int64_t v) const {
    if (isUnpacked)
      return asType(b, words(b), loadBytes(b, group, tailOf(b, 4, 4, v), 4 * lanes));
    return arith::ExtUIOp::create(b, words(b), loadBytes(b, group, tailOf(b, 2, 1, v), lanes));
  }
  Value loadScale(ImplicitLocOpBuilder &b, Value group, int64_t v) const {
    if (isUnpacked)
      return asType(b, floats(b), loadBytes(b, group, tailOf(b, 0, 4, v), 4 * lanes));
    Value halves =
        asType(b, VectorType::get({lanes}, b.getI16Type()), loadBytes(b, group, tailOf(b, 0, 2, v), 2 * lanes));
    Value wide = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, words(b), halves), splatOf(b, words(b), 16));
    return asType(b, floats(b), wide);
  }

  /// Calls `put` with each accumulator's number and its sum of a group times both scales. `before` gives what that is
  /// added to, or is null.
  void scale(ImplicitLocOpBuilder &b, Value group, function_ref<Value(int64_t nth)> before,
             function_ref<void(int64_t nth, Value)> put) const {
    SmallVector<Value> sums = groupSums(b, group), scales;
    // As for lines: before this the scales are not loaded.
    if (kernel.getPrefetch() && isUnpacked)
      prefetch(b, group, index(b, layout.unpackedBytes() + layout.unpackedCodeBytes()));
    for (int64_t v = 0; v < vectors; ++v)
      scales.push_back(loadScale(b, group, v));
    for (int64_t r = 0; r < rows; ++r) {
      SmallVector<Value> integers(ArrayRef(sums).slice(r * vectors, vectors));
      if (lacksCorrections())
        integers = added(b, integers, corrections(b, group, r));
      Value own = broadcast(b, r, plus(b, times(b, group, 4), ofRows.rowScale(0)), floats(b));
      for (int64_t v = 0; v < vectors; ++v) {
        Value part = arith::MulFOp::create(b, arith::SIToFPOp::create(b, floats(b), integers[v]), scales[v]);
        const int64_t nth = r * vectors + v;
        put(nth, before ? Value(vector::FMAOp::create(b, part, own, before(nth)))
                        : Value(arith::MulFOp::create(b, part, own)));
      }
    }
  }

  /// scale() of every panel, whose accumulators follow those of the panel before. The panels are read group by group:
  /// as many streams of memory.
  void scalePanels(ImplicitLocOpBuilder &b, Value group, function_ref<Value(int64_t nth)> before,
                   function_ref<void(int64_t nth, Value)> put) {
    for (nthPanel = 0; nthPanel < panels; ++nthPanel) {
      const int64_t first = nthPanel * accumulators();
      auto beforeInPanel = [&](int64_t nth) { return before(first + nth); };
      scale(b, group, before ? function_ref<Value(int64_t)>(beforeInPanel) : nullptr,
            [&](int64_t nth, Value sum) { put(first + nth, sum); });
    }
  }

  /// The place of an accumulator in a matrix of the tile's columns, whose rows begin at `first`; several panels have a
  /// row.
  SmallVector<Value> placeOf(ImplicitLocOpBuilder &b, Value first, int64_t nth) const {
    const int64_t ofRow = panels * vectors;
    return {plus(b, first, nth / ofRow), index(b, nth % ofRow * lanes)};
  }
  void store(ImplicitLocOpBuilder &b, Value matrix, Value first, int64_t nth, Value value) const {
    vector::StoreOp::create(b, value, matrix, placeOf(b, first, nth));
  }

  static Value viewOf(ImplicitLocOpBuilder &b, Value matrix, Value row, Value column, int64_t rows, int64_t columns) {
    SmallVector<OpFoldResult> sizes{b.getIndexAttr(rows), b.getIndexAttr(columns)}, strides(2, b.getIndexAttr(1));
    return memref::SubViewOp::create(b, matrix, {OpFoldResult(row), OpFoldResult(column)}, sizes, strides);
  }

  void emitTile(ImplicitLocOpBuilder &b, Value row, int64_t count, Value column) {
    rows = count;
    rowsOfTile = viewOf(b, op.getRows(), row, index(b, 0), rows, ofRows.rowBytes());
    destOfTile = viewOf(b, op.getDest(), row, column, rows, panels * columns());
    firstGroup = index(b, 0), firstColumn = column;
    if (isUnpacked) {
      Value each = index(b, QuantizedLayout::kUnpackedColumns);
      firstGroup = times(b, arith::DivUIOp::create(b, column, each), groups);
      firstColumn = arith::RemUIOp::create(b, column, each);
    }
    auto toDest = [&](int64_t nth, Value value) { store(b, destOfTile, index(b, 0), nth, value); };
    Value none = index(b, 0), all = index(b, groups);
    if (groups == 1)
      return scalePanels(b, none, nullptr, toDest);
    SmallVector<Value> sums(panels * accumulators(), arith::ConstantOp::create(b, b.getZeroAttr(floats(b))));
    // Registers hold the integers of a group and the f32 sums of few rows.
    if (rows <= *kernel.getGroupRows())
      sums = loop(b, none, all, 1, sums, [&](ImplicitLocOpBuilder &b, Value group, ValueRange carried) {
        SmallVector<Value> next(carried.size());
        scalePanels(
            b, group, [&](int64_t nth) { return carried[nth]; }, [&](int64_t nth, Value sum) { next[nth] = sum; });
        return next;
      });
    else
      sums = sumInMemory(b, sums);
    for (auto [nth, sum] : llvm::enumerate(sums))
      toDest(nth, sum);
  }

  /// The sums of all groups, which are on the stack meanwhile. Two buffers alternate: LLVM would carry the numbers of
  /// one from group to group, and spill them or the integers.
  SmallVector<Value> sumInMemory(ImplicitLocOpBuilder &b, ValueRange zeros) {
    Value buffer = stackBuffer(b, b.getLoc(), {2 * rows, panels * columns()}, b.getF32Type());
    auto load = [&](ImplicitLocOpBuilder &b, Value from, int64_t nth) -> Value {
      return vector::LoadOp::create(b, floats(b), buffer, placeOf(b, from, nth));
    };
    for (auto [nth, zero] : llvm::enumerate(zeros))
      store(b, buffer, index(b, 0), nth, zero);
    SmallVector<Value> offsets{index(b, 0), index(b, rows)};
    Value last = loop(b, index(b, 0), index(b, groups), 1, offsets,
                      [&](ImplicitLocOpBuilder &b, Value group, ValueRange carried) -> SmallVector<Value> {
                        Value from = carried[0], to = carried[1];
                        scalePanels(
                            b, group, [&](int64_t nth) { return load(b, from, nth); },
                            [&](int64_t nth, Value sum) { store(b, buffer, to, nth, sum); });
                        return {to, from};
                      })[0];
    SmallVector<Value> sums;
    for (int64_t nth = 0; nth < panels * accumulators(); ++nth)
      sums.push_back(load(b, last, nth));
    return sums;
  }

  attn_cpu::QuantizedMatmulOp op;
  attn::QuantizedType type;
  attn_cpu::MicroKernelAttr kernel;
  bool hasInt8Dot, inWords, isUnpacked;
  Value panel;
  int64_t panels, nthPanel = 0; ///< that a single row reads side by side, and the current one
  QuantizedLayout layout, ofRows;
  int64_t lanes, groups;
  int64_t vectors = 0, rows = 0; ///< of the current tile
  Value rowsOfTile, destOfTile;
  Value firstGroup, firstColumn; ///< of the tile in the panel
};

} // namespace

void cpu::emitQuantizedTiles(ImplicitLocOpBuilder &b, attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel,
                             bool hasInt8Dot) {
  Emitter(op, kernel, hasInt8Dot).emit(b);
}
