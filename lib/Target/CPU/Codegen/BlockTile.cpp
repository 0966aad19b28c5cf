//===- BlockTile.cpp - Matmuls of weights in blocks -------------------------------------===//
#include "lib/Target/CPU/Codegen/BlockTile.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Codegen/ByteDots.h"
#include "lib/Target/CPU/Codegen/MatmulPrefetch.h"
#include "lib/Target/CPU/Codegen/TileValues.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;
using attn_cpu::kPanel;
using attn_cpu::QuantizedLayout;

namespace {

enum class Dot : uint8_t { Fours, Pairs, Plain };

/// Most vectors of columns that a single row takes side by side, and most lanes of each: sums of four vectors of 32
/// bytes do not wait for one another as those of two of 64 do.
constexpr int64_t kMostVectors = 4, kRowLanes = 8;

class Emitter {
public:
  Emitter(attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel, const TargetInfo &target)
      : op(op), panel(op.getPanel()), allRows(op.getRows()), kernel(kernel),
        format(*cast<attn::QuantizedType>(op.getWeight()).blocks()), layout(format, kPanel),
        ofRows(QuantizedLayout::ofRows(cast<attn::QuantizedType>(op.getWeight()), op.getDepth(), /*inWords=*/false)),
        dot(target.int8Dot     ? Dot::Fours
            : target.int8Pairs ? Dot::Pairs
                               : Dot::Plain),
        lanes(kernel.getColumns() / 2), blocks(op.getDepth() / format.block) {}

  void emit(ImplicitLocOpBuilder &b) {
    const int64_t m = cast<MemRefType>(op.getDest().getType()).getDimSize(0),
                  parts = llvm::divideCeil(m, kernel.getRows());
    if (m == 1)
      lanes = std::min(lanes, kRowLanes);
    vectors = m == 1 ? std::min(kPanel / lanes, kMostVectors) : 2;
    overEach(b, kPanel / columns(), [&](ImplicitLocOpBuilder &b, Value nth) {
      Value column = times(b, nth, columns());
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t row = m * part / parts;
        emitTile(b, row, m * (part + 1) / parts - row, column);
      }
    });
  }

private:
  VectorType words(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  VectorType pairs(ImplicitLocOpBuilder &b) const { return VectorType::get({2 * lanes}, b.getI16Type()); }
  VectorType bytes(ImplicitLocOpBuilder &b) const { return VectorType::get({4 * lanes}, b.getI8Type()); }
  VectorType floats(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }
  int64_t columns() const { return vectors * lanes; }
  /// Whether numbers are taken signed, with their zero of 128 subtracted.
  bool isSigned() const { return dot == Dot::Pairs && format.mostNumber() > 63; }
  /// Steps of four rows whose terms 16 bits can add.
  int64_t stepsOf16() const { return isSigned() ? 1 : 32767 / (2 * 127 * format.mostNumber()); }

  static SmallVector<Value>
  sumOver(ImplicitLocOpBuilder &b, int64_t count, ValueRange sums,
          function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Value nth, ValueRange sums)> body) {
    return count == 1 ? body(b, index(b, 0), sums) : loop(b, index(b, 0), index(b, count), 1, sums, body);
  }

  /// A place in the panel: a unit of a block, or behind all of them.
  struct Place {
    Value block, base; ///< the byte of the block where the unit begins
  };

  /// `count` bytes at byte `at` of a place, for vector `v` of a part in which a column has `each` bytes.
  Value load(ImplicitLocOpBuilder &b, Place place, int64_t at, int64_t v, int64_t each) const {
    Value byte = arith::AddIOp::create(b, plus(b, place.base, at + v * lanes * each), times(b, firstColumn, each));
    return vector::LoadOp::create(b, VectorType::get({lanes * each}, b.getI8Type()), panel,
                                  ValueRange{place.block, byte});
  }
  /// A byte of each column as i32.
  Value loadBytes(ImplicitLocOpBuilder &b, Place place, int64_t at, int64_t v, bool isSigned) const {
    Value loaded = load(b, place, at, v, 1);
    return isSigned ? Value(arith::ExtSIOp::create(b, words(b), loaded))
                    : Value(arith::ExtUIOp::create(b, words(b), loaded));
  }
  Value loadHalves(ImplicitLocOpBuilder &b, Place place, int64_t at, int64_t v) const {
    Value halves = asType(b, VectorType::get({lanes}, b.getF16Type()), load(b, place, at, v, 2));
    return arith::ExtFOp::create(b, floats(b), halves);
  }
  Value toFloats(ImplicitLocOpBuilder &b, Value integers) const {
    return arith::SIToFPOp::create(b, floats(b), integers);
  }

  /// The 32 bits at byte `at` of row `r` in all lanes.
  Value broadcast(ImplicitLocOpBuilder &b, int64_t r, Value at, VectorType type) const {
    Value loaded =
        vector::LoadOp::create(b, VectorType::get({4}, b.getI8Type()), allRows, ValueRange{index(b, firstRow + r), at});
    Value one = asType(b, VectorType::get({1}, type.getElementType()), loaded);
    return vector::BroadcastOp::create(b, type, vector::ExtractOp::create(b, one, 0));
  }

  /// The bits of the codes of step `step` that a plane has, in their place in a byte.
  Value bitsOf(ImplicitLocOpBuilder &b, Place place, const CodePlane &plane, int64_t step, int64_t v) const {
    const int64_t together = 8 / plane.bits, shift = step % together * plane.bits;
    Value loaded = asType(b, words(b), load(b, place, plane.at * kPanel + step / together * 4 * kPanel, v, 4));
    if (plane.bits == 8)
      return loaded;
    if (shift > plane.shift)
      loaded = arith::ShRUIOp::create(b, loaded, splatOf(b, words(b), shift - plane.shift));
    else if (shift < plane.shift)
      loaded = arith::ShLIOp::create(b, loaded, splatOf(b, words(b), plane.shift - shift));
    const int64_t mask = ((int64_t(1) << plane.bits) - 1) << plane.shift;
    return arith::AndIOp::create(b, loaded, splatOf(b, words(b), int32_t(mask * 0x01010101)));
  }

  /// The numbers of four rows of a unit, as bytes, for vector `v`.
  Value numbersOf(ImplicitLocOpBuilder &b, Place place, int64_t step, int64_t v) const {
    Value codes;
    for (const std::optional<CodePlane> &plane : layout.planes())
      if (plane) {
        Value bits = bitsOf(b, place, *plane, step, v);
        codes = codes ? Value(arith::OrIOp::create(b, codes, bits)) : bits;
      }
    codes = asType(b, bytes(b), codes);
    if (format.code == BlockCode::Integer)
      return isSigned() ? Value(arith::XOrIOp::create(b, codes, splatOf(b, bytes(b), -128))) : codes;
    return lookUpNumbers(b, codes);
  }

  /// The numbers of a table, less their zero where they are taken signed.
  Value lookUpNumbers(ImplicitLocOpBuilder &b, Value codes) const {
    SmallVector<int8_t> table;
    for (int64_t i = 0; i < 4 * lanes; ++i)
      table.push_back(int8_t(numberOf(format, i % 16) - (isSigned() ? format.zero : 0)));
    if (dot != Dot::Plain)
      return cpu::lookUp(b, arith::ConstantOp::create(b, DenseElementsAttr::get(bytes(b), ArrayRef<int8_t>(table))),
                         codes);
    Value numbers = splatOf(b, bytes(b), table[0]);
    for (int64_t code = 1; code < 16; ++code) {
      Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, codes, splatOf(b, bytes(b), code));
      numbers = arith::SelectOp::create(b, is, splatOf(b, bytes(b), table[code]), numbers);
    }
    return numbers;
  }

  /// Where the row's number for group `group` of a unit is, of those of all groups; `nth` is the number of the unit.
  Value groupOfRows(ImplicitLocOpBuilder &b, Value nth, int64_t group) const {
    return plus(b, times(b, nth, format.groupsOfUnit()), group);
  }

  /// The dot products of a group's codes with the rows, one vector after another of each row; int32.
  SmallVector<Value> dotsOf(ImplicitLocOpBuilder &b, Place place, Value nth, int64_t group) const {
    SmallVector<Value> sums, partial(rows * vectors);
    for (int64_t r = 0; r < rows; ++r)
      sums.append(vectors, firstSum(b, r, nth, group));
    const int64_t steps = format.group / 4;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t step = group * steps + i;
      SmallVector<Value> numbers;
      for (int64_t v = 0; v < vectors; ++v)
        numbers.push_back(numbersOf(b, place, step, v));
      Value at = plus(b, times(b, nth, BlockFormat::unit), 4 * step);
      for (int64_t r = 0; r < rows; ++r) {
        Value values = asType(b, bytes(b), broadcast(b, r, at, words(b)));
        for (int64_t v = 0; v < vectors; ++v)
          add(b, numbers[v], values, sums[r * vectors + v], partial[r * vectors + v]);
      }
      if (dot == Dot::Pairs && ((i + 1) % stepsOf16() == 0 || i + 1 == steps))
        widen(b, partial, sums);
    }
    return sums;
  }

  /// Minus the zero times the sum of the row's values, which rows store for a zero of 128.
  Value firstSum(ImplicitLocOpBuilder &b, int64_t r, Value nth, int64_t group) const {
    if (format.zero == 0 || isSigned())
      return splatOf(b, words(b), 0);
    Value sum = rowSum(b, r, nth, group);
    const int64_t shift = 7 - int64_t(llvm::Log2_64(uint64_t(format.zero)));
    return shift == 0 ? sum : Value(arith::ShRSIOp::create(b, sum, splatOf(b, words(b), shift)));
  }
  /// -128 times the sum of the row's values.
  Value rowSum(ImplicitLocOpBuilder &b, int64_t r, Value nth, int64_t group) const {
    return broadcast(b, r, plus(b, times(b, groupOfRows(b, nth, group), 4), ofRows.rowSum(0)), words(b));
  }

  void add(ImplicitLocOpBuilder &b, Value numbers, Value values, Value &sum, Value &partial) const {
    if (dot == Dot::Fours) {
      sum = cpu::addFours(b, sum, numbers, values);
    } else if (dot == Dot::Plain) {
      sum = cpu::addFoursPlainly(b, sum, numbers, values);
    } else {
      if (isSigned()) {
        values = cpu::withSigns(b, values, numbers);
        numbers = cpu::withSigns(b, numbers, numbers); // 128 where that is -128
      }
      Value terms = cpu::addBytePairs(b, numbers, values);
      partial = partial ? Value(arith::AddIOp::create(b, partial, terms)) : terms;
    }
  }
  void widen(ImplicitLocOpBuilder &b, MutableArrayRef<Value> partial, MutableArrayRef<Value> sums) const {
    for (auto [some, sum] : llvm::zip_equal(partial, sums)) {
      sum = arith::AddIOp::create(b, sum, cpu::addPairs(b, some, splatOf(b, pairs(b), 1)));
      some = nullptr;
    }
  }

  /// The scales of a block for each vector, and its offsets, which are divided by -128 as sums of rows are multiplied
  /// by it.
  struct OfBlock {
    SmallVector<Value> scales, offsets;
  };
  OfBlock ofBlock(ImplicitLocOpBuilder &b, Value block) const {
    OfBlock all;
    const Place place{block, index(b, 0)};
    for (int64_t v = 0; v < vectors; ++v) {
      all.scales.push_back(format.blockScale == BlockScale::Half ? loadHalves(b, place, layout.blockScales(), v)
                                                                 : loadExponents(b, place, v));
      if (!format.hasOffsets())
        continue;
      const float factor = format.offset == BlockOffset::OfGroup ? 1.f / 128 : -1.f / 128;
      all.offsets.push_back(
          arith::MulFOp::create(b, loadHalves(b, place, layout.blockOffsets(), v),
                                arith::ConstantOp::create(b, DenseElementsAttr::get(floats(b), factor))));
    }
    return all;
  }
  /// 2^(e - 128), which is subnormal for 0 and 1.
  Value loadExponents(ImplicitLocOpBuilder &b, Place place, int64_t v) const {
    Value e = loadBytes(b, place, layout.blockScales(), v, /*isSigned=*/false), one = splatOf(b, words(b), 1);
    Value normal = arith::ShLIOp::create(b, arith::SubIOp::create(b, e, one), splatOf(b, words(b), 23));
    Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, e, one);
    Value small = arith::ShLIOp::create(b, splatOf(b, words(b), 0x00200000), arith::MinUIOp::create(b, e, one));
    return asType(b, floats(b), arith::SelectOp::create(b, isSmall, small, normal));
  }

  Value scaleOf(ImplicitLocOpBuilder &b, const OfBlock &all, Place place, int64_t group, int64_t v) const {
    if (format.groupScale == ByteScale::One)
      return all.scales[v];
    Value own = loadBytes(b, place, layout.groupScales(group), v, format.groupScale == ByteScale::Signed);
    if (format.groupScale == ByteScale::Nibble)
      own = arith::AndIOp::create(b, own, splatOf(b, words(b), 15));
    return arith::MulFOp::create(b, toFloats(b, own), all.scales[v]);
  }
  Value offsetOf(ImplicitLocOpBuilder &b, const OfBlock &all, Place place, int64_t group, int64_t v) const {
    if (format.offset == BlockOffset::OfBlock)
      return all.offsets[v];
    Value own = loadBytes(b, place, layout.groupOffsets(group), v, /*isSigned=*/false);
    if (format.groupScale == ByteScale::Nibble)
      own = arith::ShRUIOp::create(b, own, splatOf(b, words(b), 4));
    return arith::MulFOp::create(b, toFloats(b, own), all.offsets[v]);
  }

  /// Few rows are bound by memory: they prefetch the unit `stream_bytes` behind, which may be that of a later panel.
  void prefetchStream(ImplicitLocOpBuilder &b, Place place) const {
    if (!kernel.getPrefetch() || rows >= kernel.getPrefetch().getStreamRows())
      return;
    for (int64_t byte = 0; byte < layout.unitBytes(); byte += attn_cpu::kLineBytes) {
      Value at = plus(b, place.base, byte + kernel.getPrefetch().getStreamBytes());
      memref::PrefetchOp::create(b, panel, ValueRange{place.block, at}, /*isWrite=*/false, kFirstLevel,
                                 /*isDataCache=*/true);
    }
  }

  /// `sums` plus those of a unit, the nth of all.
  SmallVector<Value> addUnit(ImplicitLocOpBuilder &b, const OfBlock &all, Place place, Value nth,
                             ValueRange sums) const {
    SmallVector<Value> next(sums);
    prefetchStream(b, place);
    for (int64_t group = 0; group < format.groupsOfUnit(); ++group) {
      SmallVector<Value> dots = dotsOf(b, place, nth, group), scales, offsets;
      for (int64_t v = 0; v < vectors; ++v) {
        scales.push_back(scaleOf(b, all, place, group, v));
        if (format.hasOffsets())
          offsets.push_back(offsetOf(b, all, place, group, v));
      }
      for (int64_t r = 0; r < rows; ++r) {
        Value at = plus(b, times(b, groupOfRows(b, nth, group), 4), ofRows.rowScale(0));
        Value own = broadcast(b, r, at, floats(b));
        Value sum = format.hasOffsets() ? toFloats(b, rowSum(b, r, nth, group)) : Value();
        for (int64_t v = 0; v < vectors; ++v) {
          Value part = arith::MulFOp::create(b, toFloats(b, dots[r * vectors + v]), scales[v]);
          if (sum)
            part = vector::FMAOp::create(b, sum, offsets[v], part);
          Value &of = next[r * vectors + v];
          of = vector::FMAOp::create(b, part, own, of);
        }
      }
    }
    return next;
  }

  void emitTile(ImplicitLocOpBuilder &b, int64_t row, int64_t count, Value column) {
    rows = count, firstRow = row, firstColumn = column;
    SmallVector<Value> sums(rows * vectors, arith::ConstantOp::create(b, b.getZeroAttr(floats(b))));
    sums = sumOver(b, blocks, sums, [&](ImplicitLocOpBuilder &b, Value block, ValueRange before) {
      const OfBlock all = ofBlock(b, block);
      return sumOver(b, format.units(), before, [&](ImplicitLocOpBuilder &b, Value unit, ValueRange before) {
        const Place place{block, times(b, unit, layout.unitBytes())};
        Value nth = arith::AddIOp::create(b, times(b, block, format.units()), unit);
        return addUnit(b, all, place, nth, before);
      });
    });
    for (int64_t i = 0; i < rows * vectors; ++i)
      vector::StoreOp::create(b, sums[i], op.getDest(),
                              ValueRange{index(b, row + i / vectors), plus(b, column, i % vectors * lanes)});
  }

  attn_cpu::QuantizedMatmulOp op;
  Value panel, allRows;
  attn_cpu::MicroKernelAttr kernel;
  const BlockFormat &format;
  BlockLayout layout;
  QuantizedLayout ofRows;
  Dot dot;
  int64_t lanes, blocks;
  int64_t vectors = 0, rows = 0, firstRow = 0; ///< of the current tile
  Value firstColumn;                           ///< of the tile in the panel
};

} // namespace

void cpu::emitBlockTiles(ImplicitLocOpBuilder &b, attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel,
                         const TargetInfo &target) {
  Emitter(op, kernel, target).emit(b);
}
