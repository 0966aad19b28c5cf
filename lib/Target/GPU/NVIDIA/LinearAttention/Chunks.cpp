//===- Chunks.cpp - The chunked form of attn_gpu.linear_attention_tile --------------------===//
//
// Yang et al. 2024, "Gated Delta Networks". Warp w has tokens 16 w to 16 w + 15 of a chunk: rows
// of all matmuls but those of the state, of which it has some key channels. The state and the
// changes N are transposed, so that every matmul reads its operands as they are. Block after
// block of 16 tokens, N is solved by one warp, and the warps behind it take that from their own.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Linear/TileCode.h"
#include "lib/Target/GPU/NVIDIA/LinearAttention/TileCode.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kBlock = 16, kWarp = 32, kVector = 4, kDepth = 8; ///< tokens of a warp; k of an instruction
/// A decay below it is 0 in f32, and its whole number is exact in sums of a chunk.
constexpr double kLowest = -1.0e4;

class Chunks {
public:
  using Values = LinearAttentionCode::Values;

  explicit Chunks(LinearAttentionCode &code)
      : code(code), op(code.op), b(code.b), columns(code.tiles.getColumns()), chunk(code.tiles.getChunk()),
        warps(code.tiles.getWarps()) {
    int64_t place = 0;
    auto reserve = [&](TileType type, int64_t &at) -> Value {
      at = place;
      place += type.getBytes();
      return SharedOp::create(b, type, code.index(at));
    };
    int64_t unused = 0;
    state = reserve(op.getStateTile(), statePlace);
    key = reserve(op.getKeyTile(), unused);
    query = reserve(op.getQueryTile(), unused);
    change = reserve(op.getChangeTile(), changePlace);
    decayed = reserve(op.getChangeTile(), decayedPlace);
    pairs = reserve(op.getPairTile(), pairPlace);
    for (int64_t *numbers :
         {&ofToken.wholeOf, &ofToken.restOf, &ofToken.whole, &ofToken.rest, &ofToken.up, &ofToken.down, &ofToken.beta})
      *numbers = std::exchange(place, place + chunk * 4);
    warp = arith::DivUIOp::create(b, code.thread, code.index(kWarp));
    lane = arith::RemUIOp::create(b, code.thread, code.index(kWarp));
    firstOfWarp = code.times(warp, kBlock);
  }

  void emit(Value end) {
    code.loop(code.index(0), end, chunk, {}, [&](Value first, ValueRange) {
      Value left = arith::SubIOp::create(b, end, first);
      emitChunk(first, arith::MinSIOp::create(b, left, code.index(chunk)));
      return Values();
    });
    NVVM::Barrier0Op::create(b); // the state is there
  }

private:
  void emitChunk(Value first, Value count) {
    NVVM::Barrier0Op::create(b); // the chunk before is read, and the state is there
    copy(code.key, key, code.index(0), first, count);
    if (code.group == 1)
      copy(code.query, query, code.index(0), first, count);
    loadNumbers(first, count);
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b);
    if (code.decay) {
      addDecays();
      NVVM::Barrier0Op::create(b);
    }
    findChanges(first, count);
    code.loop(code.index(0), code.index(code.group), 1, {}, [&](Value output, ValueRange) {
      if (code.group > 1) {
        NVVM::Barrier0Op::create(b); // the queries before are read
        copy(code.query, query, output, first, count);
        NVVM::CpAsyncWaitGroupOp::create(b, 0);
        NVVM::Barrier0Op::create(b);
      }
      emitOutput(output, first, count);
      return Values();
    });
    advanceState();
  }

  FragmentType fragment(int64_t rows, int64_t width) {
    return FragmentType::get(b.getContext(), rows, width, b.getF32Type(),
                             MmaLayoutAttr::get(b.getContext(), MatmulOperand::acc));
  }
  Value zeros(FragmentType type) { return FillOp::create(b, type, code.number(0)); }

  /// Each element by a function of those of the operands and its row and column.
  Value map(FragmentType type, ValueRange operands,
            function_ref<Value(ValueRange x, Value row, Value column)> compute) {
    auto made = MapOp::create(b, TypeRange(type), operands, UnitAttr(), UnitAttr());
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types(operands.size(), b.getF32Type());
    types.append(2, b.getIndexType());
    Block *block = b.createBlock(&made.getBody(), {}, types, SmallVector<Location>(types.size(), b.getLoc()));
    const ValueRange arguments = block->getArguments();
    Value result = compute(arguments.drop_back(2), arguments[operands.size()], arguments.back());
    YieldOp::create(b, ValueRange(result));
    return made.getResult(0);
  }

  /// `acc` and the matmul of rows from `row` on of `input` and columns from `column` on of `weight`, for `depth` of k
  /// from `from` on: a loop over 8 of them, as the instructions of all would be too many.
  Value multiplied(Value acc, Value input, Value row, Value weight, Value column, bool transposed, Value from,
                   Value depth) {
    return code.loop(from, code.add(from, depth), kDepth, acc, [&](Value k, ValueRange carried) {
      auto made =
          MultiplyOp::create(b, code.tiles.getMatmul(), input, weight, row, column, k, kDepth, carried, transposed);
      return Values(made.getResults());
    })[0];
  }
  /// The products of the warp's rows of `left` and all keys, 16 columns after 16. Those of two numbers of 16 bits are
  /// exact: instructions for these multiply twice as many.
  Values dotsOf(Value left) {
    auto tile = cast<TileType>(left.getType());
    const Type element = tile.getElementType();
    const bool areHalves = !element.isF32() && element == op.getKeyTile().getElementType();
    auto operand = [&](MatmulOperand which) {
      return FragmentType::get(b.getContext(), kBlock, kBlock, element, MmaLayoutAttr::get(b.getContext(), which));
    };
    const Values init(size_t(chunk / kBlock), zeros(fragment(kBlock, kBlock)));
    const int64_t depth = areHalves ? kBlock : kDepth;
    Value end = code.index(llvm::alignTo(code.keys, depth));
    return code.loop(code.index(0), end, depth, init, [&](Value k, ValueRange carried) {
      if (!areHalves) {
        auto made = MultiplyOp::create(b, code.tiles.getMatmul(), left, key, firstOfWarp, code.index(0), k, kDepth,
                                       carried, /*transposed=*/true);
        return Values(made.getResults());
      }
      Values sums;
      Value rows = LoadMatrixOp::create(b, operand(MatmulOperand::a), left, firstOfWarp, k, /*transpose=*/false);
      for (auto [group, sum] : llvm::enumerate(carried)) {
        Value first = code.index(int64_t(group) * kBlock);
        Value others = LoadMatrixOp::create(b, operand(MatmulOperand::b), key, first, k, /*transpose=*/true);
        sums.push_back(MmaOp::create(b, rows, others, sum));
      }
      return sums;
    });
  }

  /// A number for each two tokens i, of the warp, and j, in shared memory.
  void storePairs(ValueRange dots, function_ref<Value(Value x, Value i, Value j)> compute) {
    for (auto [group, sums] : llvm::enumerate(dots)) {
      Value first = code.index(int64_t(group) * kBlock);
      Value made = map(fragment(kBlock, kBlock), sums, [&](ValueRange x, Value row, Value column) {
        return compute(x[0], code.add(firstOfWarp, row), code.add(first, column));
      });
      StoreMatrixOp::create(b, made, pairs, firstOfWarp, first);
    }
  }

  Value depthOfKeys() { return code.index(llvm::alignTo(code.keys, kDepth)); }
  void syncWarp() { NVVM::SyncWarpOp::create(b, arith::ConstantOp::create(b, b.getI32IntegerAttr(-1))); }

  /// Copies a head's rows of a chunk: those beyond its end become zero.
  void copy(const GlobalArray &array, Value tile, Value head, Value first, Value count) {
    Value at = code.add(b.createOrFold<arith::MulIOp>(first, array.strides[0]),
                        b.createOrFold<arith::MulIOp>(head, array.strides[1]));
    auto start = [&](bool elements) {
      copyRows(b, array, {tile, at, count, code.index(code.keys), code.thread, op.getThreads(), elements});
    };
    when(b, array.isAligned(b, GlobalArray::kCopyBytes), [&] { start(false); }, [&] { start(true); });
    NVVM::CpAsyncCommitGroupOp::create(b);
  }

  /// A thread has a token: its decay as a whole number and a rest, and its beta.
  void loadNumbers(Value first, Value count) {
    when(b, code.isBelow(code.thread, code.index(chunk)), [&] {
      if (code.decay) {
        Value decay = code.loadOfToken(*code.decay, first, code.thread, count, code.index(0));
        decay = arith::MaximumFOp::create(b, decay, code.number(kLowest));
        Value whole = math::RoundEvenOp::create(b, decay);
        code.write(code.pointerTo(ofToken.wholeOf, code.thread), whole);
        code.write(code.pointerTo(ofToken.restOf, code.thread), Value(arith::SubFOp::create(b, decay, whole)));
      }
      if (code.beta)
        code.write(code.pointerTo(ofToken.beta, code.thread),
                   code.loadOfToken(*code.beta, first, code.thread, count, code.index(0)));
    });
  }

  /// A thread adds up the decays to its token, and those behind it.
  void addDecays() {
    when(b, code.isBelow(code.thread, code.index(chunk)), [&] {
      Value zero = code.number(0), sums[2] = {zero, zero}, after[2] = {zero, zero};
      for (int64_t i = 0; i < chunk; i += kVector)
        for (auto [part, place] : {std::pair(0, ofToken.wholeOf), std::pair(1, ofToken.restOf)})
          for (auto [nth, decay] : llvm::enumerate(code.read(code.pointerTo(place, code.index(i)), kVector))) {
            Value isBehind = code.isBelow(code.thread, code.index(i + int64_t(nth)));
            Value &sum = sums[part], &rest = after[part];
            sum = arith::AddFOp::create(b, sum, Value(arith::SelectOp::create(b, isBehind, zero, decay)));
            rest = arith::AddFOp::create(b, rest, Value(arith::SelectOp::create(b, isBehind, decay, zero)));
          }
      auto put = [&](int64_t place, Value number) { code.write(code.pointerTo(place, code.thread), number); };
      put(ofToken.whole, sums[0]);
      put(ofToken.rest, sums[1]);
      put(ofToken.up, code.exponential(arith::AddFOp::create(b, sums[0], sums[1])));
      put(ofToken.down, code.exponential(arith::AddFOp::create(b, after[0], after[1])));
    });
  }
  Value numberOf(int64_t place, Value token) { return code.read(code.pointerTo(place, token), 1)[0]; }
  Value scaled(Value x, int64_t place, Value token) {
    return code.decay ? Value(arith::MulFOp::create(b, x, numberOf(place, token))) : x;
  }

  /// x times the decays behind token j up to token i where `isThere`, else 0.
  Value between(Value x, Value i, Value j, Value isThere) {
    Value zero = code.number(0);
    if (code.decay) {
      auto distance = [&](int64_t place) -> Value {
        return arith::SubFOp::create(b, numberOf(place, i), numberOf(place, j));
      };
      Value exponent = arith::AddFOp::create(b, distance(ofToken.whole), distance(ofToken.rest));
      // Ahead of a token it would be above 0.
      exponent = arith::SelectOp::create(b, isThere, exponent, zero);
      x = arith::MulFOp::create(b, x, code.exponential(exponent));
    }
    return arith::SelectOp::create(b, isThere, x, zero);
  }

  /// N of all tokens, and N times the decays behind them, in shared memory.
  void findChanges(Value first, Value count) {
    const FragmentType own = fragment(columns, kBlock);
    const bool isDelta = code.beta.has_value();
    Value known;
    if (isDelta) {
      storePairs(dotsOf(key), [&](Value x, Value i, Value j) {
        Value product = arith::MulFOp::create(b, x, numberOf(ofToken.beta, i));
        return Value(arith::NegFOp::create(b, between(product, i, j, code.isBelow(j, i))));
      });
      syncWarp();
      known = multiplied(zeros(own), state, code.index(0), key, firstOfWarp, /*transposed=*/true, code.index(0),
                         depthOfKeys());
    }
    Value changes = map(own, known ? ValueRange(known) : ValueRange(), [&](ValueRange x, Value channel, Value nth) {
      Value token = code.add(firstOfWarp, nth), value = code.loadOfToken(code.value, first, token, count, channel);
      if (!isDelta)
        return value;
      Value distance = arith::SubFOp::create(b, value, scaled(x[0], ofToken.up, token));
      return Value(arith::MulFOp::create(b, distance, numberOf(ofToken.beta, token)));
    });
    if (!isDelta) {
      StoreMatrixOp::create(b, changes, change, code.index(0), firstOfWarp);
      if (code.decay)
        StoreMatrixOp::create(
            b,
            map(own, changes,
                [&](ValueRange x, Value, Value nth) { return scaled(x[0], ofToken.down, code.add(firstOfWarp, nth)); }),
            decayed, code.index(0), firstOfWarp);
      NVVM::Barrier0Op::create(b);
      return;
    }
    for (int64_t block = 0; block < warps; ++block) {
      Value number = code.index(block);
      when(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, number), [&] {
        StoreMatrixOp::create(b, changes, change, code.index(0), firstOfWarp);
        syncWarp();
        when(b, code.isBelow(lane, code.index(columns)), [&] { solve(block); });
      });
      NVVM::Barrier0Op::create(b); // the block's N are there
      if (block + 1 == warps)
        return;
      auto branch =
          scf::IfOp::create(b, TypeRange(own), Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, warp, number)),
                            /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, changes);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, multiplied(changes, change, code.index(0), pairs, firstOfWarp, /*transposed=*/true,
                                         code.index(block * kBlock), code.index(kBlock)));
      changes = branch.getResult(0);
    }
  }

  /// Forward substitution within a block, by a thread for each value channel.
  void solve(int64_t block) {
    const TileType ofChanges = op.getChangeTile(), ofPairs = op.getPairTile();
    auto column = [&](int64_t i) { return code.index(block * kBlock + i); };
    Values x;
    for (int64_t i = 0; i < kBlock; i += kVector)
      llvm::append_range(x, code.read(code.pointerInto(ofChanges, changePlace, lane, column(i)), kVector));
    for (int64_t i = 1; i < kBlock; ++i)
      for (int64_t j = 0; j < i; j += kVector) {
        const Values factors = code.read(code.pointerInto(ofPairs, pairPlace, column(i), column(j)), kVector);
        for (int64_t nth = 0; nth < kVector && j + nth < i; ++nth)
          x[i] = LLVM::FMAOp::create(b, factors[nth], x[j + nth], x[i]);
      }
    for (int64_t i = 0; i < kBlock; i += kVector) {
      const ValueRange four = ValueRange(x).slice(i, kVector);
      code.write(code.pointerInto(ofChanges, changePlace, lane, column(i)), four);
      if (!code.decay)
        continue;
      Values scaledFour;
      for (auto [nth, value] : llvm::enumerate(four))
        scaledFour.push_back(scaled(value, ofToken.down, column(i + int64_t(nth))));
      code.write(code.pointerInto(ofChanges, decayedPlace, lane, column(i)), scaledFour);
    }
  }

  void emitOutput(Value output, Value first, Value count) {
    const FragmentType own = fragment(kBlock, columns);
    const Values dots = dotsOf(query);
    syncWarp(); // its rows of what was there are read
    storePairs(dots, [&](Value x, Value i, Value j) {
      return between(x, i, j, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, j, i));
    });
    syncWarp();
    Value sums = multiplied(zeros(own), query, firstOfWarp, state, code.index(0), /*transposed=*/true, code.index(0),
                            depthOfKeys());
    if (code.decay)
      sums = map(own, sums,
                 [&](ValueRange x, Value row, Value) { return scaled(x[0], ofToken.up, code.add(firstOfWarp, row)); });
    // Tokens of blocks behind the warp's own are not read, be they NaN; later ones of its own are.
    sums = multiplied(sums, pairs, firstOfWarp, change, code.index(0), /*transposed=*/true, code.index(0),
                      code.add(firstOfWarp, code.index(kBlock)));
    sums = map(own, sums, [&](ValueRange x, Value, Value) {
      return Value(arith::MulFOp::create(b, x[0], code.number(op.getScale().convertToDouble())));
    });
    store(sums, output, first, count);
  }

  /// Stores the warp's rows, two columns at once where they can be.
  void store(Value sums, Value output, Value first, Value count) {
    const GlobalArray &result = code.result;
    Value at = code.add(b.createOrFold<arith::MulIOp>(first, result.strides[0]),
                        b.createOrFold<arith::MulIOp>(output, result.strides[1]));
    Value rest = arith::AndIOp::create(b, result.sizes[2], code.index(1));
    Value areWhole = arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, code.index(0)),
                                           result.isAligned(b, 2 * result.bytes()));
    auto emitRows = [&](bool elements) {
      auto rows = StoreRowsOp::create(b, sums, result.pointerAt(b, at), firstOfWarp, count, result.sizes[2],
                                      TypeAttr::get(result.element), elements ? b.getUnitAttr() : UnitAttr());
      OpBuilder::InsertionGuard guard(b);
      Block *block = b.createBlock(&rows.getBody(), {}, b.getIndexType(), b.getLoc());
      Value offset = b.createOrFold<arith::MulIOp>(block->getArgument(0), result.strides[0]);
      YieldOp::create(b, code.add(result.offset, offset));
    };
    when(b, areWhole, [&] { emitRows(false); }, [&] { emitRows(true); });
  }

  /// The state behind the chunk: a warp has some of its key channels.
  void advanceState() {
    const int64_t width = code.held / warps;
    const FragmentType own = fragment(columns, width);
    Value firstChannel = code.times(warp, width);
    const TileType tile = op.getStateTile();
    Value sums = map(own, {}, [&](ValueRange, Value row, Value column) {
      Value x = code.read(code.pointerInto(tile, statePlace, row, code.add(firstChannel, column)), 1)[0];
      return scaled(x, ofToken.up, code.index(chunk - 1));
    });
    sums = multiplied(sums, code.decay ? decayed : change, code.index(0), key, firstChannel, /*transposed=*/false,
                      code.index(0), code.index(chunk));
    NVVM::Barrier0Op::create(b); // the state before is read
    StoreMatrixOp::create(b, sums, state, code.index(0), firstChannel);
  }

  LinearAttentionCode &code;
  LinearAttentionTileOp op;
  ImplicitLocOpBuilder &b;
  int64_t columns, chunk, warps;
  Value state, key, query, change, decayed, pairs; ///< tiles
  int64_t statePlace, changePlace, decayedPlace, pairPlace;
  /// Where numbers of each token are: its decay in two parts, their sums up to it, and the factors of all decays up to
  /// it and behind it.
  struct {
    int64_t wholeOf, restOf, whole, rest, up, down, beta;
  } ofToken;
  Value warp, lane, firstOfWarp; ///< the first token of the thread's warp
};

} // namespace

void cuda::emitChunks(LinearAttentionCode &code, Value end) { Chunks(code).emit(end); }
