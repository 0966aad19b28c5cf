//===- AddTokenEntries.cpp - The most likely tokens by a model's logits --------------------===//
//
// A device reads logits faster than the host copies them. The entries are grids of points
// without loops, so that any target compiles them: a row of a vocabulary is cut into groups
// whose best tokens compete.
//
//===-----------------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Entries.h"
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

/// Tokens of a group, all of which a point reads. Its body has no loop, so that the reads do not wait for each other.
constexpr int64_t kGroup = 32;

/// A token at a point. Id -1 is none, with the logit -infinity, which every token beats.
struct Token {
  Value id, logit;
};

/// The tokens of each row, [rows, width].
struct Tokens {
  Value ids, logits; ///< null: all of the vocabulary
  int64_t width;
};

/// Tokens among which the first ones are, and their columns in a level; none where they are the level itself.
struct Candidates {
  Tokens tokens;
  Value columns;
};

class Choice {
public:
  Choice(ImplicitLocOpBuilder &b, Value logits, Value among)
      : b(b), logits(logits), among(among), rows(extent(b, logits, 0)),
        vocabulary(cast<RankedTensorType>(logits.getType()).getDimSize(1)) {}

  /// The most likely tokens of each row in their order: their ids and their logits, as [rows, count].
  SmallVector<Value> best(int64_t count) {
    Tokens all{{}, {}, vocabulary};
    if (count > 1) {
      Candidates found = candidates(all, count);
      return firsts(found.tokens, count, {found.tokens.ids, found.tokens.logits});
    }
    do
      all = winners(all);
    while (all.width > 1);
    return {all.ids, all.logits};
  }

private:
  using Indices = ArrayRef<Value>;

  static Value integer(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  static Value index(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(b, how, x, y);
  }
  static Value select(ImplicitLocOpBuilder &b, Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
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
  /// x * count + y
  static Value combined(ImplicitLocOpBuilder &b, Value x, int64_t count, Value y) {
    return arith::AddIOp::create(b, arith::MulIOp::create(b, x, index(b, count)), y);
  }
  /// Column `member` of a group: the columns of a group differ by a multiple of the number of groups, as points beside
  /// each other read logits beside each other.
  static Value memberOf(ImplicitLocOpBuilder &b, Value group, Value member, int64_t groups) {
    return combined(b, member, groups, group);
  }
  static int64_t groupsOf(int64_t width) { return llvm::divideCeil(width, kGroup); }

  /// Tensors [rows, extents...] from their elements at each point; `body` gets its indices.
  SmallVector<Value> points(ArrayRef<int64_t> extents, TypeRange types,
                            function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Indices)> body) {
    const unsigned rank = extents.size() + 1;
    SmallVector<OpFoldResult> shape{rows};
    for (int64_t extent : extents)
      shape.push_back(b.getIndexAttr(extent));
    SmallVector<Value> inits;
    for (Type type : types)
      inits.push_back(emptyOf(b, shape, type));
    SmallVector<AffineMap> maps(types.size(), b.getMultiDimIdentityMap(rank));
    SmallVector<Loop> loops(rank, Loop::Parallel);
    return generic(b, {}, inits, maps, loops, [&](ImplicitLocOpBuilder &b, ValueRange) {
      SmallVector<Value> indices;
      for (unsigned dim = 0; dim < rank; ++dim)
        indices.push_back(at(b, dim));
      return body(b, indices);
    });
  }

  /// The token in a column, which may lie behind the last one.
  Token read(ImplicitLocOpBuilder &b, const Tokens &of, Value row, Value column) {
    if (of.ids && of.width % kGroup == 0) // no column lies behind the last one
      return {tensor::ExtractOp::create(b, of.ids, ValueRange{row, column}),
              tensor::ExtractOp::create(b, of.logits, ValueRange{row, column})};
    Value inside = arith::MinSIOp::create(b, column, index(b, of.width - 1)), none = integer(b, -1);
    if (of.ids) {
      Value id = tensor::ExtractOp::create(b, of.ids, ValueRange{row, inside});
      Value exists = compare(b, arith::CmpIPredicate::eq, inside, column);
      return {select(b, exists, id, none), tensor::ExtractOp::create(b, of.logits, ValueRange{row, inside})};
    }
    Value end = arith::MinSIOp::create(b, tensor::ExtractOp::create(b, among, row), integer(b, vocabulary));
    Value logit = tensor::ExtractOp::create(b, logits, ValueRange{row, inside}), id = toId(b, column);
    Value exists = compare(b, arith::CmpIPredicate::slt, id, end);
    Value least = number(b, -std::numeric_limits<double>::infinity());
    return {select(b, exists, id, none), select(b, exists, logit, least)};
  }

  /// Whether token `x` is before token `y`: NaN and +infinity are before other logits, so that no choice hides them,
  /// and the lowest id is before its equals.
  static Value isBefore(ImplicitLocOpBuilder &b, Token x, Token y) {
    using FloatPredicate = arith::CmpFPredicate;
    Value infinity = number(b, std::numeric_limits<double>::infinity());
    auto is = [&](FloatPredicate how, Value p, Value q) -> Value { return arith::CmpFOp::create(b, how, p, q); };
    Value isLower = compare(b, arith::CmpIPredicate::slt, x.id, y.id), yes = arith::ConstantIntOp::create(b, 1, 1),
          no = arith::ConstantIntOp::create(b, 0, 1);
    Value badX = is(FloatPredicate::UGE, x.logit, infinity), badY = is(FloatPredicate::UGE, y.logit, infinity);
    Value byLogit =
        select(b, is(FloatPredicate::OEQ, x.logit, y.logit), isLower, is(FloatPredicate::OGT, x.logit, y.logit));
    Value wins = select(b, badX, select(b, badY, isLower, yes), select(b, badY, no, byLogit));
    return select(b, isToken(b, x.id), select(b, isToken(b, y.id), wins, yes), no);
  }

  /// The first token of every group.
  Tokens winners(const Tokens &of) {
    const int64_t groups = groupsOf(of.width);
    SmallVector<Value> made =
        points({groups}, {b.getI32Type(), b.getF32Type()}, [&](ImplicitLocOpBuilder &b, Indices i) {
          SmallVector<Token> members; // read before any is compared
          for (int64_t member = 0; member < std::min(kGroup, of.width); ++member)
            members.push_back(read(b, of, i[0], memberOf(b, i[1], index(b, member), groups)));
          Token first = members.front();
          for (Token next : ArrayRef(members).drop_front()) {
            Value wins = isBefore(b, next, first);
            first = {select(b, wins, next.id, first.id), select(b, wins, next.logit, first.logit)};
          }
          return SmallVector<Value>{first.id, first.logit};
        });
    return {made[0], made[1], groups};
  }

  /// Tokens among which the `count` first ones are: those of the groups whose winners are the first.
  Candidates candidates(const Tokens &of, int64_t count) {
    const Type i32 = b.getI32Type(), f32 = b.getF32Type();
    const int64_t groups = groupsOf(of.width);
    if (of.width <= count * kGroup) {
      if (of.ids)
        return {of, {}};
      SmallVector<Value> all = points({of.width}, {i32, f32}, [&](ImplicitLocOpBuilder &b, Indices i) {
        Token token = read(b, of, i[0], i[1]);
        return SmallVector<Value>{token.id, token.logit};
      });
      return {{all[0], all[1], of.width}, {}};
    }
    Candidates best = candidates(winners(of), count);
    Value chosen = firsts(best.tokens, count, {best.columns})[0];
    SmallVector<Value> made = points({count * kGroup}, {i32, i32, f32}, [&](ImplicitLocOpBuilder &b, Indices i) {
      Value size = index(b, kGroup);
      Value member = arith::RemUIOp::create(b, i[1], size), place = arith::DivUIOp::create(b, i[1], size);
      Value group = toIndex(b, tensor::ExtractOp::create(b, chosen, ValueRange{i[0], place}));
      Value column = memberOf(b, group, member, groups);
      Token token = read(b, of, i[0], column);
      return SmallVector<Value>{toId(b, column), token.id, token.logit};
    });
    return {{made[1], made[2], count * kGroup}, made[0]};
  }

  /// Adds, or takes the largest of, the numbers of [rows, parts, width] along `parts`.
  template <typename Op>
  Value combinedParts(ImplicitLocOpBuilder &b, Value numbers, int64_t parts, Value row, Value column) {
    Value all;
    for (int64_t part = 0; part < parts; ++part) {
      Value one = tensor::ExtractOp::create(b, numbers, ValueRange{row, index(b, part), column});
      all = all ? Value(Op::create(b, all, one)) : one;
    }
    return all;
  }

  /// For each token how many are before it: its rank. No two are equal, as those that are none are ordered by their
  /// columns.
  Value ranks(const Tokens &of) {
    const int64_t parts = groupsOf(of.width);
    const Type i32 = b.getI32Type();
    Value counts = points({parts, of.width}, {i32}, [&](ImplicitLocOpBuilder &b, Indices i) {
      Token own = read(b, of, i[0], i[2]);
      Value count = integer(b, 0), no = arith::ConstantIntOp::create(b, 0, 1);
      for (int64_t member = 0; member < std::min(kGroup, of.width); ++member) {
        Value column = combined(b, i[1], kGroup, index(b, member));
        Token other = read(b, of, i[0], column);
        Value isEarlier = compare(b, arith::CmpIPredicate::slt, column, i[2]),
              isOne = arith::OrIOp::create(b, isToken(b, own.id), isToken(b, other.id));
        Value before = arith::OrIOp::create(b, isBefore(b, other, own), select(b, isOne, no, isEarlier));
        count = arith::AddIOp::create(b, count, arith::ExtUIOp::create(b, i32, before));
      }
      return SmallVector<Value>{count};
    })[0];
    return points({of.width}, {i32}, [&](ImplicitLocOpBuilder &b, Indices i) {
      return SmallVector<Value>{combinedParts<arith::AddIOp>(b, counts, parts, i[0], i[1])};
    })[0];
  }

  /// The elements of `tensors` [rows, width] in the columns of the `count` first tokens, in their order; of a null one
  /// the columns.
  SmallVector<Value> firsts(const Tokens &of, int64_t count, ArrayRef<Value> tensors) {
    Value rank = ranks(of);
    const int64_t parts = groupsOf(of.width);
    const Type i32 = b.getI32Type();
    Value found = points({parts, count}, {i32}, [&](ImplicitLocOpBuilder &b, Indices i) {
      Value column = integer(b, -1);
      for (int64_t member = 0; member < std::min(kGroup, of.width); ++member) {
        Value place = combined(b, i[1], kGroup, index(b, member));
        if (of.width % kGroup != 0)
          place = arith::MinSIOp::create(b, place, index(b, of.width - 1));
        Value one = tensor::ExtractOp::create(b, rank, ValueRange{i[0], place});
        column = select(b, compare(b, arith::CmpIPredicate::eq, one, toId(b, i[2])), toId(b, place), column);
      }
      return SmallVector<Value>{column};
    })[0];
    SmallVector<Type> types;
    for (Value tensor : tensors)
      types.push_back(tensor ? cast<RankedTensorType>(tensor.getType()).getElementType() : i32);
    return points({count}, types, [&](ImplicitLocOpBuilder &b, Indices i) {
      Value column = combinedParts<arith::MaxSIOp>(b, found, parts, i[0], i[1]);
      SmallVector<Value> elements;
      for (Value tensor : tensors)
        elements.push_back(tensor ? Value(tensor::ExtractOp::create(b, tensor, ValueRange{i[0], toIndex(b, column)}))
                                  : column);
      return elements;
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
    auto step = getOperation().lookupSymbol<func::FuncOp>(stepEntry);
    if (!step || !step->hasAttr(AttnDialect::entryAttr))
      return;
    const std::optional<unsigned> logits = attn::findResult(step, EntryRole::Logits);
    if (!logits)
      return;
    auto dims = step.getResultAttrOfType<ArrayAttr>(*logits, AttnDialect::dimsAttr);
    auto type = dyn_cast<RankedTensorType>(step.getResultTypes()[*logits]);
    Builder b(&getContext());
    const bool isLogits = dims && dims.size() == 1 && type && type.getRank() == 2 && !type.isDynamicDim(1) &&
                          type == attn::typeOf(EntryRole::Logits, b, type.getDimSize(1));
    if (!isLogits || getOperation().lookupSymbol("best_token") || getOperation().lookupSymbol("top_tokens"))
      return;
    add(step, "best_token", 1, type.getDimSize(1), dims);
    add(step, "top_tokens", std::min(most.getValue(), type.getDimSize(1)), type.getDimSize(1), dims);
  }

  void add(func::FuncOp step, StringRef name, int64_t count, int64_t vocabulary, ArrayAttr dims) {
    ImplicitLocOpBuilder b(step.getLoc(), &getContext());
    b.setInsertionPointToEnd(getOperation().getBody());
    const EntryRole inputs[] = {EntryRole::GivenLogits, EntryRole::Among},
                    outputs[] = {EntryRole::TopIds, EntryRole::TopLogits};
    auto entry = func::FuncOp::create(
        b, name,
        b.getFunctionType({attn::typeOf(inputs[0], b, vocabulary), attn::typeOf(inputs[1], b)},
                          TypeRange{attn::typeOf(outputs[0], b, count), attn::typeOf(outputs[1], b, count)}));
    entry->setAttr(AttnDialect::entryAttr, b.getUnitAttr());
    for (unsigned i = 0; i < 2; ++i) {
      entry.setArgAttr(i, AttnDialect::nameAttr, b.getStringAttr(nameOf(inputs[i])));
      entry.setResultAttr(i, AttnDialect::nameAttr, b.getStringAttr(nameOf(outputs[i])));
      entry.setArgAttr(i, AttnDialect::dimsAttr, dims);
      entry.setResultAttr(i, AttnDialect::dimsAttr, dims);
    }
    Block *body = entry.addEntryBlock();
    b.setInsertionPointToStart(body);
    Choice choice(b, body->getArgument(0), body->getArgument(1));
    func::ReturnOp::create(b, choice.best(count));
  }
};

} // namespace
