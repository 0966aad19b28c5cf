//===- Fragments.cpp - Computations on fragments in registers -----------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

struct LowerFill : OpConversionPattern<FillOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(FillOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    const SmallVector<Value> values(types.size(), adaptor.getValue());
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct LowerColumns : OpConversionPattern<ColumnsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ColumnsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const FragmentType from = op.getFragment().getType(), to = op.getResult().getType();
    const LayoutAtom &atom = from.getLayout().getAtom();
    const int64_t first = int64_t(op.getFirst()) / atom.columns, across = to.getColumns() / atom.columns,
                  elements = across * atom.elements(), stride = from.getColumns() / atom.columns * atom.elements();
    SmallVector<Value> columns;
    for (int64_t row = 0; row < to.getRows() / atom.rows; ++row)
      llvm::append_range(columns, adaptor.getFragment().slice(row * stride + first * atom.elements(), elements));
    rewriter.replaceOpWithMultiple(op, {columns});
    return success();
  }
};

/// For each value of a thread: how far it is from the first one, and the number of its row's value.
struct Elements {
  SmallVector<Coordinates> distances;
  SmallVector<int64_t> rows;

  explicit Elements(Type type) {
    if (auto vector = dyn_cast<RowVectorType>(type)) {
      for (int64_t row : vector.getDistances()) {
        rows.push_back(int64_t(rows.size()));
        distances.push_back({row, 0});
      }
      return;
    }
    auto fragment = cast<FragmentType>(type);
    const SmallVector<int64_t> held =
        RowVectorType::get(type.getContext(), fragment.getRows(), fragment.getLayout()).getDistances();
    for (int64_t index = 0; index < fragment.getElements(); ++index) {
      distances.push_back(fragment.getDistance(index));
      rows.push_back(llvm::find(held, distances.back().row) - held.begin());
    }
  }
};

FragmentLayoutInterface layoutOf(Type type) {
  if (auto vector = dyn_cast<RowVectorType>(type))
    return vector.getLayout();
  return cast<FragmentType>(type).getLayout();
}

struct LowerMap : OpConversionPattern<MapOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MapOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    const Type type = op.getResultTypes()[0];
    const Elements elements(type);
    Ints ints(rewriter, op.getLoc());
    Block &body = op.getBody().front();
    Origin origin = originOf(layoutOf(type), ints);
    if (op.getOwnColumns()) // unknown to LLVM in other maps
      origin.column =
          emitAsm(rewriter, op.getLoc(), rewriter.getI32Type(), origin.column, "mov.b32 $0, $1;", "=r,r")[0];
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    const size_t together = op.getPairs() ? 2 : 1; // elements that the region sees, of which threads hold pairs in turn
    for (size_t i = 0; i < elements.rows.size(); i += together) {
      IRMapping mapping;
      unsigned argument = 0;
      for (auto [operand, values] : llvm::zip_equal(op.getOperands(), adaptor.getOperands()))
        for (size_t nth = i; nth < i + together; ++nth)
          mapping.map(body.getArgument(argument++), values[operand.getType() == type ? nth : elements.rows[nth]]);
      mapIndices(body.getArguments().drop_front(argument), origin, elements.distances[i], ints, mapping);
      for (Operation &inner : body.without_terminator())
        rewriter.clone(inner, mapping);
      for (auto [nth, yielded] : llvm::enumerate(body.getTerminator()->getOperands()))
        results[nth / together].push_back(mapping.lookupOrDefault(yielded));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  static void mapIndices(Block::BlockArgListType arguments, Origin origin, Coordinates distance, Ints ints,
                         IRMapping &mapping) {
    mapping.map(arguments[0], ints.index(ints.add(origin.row, ints.constant(distance.row))));
    if (arguments.size() > 1)
      mapping.map(arguments[1], ints.index(ints.add(origin.column, ints.constant(distance.column))));
  }
};

Value combine(OpBuilder &builder, Location loc, Reduction reduction, Value a, Value b) {
  if (reduction == Reduction::add)
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::MaxNumFOp::create(builder, loc, a, b, arith::FastMathFlags::nnan);
}

/// Combines the values of the lanes that share a row: those whose numbers differ in fields that move no row.
Value combineLanes(OpBuilder &builder, Location loc, Reduction reduction, FragmentLayoutInterface layout, Value value) {
  Ints ints(builder, loc);
  for (const LayoutField &field : layout.getAtom().ofThread)
    for (unsigned bit = field.shift; field.step.row == 0 && bit < field.shift + field.bits; ++bit) {
      const Value other =
          NVVM::ShflOp::create(builder, loc, value.getType(), ints.constant(-1), value,
                               ints.constant(int64_t(1) << bit), ints.constant(31), NVVM::ShflKind::bfly, UnitAttr());
      value = combine(builder, loc, reduction, value, other);
    }
  return value;
}

struct LowerReduceRows : OpConversionPattern<ReduceRowsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReduceRowsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Elements elements(op.getFragment().getType());
    SmallVector<Value> rows(op.getResult().getType().getDistances().size());
    auto include = [&](int64_t row, Value value) {
      rows[row] = rows[row] ? combine(rewriter, op.getLoc(), op.getReduction(), rows[row], value) : value;
    };
    // A partial value counts once in the end, the value of a row in each of its lanes.
    if (op.getPartial())
      llvm::copy(adaptor.getInit(), rows.begin());
    for (auto [value, row] : llvm::zip_equal(adaptor.getFragment(), elements.rows))
      include(row, value);
    if (!op.getPartial()) {
      for (Value &row : rows)
        row = combineLanes(rewriter, op.getLoc(), op.getReduction(), op.getResult().getType().getLayout(), row);
      for (auto [row, init] : llvm::enumerate(adaptor.getInit()))
        include(int64_t(row), init);
    }
    rewriter.replaceOpWithMultiple(op, {rows});
    return success();
  }
};

struct LowerReduceLanes : OpConversionPattern<ReduceLanesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReduceLanesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> rows;
    for (Value row : adaptor.getValues())
      rows.push_back(combineLanes(rewriter, op.getLoc(), op.getReduction(), op.getResult().getType().getLayout(), row));
    rewriter.replaceOpWithMultiple(op, {rows});
    return success();
  }
};

/// Byte `scratch` of the shared memory.
Value sharedAt(OpBuilder &builder, Location loc, Value scratch, Ints ints) {
  const auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  const Position at = positionOf(scratch, ints);
  return advance(builder, loc, LLVM::AddressOfOp::create(builder, loc, pointer, kShared), at.dynamic, at.constant);
}

/// Warps meet in shared memory behind a barrier, where each thread reads the values of its own group.
struct LowerReduceThreads : OpConversionPattern<ReduceThreadsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReduceThreadsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    Ints ints(rewriter, loc);
    constexpr int64_t lanes = 32, bytes = 4;
    const int64_t threads = op.getThreads();
    Value value = adaptor.getValue();
    for (int64_t distance = 1; distance < std::min(threads, lanes); distance *= 2)
      value = combine(rewriter, loc, op.getReduction(), value,
                      NVVM::ShflOp::create(rewriter, loc, value.getType(), ints.constant(-1), value,
                                           ints.constant(distance), ints.constant(lanes - 1), NVVM::ShflKind::bfly,
                                           UnitAttr()));
    if (threads > lanes) {
      const Value base = sharedAt(rewriter, loc, adaptor.getScratch(), ints);
      const Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, rewriter.getI32Type());
      const Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, ints.mask(thread, lanes - 1),
                                                  ints.constant(0));
      auto branch = scf::IfOp::create(rewriter, loc, isFirst, /*withElseRegion=*/false);
      {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(branch.thenBlock());
        const Value ofWarp = ints.times(ints.shiftRight(thread, 5), bytes);
        LLVM::StoreOp::create(rewriter, loc, value, advance(rewriter, loc, base, ofWarp, 0), bytes);
      }
      NVVM::Barrier0Op::create(rewriter, loc);
      const Value group = ints.times(ints.shiftRight(thread, llvm::Log2_64(threads)), threads / lanes * bytes);
      const Value first = advance(rewriter, loc, base, group, 0);
      for (int64_t warp = 0; warp < threads / lanes; ++warp) {
        const Value other = LLVM::LoadOp::create(rewriter, loc, value.getType(),
                                                 advance(rewriter, loc, first, Value(), warp * bytes), bytes);
        value = warp == 0 ? other : combine(rewriter, loc, op.getReduction(), value, other);
      }
    }
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// The nth values of all threads are beside each other, atom by atom of the columns: those of a part follow each other.
struct LowerSumWarps : OpConversionPattern<SumWarpsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SumWarpsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    Ints ints(rewriter, loc);
    constexpr int64_t bytes = 4;
    const int64_t parts = op.getParts(), threads = op.getThreads(), ofPart = threads / parts;
    const FragmentType result = op.getResult().getType();
    const LayoutAtom &atom = result.getLayout().getAtom();
    const int64_t elements = atom.elements(), down = result.getRows() / atom.rows,
                  across = result.getColumns() / atom.columns;
    const Value base = sharedAt(rewriter, loc, adaptor.getScratch().front(), ints);
    const Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, rewriter.getI32Type());
    auto offset = [&](int64_t nth) { return nth * threads * bytes; };

    const Value own = advance(rewriter, loc, base, ints.times(thread, bytes), 0);
    int64_t first = 0; // atom
    for (auto [type, values] : llvm::zip_equal(op.getValues().getTypes(), adaptor.getValues())) {
      const int64_t atoms = cast<FragmentType>(type).getColumns() / atom.columns;
      for (auto [i, value] : llvm::enumerate(values)) {
        const int64_t row = int64_t(i) / elements / atoms, column = first + int64_t(i) / elements % atoms;
        const int64_t nth = (column * down + row) * elements + int64_t(i) % elements;
        LLVM::StoreOp::create(rewriter, loc, value, advance(rewriter, loc, own, Value(), offset(nth)), bytes);
      }
      first += atoms;
    }
    NVVM::Barrier0Op::create(rewriter, loc);

    const Value part =
        ints.mask(ints.shiftRight(thread, llvm::Log2_64(ofPart)), op.getColumns() / result.getColumns() - 1);
    const Value place =
        ints.add(ints.times(ints.mask(thread, ofPart - 1), bytes), ints.times(part, offset(across * down * elements)));
    const Value from = advance(rewriter, loc, base, place, 0);
    SmallVector<Value> sums;
    for (int64_t row = 0; row < down; ++row)
      for (int64_t i = 0; i < across * elements; ++i) {
        const int64_t nth = (i / elements * down + row) * elements + i % elements;
        Value sum;
        for (int64_t of = 0; of < parts; ++of) {
          const Value at = advance(rewriter, loc, from, Value(), offset(nth) + of * ofPart * bytes);
          const Value value = LLVM::LoadOp::create(rewriter, loc, rewriter.getF32Type(), at, bytes);
          sum = sum ? Value(arith::AddFOp::create(rewriter, loc, sum, value)) : value;
        }
        sums.push_back(sum);
      }
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

/// Each lane takes every 32nd number; the lanes combine theirs in 32 bits, whose ends stand for what is beyond them.
struct LowerRange : OpConversionPattern<RangeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RangeOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    const Location loc = op.getLoc();
    Ints ints(rewriter, loc);
    auto wide = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(rewriter, loc, value); };
    constexpr int64_t lanes = 32;
    auto loop = scf::ForOp::create(rewriter, loc, ints.index(ints.thread(lanes)), adaptor.getCount(), wide(lanes),
                                   ValueRange{wide(INT64_MAX), wide(INT64_MIN)});
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      IRMapping mapping;
      mapping.map(op.getBody().getArgument(0), loop.getInductionVar());
      for (Operation &inner : op.getBody().front().without_terminator())
        rewriter.clone(inner, mapping);
      const Value number = mapping.lookupOrDefault(op.getBody().front().getTerminator()->getOperand(0));
      const Value low = arith::MinSIOp::create(rewriter, loc, loop.getRegionIterArg(0), number);
      const Value high = arith::MaxSIOp::create(rewriter, loc, loop.getRegionIterArg(1), number);
      scf::YieldOp::create(rewriter, loc, ValueRange{low, high});
    }
    SmallVector<Value> bounds;
    for (bool isHigh : {false, true}) {
      const int64_t end = isHigh ? INT32_MAX : INT32_MIN, beyond = isHigh ? INT64_MAX : INT64_MIN;
      Value clamped = arith::MinSIOp::create(rewriter, loc, loop.getResult(isHigh), wide(INT32_MAX));
      clamped = arith::MaxSIOp::create(rewriter, loc, clamped, wide(INT32_MIN));
      const Value all = NVVM::ReduxOp::create(rewriter, loc, rewriter.getI32Type(), ints.of(clamped),
                                              isHigh ? NVVM::ReduxKind::MAX : NVVM::ReduxKind::MIN, ints.constant(-1));
      const Value isEnd = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, all, ints.constant(end));
      bounds.push_back(arith::SelectOp::create(rewriter, loc, isEnd, wide(beyond), ints.index(all)));
    }
    rewriter.replaceOp(op, bounds);
    return success();
  }
};

struct LowerPack : OpConversionPattern<PackOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(PackOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const FragmentType type = op.getResult().getType();
    const auto indices = relabel(op.getFragment().getType(), type); // there, as the verifier says
    SmallVector<Value> registers;
    for (size_t i = 0; i < indices->size(); i += 2) {
      const Value pair = roundPair(rewriter, op.getLoc(), type.getElementType(), adaptor.getFragment()[(*indices)[i]],
                                   adaptor.getFragment()[(*indices)[i + 1]]);
      registers.push_back(LLVM::BitcastOp::create(rewriter, op.getLoc(), rewriter.getI32Type(), pair));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct LowerMma : OpConversionPattern<MmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MmaOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    const FragmentType a = op.getA().getType();
    const int64_t m = a.getRows() / 16, k = a.getColumns() / 16, n = op.getB().getType().getColumns() / 8;
    SmallVector<Value> acc = llvm::to_vector(adaptor.getAcc());
    const SmallVector<Value> left = operands(rewriter, op, adaptor.getA()),
                             right = operands(rewriter, op, adaptor.getB());
    for (int64_t depth = 0; depth < k; ++depth)
      for (int64_t column = 0; column < n; ++column)
        for (int64_t row = 0; row < m; ++row)
          multiply(rewriter, op, ArrayRef(left).slice((row * k + depth) * 4, 4),
                   ArrayRef(right).slice((depth * n + column) * 2, 2),
                   MutableArrayRef(acc).slice((row * n + column) * 4, 4));
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }

private:
  /// The instruction's operands: two bf16 as i32, two f16 as a vector.
  static SmallVector<Value> operands(OpBuilder &builder, MmaOp op, ValueRange registers) {
    SmallVector<Value> values = llvm::to_vector(registers);
    if (const Type element = op.getA().getType().getElementType(); element.isF16())
      for (Value &value : values)
        value = LLVM::BitcastOp::create(builder, op.getLoc(), VectorType::get(2, element), value);
    return values;
  }

  static void multiply(OpBuilder &builder, MmaOp op, ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> acc) {
    const auto kind = op.getA().getType().getElementType().isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
    const auto type =
        LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, builder.getF32Type()));
    Value sum =
        NVVM::MmaOp::create(builder, op.getLoc(), type, ValueRange(a), ValueRange(b), ValueRange(ArrayRef<Value>(acc)),
                            ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt, std::array{kind, kind},
                            std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (int64_t i = 0; i < 4; ++i)
      acc[i] = LLVM::ExtractValueOp::create(builder, op.getLoc(), sum, i);
  }
};

} // namespace

void cuda::populateFragments(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerColumns, LowerFill, LowerMap, LowerReduceRows, LowerReduceLanes, LowerReduceThreads, LowerSumWarps,
               LowerRange, LowerPack, LowerMma>(converter, patterns.getContext());
}
