//===- Cost.cpp - Operations and bytes of the ops of an entry ---------------------------===//
#include "lib/Analysis/Cost.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/Companion.h"
#include "lib/Analysis/Mask.h"
#include "lib/Analysis/Shapes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;

namespace {

struct Cost {
  Sum flops, weights, cache, activations;
  Type dtype; ///< of the operand of its products that is not f32, if one is
};

class CostModel {
public:
  CostModel(FunctionOpInterface entry, int64_t recurrenceTile)
      : entry(entry), recurrenceTile(recurrenceTile), b(entry.getContext()) {}
  EntryCosts run();

private:
  Cost costOf(Operation *op);
  Cost costOfLinear(attn::LinearOp linear);
  template <typename Op> Cost costOfAttention(Op op, Value values);
  Cost costOfRecurrence(attn::RecurrenceOp recurrence);
  Cost costOfRows(Operation *op);

  Sum bytesOf(Value value);
  Sum elementBytes(Value value);
  attn::ParameterOp parameterOf(Value value);
  std::string inputName(Value value);
  Sum count(StringRef kind, ArrayRef<NamedAttribute> fields);
  template <typename Op> std::optional<SmallVector<NamedAttribute>> fieldsOf(Op op);
  template <typename Op> Sum extentOf(Op op, attn::AttentionOp::Dim dim, unsigned from, Value operand);
  std::string nameOf(Operation *op);
  void seeLayer(Operation *op);
  DictionaryAttr describe(Operation *op, const Cost &cost);

  FunctionOpInterface entry;
  int64_t recurrenceTile;
  Builder b;
  Shapes shapes;
  SmallVector<Attribute> counts;
  int64_t place = 0; ///< of the block within the layers that one round of the loop runs
};

NamedAttribute text(Builder &b, StringRef name, StringRef value) {
  return b.getNamedAttr(name, b.getStringAttr(value));
}

Sum CostModel::elementBytes(Value value) {
  if (auto cache = dyn_cast<attn::KVCacheType>(value.getType()))
    return Sum(cache.getElementType().getIntOrFloatBitWidth() / 8);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && isa<attn::QuantizedType>(type.getElementType())) // a table's, whose scales are few
    return Sum(1);
  unsigned bits = type && type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 0;
  return bits ? Sum(llvm::divideCeil(bits, 8)) : Sum::unknown();
}

/// Bytes without padding; those of a quantized matrix include its scales and zero points.
Sum CostModel::bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto quantized = type ? dyn_cast<attn::QuantizedType>(type.getElementType()) : attn::QuantizedType();
  if (quantized && quantized.getCode() == attn::QuantizedCode::s8)
    return shapes.dim(value, 0) * Sum(quantized.rowBytes(type.getDimSize(1)));
  if (quantized && type.getRank() == 2 && type.hasStaticShape())
    return Sum(quantized.matrixBytes(type.getDimSize(quantized.getAxis()), type.getDimSize(1 - quantized.getAxis())));
  return elementBytes(value) * shapes.elements(value);
}

/// The weight that a value is, whole or a layer of it; null where it is none.
attn::ParameterOp CostModel::parameterOf(Value value) {
  auto slice = value.getDefiningOp<attn::ParameterSliceOp>();
  return slice ? SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr()) : nullptr;
}

/// The name of the input that a value is, empty where it is none.
std::string CostModel::inputName(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (!argument || argument.getOwner()->getParentOp() != entry)
    return {};
  auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  return name ? name.str() : std::string();
}

/// A number that is counted when the entry runs.
Sum CostModel::count(StringRef kind, ArrayRef<NamedAttribute> fields) {
  NamedAttrList list(fields);
  list.set("kind", b.getStringAttr(kind));
  for (Attribute made : counts) {
    NamedAttrList other(cast<DictionaryAttr>(made));
    Attribute name = other.erase("name");
    if (other.getDictionary(b.getContext()) == list.getDictionary(b.getContext()))
      return Sum::of(cast<StringAttr>(name).str());
  }
  std::string name = "count" + std::to_string(counts.size());
  list.set("name", b.getStringAttr(name));
  counts.push_back(list.getDictionary(b.getContext()));
  return Sum::of(name);
}

Cost CostModel::costOfLinear(attn::LinearOp linear) {
  Cost cost = costOfRows(linear);
  RankedTensorType weight = linear.getWeight().getType();
  const int64_t k = linear.getDepth(), n = linear.getResult().getType().getDimSize(1);
  cost.flops = shapes.dim(linear.getInput(), 0) * Sum(2) * Sum(k) * Sum(n);
  if (attn::LinearOp companion = companionOf(linear)) {
    Cost beside = costOfLinear(companion);
    cost.flops = cost.flops + beside.flops;
    cost.weights = cost.weights + beside.weights;
  }
  cost.dtype = linear.isQuantized() ? Type(b.getIntegerType(8)) : weight.getElementType();
  return cost;
}

/// The inputs that tell how many queries and keys each row has, and what the mask says for all rows.
template <typename Op> std::optional<SmallVector<NamedAttribute>> CostModel::fieldsOf(Op op) {
  SmallVector<NamedAttribute> fields;
  std::pair<StringRef, Value> inputs[] = {{"queries", op.getQBegin()},
                                          {"past", op.getQOffset()},
                                          {"keys_begin", op.getKvBegin()},
                                          {"keys", op.getKvLength()}};
  for (auto [field, value] : inputs) {
    std::string name = inputName(value);
    if (value && name.empty())
      return std::nullopt;
    if (value)
      fields.push_back(text(b, field, name));
  }
  if (!op.getQBegin() || !(op.getQOffset() || op.getKvBegin() || op.getKvLength()))
    return std::nullopt;
  MaskBounds bounds = analyzeMask(op.getMask());
  if (bounds.lower)
    fields.push_back(b.getNamedAttr("lower", b.getI64IntegerAttr(*bounds.lower)));
  if (bounds.upper)
    fields.push_back(b.getNamedAttr("upper", b.getI64IntegerAttr(*bounds.upper)));
  return fields;
}

template <typename Op> Sum CostModel::extentOf(Op op, attn::AttentionOp::Dim dim, unsigned map, Value operand) {
  std::optional<unsigned> i = op.dimOf(map, dim);
  return i ? shapes.dim(operand, *i) : Sum(1);
}

/// Null `values`: weights alone are computed.
template <typename Op> Cost CostModel::costOfAttention(Op op, Value values) {
  using Dim = attn::AttentionOp;
  Value query = op.getQuery(), key = op.getKey();
  Sum heads = extentOf(op, Dim::HKV, 0, query) * extentOf(op, Dim::G, 0, query),
      keyHeads = extentOf(op, Dim::HKV, 1, key);
  Sum width = extentOf(op, Dim::DQK, 0, query) + (values ? extentOf(op, Dim::DV, 2, values) : Sum(0));
  Sum pairs = Sum::unknown() /* twice */, keys = Sum::unknown();
  auto equal = op.getQBegin() ? op.getQBegin().template getDefiningOp<attn::EqualRowsOp>() : attn::EqualRowsOp();
  if (std::optional<SmallVector<NamedAttribute>> fields = fieldsOf(op)) {
    pairs = Sum(2) * count("pairs", *fields);
    keys = count("keys", *fields);
  } else if (equal && op.getKvBegin() == op.getQBegin()) {
    Sum length = shapes.index(equal.getLength());
    keys = shapes.index(equal.getRows()) * length;
    pairs = Sum(2) * keys * length;
  } else if (!op.getQBegin() && !op.getKvBegin() && !op.getKvLength()) {
    Sum rows = extentOf(op, Dim::B, 0, query), queries = extentOf(op, Dim::Q, 0, query);
    keys = rows * extentOf(op, Dim::KV, 1, key);
    bool isCausal = analyzeMask(op.getMask()).upper == 1 && !op.getQOffset(); // then queries are as many as keys
    pairs = isCausal ? rows * queries * (queries + Sum(1)) : Sum(2) * queries * keys;
  }
  Cost cost;
  cost.flops = pairs * heads * width;
  cost.dtype = cast<RankedTensorType>(key.getType()).getElementType();
  auto view = key.template getDefiningOp<attn::KVViewOp>();
  Sum read = keys * keyHeads * width * elementBytes(view ? view.getCache() : key);
  cost.activations = bytesOf(query) + bytesOf(op.getResult());
  if (view)
    cost.cache = read;
  else
    cost.activations = cost.activations + read;
  for (Value extra : op.getExtras())
    (parameterOf(extra) ? cost.weights : cost.activations) =
        (parameterOf(extra) ? cost.weights : cost.activations) + bytesOf(extra);
  return cost;
}

/// A recurrence reads its weight once a step of each tile of rows.
Cost CostModel::costOfRecurrence(attn::RecurrenceOp recurrence) {
  Cost cost;
  int64_t hidden = recurrence.getHidden(), parts = recurrence.getParts();
  const Sum weight = Sum(hidden) * Sum(parts) * Sum(hidden);
  cost.flops = Sum(2) * weight * shapes.dim(recurrence.getGates(), 0);
  std::string rows = inputName(recurrence.getRowBegin());
  Sum steps =
      rows.empty()
          ? Sum::unknown()
          : count("steps", {text(b, "queries", rows), b.getNamedAttr("rows", b.getI64IntegerAttr(recurrenceTile))});
  cost.dtype = recurrence.getWeight().getType().getElementType();
  cost.weights = bytesOf(recurrence.getWeight()) * steps;
  cost.activations = bytesOf(recurrence.getGates()) + bytesOf(recurrence.getOutput());
  return cost;
}

/// Everything that is read, and everything that is made. Tiles of a companion are neither.
Cost CostModel::costOfRows(Operation *op) {
  Cost cost;
  auto linear = dyn_cast<attn::LinearOp>(op);
  Operation *companion = linear ? companionOf(linear).getOperation() : nullptr;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()) && !(companion && operand.getDefiningOp() == companion))
      (parameterOf(operand) ? cost.weights : cost.activations) =
          (parameterOf(operand) ? cost.weights : cost.activations) + bytesOf(operand);
  for (Value result : op->getResults())
    cost.activations = cost.activations + bytesOf(result);
  return cost;
}

Cost CostModel::costOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Cost>(op)
      .Case([&](attn::LinearOp linear) { return costOfLinear(linear); })
      .Case([&](attn::AttentionOp attention) { return costOfAttention(attention, attention.getValue()); })
      .Case([&](attn::AttentionWeightsOp weights) { return costOfAttention(weights, Value()); })
      .Case([&](attn::RecurrenceOp recurrence) { return costOfRecurrence(recurrence); })
      .Case([&](attn::EmbeddingOp embedding) { // rows of the table, not all of it
        Sum rows = shapes.elements(embedding.getResult());
        return Cost{{}, rows * elementBytes(embedding.getTable()), {}, bytesOf(embedding.getResult()), {}};
      })
      .Case([&](attn::SelectRowsOp select) { return Cost{{}, {}, {}, Sum(2) * bytesOf(select.getResult()), {}}; })
      .Case([&](attn::UpdateRowsOp update) { return Cost{{}, {}, {}, Sum(2) * bytesOf(update.getValues()), {}}; })
      .Case([&](attn::KVAppendOp append) {
        Sum written = shapes.elements(append.getKey()) + shapes.elements(append.getValue());
        return Cost{{},
                    {},
                    written * elementBytes(append.getCache()),
                    bytesOf(append.getKey()) + bytesOf(append.getValue()),
                    {}};
      })
      .Default([&](Operation *other) { return costOfRows(other); });
}

/// Where the first weight that an op reads comes from: "h.{layer}.attn.c_attn"; the tensors that were put side by side
/// with it, and its companion's, are told by their last part.
std::string CostModel::nameOf(Operation *op) {
  for (Value operand : op->getOperands()) {
    attn::ParameterOp parameter = parameterOf(operand);
    if (!parameter)
      continue;
    std::string name;
    for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
      StringRef part = source.getName();
      if (!part.consume_back(".weight"))
        part.consume_back(".bias");
      if (!name.empty())
        part = part.rsplit('.').second.empty() ? part : part.rsplit('.').second;
      name += (name.empty() ? "" : "+") + part.str();
    }
    auto linear = dyn_cast<attn::LinearOp>(op);
    if (attn::LinearOp companion = linear ? companionOf(linear) : nullptr)
      name += "+" + StringRef(nameOf(companion)).rsplit('.').second.str();
    return name;
  }
  return {};
}

/// Layers of one round of a loop are told by what is added to the loop's number.
void CostModel::seeLayer(Operation *op) {
  auto slice = dyn_cast<attn::ParameterSliceOp>(op);
  if (!slice || !slice.getLayer())
    return;
  APInt number;
  auto add = slice.getLayer().getDefiningOp();
  place = add && add->getNumOperands() == 2 && matchPattern(add->getOperand(1), m_ConstantInt(&number))
              ? number.getSExtValue()
              : 0;
}

DictionaryAttr CostModel::describe(Operation *op, const Cost &cost) {
  NamedAttrList fields;
  fields.set("op", b.getStringAttr(op->getName().stripDialect()));
  if (std::string name = nameOf(op); !name.empty())
    fields.set("name", b.getStringAttr(name));
  if (auto loop = op->getParentOfType<scf::ForOp>()) {
    std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                           end = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
    if (first && end && step && *step > 0 && *end > *first) {
      fields.set("layers", b.getI64IntegerAttr(llvm::divideCeil(*end - *first, *step)));
      fields.set("first_layer", b.getI64IntegerAttr(*first + place));
      fields.set("layer_step", b.getI64IntegerAttr(*step));
    }
  }
  if (cost.dtype) {
    std::string dtype;
    llvm::raw_string_ostream(dtype) << cost.dtype;
    fields.set("dtype", b.getStringAttr(dtype));
  }
  std::pair<StringRef, const Sum &> sums[] = {
      {"flops", cost.flops}, {"weights", cost.weights}, {"cache", cost.cache}, {"activations", cost.activations}};
  for (const auto &[name, sum] : sums)
    if (Attribute value = sum.asAttribute(b.getContext()); value && !cast<ArrayAttr>(value).empty())
      fields.set(name, value);
  return fields.getDictionary(b.getContext());
}

EntryCosts CostModel::run() {
  EntryCosts result;
  SmallVector<Attribute> ops;
  entry->walk<WalkOrder::PreOrder>([&](Operation *op) {
    seeLayer(op);
    if (!isa<attn::AttnDialect>(op->getDialect()) || op->getNumResults() == 0 ||
        isa<attn::ParameterSliceOp, attn::KVViewOp, attn::SplitHeadsOp, attn::MergeHeadsOp, attn::LookupOp,
            attn::DimSizeOp>(op))
      return;
    if (auto linear = dyn_cast<attn::LinearOp>(op); linear && ownerOf(linear))
      return;
    ops.push_back(describe(op, costOf(op)));
    result.operations.push_back(op);
  });
  result.facts = b.getDictionaryAttr(
      {b.getNamedAttr("counts", b.getArrayAttr(counts)), b.getNamedAttr("ops", b.getArrayAttr(ops))});
  return result;
}

} // namespace

EntryCosts rapt::costsOf(FunctionOpInterface entry, int64_t recurrenceTile) {
  return CostModel(entry, recurrenceTile).run();
}
