//===- Expand.cpp - The code of attn_gpu.norm_tile ----------------------------------------===//
//
// A row is read once: its elements stay in registers between the sums and the results.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "lib/Target/GPU/GlobalArray.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kVectorBytes = 16, kWarp = 32;
constexpr int64_t kFewElements = 16; ///< of a row that a thread has

class NormCode {
public:
  explicit NormCode(NormTileOp op)
      : op(op), b(op.getLoc(), op), input(b, op.getInput()), weight(b, op.getWeight()), result(b, op.getResult()),
        width(cast<ShapedType>(op.getInput().getType()).getDimSize(1)), vector(op.getVector()), parts(op.getParts()),
        lanes(op.getTiles().getLanes()) {
    if (op.getBias())
      bias.emplace(b, op.getBias());
    Value thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
    row = arith::DivUIOp::create(b, thread, index(lanes));
    first = times(arith::RemUIOp::create(b, thread, index(lanes)), vector);
    isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, result.sizes[0]);
    areAligned = isAligned(input);
    for (const GlobalArray *array : {&weight, &result, bias ? &*bias : nullptr})
      if (array)
        areAligned = arith::AndIOp::create(b, areAligned, isAligned(*array));
  }

  void emit() {
    if (lanes > kWarp)
      NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    // Few weights are loaded in front of the sums, many a part at a time: registers do not hold more.
    const bool areFew = parts * vector <= kFewElements;
    for (int64_t part = 0; areFew && part < parts; ++part)
      operands.push_back(loadOperands(part));
    SmallVector<Value> x = load(input, rowOffset(input), 0, parts);
    Value count = number(double(int64_t(op.getColumns()))), mean;
    if (bias)
      mean = arith::DivFOp::create(b, sum(x, [](Value value) { return value; }, /*nth=*/0), count);
    Value squares = sum(
        x,
        [&](Value value) {
          Value distance = mean ? Value(arith::SubFOp::create(b, value, mean)) : value;
          return Value(arith::MulFOp::create(b, distance, distance));
        },
        /*nth=*/1);
    Value variance =
        arith::AddFOp::create(b, arith::DivFOp::create(b, squares, count), number(op.getEpsilon().convertToDouble()));
    Value scale = arith::DivFOp::create(b, number(1), math::SqrtOp::create(b, variance));
    for (int64_t part = 0; part < parts; ++part)
      finish(areFew ? operands[part] : loadOperands(part), part, MutableArrayRef(x).slice(part * vector, vector), mean,
             scale);
  }

private:
  /// Weights and biases of a thread's elements of a part.
  struct Operands {
    SmallVector<Value> weight, bias;
  };
  Operands loadOperands(int64_t part) {
    return {load(weight, weight.offset, part, 1), bias ? load(*bias, bias->offset, part, 1) : SmallVector<Value>()};
  }

  /// The results of a part of a row.
  void finish(const Operands &of, int64_t part, MutableArrayRef<Value> x, Value mean, Value scale) {
    for (auto [i, value] : llvm::enumerate(x)) {
      if (mean)
        value = arith::SubFOp::create(b, value, mean);
      value = arith::MulFOp::create(b, arith::MulFOp::create(b, value, scale), of.weight[i]);
      if (bias)
        value = arith::AddFOp::create(b, value, of.bias[i]);
    }
    store(part, x);
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value number(double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value))); }
  Value times(Value x, int64_t by) { return b.createOrFold<arith::MulIOp>(x, index(by)); }
  Value isBelow(Value x, int64_t bound) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, index(bound)); }

  /// Bytes of the elements that stand beside a vector of the input's, up to those of one access.
  int64_t bytesOf(const GlobalArray &array) const {
    return std::min(kVectorBytes, vector * int64_t(array.element.getIntOrFloatBitWidth()) / 8);
  }
  Value isAligned(const GlobalArray &array) { return array.isAligned(b, bytesOf(array)); }
  Value rowOffset(const GlobalArray &array) {
    return arith::AddIOp::create(b, array.offset, arith::MulIOp::create(b, row, array.strides[0]));
  }
  /// Elements of a vector are beside each other, those that are read alone as far apart as the array says.
  Value elementAt(const GlobalArray &array, Value offset, Value column, int64_t step) {
    if (step == 1)
      column = b.createOrFold<arith::MulIOp>(column, array.strides.back());
    return arith::AddIOp::create(b, offset, column);
  }
  /// The column of a thread's first element of a part.
  Value columnOf(int64_t part) { return b.createOrFold<arith::AddIOp>(first, index(part * lanes * vector)); }
  /// Whether the elements of a part from `column` on are beyond those of some threads.
  bool mayEnd(int64_t part) const { return (part + 1) * lanes * vector > width; }
  bool hasVectors() const { return width % vector == 0; }

  /// The code of `whole` where arrays are aligned, else that of `single`, with results of f32.
  SmallVector<Value> either(int64_t count, function_ref<SmallVector<Value>()> whole,
                            function_ref<SmallVector<Value>()> single) {
    if (!hasVectors())
      return single();
    auto branch = scf::IfOp::create(b, SmallVector<Type>(count, b.getF32Type()), areAligned, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (bool isWhole : {true, false}) {
      b.setInsertionPointToStart(isWhole ? branch.thenBlock() : branch.elseBlock());
      SmallVector<Value> values = isWhole ? whole() : single();
      if (count)
        scf::YieldOp::create(b, values);
    }
    return SmallVector<Value>(branch.getResults());
  }

  /// The values of `emit` under a condition, else zeros.
  SmallVector<Value> orZeros(Value condition, int64_t count, function_ref<SmallVector<Value>()> emit) {
    auto branch = scf::IfOp::create(b, SmallVector<Type>(count, b.getF32Type()), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, emit());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, SmallVector<Value>(count, number(0)));
    return SmallVector<Value>(branch.getResults());
  }

  Value isInside(Value condition, Value column, bool mayEnd) {
    return mayEnd ? Value(arith::AndIOp::create(b, condition, isBelow(column, width))) : condition;
  }

  /// A thread's elements of `count` parts of a row that begins `offset` behind an array, as f32; zeros beyond its end.
  SmallVector<Value> load(const GlobalArray &array, Value offset, int64_t firstPart, int64_t count) {
    auto loadParts = [&](int64_t step) {
      SmallVector<Value> values;
      for (int64_t part = firstPart; part < firstPart + count; ++part)
        for (int64_t i = 0; i < vector; i += step) {
          Value column = b.createOrFold<arith::AddIOp>(columnOf(part), index(i));
          llvm::append_range(values, orZeros(isInside(isThere, column, mayEnd(part)), step, [&] {
                               return loadAt(array, elementAt(array, offset, column, step), step);
                             }));
        }
      return values;
    };
    return either(count * vector, [&] { return loadParts(vector); }, [&] { return loadParts(1); });
  }

  SmallVector<Value> loadAt(const GlobalArray &array, Value at, int64_t count) {
    const bool isWhole = count > 1;
    Type type = isWhole ? Type(VectorType::get(count, array.element)) : array.element;
    const int64_t alignment = isWhole ? bytesOf(array) : array.element.getIntOrFloatBitWidth() / 8;
    Value loaded = LLVM::LoadOp::create(b, type, array.pointerAt(b, at), unsigned(alignment));
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i) {
      Value value = loaded;
      if (isWhole)
        value =
            LLVM::ExtractElementOp::create(b, loaded, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(i))));
      values.push_back(value.getType().isF32() ? value : Value(arith::ExtFOp::create(b, b.getF32Type(), value)));
    }
    return values;
  }

  void store(int64_t part, ArrayRef<Value> values) {
    auto storePart = [&](int64_t step) {
      for (int64_t i = 0; i < vector; i += step) {
        Value column = b.createOrFold<arith::AddIOp>(columnOf(part), index(i));
        auto branch = scf::IfOp::create(b, isInside(isThere, column, mayEnd(part)), /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        storeAt(elementAt(result, rowOffset(result), column, step), values.slice(i, step));
      }
      return SmallVector<Value>();
    };
    either(0, [&] { return storePart(vector); }, [&] { return storePart(1); });
  }

  void storeAt(Value at, ArrayRef<Value> values) {
    SmallVector<Value> numbers;
    for (Value value : values)
      numbers.push_back(result.element.isF32() ? value : Value(arith::TruncFOp::create(b, result.element, value)));
    const bool isWhole = values.size() > 1;
    Value stored = numbers[0];
    if (isWhole) {
      stored = LLVM::PoisonOp::create(b, VectorType::get(int64_t(values.size()), result.element));
      for (auto [i, value] : llvm::enumerate(numbers))
        stored = LLVM::InsertElementOp::create(b, stored, value,
                                               arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(i))));
    }
    const int64_t alignment = isWhole ? bytesOf(result) : result.element.getIntOrFloatBitWidth() / 8;
    LLVM::StoreOp::create(b, stored, result.pointerAt(b, at), unsigned(alignment));
  }

  /// The sum over the row's first columns of a term of each element, for every thread of the row. `nth` tells the
  /// scratch.
  Value sum(ArrayRef<Value> values, function_ref<Value(Value)> termOf, int64_t nth) {
    const int64_t columns = op.getColumns();
    Value total = number(0);
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t i = 0; i < vector; ++i) {
        Value term = termOf(values[part * vector + i]);
        if ((part + 1) * lanes * vector > columns) {
          Value column = b.createOrFold<arith::AddIOp>(columnOf(part), index(i));
          term = arith::SelectOp::create(b, isBelow(column, columns), term, number(0));
        }
        total = arith::AddFOp::create(b, total, term);
      }
    const int64_t scratch = lanes > kWarp ? nth * op.getThreads() / kWarp * 4 : 0;
    return ReduceThreadsOp::create(b, Reduction::add, total, uint32_t(lanes), index(scratch));
  }

  NormTileOp op;
  ImplicitLocOpBuilder b;
  GlobalArray input, weight, result;
  std::optional<GlobalArray> bias;
  int64_t width, vector, parts, lanes;
  SmallVector<Operands> operands;
  Value row, first, isThere, areAligned; ///< the thread's row and first column
};

} // namespace

LogicalResult cuda::expand(NormTileOp op) {
  NormCode(op).emit();
  return success();
}
