//===- Expand.cpp - The code of attn_gpu.linear_attention_tile ----------------------------===//
//
// The recurrent form: a thread has some key channels of a value channel of the state, four
// beside each other, then four that are as many further as threads share the value channel.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "lib/Target/GPU/NVIDIA/LinearAttention/TileCode.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

using Values = LinearAttentionCode::Values;

static constexpr int64_t kBytes = 4, kVector = 4; ///< of an f32; that a thread reads at once

LinearAttentionCode::LinearAttentionCode(LinearAttentionTileOp op)
    : op(op), b(op.getLoc(), op), tiles(op.getTiles()), query(b, op.getQuery()), key(b, op.getKey()),
      value(b, op.getValue()), result(b, op.getResult()), isByChannel(false), keys(op.getKeyChannels()),
      held(op.getHeldChannels()), group(op.getOutputs()) {
  if (op.getDecay()) {
    decay.emplace(b, op.getDecay());
    isByChannel = decay->sizes.size() == 3;
  }
  if (op.getBeta())
    beta.emplace(b, op.getBeta());
  thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  shared = SharedOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), /*shared*/ 3), index(0));
}

Value LinearAttentionCode::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value LinearAttentionCode::number(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value)));
}
Value LinearAttentionCode::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value LinearAttentionCode::times(Value x, int64_t by) { return b.createOrFold<arith::MulIOp>(x, index(by)); }
Value LinearAttentionCode::isBelow(Value x, Value bound) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, x, bound);
}
Value LinearAttentionCode::exponential(Value x) { return math::ExpOp::create(b, x); }

Values LinearAttentionCode::loop(Value from, Value to, int64_t step, ValueRange init,
                                 function_ref<Values(Value i, ValueRange carried)> body) {
  auto made = scf::ForOp::create(b, from, to, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  const Values next = body(made.getInductionVar(), made.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return Values(made.getResults());
}

Value LinearAttentionCode::load(const GlobalArray &array, ValueRange indices, Value isThere) {
  Value at = array.offset;
  for (auto [i, stride] : llvm::zip_equal(indices, array.strides))
    at = add(at, b.createOrFold<arith::MulIOp>(i, stride));
  Value loaded = LLVM::LoadOp::create(b, array.element, array.pointerAt(b, at), unsigned(array.bytes()));
  if (!loaded.getType().isF32())
    loaded = arith::ExtFOp::create(b, b.getF32Type(), loaded);
  return arith::SelectOp::create(b, isThere, loaded, number(0));
}

/// Nothing is read for what is not there: the last token's or the last column's element is, in its place.
Value LinearAttentionCode::loadOfToken(const GlobalArray &array, Value first, Value token, Value count, Value column) {
  Value isThere = isBelow(token, count);
  Value last = arith::SubIOp::create(b, count, index(1));
  Values indices{add(first, arith::MinSIOp::create(b, token, last))};
  if (array.sizes.size() == 2) {
    indices.push_back(column);
  } else {
    isThere = arith::AndIOp::create(b, isThere, isBelow(column, array.sizes[2]));
    Value lastColumn = arith::SubIOp::create(b, array.sizes[2], index(1));
    indices.append({index(0), arith::MinSIOp::create(b, column, lastColumn)});
  }
  return load(array, indices, isThere);
}

Value LinearAttentionCode::pointerTo(int64_t place, Value at) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), add(at, index(place / kBytes)));
  return LLVM::GEPOp::create(b, shared.getType(), b.getF32Type(), shared, ArrayRef<LLVM::GEPArg>{narrow});
}

Values LinearAttentionCode::read(Value pointer, int64_t count) {
  if (count == 1)
    return {LLVM::LoadOp::create(b, b.getF32Type(), pointer, unsigned(kBytes))};
  Value loaded = LLVM::LoadOp::create(b, VectorType::get(count, b.getF32Type()), pointer, unsigned(count * kBytes));
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        LLVM::ExtractElementOp::create(b, loaded, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(i)))));
  return values;
}

void LinearAttentionCode::write(Value pointer, ValueRange values) {
  if (values.size() == 1) {
    LLVM::StoreOp::create(b, values[0], pointer, unsigned(kBytes));
    return;
  }
  Value all = LLVM::PoisonOp::create(b, VectorType::get(int64_t(values.size()), b.getF32Type()));
  for (auto [i, value] : llvm::enumerate(values))
    all = LLVM::InsertElementOp::create(b, all, value, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(i))));
  LLVM::StoreOp::create(b, all, pointer, unsigned(values.size() * kBytes));
}

/// The swizzle of 128 bytes permutes 16 bytes of a row by the last three bits of its number.
Value LinearAttentionCode::pointerInto(TileType tile, int64_t place, Value row, Value column) {
  constexpr int64_t ofBox = 32, ofChunk = 4;
  Value inBox = b.createOrFold<arith::AndIOp>(column, index(ofBox - 1));
  Value swizzle = times(b.createOrFold<arith::AndIOp>(row, index(7)), ofChunk);
  Value box = times(b.createOrFold<arith::DivUIOp>(column, index(ofBox)), tile.getBoxBytes() / kBytes);
  return pointerTo(place, add(add(times(row, ofBox), b.createOrFold<arith::XOrIOp>(inBox, swizzle)), box));
}

namespace {

/// A token is taken at a time, some of which are staged in shared memory.
class Recurrence {
public:
  explicit Recurrence(LinearAttentionTileOp op)
      : code(op), op(op), b(code.b), lanes(code.tiles.getLanes()), perThread(code.held / lanes),
        staged(op.getStagedTokens()) {
    column = arith::DivUIOp::create(b, code.thread, code.index(lanes));
    lane = arith::RemUIOp::create(b, code.thread, code.index(lanes));
    isColumn = code.isBelow(column, code.value.sizes[2]);
    int64_t place = 0;
    auto reserve = [&](int64_t floats) { return std::exchange(place, place + staged * floats * kBytes); };
    keyPlace = reserve(code.held);
    queryPlace = reserve(code.group * code.held);
    decaysPlace = reserve(code.isByChannel ? code.held : 0);
    valuePlace = reserve(code.tiles.getColumns());
    decayPlace = reserve(1);
    betaPlace = reserve(1);
  }

  void emit() {
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    Values state = loadState();
    Value length = code.key.sizes[0], done = code.index(0);
    if (code.tiles.getChunk())
      std::tie(done, state) = overChunks(length, state);
    store(overTokens(done, length, state));
  }

private:
  Value channel(int64_t i) {
    return code.add(code.times(lane, kVector), code.index(i / kVector * kVector * lanes + i % kVector));
  }

  /// The address of the matrix that an op's state is, whose first element is at `indices`: in bytes of 64 bits, as all
  /// states are more than 4 GB.
  std::pair<GlobalArray, Value> matrixAt(Value states, ValueRange indices) {
    GlobalArray array(b, states);
    auto wide = [&](Value x) -> Value { return arith::IndexCastOp::create(b, b.getI64Type(), x); };
    Value at = wide(array.offset);
    for (auto [i, stride] : llvm::zip_equal(indices, array.strides))
      at = arith::AddIOp::create(b, at, arith::MulIOp::create(b, wide(i), wide(stride)));
    Value pointer =
        LLVM::GEPOp::create(b, array.pointer.getType(), array.element, array.pointer, ArrayRef<LLVM::GEPArg>{at});
    return {array, pointer};
  }
  Value elementOf(const std::pair<GlobalArray, Value> &matrix, Value key, Value value) {
    ArrayRef<Value> strides = ArrayRef(matrix.first.strides).take_back(2);
    Value at =
        code.add(b.createOrFold<arith::MulIOp>(key, strides[0]), b.createOrFold<arith::MulIOp>(value, strides[1]));
    Value wide = arith::IndexCastOp::create(b, b.getI64Type(), at);
    return LLVM::GEPOp::create(b, matrix.second.getType(), b.getF32Type(), matrix.second, ArrayRef<LLVM::GEPArg>{wide});
  }

  Values loadState() {
    Value states = op.getFirst() ? op.getFirst() : op.getStates();
    if (!states)
      return Values(size_t(perThread), code.number(0));
    auto matrix = matrixAt(states, op.getFrom());
    Value last = arith::SubIOp::create(b, code.value.sizes[2], code.index(1));
    Value inside = arith::MinSIOp::create(b, column, last);
    Values state;
    for (int64_t i = 0; i < perThread; ++i) {
      Value key = channel(i), isThere = arith::AndIOp::create(b, isColumn, code.isBelow(key, code.index(code.keys)));
      Value from = elementOf(matrix, arith::MinSIOp::create(b, key, code.index(code.keys - 1)), inside);
      Value loaded = LLVM::LoadOp::create(b, b.getF32Type(), from, unsigned(kBytes));
      state.push_back(arith::SelectOp::create(b, isThere, loaded, code.number(0)));
    }
    return state;
  }

  void store(ValueRange state) {
    if (!op.getStates())
      return;
    NVVM::Barrier0Op::create(b); // what is read in place of what is not there is another thread's
    auto matrix = matrixAt(op.getStates(), op.getTo());
    for (int64_t i = 0; i < perThread; ++i) {
      Value key = channel(i), isThere = arith::AndIOp::create(b, isColumn, code.isBelow(key, code.index(code.keys)));
      when(b, isThere, [&] { LLVM::StoreOp::create(b, state[i], elementOf(matrix, key, column), unsigned(kBytes)); });
    }
  }

  /// The tokens of all chunks that have enough, and the state behind them.
  std::pair<Value, Values> overChunks(Value length, ValueRange state) {
    const int64_t chunk = code.tiles.getChunk();
    Value rest = arith::RemUIOp::create(b, length, code.index(chunk));
    Value isEnough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, rest, code.index(code.tiles.getLeast()));
    Value end = arith::SelectOp::create(b, isEnough, length, Value(arith::SubIOp::create(b, length, rest)));
    Value hasChunks = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end, code.index(0));
    auto branch = scf::IfOp::create(b, state.getTypes(), hasChunks, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, state);
    b.setInsertionPointToStart(branch.thenBlock());
    const TileType tile = op.getStateTile();
    auto place = [&](int64_t i) { return code.pointerInto(tile, 0, column, channel(i)); };
    for (int64_t i = 0; i < perThread; i += kVector)
      code.write(place(i), state.slice(i, kVector));
    emitChunks(code, end);
    Values after;
    for (int64_t i = 0; i < perThread; i += kVector)
      llvm::append_range(after, code.read(place(i), kVector));
    scf::YieldOp::create(b, after);
    return {end, Values(branch.getResults())};
  }

  Values overTokens(Value from, Value to, ValueRange state) {
    return code.loop(from, to, staged, state, [&](Value first, ValueRange before) {
      Value left = arith::SubIOp::create(b, to, first), count = arith::MinSIOp::create(b, left, code.index(staged));
      NVVM::Barrier0Op::create(b); // the tokens before are read
      stage(first, count);
      NVVM::Barrier0Op::create(b);
      return code.loop(code.index(0), count, 1, before,
                       [&](Value token, ValueRange carried) { return advance(first, token, carried); });
    });
  }

  /// A number of an array that goes to shared memory.
  struct Pending {
    Value number, pointer, isThere; ///< null: always
  };

  /// Starts the loads of `rows` of `width` numbers for each token.
  void loadAhead(const GlobalArray &array, int64_t width, int64_t rows, int64_t place, Value first, Value count,
                 function_ref<Value(Value)> map, SmallVectorImpl<Pending> &pending) {
    const int64_t total = staged * rows * width, threads = op.getThreads();
    for (int64_t i = 0; i < total; i += threads) {
      Value at = code.add(code.thread, code.index(i)), isThere;
      if (i + threads > total)
        isThere = code.isBelow(at, code.index(total));
      Value row = arith::DivUIOp::create(b, at, code.index(width)),
            column = arith::RemUIOp::create(b, at, code.index(width));
      Value token = rows == 1 ? row : Value(arith::DivUIOp::create(b, row, code.index(rows)));
      Value loaded;
      if (rows == 1) {
        loaded = code.loadOfToken(array, first, token, count, column);
      } else {
        Value last = arith::SubIOp::create(b, count, code.index(1));
        Value isInside = arith::AndIOp::create(b, code.isBelow(token, count), code.isBelow(column, array.sizes[2]));
        Value lastColumn = arith::SubIOp::create(b, array.sizes[2], code.index(1));
        loaded =
            code.load(array,
                      {code.add(first, arith::MinSIOp::create(b, token, last)),
                       arith::RemUIOp::create(b, row, code.index(rows)), arith::MinSIOp::create(b, column, lastColumn)},
                      isInside);
      }
      pending.push_back({map ? map(loaded) : loaded, code.pointerTo(place, at), isThere});
    }
  }

  /// All loads are under way before the first one is waited for.
  void stage(Value first, Value count) {
    SmallVector<Pending> pending;
    auto exponential = [&](Value x) { return code.exponential(x); };
    loadAhead(code.key, code.held, 1, keyPlace, first, count, {}, pending);
    loadAhead(code.query, code.held, code.group, queryPlace, first, count, {}, pending);
    loadAhead(code.value, code.tiles.getColumns(), 1, valuePlace, first, count, {}, pending);
    if (code.isByChannel)
      loadAhead(*code.decay, code.held, 1, decaysPlace, first, count, exponential, pending);
    else if (code.decay)
      loadAhead(*code.decay, 1, 1, decayPlace, first, count, exponential, pending);
    if (code.beta)
      loadAhead(*code.beta, 1, 1, betaPlace, first, count, {}, pending);
    for (const Pending &each : pending) {
      if (each.isThere)
        when(b, each.isThere, [&] { code.write(each.pointer, each.number); });
      else
        code.write(each.pointer, each.number);
    }
  }

  /// The thread's channels of a row of those that are staged.
  Values row(int64_t place, Value number) {
    Values values;
    for (int64_t i = 0; i < perThread; i += kVector)
      llvm::append_range(
          values, code.read(code.pointerTo(place, code.add(code.times(number, code.held), channel(i))), kVector));
    return values;
  }
  Value scalar(int64_t place, Value at) { return code.read(code.pointerTo(place, at), 1)[0]; }

  /// The sum over all key channels of a value channel.
  Value dot(ValueRange x, ValueRange y) {
    Values sums(kVector, code.number(0));
    for (int64_t i = 0; i < perThread; ++i)
      sums[i % kVector] = LLVM::FMAOp::create(b, x[i], y[i], sums[i % kVector]);
    Value sum = arith::AddFOp::create(b, arith::AddFOp::create(b, sums[0], sums[1]),
                                      arith::AddFOp::create(b, sums[2], sums[3]));
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
    };
    for (int64_t distance = 1; distance < lanes; distance *= 2)
      sum = arith::AddFOp::create(b, sum,
                                  NVVM::ShflOp::create(b, sum.getType(), constant(-1), sum, constant(distance),
                                                       constant(31), NVVM::ShflKind::bfly, UnitAttr()));
    return sum;
  }

  Values advance(Value first, Value token, ValueRange before) {
    Values state(before), key = row(keyPlace, token);
    Value decay = code.decay && !code.isByChannel ? scalar(decayPlace, token) : Value();
    if (code.isByChannel)
      for (auto [x, by] : llvm::zip_equal(state, row(decaysPlace, token)))
        x = arith::MulFOp::create(b, x, by);
    Value change = scalar(valuePlace, code.add(code.times(token, code.tiles.getColumns()), column));
    if (code.beta) {
      Value known = dot(state, key);
      if (decay)
        known = arith::MulFOp::create(b, known, decay);
      change = arith::MulFOp::create(b, scalar(betaPlace, token), Value(arith::SubFOp::create(b, change, known)));
    }
    for (auto [x, k] : llvm::zip_equal(state, key))
      x = LLVM::FMAOp::create(b, k, change, decay ? Value(arith::MulFOp::create(b, x, decay)) : x);
    code.loop(code.index(0), code.index(code.group), 1, {}, [&](Value output, ValueRange) {
      Value number = code.add(code.times(token, code.group), output);
      Value sum =
          arith::MulFOp::create(b, dot(state, row(queryPlace, number)), code.number(op.getScale().convertToDouble()));
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, code.index(0));
      when(b, arith::AndIOp::create(b, isFirst, isColumn), [&] {
        const GlobalArray &result = code.result;
        Value at = result.offset;
        const Value indices[] = {code.add(first, token), output, column};
        for (auto [i, stride] : llvm::zip_equal(indices, result.strides))
          at = code.add(at, b.createOrFold<arith::MulIOp>(i, stride));
        Value rounded = result.element.isF32() ? sum : Value(arith::TruncFOp::create(b, result.element, sum));
        LLVM::StoreOp::create(b, rounded, result.pointerAt(b, at), unsigned(result.bytes()));
      });
      return Values();
    });
    return state;
  }

  LinearAttentionCode code;
  LinearAttentionTileOp op;
  ImplicitLocOpBuilder &b;
  int64_t lanes, perThread; ///< threads of a value channel; key channels of a thread
  int64_t staged;           ///< tokens
  Value column, lane, isColumn;
  int64_t keyPlace, queryPlace, decaysPlace, valuePlace, decayPlace, betaPlace; ///< of what is staged
};

} // namespace

LogicalResult cuda::expand(LinearAttentionTileOp op) {
  Recurrence(op).emit();
  return success();
}
