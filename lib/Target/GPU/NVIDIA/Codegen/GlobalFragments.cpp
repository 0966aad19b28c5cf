//===- GlobalFragments.cpp - Fragments from and to global memory ---------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

/// The elements of a thread in global memory.
class GlobalAccess {
public:
  GlobalAccess(OpBuilder &builder, Location loc, FragmentType fragment, Value pointer, Value row, Value column,
               Value stride, ValueRange bounds, Type element)
      : builder(builder), loc(loc), ints(builder, loc), fragment(fragment), bounds(llvm::to_vector(bounds)),
        element(element) {
    const Origin origin = originOf(fragment.getLayout(), ints);
    firstRow = add(row, ints.index(origin.row));
    firstColumn = add(column, ints.index(origin.column));
    pitch = arith::MulIOp::create(builder, loc, ints.wide(stride), wideConstant(elementBytes()));
    Value offset = arith::MulIOp::create(builder, loc, ints.wide(firstRow), pitch);
    const Value inRow = arith::MulIOp::create(builder, loc, ints.wide(firstColumn), wideConstant(elementBytes()));
    first = gep(pointer, arith::AddIOp::create(builder, loc, offset, inRow));
  }

  /// The numbers of a thread's elements, by the row that they are in.
  llvm::MapVector<int64_t, SmallVector<int64_t>> rows() const {
    llvm::MapVector<int64_t, SmallVector<int64_t>> result;
    for (int64_t index = 0; index < fragment.getElements(); ++index)
      result[fragment.getDistance(index).row].push_back(index);
    return result;
  }

  /// Whether elements `index` and `index` + 1 are accessed at once.
  bool isPair(int64_t index) const {
    return bounds.size() < 2 && index % 2 == 0 &&
           fragment.getDistance(index + 1) == fragment.getDistance(index) + Coordinates{0, 1};
  }

  Value address(int64_t index) {
    const Coordinates distance = fragment.getDistance(index);
    Value row = first;
    if (distance.row)
      row = gep(first, arith::MulIOp::create(builder, loc, pitch, wideConstant(distance.row)));
    return advance(builder, loc, row, Value(), distance.column * elementBytes());
  }

  /// Whether a row is inside of its bound; null where it always is.
  Value isRowInside(int64_t distance) { return bounds.empty() ? Value() : isBelow(firstRow, distance, bounds[0]); }
  Value isColumnInside(int64_t index) {
    return bounds.size() < 2 ? Value() : isBelow(firstColumn, fragment.getDistance(index).column, bounds[1]);
  }
  unsigned alignment(bool ofPair) const { return unsigned(elementBytes()) * (ofPair ? 2 : 1); }

private:
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  Value add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
  Value wideConstant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  Value gep(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value isBelow(Value value, int64_t distance, Value bound) {
    const Value at = add(value, arith::ConstantIndexOp::create(builder, loc, distance));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, bound);
  }

  OpBuilder &builder;
  Location loc;
  Ints ints;
  FragmentType fragment;
  SmallVector<Value> bounds;
  Type element;
  Value firstRow, firstColumn, pitch, first;
};

/// `emit` under a condition, or without one where it is null.
void emitIf(OpBuilder &builder, Location loc, Value condition, llvm::function_ref<void()> emit) {
  if (!condition)
    return emit();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emit();
}

/// The values of `emit` under a condition, else zeros.
SmallVector<Value> emitOrZero(OpBuilder &builder, Location loc, Value condition, Type type, size_t count,
                              llvm::function_ref<SmallVector<Value>()> emit) {
  if (!condition)
    return emit();
  auto branch = scf::IfOp::create(builder, loc, SmallVector<Type>(count, type), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, emit());
  builder.setInsertionPointToStart(branch.elseBlock());
  const Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  scf::YieldOp::create(builder, loc, SmallVector<Value>(count, zero));
  return SmallVector<Value>(branch.getResults());
}

/// Two f32 as a vector of `element`.
Value pairOf(OpBuilder &builder, Location loc, Type element, ValueRange values) {
  if (!element.isF32())
    return roundPair(builder, loc, element, values[0], values[1]);
  Value pair = LLVM::PoisonOp::create(builder, loc, VectorType::get(2, element));
  for (int64_t i = 0; i < 2; ++i)
    pair = LLVM::InsertElementOp::create(builder, loc, pair, values[i], Ints(builder, loc).constant(i));
  return pair;
}

struct LowerStoreFragment : OpConversionPattern<StoreFragmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StoreFragmentOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    GlobalAccess access(rewriter, loc, op.getFragment().getType(), adaptor.getDest().front(), adaptor.getRow().front(),
                        adaptor.getColumn().front(), adaptor.getStride().front(), flatten(adaptor.getBounds()),
                        op.getElement());
    return store(op, adaptor.getFragment(), access, rewriter);
  }

private:
  static LogicalResult store(StoreFragmentOp op, ValueRange elements, GlobalAccess &access,
                             ConversionPatternRewriter &rewriter) {
    const Location loc = op.getLoc();
    const Type element = op.getElement();
    for (const auto &[row, indices] : access.rows())
      emitIf(rewriter, loc, access.isRowInside(row), [&, &indices = indices] {
        for (size_t i = 0; i < indices.size(); ++i) {
          const int64_t index = indices[i];
          if (access.isPair(index)) {
            ++i;
            LLVM::StoreOp::create(rewriter, loc, pairOf(rewriter, loc, element, elements.slice(index, 2)),
                                  access.address(index), access.alignment(true));
            continue;
          }
          emitIf(rewriter, loc, access.isColumnInside(index), [&] {
            const Value value = element.isF32()
                                    ? elements[index]
                                    : Value(arith::TruncFOp::create(rewriter, loc, element, elements[index]));
            LLVM::StoreOp::create(rewriter, loc, value, access.address(index), access.alignment(false));
          });
        }
      });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Stores a thread's accumulators to rows whose offsets a region gives.
struct LowerStoreRows : OpConversionPattern<StoreRowsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StoreRowsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    const FragmentType type = op.getFragment().getType();
    Ints ints(rewriter, loc);
    const Origin origin = originOf(type.getLayout(), ints);
    const Value column = ints.index(origin.column),
                firstRow = rewriter.createOrFold<arith::AddIOp>(loc, op.getRow(), ints.index(origin.row));
    llvm::MapVector<int64_t, SmallVector<int64_t>> rows; // the numbers of elements by their row
    for (int64_t index = 0; index < type.getElements(); ++index)
      rows[type.getDistance(index).row].push_back(index);
    if (op.getFours()) {
      for (const auto &[distance, indices] : rows)
        storeFours(op, adaptor, firstRow, column, distance, indices, rewriter);
      rewriter.eraseOp(op);
      return success();
    }
    const int64_t step = op.getElements() ? 1 : 2;
    for (const auto &[distance, indices] : rows) {
      const Value row = rewriter.createOrFold<arith::AddIOp>(
          loc, firstRow, arith::ConstantIndexOp::create(rewriter, loc, distance).getResult());
      const Value isInside =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, row, adaptor.getRowBound().front());
      emitIf(rewriter, loc, isInside, [&, &indices = indices] {
        const Value first = arith::AddIOp::create(rewriter, loc, offsetOf(op, row, rewriter), column);
        const Value pointer = LLVM::GEPOp::create(rewriter, loc, adaptor.getDest().front().getType(), op.getElement(),
                                                  adaptor.getDest().front(), ArrayRef<LLVM::GEPArg>{ints.wide(first)});
        for (size_t i = 0; i < indices.size(); i += step)
          storeAt(op, adaptor.getFragment().slice(indices[i], step), pointer, column,
                  type.getDistance(indices[i]).column, adaptor.getColumnBound().front(), rewriter);
      });
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value offsetOf(StoreRowsOp op, Value row, OpBuilder &builder) {
    IRMapping mapping;
    Block &body = op.getBody().front();
    mapping.map(body.getArgument(0), row);
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, mapping);
    return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  }

  /// Stores a row of a thread's pairs of columns. A thread of an even number takes the pair of its neighbor behind its
  /// own in the first 8 of 16 columns, and one of an odd number the pair before its own in the second 8: both have 4.
  static void storeFours(StoreRowsOp op, OneToNOpAdaptor adaptor, Value firstRow, Value column, int64_t distance,
                         ArrayRef<int64_t> indices, OpBuilder &builder) {
    const Location loc = op.getLoc();
    const FragmentType type = op.getFragment().getType();
    const Type i32 = builder.getI32Type(), fours = VectorType::get(2, i32);
    Ints ints(builder, loc);
    const Value isOdd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, ints.thread(2), ints.constant(1));
    auto choose = [&](Value ofOdd, Value ofEven) -> Value {
      return arith::SelectOp::create(builder, loc, isOdd, ofOdd, ofEven);
    };
    SmallVector<Value> stored;
    for (size_t i = 0; i < indices.size(); i += 4) {
      Value words[2];
      for (auto [half, word] : llvm::enumerate(words))
        word = LLVM::BitcastOp::create(
            builder, loc, i32,
            pairOf(builder, loc, op.getElement(), adaptor.getFragment().slice(indices[i + 2 * half], 2)));
      const Value taken = NVVM::ShflOp::create(builder, loc, i32, ints.constant(-1), choose(words[0], words[1]),
                                               ints.constant(1), ints.constant(31), NVVM::ShflKind::bfly, UnitAttr());
      Value four = LLVM::PoisonOp::create(builder, loc, fours);
      four = LLVM::InsertElementOp::create(builder, loc, four, choose(taken, words[0]), ints.constant(0));
      stored.push_back(LLVM::InsertElementOp::create(builder, loc, four, choose(words[1], taken), ints.constant(1)));
    }
    const int64_t behind = type.getDistance(indices[2]).column - type.getDistance(indices[0]).column - 2;
    const Value at =
        builder.createOrFold<arith::AddIOp>(loc, column, ints.index(choose(ints.constant(behind), ints.constant(0))));
    const Value row = builder.createOrFold<arith::AddIOp>(
        loc, firstRow, arith::ConstantIndexOp::create(builder, loc, distance).getResult());
    const Value isInside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, adaptor.getRowBound().front());
    emitIf(builder, loc, isInside, [&] {
      const Value first = arith::AddIOp::create(builder, loc, offsetOf(op, row, builder), at);
      const Value pointer = LLVM::GEPOp::create(builder, loc, adaptor.getDest().front().getType(), op.getElement(),
                                                adaptor.getDest().front(), ArrayRef<LLVM::GEPArg>{ints.wide(first)});
      for (auto [i, value] : llvm::enumerate(stored)) {
        const int64_t behindFirst = type.getDistance(indices[4 * i]).column;
        emitIf(builder, loc, isBelow(op, at, behindFirst, adaptor.getColumnBound().front(), builder), [&] {
          LLVM::StoreOp::create(builder, loc, value, advance(builder, loc, pointer, Value(), behindFirst * 2), 8);
        });
      }
    });
  }

  /// Whether a column is inside of the bound; null where all columns of the fragment are.
  static Value isBelow(StoreRowsOp op, Value column, int64_t distance, Value bound, OpBuilder &builder) {
    APInt constant;
    if (matchPattern(bound, m_ConstantInt(&constant)) &&
        constant.getSExtValue() >= op.getFragment().getType().getColumns())
      return {};
    const Location loc = op.getLoc();
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                 builder.createOrFold<arith::AddIOp>(
                                     loc, column, arith::ConstantIndexOp::create(builder, loc, distance).getResult()),
                                 bound);
  }

  /// Stores one element or two, `distance` columns behind the thread's first one.
  static void storeAt(StoreRowsOp op, ValueRange values, Value pointer, Value column, int64_t distance, Value bound,
                      OpBuilder &builder) {
    const Location loc = op.getLoc();
    const Type element = op.getElement();
    const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    emitIf(builder, loc, isBelow(op, column, distance, bound, builder), [&] {
      Value value = values.size() == 2 ? pairOf(builder, loc, element, values)
                    : element.isF32()  ? values[0]
                                       : Value(arith::TruncFOp::create(builder, loc, element, values[0]));
      LLVM::StoreOp::create(builder, loc, value, advance(builder, loc, pointer, Value(), distance * bytes),
                            unsigned(bytes * int64_t(values.size())));
    });
  }
};

struct LowerLoadFragment : OpConversionPattern<LoadFragmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LoadFragmentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const FragmentType type = op.getFragment().getType();
    GlobalAccess access(rewriter, op.getLoc(), type, adaptor.getSource(), adaptor.getRow(), adaptor.getColumn(),
                        adaptor.getStride(), adaptor.getBounds(), op.getElement());
    SmallVector<Value> elements(type.getElements());
    for (const auto &[row, indices] : access.rows()) {
      const SmallVector<Value> loaded =
          emitOrZero(rewriter, op.getLoc(), access.isRowInside(row), op.getElement(), indices.size(),
                     [&, &indices = indices] { return loadRow(op, indices, access, rewriter); });
      for (auto [index, value] : llvm::zip_equal(indices, loaded))
        elements[index] = value;
    }
    rewriter.replaceOpWithMultiple(op, {registersOf(op, elements, rewriter)});
    return success();
  }

private:
  static SmallVector<Value> loadRow(LoadFragmentOp op, ArrayRef<int64_t> indices, GlobalAccess &access,
                                    OpBuilder &builder) {
    const Location loc = op.getLoc();
    const Type element = op.getElement();
    SmallVector<Value> values;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = indices[i];
      if (access.isPair(index)) {
        ++i;
        const Value pair = LLVM::LoadOp::create(builder, loc, VectorType::get(2, element), access.address(index),
                                                access.alignment(true));
        for (int64_t half = 0; half < 2; ++half)
          values.push_back(LLVM::ExtractElementOp::create(builder, loc, pair, Ints(builder, loc).constant(half)));
        continue;
      }
      values.push_back(emitOrZero(builder, loc, access.isColumnInside(index), element, 1, [&] {
        return SmallVector<Value>{
            LLVM::LoadOp::create(builder, loc, element, access.address(index), access.alignment(false))};
      })[0]);
    }
    return values;
  }

  static SmallVector<Value> registersOf(LoadFragmentOp op, ArrayRef<Value> elements, OpBuilder &builder) {
    const Location loc = op.getLoc();
    SmallVector<Value> registers;
    if (!op.getFragment().getType().getLayout().isPacked()) {
      for (Value value : elements)
        registers.push_back(
            op.getElement().isF32() ? value : Value(arith::ExtFOp::create(builder, loc, builder.getF32Type(), value)));
      return registers;
    }
    for (size_t i = 0; i < elements.size(); i += 2) {
      Value pair = LLVM::PoisonOp::create(builder, loc, VectorType::get(2, op.getElement()));
      for (int64_t half = 0; half < 2; ++half)
        pair = LLVM::InsertElementOp::create(builder, loc, pair, elements[i + half], Ints(builder, loc).constant(half));
      registers.push_back(LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), pair));
    }
    return registers;
  }
};

} // namespace

void cuda::populateGlobalFragments(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerStoreFragment, LowerStoreRows, LowerLoadFragment>(converter, patterns.getContext());
}
