//===- Evaluator.cpp - Runs the imported stage, naively -----------------------===//
#include "lib/Reference/Evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace rapt::reference {

namespace {
constexpr unsigned maxDepth = 128; ///< of calls: the program's recursion is the evaluator's
/// Calls, iterations and tasks of one evaluation: calls that double, or a loop of 2^62 iterations, would never end.
constexpr uint64_t maxBlocks = 1000000;
} // namespace

template <typename S> bool hasType(const Value<S> &value, Type type) {
  if (auto ranked = dyn_cast<RankedTensorType>(type)) {
    auto *tensor = std::get_if<TensorRef<S>>(&value);
    if (!tensor || (*tensor)->shape.size() != size_t(ranked.getRank()))
      return false;
    return llvm::all_of(llvm::zip((*tensor)->shape, ranked.getShape()), [](auto pair) {
      return ShapedType::isDynamic(std::get<1>(pair)) || std::get<0>(pair) == std::get<1>(pair);
    });
  }
  if (isa<attn::KVCacheType>(type))
    return std::holds_alternative<std::shared_ptr<const Cache<S>>>(value);
  return isa<FloatType>(type) ? std::holds_alternative<S>(value) : std::holds_alternative<int64_t>(value);
}

template <typename S> LogicalResult Evaluator<S>::set(Frame &frame, mlir::Value result, FailureOr<Tensor<S>> value) {
  if (failed(value))
    return failure();
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [i, size, declared] : llvm::enumerate(value->shape, type.getShape()))
    if (!ShapedType::isDynamic(declared) && declared != size)
      return result.getDefiningOp()->emitOpError()
             << "gives extent " << size << " in dim " << i << ", but its type is " << type;
  // The op computed in S; what its type holds is rounded once.
  if (auto element = dyn_cast<FloatType>(type.getElementType()); element && element.getWidth() < 32)
    for (S &x : value->floats)
      x = S(roundTo(element, double(x)));
  frame[result] = std::make_shared<const Tensor<S>>(std::move(*value));
  return success();
}

template <typename S> LogicalResult Evaluator<S>::bindDims(func::FuncOp entry, ArrayRef<V> arguments) {
  dims.clear();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto names = entry.getArgAttrOfType<ArrayAttr>(i, attn::AttnDialect::dimsAttr);
    if (!names)
      continue;
    SmallVector<int64_t> extents;
    if (auto *cache = std::get_if<std::shared_ptr<const Cache<S>>>(&argument))
      extents.push_back((*cache)->blocks);
    else if (auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]))
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (type.isDynamicDim(d))
          extents.push_back(std::get<TensorRef<S>>(argument)->dim(d));
    if (names.size() != extents.size())
      return entry.emitOpError() << "names " << names.size() << " dims of argument " << i << ", which has "
                                 << extents.size();
    for (auto [name, extent] : llvm::zip(names, extents)) {
      auto text = dyn_cast<StringAttr>(name);
      if (!text)
        return entry.emitOpError() << "names a dim of argument " << i << " by " << name << ", which is no string";
      StringRef dim = text.getValue();
      int64_t size = extent - (dim.consume_back("+1") ? 1 : 0);
      auto declared = module.lookupSymbol<attn::DimOp>(dim);
      if (!declared && !attn::isKernelModule(module)) // the compiler declares those of a kernel
        return entry.emitOpError() << "names dim '" << dim << "' of argument " << i << ", which is not declared";
      if (declared && (size < int64_t(declared.getMin()) || size > int64_t(declared.getMax())))
        return entry.emitOpError() << "dim '" << dim << "' is " << size << ", but must be within " << declared.getMin()
                                   << ".." << declared.getMax();
      if (auto [known, isNew] = dims.try_emplace(dim, size); !isNew && known->second != size)
        return entry.emitOpError() << "dim '" << dim << "' is both " << known->second << " and " << size;
    }
  }
  return success();
}

template <typename S>
FailureOr<SmallVector<Value<S>>> Evaluator<S>::runEntry(func::FuncOp entry, ArrayRef<V> arguments) {
  if (arguments.size() != entry.getNumArguments())
    return entry.emitOpError() << "takes " << entry.getNumArguments() << " arguments, but got " << arguments.size();
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (!hasType<S>(argument, entry.getArgumentTypes()[i]))
      return entry.emitOpError() << "argument " << i << " is not of type " << entry.getArgumentTypes()[i];
  if (failed(bindDims(entry, arguments)))
    return failure();
  return run(entry, arguments);
}

template <typename S> FailureOr<SmallVector<Value<S>>> Evaluator<S>::run(func::FuncOp function, ArrayRef<V> arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(function.isExternal() ? "has no body to evaluate"
                                                      : "has more than one block, which is not evaluated");
  Frame frame;
  for (auto [i, argument] : llvm::enumerate(arguments))
    frame[function.getArgument(i)] = argument;
  return runBlock(function.getBody().front(), frame);
}

/// Runs a block's ops and gives the values that its terminator passes on.
template <typename S> FailureOr<SmallVector<Value<S>>> Evaluator<S>::runBlock(Block &block, Frame &frame) {
  if (++blocks > maxBlocks)
    return block.getParentOp()->emitOpError()
           << "is reached after " << maxBlocks << " calls and iterations, more than are evaluated";
  for (Operation &op : block) {
    if (isa<scf::InParallelOp>(op))
      return SmallVector<V>();
    if (isa<func::ReturnOp, scf::YieldOp>(op)) {
      SmallVector<V> results;
      for (mlir::Value operand : op.getOperands())
        results.push_back(frame[operand]);
      return results;
    }
    if (failed(runOp(op, frame)))
      return failure();
  }
  return block.getParentOp()->emitOpError("has a block without func.return or scf.yield");
}

template <typename S>
LogicalResult Evaluator<S>::setAll(Frame &frame, Operation *op, FailureOr<SmallVector<Tensor<S>>> values) {
  if (failed(values))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *values))
    if (failed(set(frame, result, std::move(value))))
      return failure();
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runOp(Operation &op, Frame &frame) {
  auto in = [&](unsigned i) -> const Tensor<S> & { return tensor(frame, op.getOperand(i)); };
  auto out = [&](FailureOr<Tensor<S>> value) { return set(frame, op.getResult(0), std::move(value)); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .template Case<attn::EmbeddingOp, attn::PoolRowsOp, attn::RMSNormOp, attn::GLUOp>(
          [&](auto typed) { return out(evaluate(typed, in(0), in(1))); })
      .template Case<attn::LayerNormOp, attn::RopeOp, attn::ImageTokensOp>(
          [&](auto typed) { return out(evaluate(typed, in(0), in(1), in(2))); })
      .Case([&](attn::PositionsOp typed) {
        return out(evaluate(typed, in(0), in(1), optionalTensor(frame, typed.getPast())));
      })
      .Case([&](attn::ResizePositionsOp typed) {
        return out(evaluate(typed, in(0), integer(frame, typed.getHeight()), integer(frame, typed.getWidth())));
      })
      .Case([&](attn::UnpackRowsOp typed) { return out(evaluate(typed, in(0), integer(frame, typed.getLength()))); })
      .Case([&](attn::EqualRowsOp typed) {
        return out(evaluate<S>(typed, integer(frame, typed.getRows()), integer(frame, typed.getLength())));
      })
      .template Case<attn::ActivationOp, attn::ClipOp, attn::MergeHeadsOp, attn::ColumnOp, attn::PatchesOp,
                     attn::QuantizeRowsOp, attn::SinusoidsOp>(

          [&](auto typed) { return out(evaluate(typed, in(0))); })
      .Case([&](attn::SplitHeadsOp typed) {
        for (auto [result, value] : llvm::zip(typed.getHeads(), evaluate(typed, in(0))))
          if (failed(set(frame, result, value)))
            return failure();
        return success();
      })
      .Case([&](attn::RotaryTableOp typed) {
        auto table = evaluate(typed, in(0), optionalTensor(frame, typed.getLengths()));
        return failed(table) ? failure()
                             : success(succeeded(set(frame, typed.getCosines(), table->first)) &&
                                       succeeded(set(frame, typed.getSines(), table->second)));
      })
      .Case([&](attn::ParameterSliceOp typed) {
        return out(evaluate<S>(typed, parameters, layerOf(frame, typed.getLayer())));
      })
      .Case([&](attn::DimSizeOp typed) {
        FailureOr<int64_t> size = evaluate(typed, dims);
        if (succeeded(size))
          frame[typed] = *size;
        return LogicalResult(size);
      })
      .Case([&](attn::SelectRowsOp typed) {
        return out(evaluate(typed, tensor(frame, typed.getInput()), layerOf(frame, typed.getLayer()),
                            tensor(frame, typed.getRows())));
      })
      .Case([&](attn::WriteRowsOp typed) {
        return out(evaluate(typed, tensor(frame, typed.getInput()), tensor(frame, typed.getValues()),
                            layerOf(frame, typed.getLayer()), tensor(frame, typed.getRows())));
      })
      .Case([&](attn::UpdateRowsOp typed) {
        return out(evaluate(typed, tensor(frame, typed.getState()), layerOf(frame, typed.getLayer()),
                            tensor(frame, typed.getValues()), tensor(frame, typed.getRows())));
      })
      .Case([&](attn::ConcatOp typed) { return out(evaluate<S>(typed, tensors(frame, typed.getInputs()))); })
      .Case([&](attn::RouteOp typed) {
        return setAll(frame, typed, evaluate(typed, in(0), optionalTensor(frame, typed.getBias())));
      })
      .Case([&](attn::CombineRowsOp typed) {
        return out(evaluate(typed, in(0), in(1), optionalTensor(frame, typed.getIndices())));
      })
      .Case([&](attn::GroupRowsOp typed) { return setAll(frame, typed, evaluate(typed, in(0))); })
      .Case([&](attn::RecurrenceOp typed) { return runRecurrence(typed, frame); })
      .Case([&](attn::LinearAttentionOp typed) { return runLinearAttention(typed, frame); })
      .Case([&](attn::ShortConvOp typed) { return runShortConv(typed, frame); })
      .Case([&](attn::LinearOp typed) { return runLinear(typed, frame); })
      .Case([&](attn::AttentionOp typed) { return runAttention(typed, frame); })
      .Case([&](attn::AttentionStateOp typed) { return runAttentionState(typed, frame); })
      .Case([&](attn::AttentionMergeOp typed) { return runAttentionMerge(typed, frame); })
      .template Case<attn::KVAppendOp, attn::KVViewOp>([&](auto) { return runCacheOp(op, frame); })
      .Default([&](Operation *) { return runUpstream(op, frame); });
}

template <typename S> LogicalResult Evaluator<S>::runUpstream(Operation &op, Frame &frame) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return runCall(call, frame);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop, frame);
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return runForall(loop, frame);
  if (isa<tensor::TensorDialect>(op.getDialect()))
    return runTensorOp(op, frame);
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    return runLinalg(linalg, frame);
  if (!isa<arith::ConstantOp>(op) && llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return runElementwise(op, frame);
  return runScalar(op, frame);
}

template <typename S> SmallVector<int64_t> Evaluator<S>::integers(Frame &frame, ArrayRef<OpFoldResult> values) {
  SmallVector<int64_t> result;
  for (OpFoldResult value : values)
    result.push_back(isa<Attribute>(value) ? *getConstantIntValue(value) : integer(frame, cast<mlir::Value>(value)));
  return result;
}

template <typename S> LogicalResult Evaluator<S>::runScalar(Operation &op, Frame &frame) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isScalarType(constant.getType())) {
    Slot<S> slot = slotOf<S>(constant.getValue());
    frame[constant] = isa<FloatType>(constant.getType()) ? V(slot.f) : V(slot.i);
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
        elements && isScalarType(elements.getElementType())) {
      FailureOr<Tensor<S>> value = makeTensor<S>(&op, elements.getType().getShape(), elements.getElementType());
      if (succeeded(value) && isa<FloatType>(elements.getElementType()))
        llvm::transform(elements.getValues<APFloat>(), value->floats.begin(),
                        [](const APFloat &e) { return S(e.convertToDouble()); });
      else if (succeeded(value))
        llvm::transform(elements.getValues<APInt>(), value->ints.begin(),
                        [](const APInt &e) { return e.getSExtValue(); });
      return set(frame, constant, std::move(value));
    }
  FailureOr<Instruction<S>> instruction = instructionOf<S>(&op);
  if (failed(instruction))
    return failure();
  Slot<S> slots[4];
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    instruction->operands[i] = i;
    if (isa<FloatType>(operand.getType()))
      slots[i].f = std::get<S>(frame[operand]);
    else
      slots[i].i = integer(frame, operand);
  }
  instruction->result = 3;
  instruction->run(*instruction, slots);
  frame[op.getResult(0)] = isa<FloatType>(op.getResult(0).getType()) ? V(slots[3].f) : V(slots[3].i);
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runCall(func::CallOp op, Frame &frame) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  if (depth == maxDepth)
    return op.emitOpError() << "is nested more than " << maxDepth << " calls deep";
  SmallVector<V> arguments;
  for (mlir::Value operand : op.getOperands())
    arguments.push_back(frame[operand]);
  ++depth;
  FailureOr<SmallVector<V>> results = run(callee, arguments);
  --depth;
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), *results))
    frame[result] = value;
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runFor(scf::ForOp op, Frame &frame) {
  if (op.getUnsignedCmp())
    return op.emitOpError("compares without signs, which is not evaluated");
  int64_t lower = integer(frame, op.getLowerBound()), upper = integer(frame, op.getUpperBound()),
          step = integer(frame, op.getStep());
  if (step <= 0)
    return op.emitOpError() << "has step " << step << ", but only positive steps are evaluated";
  SmallVector<V> state;
  for (mlir::Value init : op.getInitArgs())
    state.push_back(frame[init]);
  for (int64_t i = lower; i < upper;) {
    frame[op.getInductionVar()] = i;
    for (auto [argument, value] : llvm::zip(op.getRegionIterArgs(), state))
      frame[argument] = value;
    FailureOr<SmallVector<V>> results = runBlock(*op.getBody(), frame);
    if (failed(results))
      return failure();
    state = std::move(*results);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  for (auto [result, value] : llvm::zip(op.getResults(), state))
    frame[result] = value;
  return success();
}

/// One task after another. Each reads its destinations as they were before the loop, as tasks at the same time do.
template <typename S> LogicalResult Evaluator<S>::runForall(scf::ForallOp op, Frame &frame) {
  SmallVector<int64_t> lower = integers(frame, op.getMixedLowerBound()),
                       upper = integers(frame, op.getMixedUpperBound()), step = integers(frame, op.getMixedStep());
  for (int64_t s : step)
    if (s <= 0)
      return op.emitOpError() << "has step " << s << ", but only positive steps are evaluated";
  SmallVector<Tensor<S>> results;
  for (auto [argument, init] : llvm::zip(op.getRegionIterArgs(), op.getOutputs())) {
    frame[argument] = frame[init];
    results.push_back(tensor(frame, init));
  }
  SmallVector<int64_t> id = lower;
  auto inside = [&](unsigned d) { return id[d] < upper[d]; };
  bool runs = llvm::all_of(llvm::seq<unsigned>(0, id.size()), inside);
  while (runs) {
    for (auto [variable, value] : llvm::zip(op.getInductionVars(), id))
      frame[variable] = value;
    if (failed(runBlock(*op.getBody(), frame)))
      return failure();
    for (auto insert : op.getTerminator().getRegion().getOps<tensor::ParallelInsertSliceOp>()) {
      auto dest = cast<BlockArgument>(insert.getDest());
      Tensor<S> &result = results[dest.getArgNumber() - op.getRank()];
      FailureOr<Tensor<S>> next =
          insertSlice(insert, tensor(frame, insert.getSource()), std::move(result), sliceOf(frame, insert));
      if (failed(next))
        return failure();
      result = std::move(*next);
    }
    // The last dim runs fastest.
    unsigned d = id.size();
    for (runs = false; d-- > 0 && !runs;) {
      runs = !__builtin_add_overflow(id[d], step[d], &id[d]) && inside(d);
      if (!runs)
        id[d] = lower[d];
    }
  }
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    if (failed(set(frame, result, std::move(value))))
      return failure();
  return success();
}

template <typename S>
LogicalResult Evaluator<S>::compile(Region &region, Frame &frame, std::optional<ScalarProgram<S>> &program,
                                    ScalarProgram<S> *&used) {
  if (region.empty())
    return success();
  auto compiled = ScalarProgram<S>::compile(region, [&](mlir::Value value) -> const V * {
    auto known = frame.find(value);
    return known == frame.end() ? nullptr : &known->second;
  });
  if (failed(compiled))
    return failure();
  program = std::move(*compiled);
  used = &*program;
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runLinear(attn::LinearOp op, Frame &frame) {
  std::optional<ScalarProgram<S>> program;
  ScalarProgram<S> *epilogue = nullptr;
  if (failed(compile(op.getEpilogue(), frame, program, epilogue)))
    return failure();
  return set(frame, op,
             evaluate<S>(op, tensor(frame, op.getInput()), tensor(frame, op.getWeight()),
                         tensors(frame, op.getExtras()), optionalTensor(frame, op.getGroups()), epilogue));
}

template <typename S> LogicalResult Evaluator<S>::runRecurrence(attn::RecurrenceOp op, Frame &frame) {
  auto values =
      evaluate<S>(op, tensor(frame, op.getGates()), tensor(frame, op.getWeight()), optionalTensor(frame, op.getBias()),
                  tensor(frame, op.getRowBegin()), tensors(frame, op.getInitial()));
  return setAll(frame, op, std::move(values));
}

/// The states that the op keeps.
template <typename S> template <typename Op> Slots<S> Evaluator<S>::slotsOf(Op op, Frame &frame) {
  return {optionalTensor(frame, op.getState()), optionalTensor(frame, op.getFrom()), optionalTensor(frame, op.getTo()),
          layerOf(frame, op.getLayer()), op.getLayer() != nullptr};
}

template <typename S> LogicalResult Evaluator<S>::runLinearAttention(attn::LinearAttentionOp op, Frame &frame) {
  const LinearAttentionOperands<S> operands{&tensor(frame, op.getQuery()),
                                            &tensor(frame, op.getKey()),
                                            &tensor(frame, op.getValue()),
                                            &tensor(frame, op.getRowBegin()),
                                            optionalTensor(frame, op.getDecay()),
                                            optionalTensor(frame, op.getBeta()),
                                            slotsOf(op, frame)};
  return setAll(frame, op, evaluate<S>(op, operands));
}

template <typename S> LogicalResult Evaluator<S>::runShortConv(attn::ShortConvOp op, Frame &frame) {
  return setAll(frame, op,
                evaluate<S>(op, tensor(frame, op.getInput()), tensor(frame, op.getWeight()),
                            optionalTensor(frame, op.getBias()), tensor(frame, op.getRowBegin()), slotsOf(op, frame)));
}

/// Checks that each table has an element to read (A30).
template <typename S>
static LogicalResult verifyTables(attn::ScoreAndMaskOpInterface op, ArrayRef<const Tensor<S> *> extras) {
  for (auto [i, extra] : llvm::enumerate(extras))
    if (op.isTable(i) && llvm::is_contained(extra->shape, 0))
      return op->emitOpError() << "extra operand " << i << " is a table without elements";
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runAttention(attn::AttentionOp op, Frame &frame) {
  std::optional<ScalarProgram<S>> score, mask;
  AttentionOperands<S> operands{&tensor(frame, op.getQuery()), &tensor(frame, op.getKey()),
                                &tensor(frame, op.getValue()), std::get<S>(frame[op.getScale()])};
  operands.qBegin = optionalTensor(frame, op.getQBegin());
  operands.qOffset = optionalTensor(frame, op.getQOffset());
  operands.kvBegin = optionalTensor(frame, op.getKvBegin());
  operands.kvLength = optionalTensor(frame, op.getKvLength());
  operands.extras = tensors(frame, op.getExtras());
  operands.additive = optionalTensor(frame, op.getAdditive());
  operands.sink = optionalTensor(frame, op.getSink());
  operands.secondQuery = optionalTensor(frame, op.getSecondQuery());
  operands.secondKey = optionalTensor(frame, op.getSecondKey());
  operands.weights = optionalTensor(frame, op.getWeights());
  if (op.getLayer())
    operands.layer = integer(frame, op.getLayer());
  if (failed(verifyTables<S>(op, operands.extras)) || failed(compile(op.getScore(), frame, score, operands.score)) ||
      failed(compile(op.getMask(), frame, mask, operands.mask)))
    return failure();
  FailureOr<AttentionResults<S>> results = evaluate<S>(op, operands);
  if (failed(results) || failed(set(frame, op.getResult(), std::move(results->result))) ||
      (results->lse && failed(set(frame, op.getLse(), std::move(*results->lse)))) ||
      (results->weights && failed(set(frame, op.getNewWeights(), std::move(*results->weights)))))
    return failure();
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runAttentionState(attn::AttentionStateOp op, Frame &frame) {
  std::optional<ScalarProgram<S>> score, mask;
  AttentionStateOperands<S> operands{&tensor(frame, op.getQuery()), &tensor(frame, op.getKey()),
                                     &tensor(frame, op.getValue()), std::get<S>(frame[op.getScale()]),
                                     integer(frame, op.getB()),     integer(frame, op.getH()),
                                     integer(frame, op.getQ()),     integer(frame, op.getKv())};
  operands.extras = tensors(frame, op.getExtras());
  operands.additive = optionalTensor(frame, op.getAdditive());
  if (failed(verifyTables<S>(op, operands.extras)) || failed(compile(op.getScore(), frame, score, operands.score)) ||
      failed(compile(op.getMask(), frame, mask, operands.mask)))
    return failure();
  AttentionState<S> state{tensor(frame, op.getAcc()), tensor(frame, op.getMax()), tensor(frame, op.getSum())};
  return setState(op, frame, evaluate<S>(op, operands, std::move(state)));
}

template <typename S> LogicalResult Evaluator<S>::runAttentionMerge(attn::AttentionMergeOp op, Frame &frame) {
  AttentionState<S> parts{tensor(frame, op.getPartialAcc()), tensor(frame, op.getPartialMax()),
                          tensor(frame, op.getPartialSum())};
  AttentionState<S> state{tensor(frame, op.getAcc()), tensor(frame, op.getMax()), tensor(frame, op.getSum())};
  return setState(op, frame, evaluate<S>(op, parts, std::move(state)));
}

template <typename S>
LogicalResult Evaluator<S>::setState(Operation *op, Frame &frame, FailureOr<AttentionState<S>> state) {
  if (failed(state))
    return failure();
  return success(succeeded(set(frame, op->getResult(0), std::move(state->acc))) &&
                 succeeded(set(frame, op->getResult(1), std::move(state->max))) &&
                 succeeded(set(frame, op->getResult(2), std::move(state->sum))));
}

template <typename S> LogicalResult Evaluator<S>::runCacheOp(Operation &op, Frame &frame) {
  if (!isa<attn::KVCacheType>(op.getOperand(0).getType()))
    return op.emitOpError("has a cache in a target's layout, which is of a later stage than is evaluated");
  const Cache<S> &cache = *std::get<std::shared_ptr<const Cache<S>>>(frame[op.getOperand(0)]);
  if (auto append = dyn_cast<attn::KVAppendOp>(op)) {
    FailureOr<Cache<S>> result =
        evaluate<S>(append, cache, integer(frame, append.getLayer()), tensor(frame, append.getKey()),
                    tensor(frame, append.getValue()), tensor(frame, append.getRowBegin()),
                    tensor(frame, append.getPast()), tensor(frame, append.getTable()));
    if (failed(result))
      return failure();
    frame[append.getResult()] = std::make_shared<const Cache<S>>(std::move(*result));
    return success();
  }
  auto view = cast<attn::KVViewOp>(op);
  auto result = evaluate<S>(view, cache, integer(frame, view.getLayer()), tensor(frame, view.getTable()));
  if (failed(result))
    return failure();
  return success(succeeded(set(frame, view.getKeys(), std::move(result->first))) &&
                 succeeded(set(frame, view.getValues(), std::move(result->second))));
}

#define INSTANTIATE(S)                                                                                                 \
  template class Evaluator<S>;                                                                                         \
  template bool hasType<S>(const Value<S> &, Type);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
