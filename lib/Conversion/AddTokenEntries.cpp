//===- AddTokenEntries.cpp - The most likely tokens by a model's logits --------------------===//
//
// A device reads logits faster than the host copies them. The entries are grids of points
// with short loops, so that any target compiles them: a row of a vocabulary is cut into
// groups whose best tokens compete.
//
//===-----------------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNADDTOKENENTRIES
#include "lib/Conversion/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using attn::AttnDialect;

namespace {

constexpr int64_t kGroup = 64; ///< tokens, or winners of groups, that a point compares

/// Tokens of one row of logits, by their ids; -1 is none, which every token beats.
class Choice {
public:
  Choice(ImplicitLocOpBuilder &b, Value logits, Value among)
      : b(b), logits(logits), among(among), rows(extent(b, logits, 0)),
        vocabulary(cast<RankedTensorType>(logits.getType()).getDimSize(1)) {}

  /// The most likely tokens of each row as [rows, count] in their order, at most 64 or one.
  Value best(int64_t count) {
    Value winners = groupWinners();
    if (count > 1)
      return inOrder(candidates(winners, count), count);
    for (int64_t groups = widthOf(winners); groups > 1; groups = widthOf(winners))
      winners = winnersOf(winners, groups);
    return winners;
  }

  /// The logits of tokens; -infinity of none.
  Value logitsOf(Value ids) {
    return forEach(b, ids, empty(widthOf(ids), b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      Value none = number(b, -std::numeric_limits<double>::infinity());
      return arith::SelectOp::create(b, isToken(b, x[0]), logitOf(b, at(b, 0), x[0]), none);
    });
  }

private:
  static int64_t widthOf(Value ids) { return cast<RankedTensorType>(ids.getType()).getDimSize(1); }
  static Value integer(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(b, how, x, y);
  }
  static Value isToken(ImplicitLocOpBuilder &b, Value id) {
    return compare(b, arith::CmpIPredicate::sge, id, integer(b, 0));
  }
  static Value toIndex(ImplicitLocOpBuilder &b, Value id) {
    return arith::IndexCastOp::create(b, b.getIndexType(), id);
  }
  static Value toId(ImplicitLocOpBuilder &b, Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }

  Value empty(int64_t columns, Type element) { return emptyOf(b, {rows, b.getIndexAttr(columns)}, element); }
  Value filledWith(int64_t id, int64_t columns) {
    return linalg::FillOp::create(b, ValueRange{integer(b, id)}, ValueRange{empty(columns, b.getI32Type())})
        .getResult(0);
  }
  /// A tensor without content, which gives a loop its extent.
  Value extentOf(int64_t count) { return emptyOf(b, {b.getIndexAttr(count)}, b.getI1Type()); }

  Value logitOf(ImplicitLocOpBuilder &b, Value row, Value id) {
    Value column = arith::MaxSIOp::create(b, toIndex(b, id), arith::ConstantIndexOp::create(b, 0));
    return tensor::ExtractOp::create(b, logits, ValueRange{row, column});
  }

  /// The token `id` where it may be chosen in `row`, else -1.
  Value allowed(ImplicitLocOpBuilder &b, Value row, Value id) {
    Value end = tensor::ExtractOp::create(b, among, row);
    end = arith::MinSIOp::create(b, end, integer(b, vocabulary));
    return arith::SelectOp::create(b, compare(b, arith::CmpIPredicate::slt, id, end), id, integer(b, -1));
  }

  /// Whether token `x` is before token `y`: NaN and +infinity are before other logits, so that no choice hides them,
  /// and the lowest id is before its equals.
  Value isBefore(ImplicitLocOpBuilder &b, Value row, Value x, Value y) {
    using FloatPredicate = arith::CmpFPredicate;
    Value logitX = logitOf(b, row, x), logitY = logitOf(b, row, y);
    Value infinity = number(b, std::numeric_limits<double>::infinity());
    auto is = [&](FloatPredicate how, Value p, Value q) -> Value { return arith::CmpFOp::create(b, how, p, q); };
    auto choose = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(b, condition, yes, no);
    };
    Value isLower = compare(b, arith::CmpIPredicate::slt, x, y), yes = arith::ConstantIntOp::create(b, 1, 1),
          no = arith::ConstantIntOp::create(b, 0, 1);
    Value badX = is(FloatPredicate::UGE, logitX, infinity), badY = is(FloatPredicate::UGE, logitY, infinity);
    Value byLogit = choose(is(FloatPredicate::OEQ, logitX, logitY), isLower, is(FloatPredicate::OGT, logitX, logitY));
    Value wins = choose(badX, choose(badY, isLower, yes), choose(badY, no, byLogit));
    return choose(isToken(b, x), choose(isToken(b, y), wins, yes), no);
  }

  /// Reduces `count` candidates of each of `groups` groups to the first one of them.
  Value reduce(int64_t groups, int64_t count,
               function_ref<Value(ImplicitLocOpBuilder &, Value row, Value group, Value member)> candidate) {
    return generic(b, extentOf(count), filledWith(-1, groups), {mapOf(b, 3, {2}), mapOf(b, 3, {0, 1})},
                   {Loop::Parallel, Loop::Parallel, Loop::Reduction},
                   [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                     Value row = at(b, 0), id = candidate(b, row, at(b, 1), at(b, 2));
                     return arith::SelectOp::create(b, isBefore(b, row, id, x.back()), id, x.back());
                   });
  }

  /// The first token of every group: of those whose ids differ by a multiple of the number of groups, as points beside
  /// each other read logits beside each other.
  Value groupWinners() {
    const int64_t groups = llvm::divideCeil(vocabulary, kGroup);
    return reduce(groups, kGroup, [&](ImplicitLocOpBuilder &b, Value row, Value group, Value member) {
      return allowed(b, row, toId(b, memberOf(b, group, member, groups)));
    });
  }
  static Value memberOf(ImplicitLocOpBuilder &b, Value group, Value member, int64_t groups) {
    Value first = arith::MulIOp::create(b, member, arith::ConstantIndexOp::create(b, groups));
    return arith::AddIOp::create(b, first, group);
  }

  /// The first winners of groups of winners.
  Value winnersOf(Value winners, int64_t count) {
    const int64_t groups = llvm::divideCeil(count, kGroup);
    return reduce(groups, kGroup, [&](ImplicitLocOpBuilder &b, Value row, Value group, Value member) -> Value {
      Value last = arith::ConstantIndexOp::create(b, count - 1); // who comes again does not win again
      Value column = arith::MinSIOp::create(b, memberOf(b, group, member, groups), last);
      return tensor::ExtractOp::create(b, winners, ValueRange{row, column});
    });
  }

  /// For each of [rows, n] tokens how many are before it; no two ranks are equal, as -1 is ordered by its column.
  Value ranks(Value ids) {
    const int64_t count = widthOf(ids);
    return generic(b, {ids, ids}, filledWith(0, count), {mapOf(b, 3, {0, 1}), mapOf(b, 3, {0, 2}), mapOf(b, 3, {0, 1})},
                   {Loop::Parallel, Loop::Parallel, Loop::Reduction},
                   [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                     Value no = arith::ConstantIntOp::create(b, 0, 1);
                     Value isEarlier = compare(b, arith::CmpIPredicate::slt, at(b, 2), at(b, 1));
                     Value both = arith::OrIOp::create(b, isToken(b, x[0]), isToken(b, x[1]));
                     Value before = arith::OrIOp::create(b, isBefore(b, at(b, 0), x[1], x[0]),
                                                         arith::SelectOp::create(b, both, no, isEarlier));
                     return arith::AddIOp::create(b, x.back(), arith::ExtUIOp::create(b, b.getI32Type(), before));
                   });
  }

  /// For each of `count` ranks the `value` of the column that has it.
  Value columnsOf(Value ranks, int64_t count,
                  function_ref<Value(ImplicitLocOpBuilder &, Value row, Value column)> value) {
    return generic(b, {ranks}, filledWith(-1, count), {mapOf(b, 3, {0, 2}), mapOf(b, 3, {0, 1})},
                   {Loop::Parallel, Loop::Parallel, Loop::Reduction},
                   [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                     Value is = compare(b, arith::CmpIPredicate::eq, x[0], toId(b, at(b, 1)));
                     return arith::SelectOp::create(b, is, value(b, at(b, 0), at(b, 2)), x.back());
                   });
  }

  /// Tokens among which the `count` first ones are: those of the groups whose winners are the first.
  Value candidates(Value winners, int64_t count) {
    const int64_t groups = widthOf(winners);
    if (groups <= count)
      return forEach(b, {}, empty(vocabulary, b.getI32Type()),
                     [&](ImplicitLocOpBuilder &b, ValueRange) { return allowed(b, at(b, 0), toId(b, at(b, 1))); });
    Value chosen =
        columnsOf(ranks(winners), count, [](ImplicitLocOpBuilder &b, Value, Value column) { return toId(b, column); });
    return forEach(b, {}, empty(count * kGroup, b.getI32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
      Value size = arith::ConstantIndexOp::create(b, kGroup), row = at(b, 0);
      Value member = arith::RemUIOp::create(b, at(b, 1), size), number = arith::DivUIOp::create(b, at(b, 1), size);
      Value group = tensor::ExtractOp::create(b, chosen, ValueRange{row, number});
      return allowed(b, row, toId(b, memberOf(b, toIndex(b, group), member, groups)));
    });
  }

  Value inOrder(Value ids, int64_t count) {
    return columnsOf(ranks(ids), count, [&](ImplicitLocOpBuilder &b, Value row, Value column) -> Value {
      return tensor::ExtractOp::create(b, ids, ValueRange{row, column});
    });
  }

  ImplicitLocOpBuilder &b;
  Value logits, among;
  OpFoldResult rows;
  int64_t vocabulary;
};

struct AddTokenEntries : rapt::impl::AttnAddTokenEntriesBase<AddTokenEntries> {
  using AttnAddTokenEntriesBase::AttnAddTokenEntriesBase;

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    if (!step || !step->hasAttr(AttnDialect::entryAttr))
      return;
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      auto name = step.getResultAttrOfType<StringAttr>(i, AttnDialect::nameAttr);
      auto dims = step.getResultAttrOfType<ArrayAttr>(i, AttnDialect::dimsAttr);
      auto type = dyn_cast<RankedTensorType>(step.getResultTypes()[i]);
      const bool isLogits = name && name == "logits" && dims && dims.size() == 1 && type && type.getRank() == 2 &&
                            type.getElementType().isF32() && type.isDynamicDim(0) && !type.isDynamicDim(1);
      if (!isLogits || getOperation().lookupSymbol("best_token") || getOperation().lookupSymbol("top_tokens"))
        continue;
      add(step, "best_token", 1, type, dims);
      add(step, "top_tokens", std::min(most.getValue(), type.getDimSize(1)), type, dims);
    }
  }

  void add(func::FuncOp step, StringRef name, int64_t count, RankedTensorType type, ArrayAttr dims) {
    ImplicitLocOpBuilder b(step.getLoc(), &getContext());
    b.setInsertionPointToEnd(getOperation().getBody());
    auto of = [&](int64_t columns, Type element) {
      return RankedTensorType::get({ShapedType::kDynamic, columns}, element);
    };
    auto among = RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type());
    auto entry = func::FuncOp::create(
        b, name, b.getFunctionType({type, among}, TypeRange{of(count, b.getI32Type()), of(count, b.getF32Type())}));
    entry->setAttr(AttnDialect::entryAttr, b.getUnitAttr());
    for (unsigned i = 0; i < 2; ++i) {
      entry.setArgAttr(i, AttnDialect::nameAttr, b.getStringAttr(i ? "among" : "logits"));
      entry.setResultAttr(i, AttnDialect::nameAttr, b.getStringAttr(i ? "top_logits" : "top_ids"));
      entry.setArgAttr(i, AttnDialect::dimsAttr, dims);
      entry.setResultAttr(i, AttnDialect::dimsAttr, dims);
    }
    Block *body = entry.addEntryBlock();
    b.setInsertionPointToStart(body);
    Choice choice(b, body->getArgument(0), body->getArgument(1));
    Value ids = choice.best(count);
    func::ReturnOp::create(b, ValueRange{ids, choice.logitsOf(ids)});
  }
};

} // namespace
