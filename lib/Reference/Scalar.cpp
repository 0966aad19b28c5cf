//===- Scalar.cpp - Scalar arithmetic, alone and in regions -------------------===//
//
// Operations that the IR leaves undefined (division by zero, a shift by the width, a
// float that no integer holds) give 0 here, so that no program stops the evaluator.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Scalar.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;
using namespace rapt::reference;

bool rapt::reference::isScalarType(Type type) {
  return isa<IndexType, FloatType>(type) ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 64 && type.getIntOrFloatBitWidth() > 0);
}

namespace {

template <typename S> using Node = const Instruction<S> &;
template <typename S> using RunTable = llvm::StringMap<typename Instruction<S>::Run>;

uint64_t zeroExtend(int64_t value, unsigned width) {
  return width >= 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << width) - 1);
}

template <typename S, auto F> void float1(Node<S> n, Slot<S> *s) { s[n.result].f = F(s[n.operands[0]].f); }
template <typename S, auto F> void float2(Node<S> n, Slot<S> *s) {
  s[n.result].f = F(s[n.operands[0]].f, s[n.operands[1]].f);
}
template <typename S, auto F> void signed2(Node<S> n, Slot<S> *s) {
  s[n.result].i = signExtend(int64_t(F(s[n.operands[0]].i, s[n.operands[1]].i)), n.width);
}
template <typename S, auto F> void unsigned2(Node<S> n, Slot<S> *s) {
  s[n.result].i =
      signExtend(int64_t(F(zeroExtend(s[n.operands[0]].i, n.width), zeroExtend(s[n.operands[1]].i, n.width))), n.width);
}
template <typename S> void shiftLeft(Node<S> n, Slot<S> *s) {
  uint64_t by = zeroExtend(s[n.operands[1]].i, n.width);
  s[n.result].i = by < n.width ? signExtend(int64_t(uint64_t(s[n.operands[0]].i) << by), n.width) : 0;
}
template <typename S> void shiftRight(Node<S> n, Slot<S> *s) {
  uint64_t by = zeroExtend(s[n.operands[1]].i, n.width);
  s[n.result].i = by < n.width ? s[n.operands[0]].i >> by : 0;
}
template <typename S> void shiftRightUnsigned(Node<S> n, Slot<S> *s) {
  uint64_t by = zeroExtend(s[n.operands[1]].i, n.width);
  s[n.result].i = by < n.width ? signExtend(int64_t(zeroExtend(s[n.operands[0]].i, n.width) >> by), n.width) : 0;
}
template <typename S> void castSigned(Node<S> n, Slot<S> *s) {
  s[n.result].i = signExtend(s[n.operands[0]].i, n.resultWidth);
}
template <typename S> void castUnsigned(Node<S> n, Slot<S> *s) {
  s[n.result].i = signExtend(int64_t(zeroExtend(s[n.operands[0]].i, n.width)), n.resultWidth);
}
template <typename S> void signedToFloat(Node<S> n, Slot<S> *s) {
  s[n.result].f = S(roundTo(cast<FloatType>(n.resultType), double(S(s[n.operands[0]].i))));
}
template <typename S> void unsignedToFloat(Node<S> n, Slot<S> *s) {
  s[n.result].f = S(roundTo(cast<FloatType>(n.resultType), double(S(zeroExtend(s[n.operands[0]].i, n.width)))));
}
template <typename S> void floatToSigned(Node<S> n, Slot<S> *s) {
  double value = std::trunc(double(s[n.operands[0]].f)), end = std::ldexp(1.0, int(n.resultWidth) - 1);
  s[n.result].i = value >= -end && value < end ? int64_t(value) : 0;
}
template <typename S> void floatToUnsigned(Node<S> n, Slot<S> *s) {
  double value = std::trunc(double(s[n.operands[0]].f)), end = std::ldexp(1.0, int(n.resultWidth));
  s[n.result].i = value >= 0 && value < end ? signExtend(int64_t(uint64_t(value)), n.resultWidth) : 0;
}
template <typename S> void castFloat(Node<S> n, Slot<S> *s) {
  s[n.result].f = S(roundTo(cast<FloatType>(n.resultType), double(s[n.operands[0]].f)));
}
template <typename S> void select(Node<S> n, Slot<S> *s) {
  s[n.result] = s[n.operands[0]].i ? s[n.operands[1]] : s[n.operands[2]];
}
template <typename S> void fusedMultiplyAdd(Node<S> n, Slot<S> *s) {
  s[n.result].f = std::fma(s[n.operands[0]].f, s[n.operands[1]].f, s[n.operands[2]].f);
}
/// The power is as far as doubles tell; its sign is that of the exponent's lowest bit.
template <typename S> void integerPower(Node<S> n, Slot<S> *s) {
  const S base = s[n.operands[0]].f;
  const int64_t exponent = s[n.operands[1]].i;
  const double power = std::pow(std::abs(double(base)), double(exponent));
  s[n.result].f = S(std::signbit(base) && exponent % 2 != 0 ? -power : power);
}

template <typename S> void lookUp(Node<S> n, Slot<S> *s) {
  const Tensor<S> &table = *s[n.operands[0]].table;
  int64_t at = 0;
  for (size_t i = 0; i < table.shape.size(); ++i)
    at = at * table.dim(i) + std::clamp<int64_t>(s[n.operands[1 + i]].i, 0, table.dim(i) - 1);
  if (table.floats.empty())
    s[n.result].i = table.ints[at];
  else
    s[n.result].f = table.floats[at];
}

/// A step of tensor.extract: the number of an element in the dims up to one, or -1 beyond the tensor.
template <typename S> void stepInto(Node<S> n, Slot<S> *s) {
  const int64_t extent = s[n.operands[0]].table->dim(n.predicate), before = s[n.operands[1]].i,
                index = s[n.operands[2]].i;
  s[n.result].i = before < 0 || index < 0 || index >= extent ? -1 : before * extent + index;
}

template <typename S> void readElement(Node<S> n, Slot<S> *s) {
  const Tensor<S> &tensor = *s[n.operands[0]].table;
  const int64_t at = s[n.operands[1]].i;
  s[n.operands[2]].i |= at < 0;
  if (tensor.floats.empty())
    s[n.result].i = at < 0 ? 0 : tensor.ints[at];
  else
    s[n.result].f = at < 0 ? S(0) : tensor.floats[at];
}

template <typename S> void moveSlot(Node<S> n, Slot<S> *s) { s[n.result] = s[n.operands[0]]; }

/// Whether a loop's counter has reached its bound.
template <typename S> void isAtEnd(Node<S> n, Slot<S> *s) { s[n.result].i = s[n.operands[0]].i >= s[n.operands[1]].i; }
/// The next counter; the IR leaves steps below 1 undefined.
template <typename S> void advance(Node<S> n, Slot<S> *s) {
  const int64_t step = std::max<int64_t>(s[n.operands[1]].i, 1);
  if (__builtin_add_overflow(s[n.operands[0]].i, step, &s[n.result].i))
    s[n.result].i = std::numeric_limits<int64_t>::max();
}

template <typename S> void compareInteger(Node<S> n, Slot<S> *s) {
  int64_t a = s[n.operands[0]].i, b = s[n.operands[1]].i;
  uint64_t ua = zeroExtend(a, n.width), ub = zeroExtend(b, n.width);
  auto compare = [&] {
    switch (arith::CmpIPredicate(n.predicate)) {
    case arith::CmpIPredicate::eq:
      return a == b;
    case arith::CmpIPredicate::ne:
      return a != b;
    case arith::CmpIPredicate::slt:
      return a < b;
    case arith::CmpIPredicate::sle:
      return a <= b;
    case arith::CmpIPredicate::sgt:
      return a > b;
    case arith::CmpIPredicate::sge:
      return a >= b;
    case arith::CmpIPredicate::ult:
      return ua < ub;
    case arith::CmpIPredicate::ule:
      return ua <= ub;
    case arith::CmpIPredicate::ugt:
      return ua > ub;
    case arith::CmpIPredicate::uge:
      return ua >= ub;
    }
    llvm_unreachable("every predicate is handled");
  };
  s[n.result].i = compare() ? -1 : 0;
}

template <typename S> void compareFloat(Node<S> n, Slot<S> *s) {
  S a = s[n.operands[0]].f, b = s[n.operands[1]].f;
  bool unordered = std::isnan(a) || std::isnan(b);
  auto compare = [&] {
    switch (arith::CmpFPredicate(n.predicate)) {
    case arith::CmpFPredicate::AlwaysFalse:
      return false;
    case arith::CmpFPredicate::AlwaysTrue:
      return true;
    case arith::CmpFPredicate::ORD:
      return !unordered;
    case arith::CmpFPredicate::UNO:
      return unordered;
    case arith::CmpFPredicate::OEQ:
      return a == b;
    case arith::CmpFPredicate::ONE:
      return !unordered && a != b;
    case arith::CmpFPredicate::OLT:
      return a < b;
    case arith::CmpFPredicate::OLE:
      return a <= b;
    case arith::CmpFPredicate::OGT:
      return a > b;
    case arith::CmpFPredicate::OGE:
      return a >= b;
    case arith::CmpFPredicate::UEQ:
      return unordered || a == b;
    case arith::CmpFPredicate::UNE:
      return unordered || a != b;
    case arith::CmpFPredicate::ULT:
      return unordered || a < b;
    case arith::CmpFPredicate::ULE:
      return unordered || a <= b;
    case arith::CmpFPredicate::UGT:
      return unordered || a > b;
    case arith::CmpFPredicate::UGE:
      return unordered || a >= b;
    }
    llvm_unreachable("every predicate is handled");
  };
  s[n.result].i = compare() ? -1 : 0;
}

/// maximumf and minimumf give NaN when an operand is; maxnumf and minnumf the other operand. The first two order -0
/// before 0.
template <typename S> S propagating(S a, S b, bool isMaximum) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<S>::quiet_NaN();
  const bool isLess = a < b || (a == b && std::signbit(a));
  return isLess == isMaximum ? b : a;
}

int64_t floorQuotient(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return b == 0 ? 0 : int64_t(-uint64_t(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t ceilQuotient(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return b == 0 ? 0 : int64_t(-uint64_t(a));
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

template <typename S> void addIntegerOps(RunTable<S> &table) {
  using I = int64_t;
  using U = uint64_t;
  table["arith.addi"] = signed2<S, [](I a, I b) { return U(a) + U(b); }>;
  table["arith.subi"] = signed2<S, [](I a, I b) { return U(a) - U(b); }>;
  table["arith.muli"] = signed2<S, [](I a, I b) { return U(a) * U(b); }>;
  table["arith.divsi"] = signed2<S, [](I a, I b) { return b == 0 ? I(0) : b == -1 ? I(-U(a)) : a / b; }>;
  table["arith.remsi"] = signed2<S, [](I a, I b) { return b == 0 || b == -1 ? I(0) : a % b; }>;
  table["arith.floordivsi"] = signed2<S, floorQuotient>;
  table["arith.ceildivsi"] = signed2<S, ceilQuotient>;
  table["arith.minsi"] = signed2<S, [](I a, I b) { return a < b ? a : b; }>;
  table["arith.maxsi"] = signed2<S, [](I a, I b) { return a > b ? a : b; }>;
  table["arith.andi"] = signed2<S, [](I a, I b) { return a & b; }>;
  table["arith.ori"] = signed2<S, [](I a, I b) { return a | b; }>;
  table["arith.xori"] = signed2<S, [](I a, I b) { return a ^ b; }>;
  table["arith.divui"] = unsigned2<S, [](U a, U b) { return b == 0 ? U(0) : a / b; }>;
  table["arith.remui"] = unsigned2<S, [](U a, U b) { return b == 0 ? U(0) : a % b; }>;
  table["arith.ceildivui"] = unsigned2<S, [](U a, U b) { return b == 0 ? U(0) : a / b + (a % b != 0); }>;
  table["arith.minui"] = unsigned2<S, [](U a, U b) { return a < b ? a : b; }>;
  table["arith.maxui"] = unsigned2<S, [](U a, U b) { return a > b ? a : b; }>;
  table["arith.shli"] = shiftLeft<S>;
  table["arith.shrsi"] = shiftRight<S>;
  table["arith.shrui"] = shiftRightUnsigned<S>;
  table["math.absi"] = signed2<S, [](I a, I) { return a < 0 ? -U(a) : U(a); }>;
  table["arith.cmpi"] = compareInteger<S>;
  for (const char *name : {"arith.index_cast", "arith.extsi", "arith.trunci"})
    table[name] = castSigned<S>;
  for (const char *name : {"arith.index_castui", "arith.extui"})
    table[name] = castUnsigned<S>;
  table["arith.sitofp"] = signedToFloat<S>;
  table["arith.uitofp"] = unsignedToFloat<S>;
  table["arith.fptosi"] = floatToSigned<S>;
  table["arith.fptoui"] = floatToUnsigned<S>;
  table["arith.select"] = select<S>;
}

template <typename S> void addFloatOps(RunTable<S> &table) {
  table["arith.addf"] = float2<S, [](S a, S b) { return a + b; }>;
  table["arith.subf"] = float2<S, [](S a, S b) { return a - b; }>;
  table["arith.mulf"] = float2<S, [](S a, S b) { return a * b; }>;
  table["arith.divf"] = float2<S, [](S a, S b) { return a / b; }>;
  table["arith.remf"] = float2<S, [](S a, S b) { return S(std::fmod(a, b)); }>;
  table["arith.maximumf"] = float2<S, [](S a, S b) { return propagating(a, b, true); }>;
  table["arith.minimumf"] = float2<S, [](S a, S b) { return propagating(a, b, false); }>;
  table["arith.maxnumf"] = float2<S, [](S a, S b) { return S(std::fmax(a, b)); }>;
  table["arith.minnumf"] = float2<S, [](S a, S b) { return S(std::fmin(a, b)); }>;
  table["arith.negf"] = float1<S, [](S a) { return -a; }>;
  table["arith.cmpf"] = compareFloat<S>;
  table["arith.extf"] = table["arith.truncf"] = castFloat<S>;
}

template <typename S> void addMathOps(RunTable<S> &table) {
  table["math.absf"] = float1<S, [](S a) { return S(std::abs(a)); }>;
  table["math.ceil"] = float1<S, [](S a) { return S(std::ceil(a)); }>;
  table["math.floor"] = float1<S, [](S a) { return S(std::floor(a)); }>;
  table["math.round"] = float1<S, [](S a) { return S(std::round(a)); }>;
  table["math.roundeven"] = float1<S, [](S a) { return S(std::nearbyint(a)); }>;
  table["math.trunc"] = float1<S, [](S a) { return S(std::trunc(a)); }>;
  table["math.sqrt"] = float1<S, [](S a) { return S(std::sqrt(a)); }>;
  table["math.rsqrt"] = float1<S, [](S a) { return S(1 / std::sqrt(a)); }>;
  table["math.cbrt"] = float1<S, [](S a) { return S(std::cbrt(a)); }>;
  table["math.exp"] = float1<S, [](S a) { return S(std::exp(a)); }>;
  table["math.exp2"] = float1<S, [](S a) { return S(std::exp2(a)); }>;
  table["math.expm1"] = float1<S, [](S a) { return S(std::expm1(a)); }>;
  table["math.log"] = float1<S, [](S a) { return S(std::log(a)); }>;
  table["math.log2"] = float1<S, [](S a) { return S(std::log2(a)); }>;
  table["math.log10"] = float1<S, [](S a) { return S(std::log10(a)); }>;
  table["math.log1p"] = float1<S, [](S a) { return S(std::log1p(a)); }>;
  table["math.erf"] = float1<S, [](S a) { return S(std::erf(a)); }>;
  table["math.sin"] = float1<S, [](S a) { return S(std::sin(a)); }>;
  table["math.cos"] = float1<S, [](S a) { return S(std::cos(a)); }>;
  table["math.tan"] = float1<S, [](S a) { return S(std::tan(a)); }>;
  table["math.tanh"] = float1<S, [](S a) { return S(std::tanh(a)); }>;
  table["math.asin"] = float1<S, [](S a) { return S(std::asin(a)); }>;
  table["math.acos"] = float1<S, [](S a) { return S(std::acos(a)); }>;
  table["math.sinh"] = float1<S, [](S a) { return S(std::sinh(a)); }>;
  table["math.cosh"] = float1<S, [](S a) { return S(std::cosh(a)); }>;
  table["math.atan"] = float1<S, [](S a) { return S(std::atan(a)); }>;
  table["math.atan2"] = float2<S, [](S a, S b) { return S(std::atan2(a, b)); }>;
  table["math.powf"] = float2<S, [](S a, S b) { return S(std::pow(a, b)); }>;
  table["math.fpowi"] = integerPower<S>;
  table["math.copysign"] = float2<S, [](S a, S b) { return S(std::copysign(a, b)); }>;
  table["math.fma"] = fusedMultiplyAdd<S>;
}

template <typename S> const RunTable<S> &runTable() {
  static const RunTable<S> table = [] {
    RunTable<S> known, allowed;
    addIntegerOps<S>(known);
    addFloatOps<S>(known);
    addMathOps<S>(known);
#define SCALAR_OP(OP, NAME) allowed[NAME] = known.at(NAME);
#include "dialect/Attn/ScalarOps.def"
    assert(allowed.size() == known.size() && "evaluates an op that dialect/Attn/ScalarOps.def does not have");
    return allowed;
  }();
  return table;
}

unsigned widthOf(Type type) { return type.isIndex() || !isa<IntegerType>(type) ? 64 : type.getIntOrFloatBitWidth(); }

} // namespace

template <typename S> FailureOr<Instruction<S>> rapt::reference::instructionOf(Operation *op) {
  auto run = runTable<S>().find(op->getName().getStringRef());
  if (run == runTable<S>().end() || op->getNumOperands() > 3 || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return op->emitOpError("is not a scalar op that the reference evaluates");
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
    if (!isScalarType(isa<RankedTensorType>(type) ? getElementTypeOrSelf(type) : type))
      return op->emitOpError() << "works on " << type << ", but only scalars of at most 64 bits are evaluated";
  Instruction<S> instruction;
  instruction.run = run->second;
  instruction.width = widthOf(getElementTypeOrSelf(op->getOperand(0).getType()));
  instruction.resultType = getElementTypeOrSelf(op->getResult(0).getType());
  instruction.resultWidth = widthOf(instruction.resultType);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = int64_t(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.predicate = int64_t(compare.getPredicate());
  return instruction;
}

template <typename S> Slot<S> rapt::reference::slotOf(TypedAttr constant) {
  Slot<S> slot;
  if (auto number = dyn_cast<FloatAttr>(constant)) {
    // In f64 a constant is the real number that the text names, as near as its own type holds it.
    slot.f = S(number.getValueAsDouble());
    return slot;
  }
  slot.i = cast<IntegerAttr>(constant).getValue().getSExtValue();
  return slot;
}

/// Makes the instructions of a region.
template <typename S> class ScalarProgram<S>::Compiler {
public:
  Compiler(Region &region, Capture captured)
      : captured(captured), mayReadTensors(isa<linalg::LinalgOp>(region.getParentOp())) {}

  FailureOr<ScalarProgram> compile(Region &region) {
    if (!region.hasOneBlock())
      return region.getParentOp()->emitOpError("has a region with more than one block, which is not evaluated");
    for (BlockArgument argument : region.getArguments())
      addSlot(argument);
    FailureOr<SmallVector<unsigned>> yielded = addOps(region.front());
    if (failed(yielded))
      return failure();
    program.yielded.assign(yielded->begin(), yielded->end());
    return std::move(program);
  }

private:
  unsigned addSlot(int64_t number = 0) {
    program.slots.emplace_back().i = number;
    return unsigned(program.slots.size() - 1);
  }
  unsigned addSlot(mlir::Value value) { return numbers[value] = addSlot(); }

  FailureOr<unsigned> findSlot(Operation *user, mlir::Value value) {
    if (auto known = numbers.find(value); known != numbers.end())
      return known->second;
    const Value<S> *outside = captured(value);
    unsigned at = addSlot(value);
    if (outside && std::holds_alternative<int64_t>(*outside))
      program.slots[at].i = std::get<int64_t>(*outside);
    else if (outside && std::holds_alternative<S>(*outside))
      program.slots[at].f = std::get<S>(*outside);
    else
      return user->emitOpError("uses a value from outside of the region that is not a scalar");
    return at;
  }
  FailureOr<SmallVector<unsigned>> findSlots(Operation *user, ValueRange values) {
    SmallVector<unsigned> found;
    for (mlir::Value value : values) {
      FailureOr<unsigned> at = findSlot(user, value);
      if (failed(at))
        return failure();
      found.push_back(*at);
    }
    return found;
  }

  /// Adds the ops of a block. The slots of what its terminator yields.
  FailureOr<SmallVector<unsigned>> addOps(Block &block) {
    for (Operation &op : block)
      if (&op == block.getTerminator() && isa<attn::YieldOp, linalg::YieldOp, scf::YieldOp>(op))
        return findSlots(&op, op.getOperands());
      else if (failed(add(op)))
        return failure();
    return SmallVector<unsigned>();
  }

  LogicalResult add(Operation &op) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      program.indices.emplace_back(addSlot(index), index.getDim());
      return success();
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isScalarType(constant.getType())) {
      program.slots[addSlot(constant)] = slotOf<S>(constant.getValue());
      return success();
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op); extract && mayReadTensors)
      return addExtract(extract);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && mayReadTensors)
      return addLoop(loop);
    if (op.getNumResults() == 1 && isa<RankedTensorType>(op.getResult(0).getType()))
      return op.emitOpError("makes a tensor in a region, which is not evaluated");
    FailureOr<Instruction<S>> instruction = isa<attn::LookupOp>(op) ? Instruction<S>{lookUp<S>} : instructionOf<S>(&op);
    if (failed(instruction))
      return failure();
    FailureOr<SmallVector<unsigned>> operands = findSlots(&op, op.getOperands());
    if (failed(operands))
      return failure();
    llvm::copy(*operands, instruction->operands);
    instruction->result = addSlot(op.getResult(0));
    program.instructions.push_back(*instruction);
    return success();
  }

  LogicalResult addExtract(tensor::ExtractOp extract) {
    const Value<S> *outside = captured(extract.getTensor());
    assert(outside && "no op of a region makes a tensor");
    const unsigned tensor = addSlot();
    program.slots[tensor].table = std::get<TensorRef<S>>(*outside).get();
    FailureOr<SmallVector<unsigned>> indices = findSlots(extract, extract.getIndices());
    if (failed(indices))
      return failure();
    unsigned at = addSlot();
    for (auto [dim, index] : llvm::enumerate(*indices)) {
      const unsigned next = addSlot();
      program.instructions.push_back({stepInto<S>, {tensor, at, index}, next, 64, 64, int64_t(dim), {}});
      at = next;
    }
    if (!program.beyond)
      program.beyond = addSlot();
    program.instructions.push_back({readElement<S>, {tensor, at, *program.beyond}, addSlot(extract), 64, 64, 0, {}});
    return success();
  }

  void move(unsigned from, unsigned to) { program.instructions.push_back({moveSlot<S>, {from}, to}); }
  void move(ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
    for (auto [source, target] : llvm::zip_equal(from, to))
      move(source, target);
  }

  /// Moves to the first state, a test that jumps behind the loop, the body, moves to the next state, a jump to the
  /// test.
  LogicalResult addLoop(scf::ForOp loop) {
    if (loop.getUnsignedCmp())
      return loop.emitOpError("compares without signs, which is not evaluated");
    FailureOr<SmallVector<unsigned>> bounds =
        findSlots(loop, {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    FailureOr<SmallVector<unsigned>> inits = findSlots(loop, loop.getInitArgs());
    if (failed(bounds) || failed(inits))
      return failure();
    const unsigned counter = addSlot(loop.getInductionVar());
    SmallVector<unsigned> state, next;
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      state.push_back(addSlot(argument));
      next.push_back(addSlot());
    }
    move((*bounds)[0], counter);
    move(*inits, state);
    const size_t test = program.instructions.size();
    program.instructions.push_back({isAtEnd<S>, {counter, (*bounds)[1]}, addSlot()});
    FailureOr<SmallVector<unsigned>> yielded = addOps(*loop.getBody());
    if (failed(yielded))
      return failure();
    move(*yielded, next); // all at once: one may be another's state
    move(next, state);
    program.instructions.push_back({advance<S>, {counter, (*bounds)[2]}, counter});
    const unsigned always = addSlot(1);
    move(always, always);
    program.instructions.back().jump = test;
    program.instructions[test].jump = program.instructions.size();
    for (auto [result, at] : llvm::zip_equal(loop.getResults(), state))
      numbers[result] = at;
    return success();
  }

  ScalarProgram program;
  Capture captured;
  bool mayReadTensors; ///< and have loops, as the regions of linalg
  llvm::DenseMap<mlir::Value, unsigned> numbers;
};

template <typename S> FailureOr<ScalarProgram<S>> ScalarProgram<S>::compile(Region &region, Capture captured) {
  return Compiler(region, captured).compile(region);
}

namespace rapt::reference {
#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<Instruction<S>> instructionOf<S>(Operation *);                                                    \
  template Slot<S> slotOf<S>(TypedAttr);                                                                               \
  template class ScalarProgram<S>;
INSTANTIATE(float)
INSTANTIATE(double)
} // namespace rapt::reference
