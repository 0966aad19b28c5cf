//===- Experts.cpp - Mixtures of experts: routing, and rows by expert --------------------===//
//
// Each element on its own, by loops over the experts of a token or over all pairs of a token
// and an expert: a device computes all elements at the same time. The pairs of n tokens are
// ordered in n^2 steps, which a target with a faster way need not take.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

using arith::CmpFPredicate;
using arith::CmpIPredicate;

Value compare(ImplicitLocOpBuilder &b, CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}
Value compare(ImplicitLocOpBuilder &b, CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}
Value both(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AndIOp::create(b, x, y); }
Value either(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::OrIOp::create(b, x, y); }
Value choose(ImplicitLocOpBuilder &b, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
Value add(ImplicitLocOpBuilder &b, Value x, Value y) {
  return x.getType().isF32() ? Value(arith::AddFOp::create(b, x, y)) : Value(arith::AddIOp::create(b, x, y));
}
Value asI32(ImplicitLocOpBuilder &b, Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x); }
Value infinity(ImplicitLocOpBuilder &b, double sign) {
  return number(b, sign * std::numeric_limits<double>::infinity());
}

/// A number and where it is.
struct Candidate {
  Value number, place;
};

/// Functions of a candidate's index, which the loop over candidates calls.
using NumberAt = llvm::function_ref<Value(ImplicitLocOpBuilder &, Value place)>;
using IsAllowed = llvm::function_ref<Value(ImplicitLocOpBuilder &, Value place)>;

/// NaN as the least number.
Value keyOf(ImplicitLocOpBuilder &b, Value x) {
  return choose(b, compare(b, CmpFPredicate::ORD, x, x), x, infinity(b, -1));
}

/// The largest of the candidates in [from, to) that come after `last`: those with smaller numbers, and those with the
/// same one in later indices.
Candidate nextLargest(ImplicitLocOpBuilder &b, Candidate last, Value from, Value to, NumberAt numberAt,
                      IsAllowed isAllowed) {
  Value none = index(b, -1);
  SmallVector<Value> found = loop(b, from, to, 1, ValueRange{infinity(b, -1), none},
                                  [&](ImplicitLocOpBuilder &b, Value place, ValueRange best) -> SmallVector<Value> {
                                    Value x = keyOf(b, numberAt(b, place));
                                    Value isLater = either(b, compare(b, CmpFPredicate::OLT, x, last.number),
                                                           both(b, compare(b, CmpFPredicate::OEQ, x, last.number),
                                                                compare(b, CmpIPredicate::sgt, place, last.place)));
                                    Value isLarger = either(b, compare(b, CmpIPredicate::eq, best[1], none),
                                                            compare(b, CmpFPredicate::OGT, x, best[0]));
                                    Value isBest = both(b, isLater, isLarger);
                                    if (isAllowed)
                                      isBest = both(b, isBest, isAllowed(b, place));
                                    return {choose(b, isBest, x, best[0]), choose(b, isBest, place, best[1])};
                                  });
  return {found[0], found[1]};
}

Candidate beforeAll(ImplicitLocOpBuilder &b) { return {infinity(b, 1), index(b, -1)}; }

struct DecomposeRoute : OpRewritePattern<attn::RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RouteOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult tokens = extent(b, op.getLogits(), 0);
    const int64_t k = op.getWeights().getType().getDimSize(1);
    Value scores = emitScores(b, op, tokens), numbers = emitNumbers(b, op, scores), kept = emitKept(b, op, numbers);
    SmallVector<OpFoldResult> shape{tokens, b.getIndexAttr(k)};
    Value experts = forEach(b, {}, emptyFor(b, op.getExperts(), shape), [&](ImplicitLocOpBuilder &b, ValueRange) {
      return asI32(b, emitExpert(b, op, numbers, kept));
    });
    Value weights = forEach(b, {}, emptyFor(b, op.getWeights(), shape), [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return rounded(b, emitWeight(b, op, scores, experts, k), x[0].getType());
    });
    rewriter.replaceOp(op, {weights, experts});
    return success();
  }

  static Value emitScores(ImplicitLocOpBuilder &b, attn::RouteOp op, OpFoldResult tokens) {
    const int64_t all = op.getOf();
    Value most, sum;
    auto logit = [&](ImplicitLocOpBuilder &b, Value token, Value expert) {
      return read(b, op.getLogits(), {token, expert});
    };
    if (op.getKind() == attn::RoutingKind::softmax) {
      auto overExperts = [&](ImplicitLocOpBuilder &b, Value init,
                             llvm::function_ref<Value(ImplicitLocOpBuilder &, Value, Value)> body) {
        return forEach(b, {}, emptyOf(b, {tokens}, b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
          Value token = at(b, 0);
          return loop(b, index(b, 0), index(b, all), 1, init,
                      [&](ImplicitLocOpBuilder &b, Value expert, Value carried) {
                        return body(b, logit(b, token, expert), carried);
                      });
        });
      };
      most = overExperts(b, infinity(b, -1), [](ImplicitLocOpBuilder &b, Value x, Value carried) {
        return choose(b, compare(b, CmpFPredicate::OGT, x, carried), x, carried);
      });
      sum = forEach(b, {most}, emptyOf(b, {tokens}, b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange x) {
        Value token = at(b, 0);
        return loop(b, index(b, 0), index(b, all), 1, number(b, 0),
                    [&](ImplicitLocOpBuilder &b, Value expert, Value carried) {
                      Value difference = arith::SubFOp::create(b, logit(b, token, expert), x[0]);
                      return add(b, carried, math::ExpOp::create(b, difference));
                    });
      });
    }
    Value init = emptyOf(b, {tokens, b.getIndexAttr(all)}, b.getF32Type());
    return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
      Value token = at(b, 0), x = logit(b, token, at(b, 1));
      if (!most)
        return attn::emitActivation(b, b.getLoc(), attn::ActivationKind::sigmoid, x);
      Value e = math::ExpOp::create(b, arith::SubFOp::create(b, x, read(b, most, token)));
      return arith::DivFOp::create(b, e, read(b, sum, token));
    });
  }

  /// The numbers that decide which experts are chosen.
  static Value emitNumbers(ImplicitLocOpBuilder &b, attn::RouteOp op, Value scores) {
    if (!op.getBias())
      return scores;
    Value init = emptyOf(b, extents(b, scores), b.getF32Type());
    return forEach(b, {scores}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return add(b, x[0], read(b, op.getBias(), at(b, 1)));
    });
  }

  static int64_t groupSize(attn::RouteOp op) { return int64_t(op.getOf()) / op.getWithin()->getGroups(); }

  /// 1 for each group of experts of which some may be chosen, [tokens, groups]; null where all may.
  static Value emitKept(ImplicitLocOpBuilder &b, attn::RouteOp op, Value numbers) {
    std::optional<attn::ExpertGroupsAttr> within = op.getWithin();
    if (!within)
      return nullptr;
    const int64_t size = groupSize(op);
    SmallVector<OpFoldResult> shape{extent(b, numbers, 0), b.getIndexAttr(within->getGroups())};
    Value sums = forEach(b, {}, emptyOf(b, shape, b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
      Value token = at(b, 0), first = arith::MulIOp::create(b, at(b, 1), index(b, size));
      Value end = add(b, first, index(b, size)), sum = number(b, 0);
      Candidate last = beforeAll(b);
      auto numberAt = [&](ImplicitLocOpBuilder &b, Value place) { return read(b, numbers, {token, place}); };
      for (int64_t i = 0; i < within->getBy(); ++i) {
        last = nextLargest(b, last, first, end, numberAt, {});
        sum = add(b, sum, numberAt(b, last.place));
      }
      return sum;
    });
    return forEach(b, {sums}, emptyOf(b, shape, b.getI32Type()), [&](ImplicitLocOpBuilder &b, ValueRange x) {
      Value token = at(b, 0), own = at(b, 1), mine = keyOf(b, x[0]);
      Value before = loop(b, index(b, 0), index(b, within->getGroups()), 1, index(b, 0),
                          [&](ImplicitLocOpBuilder &b, Value group, Value carried) {
                            Value other = keyOf(b, read(b, sums, {token, group}));
                            Value isBefore = either(b, compare(b, CmpFPredicate::OGT, other, mine),
                                                    both(b, compare(b, CmpFPredicate::OEQ, other, mine),
                                                         compare(b, CmpIPredicate::slt, group, own)));
                            return choose(b, isBefore, add(b, carried, index(b, 1)), carried);
                          });
      Value isKept = compare(b, CmpIPredicate::slt, before, index(b, within->getKept()));
      return Value(arith::ExtUIOp::create(b, b.getI32Type(), isKept));
    });
  }

  /// Inside of a body over [tokens, k]: the expert.
  static Value emitExpert(ImplicitLocOpBuilder &b, attn::RouteOp op, Value numbers, Value kept) {
    Value token = at(b, 0), end = add(b, at(b, 1), index(b, 1));
    Candidate first = beforeAll(b);
    return loop(b, index(b, 0), end, 1, ValueRange{first.number, first.place},
                [&](ImplicitLocOpBuilder &b, Value, ValueRange last) -> SmallVector<Value> {
                  auto numberAt = [&](ImplicitLocOpBuilder &b, Value place) {
                    return read(b, numbers, {token, place});
                  };
                  auto isKept = [&](ImplicitLocOpBuilder &b, Value place) {
                    Value group = arith::DivUIOp::create(b, place, index(b, groupSize(op)));
                    return compare(b, CmpIPredicate::ne, readIndex(b, kept, {token, group}), index(b, 0));
                  };
                  Candidate next = nextLargest(b, {last[0], last[1]}, index(b, 0), index(b, op.getOf()), numberAt,
                                               kept ? IsAllowed(isKept) : IsAllowed());
                  return {next.number, next.place};
                })[1];
  }

  /// Inside of a body over [tokens, k]: the weight.
  static Value emitWeight(ImplicitLocOpBuilder &b, attn::RouteOp op, Value scores, Value experts, int64_t k) {
    Value token = at(b, 0);
    auto scoreOf = [&](ImplicitLocOpBuilder &b, Value place) {
      return read(b, scores, {token, readIndex(b, experts, {token, place})});
    };
    Value weight = scoreOf(b, at(b, 1));
    if (op.getNormalized()) {
      Value sum =
          loop(b, index(b, 0), index(b, k), 1, number(b, 0),
               [&](ImplicitLocOpBuilder &b, Value place, Value carried) { return add(b, carried, scoreOf(b, place)); });
      weight = arith::DivFOp::create(b, weight, add(b, sum, number(b, op.floorOfSum())));
    }
    if (op.getScale())
      weight = arith::MulFOp::create(b, weight, number(b, op.getScale()->convertToFloat()));
    return weight;
  }
};

struct DecomposeGroupRows : OpRewritePattern<attn::GroupRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::GroupRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const int64_t k = op.getExperts().getType().getDimSize(1);
    OpFoldResult tokens = extent(b, op.getExperts(), 0), pairs = affineOf(b, b.getAffineDimExpr(0) * k, {tokens});
    Value number = asValue(b, pairs);
    auto pairAt = [&](ImplicitLocOpBuilder &b, Value pair) {
      return SmallVector<Value>{arith::DivUIOp::create(b, pair, index(b, k)),
                                arith::RemUIOp::create(b, pair, index(b, k))};
    };
    Value indices = forEach(b, {op.getExperts()}, emptyFor(b, op.getIndices(), extents(b, op.getExperts())),
                            [&](ImplicitLocOpBuilder &b, ValueRange x) {
                              Value own = add(b, arith::MulIOp::create(b, at(b, 0), index(b, k)), at(b, 1));
                              Value expert = arith::IndexCastOp::create(b, b.getIndexType(), x[0]);
                              return asI32(b, countPairs(b, number, [&](ImplicitLocOpBuilder &b, Value pair) {
                                             Value other = readIndex(b, op.getExperts(), pairAt(b, pair));
                                             return either(b, compare(b, CmpIPredicate::slt, other, expert),
                                                           both(b, compare(b, CmpIPredicate::eq, other, expert),
                                                                compare(b, CmpIPredicate::slt, pair, own)));
                                           }));
                            });
    Value rows = forEach(b, {}, emptyFor(b, op.getRows(), {pairs}), [&](ImplicitLocOpBuilder &b, ValueRange) {
      Value own = at(b, 0);
      Value token = loop(b, index(b, 0), number, 1, index(b, 0), [&](ImplicitLocOpBuilder &b, Value pair, Value found) {
        SmallVector<Value> place = pairAt(b, pair);
        return choose(b, compare(b, CmpIPredicate::eq, readIndex(b, indices, place), own), place[0], found);
      });
      return asI32(b, token);
    });
    rewriter.replaceOp(op, {rows, indices, emitGroups(b, op, number, pairAt)});
    return success();
  }

  /// How many pairs have a property.
  static Value countPairs(ImplicitLocOpBuilder &b, Value number,
                          llvm::function_ref<Value(ImplicitLocOpBuilder &, Value pair)> counts) {
    return loop(b, index(b, 0), number, 1, index(b, 0), [&](ImplicitLocOpBuilder &b, Value pair, Value carried) {
      return choose(b, counts(b, pair), add(b, carried, index(b, 1)), carried);
    });
  }

  static Value emitGroups(ImplicitLocOpBuilder &b, attn::GroupRowsOp op, Value number,
                          llvm::function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Value pair)> pairAt) {
    const int64_t all = op.getGroups().getType().getDimSize(0) - 1;
    Value counts =
        forEach(b, {}, emptyOf(b, {b.getIndexAttr(all)}, b.getI32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
          Value own = at(b, 0);
          return asI32(b, countPairs(b, number, [&](ImplicitLocOpBuilder &b, Value pair) {
                         Value other = readIndex(b, op.getExperts(), pairAt(b, pair));
                         return compare(b, CmpIPredicate::eq, other, own);
                       }));
        });
    SmallVector<OpFoldResult> shape{b.getIndexAttr(all + 1), b.getIndexAttr(2)};
    return forEach(b, {}, emptyFor(b, op.getGroups(), shape), [&](ImplicitLocOpBuilder &b, ValueRange) {
      Value group = at(b, 0), column = at(b, 1), zero = index(b, 0);
      // Groups and pairs of the experts before, and the group's first pair and expert once it is found.
      SmallVector<Value> found =
          loop(b, zero, index(b, all), 1, ValueRange{zero, zero, number, zero},
               [&](ImplicitLocOpBuilder &b, Value expert, ValueRange carried) -> SmallVector<Value> {
                 Value count = readIndex(b, counts, expert),
                       isGroup = compare(b, CmpIPredicate::ne, count, index(b, 0));
                 Value isOwn = both(b, isGroup, compare(b, CmpIPredicate::eq, carried[0], group));
                 return {choose(b, isGroup, add(b, carried[0], index(b, 1)), carried[0]), add(b, carried[1], count),
                         choose(b, isOwn, carried[1], carried[2]), choose(b, isOwn, expert, carried[3])};
               });
      return asI32(b, choose(b, compare(b, CmpIPredicate::eq, column, zero), found[2], found[3]));
    });
  }
};

struct DecomposeCombineRows : OpRewritePattern<attn::CombineRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::CombineRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const int64_t k = op.getWeights().getType().getDimSize(1);
    Value init = emptyFor(b, op.getResult(), {extent(b, op.getWeights(), 0), extent(b, op.getInput(), 1)});
    rewriter.replaceOp(op, forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
                         Value token = at(b, 0), column = at(b, 1);
                         Value sum = loop(b, index(b, 0), index(b, k), 1, number(b, 0),
                                          [&](ImplicitLocOpBuilder &b, Value j, Value carried) {
                                            Value place = placeOf(b, op, token, j);
                                            Value term = arith::MulFOp::create(b, read(b, op.getWeights(), {token, j}),
                                                                               read(b, op.getInput(), {place, column}));
                                            return add(b, carried, term);
                                          });
                         return rounded(b, sum, x[0].getType());
                       }));
    return success();
  }
};

} // namespace

void neutral::populateExperts(RewritePatternSet &patterns) {
  patterns.add<DecomposeRoute, DecomposeGroupRows, DecomposeCombineRows>(patterns.getContext());
}
