//===- QuantizeWeights.cpp - Matrices become integers with scales --------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Artifact/Quantization.h"
#include "lib/Transforms/ColumnGroups.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNQUANTIZEWEIGHTS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// So many multiply-adds of a signed and an unsigned byte still fit 32 bits.
constexpr int64_t kMostDepth = int64_t(1) << 16;

/// The readers of a parameter.
struct Uses {
  SmallVector<attn::ParameterSliceOp> slices;
  SmallVector<attn::LinearOp> matmuls;
  bool isTable = false, isOther = false;
};

/// Whether experts are chosen by the numbers of a matmul: rounded ones choose others, and the matrix is small.
bool choosesExperts(attn::LinearOp linear) {
  return llvm::any_of(linear.getResult().getUsers(), llvm::IsaPred<attn::RouteOp>);
}

/// Whether the matmul is one of the two of a low-rank change, (x A^T) B^T with a pair of matrices for each group of
/// rows: both are small, and have the errors of all that they were trained to correct.
bool isOfChange(attn::LinearOp linear) {
  auto feeds = [](Value narrow, attn::LinearOp wide) {
    auto first = narrow.getDefiningOp<attn::LinearOp>();
    return first && first.getGroups() && first.getGroups() == wide.getGroups() && first.getEpilogue().empty() &&
           wide.getInput() == narrow;
  };
  return feeds(linear.getInput(), linear) || llvm::any_of(linear.getResult().getUsers(), [&](Operation *user) {
           auto wide = dyn_cast<attn::LinearOp>(user);
           return wide && feeds(linear.getResult(), wide);
         });
}

llvm::MapVector<StringAttr, Uses> usesOf(ModuleOp module) {
  llvm::MapVector<StringAttr, Uses> uses;
  module.walk([&](attn::ParameterSliceOp slice) {
    Uses &of = uses[slice.getParameterAttr().getAttr()];
    of.slices.push_back(slice);
    for (OpOperand &use : slice.getValue().getUses()) {
      auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
      if (linear && use.get() == linear.getWeight() && !llvm::is_contained(linear.getExtras(), use.get()) &&
          !linear.isOfHeads() && !choosesExperts(linear) && !isOfChange(linear))
        of.matmuls.push_back(linear);
      else if (isa<attn::EmbeddingOp>(use.getOwner()))
        of.isTable = true;
      else
        of.isOther = true;
    }
  });
  return uses;
}

/// Elements after which groups begin anew, where those are no whole groups: 0 of none. The least group, 32, is a fact
/// of the weight file, and none of a machine: the same groups, and so the same numbers, are in the weights of every
/// target, whose layout of the parameter has padding for them (attn::ParameterLayoutInterface).
int64_t periodOf(attn::LinearOp linear) {
  const int64_t group = columnGroup(linear.getUnquantizedInput());
  return group % artifact::leastGroup == 0 ? 0 : group;
}

/// A parameter's first tensor, for messages.
StringRef tensorOf(attn::ParameterOp parameter) { return cast<attn::SourceAttr>(parameter.getSources()[0]).getName(); }

/// The code of blocks that a parameter's tensors have; none where these are numbers.
std::optional<attn::QuantizedCode> storedCode(attn::ParameterOp parameter) {
  return cast<attn::SourceAttr>(parameter.getSources()[0]).getCode();
}

struct QuantizeWeights : rapt::impl::AttnQuantizeWeightsBase<QuantizeWeights> {
  using AttnQuantizeWeightsBase::AttnQuantizeWeightsBase;

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    if (mode == "stored")
      return quantizeStored();
    if (mode != "w8a8" && mode != "w8" && mode != "w4") {
      getOperation().emitError() << "quantization must be w8a8, w8, w4 or stored, found '" << mode << "'";
      return signalPassFailure();
    }
    if (group != 32 && group != 64 && group != 128) {
      getOperation().emitError() << "groups have 32, 64 or 128 elements, found " << int64_t(group);
      return signalPassFailure();
    }
    for (auto parameter : getOperation().getOps<attn::ParameterOp>())
      if (std::optional<attn::QuantizedCode> code = storedCode(parameter); code && !hasNumbers(parameter)) {
        parameter.emitOpError() << "cannot be quantized: the checkpoint has tensor '" << tensorOf(parameter) << "' in "
                                << StringRef(attn::blocksOf(*code)->inFile) << ", which is quantized already";
        return signalPassFailure();
      }
    bool isAny = false;
    for (auto &[name, uses] : usesOf(getOperation())) {
      auto parameter = getOperation().lookupSymbol<attn::ParameterOp>(name);
      FailureOr<attn::QuantizedType> type = storedType(parameter, uses);
      if (!*type)
        type = typeOf(parameter, uses);
      if (failed(type))
        return signalPassFailure();
      if (*type)
        apply(parameter, uses, *type);
      isAny |= static_cast<bool>(*type);
    }
    if (!isAny) {
      getOperation().emitError("has no matrix that can be quantized: weights of matmuls and tables of look-ups");
      return signalPassFailure();
    }
  }

  /// Parameters whose sources are blocks get their type. Others keep the numbers that the blocks stand for.
  void quantizeStored() {
    for (auto &[name, uses] : usesOf(getOperation())) {
      auto parameter = getOperation().lookupSymbol<attn::ParameterOp>(name);
      if (attn::QuantizedType type = storedType(parameter, uses))
        apply(parameter, uses, type);
    }
  }

  /// Blocks of a directory's tensor are its numbers in another form, which bf16 holds, too: those of MXFP4.
  static bool hasNumbers(attn::ParameterOp parameter) { return parameter.getSliceType().getElementType().isBF16(); }

  /// The type of a parameter's blocks; null where its readers do not read blocks, or not along them.
  attn::QuantizedType storedType(attn::ParameterOp parameter, const Uses &uses) {
    const std::optional<attn::QuantizedCode> code = storedCode(parameter);
    if (!code || uses.isOther || (uses.matmuls.empty() && !uses.isTable) || parameter.getSliceType().getRank() != 2)
      return {};
    std::optional<int64_t> axis;
    for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
      const std::optional<int64_t> dim = source.dimOfBlocks(parameter.getStoredShape(source));
      if (source.getCode() != code || !dim || (axis && dim != axis))
        return {};
      axis = dim;
    }
    if (std::optional<attn::JoinAttr> join = parameter.getJoin(); join && join->getDim() == *axis)
      return {};
    for (attn::LinearOp linear : uses.matmuls)
      if (*axis != (linear.getTransposed() ? 1 : 0))
        return {};
    if (uses.isTable && *axis != 1)
      return {};
    return attn::QuantizedType::get(&getContext(), *code, attn::blocksOf(*code)->group, *axis, /*period=*/0,
                                    /*zeroPoints=*/false);
  }

  /// The type that a parameter gets: null where it keeps its own.
  FailureOr<attn::QuantizedType> typeOf(attn::ParameterOp parameter, const Uses &uses) {
    RankedTensorType slice = parameter.getSliceType();
    // Quantizing gains nothing on tables of a few rows.
    bool isSmall = uses.matmuls.empty() && slice.getRank() == 2 && slice.getDimSize(0) < artifact::leastGroup;
    if (uses.isOther || isSmall || slice.getRank() != 2 || !isa<FloatType>(slice.getElementType()) ||
        (uses.matmuls.empty() && !uses.isTable))
      return attn::QuantizedType();
    int64_t size = mode == "w8a8" ? 0 : int64_t(group), axis = 1, period = 0;
    for (attn::LinearOp linear : uses.matmuls) {
      int64_t itsAxis = linear.getTransposed() ? 1 : 0, itsPeriod = periodOf(linear);
      if (linear != uses.matmuls.front() && (itsAxis != axis || itsPeriod != period))
        return attn::QuantizedType();
      axis = itsAxis;
      period = itsPeriod;
    }
    if (uses.isTable && (axis != 1 || period != 0))
      return attn::QuantizedType();
    int64_t padded = artifact::padPeriod(period), depth = slice.getDimSize(axis);
    if (period != 0 && size != 0 && padded % size != 0)
      return parameter.emitOpError() << "cannot be quantized in groups of " << size << ": the rows of tensor '"
                                     << tensorOf(parameter) << "' come in heads of " << period << ", padded to "
                                     << padded << ", which " << size << " does not divide";
    if (depth > kMostDepth)
      return parameter.emitOpError() << "cannot be quantized: tensor '" << tensorOf(parameter) << "' sums over "
                                     << depth << " rows, sums of integers over at most " << kMostDepth;
    // Errors of a table are those of every token, and of every logit where it is the head as well.
    bool isNarrow = mode == "w4" && !uses.isTable;
    return attn::QuantizedType::get(&getContext(), isNarrow ? attn::QuantizedCode::u4 : attn::QuantizedCode::u8, size,
                                    axis, period, zeroPoints && isNarrow);
  }

  void apply(attn::ParameterOp parameter, const Uses &uses, attn::QuantizedType type) {
    auto retype = [&](Type old) { return RankedTensorType::get(cast<RankedTensorType>(old).getShape(), type); };
    parameter.setType(retype(parameter.getType()));
    for (attn::ParameterSliceOp slice : uses.slices)
      slice.getValue().setType(retype(slice.getValue().getType()));
    for (attn::LinearOp linear : uses.matmuls) {
      Value input = linear.getInput();
      Value &rows = quantized[{input, type.ofRows()}];
      if (!rows) {
        OpBuilder b(&getContext());
        b.setInsertionPointAfterValue(input);
        auto result = RankedTensorType::get(cast<RankedTensorType>(input.getType()).getShape(), type.ofRows());
        rows = attn::QuantizeRowsOp::create(b, input.getLoc(), result, input);
      }
      linear.getInputMutable().assign(rows);
    }
  }

  /// Rows that several matmuls read are quantized once.
  llvm::DenseMap<std::pair<Value, Type>, Value> quantized;
};

} // namespace
