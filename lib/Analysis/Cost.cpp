//===- Cost.cpp - Operations and bytes of the ops of an entry ---------------------------===//
#include "lib/Analysis/Cost.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/ElementSize.h"
#include "lib/Analysis/Mask.h"
#include "lib/Analysis/Shapes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace rapt;
using attn::Polynomial;

namespace {

struct Cost {
  Polynomial flops, weights, cache, activations;
  SmallVector<Polynomial> moves; ///< parts of activations: of each operand and result
  Type dtype;                    ///< of the operand of its matmuls that is not f32, if one is
};

/// Computes the costs of the ops of an entry, as polynomials over the dims that its arguments name and over counts that
/// follow from the arguments' values.
class EntryModel : public attn::CostModel {
public:
  explicit EntryModel(FunctionOpInterface entry) : entry(entry), b(entry.getContext()) {}
  EntryCosts run();

  Polynomial dim(Value tensor, unsigned i) override { return shapes.dim(tensor, i); }
  Polynomial elements(Value tensor) override { return shapes.elements(tensor); }
  Polynomial elementBytes(Value value) override;
  Polynomial bytes(Value tensor) override;
  AttendedKeys attendedKeys(const AttentionRows &rows) override;
  Polynomial timeSteps(Value offsets) override;
  void compute(const Polynomial &flops, Type dtype) override;
  void move(Value value, const Polynomial &bytes) override;
  using CostModel::move;

private:
  Cost costOf(attn::CostOpInterface op);
  attn::ParameterOp parameterOf(Value value);
  std::string inputName(Value value);
  Polynomial count(StringRef kind, ArrayRef<NamedAttribute> fields);
  std::optional<SmallVector<NamedAttribute>> fieldsOf(const AttentionRows &rows);
  std::string nameOf(Operation *op);
  void seeLayer(Operation *op);
  DictionaryAttr describe(Operation *op, const Cost &cost);

  FunctionOpInterface entry;
  Builder b;
  Shapes shapes;
  SmallVector<Attribute> counts;
  Cost cost;                    ///< of the op that is asked
  Operation *current = nullptr; ///< that op
  int64_t place = 0;            ///< of the block within the layers that one round of the loop runs
};

NamedAttribute text(Builder &b, StringRef name, StringRef value) {
  return b.getNamedAttr(name, b.getStringAttr(value));
}

Polynomial EntryModel::elementBytes(Value value) {
  if (auto view = value.getDefiningOp<attn::KVViewOp>()) {
    const bool isKeys = value == view.getKeys();
    if (auto cache = dyn_cast<attn::KVCacheType>(view.getCache().getType())) {
      const attn::KVSegment &segment = cache.getSegments()[view.getSegment()];
      return Polynomial((isKeys ? segment.keys : segment.values).element.getIntOrFloatBitWidth() / 8);
    }
    value = isKeys ? view.getCache() : view.getValuePool();
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && isa<attn::QuantizedType>(type.getElementType())) // a table's, whose scales are few
    return Polynomial(1);
  std::optional<int64_t> bytes = type ? rapt::elementBytes(type.getElementType()) : std::nullopt;
  return bytes ? Polynomial(*bytes) : Polynomial::unknown();
}

/// Bytes without padding; those of a quantized matrix include its scales and zero points.
Polynomial EntryModel::bytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto quantized = type ? dyn_cast<attn::QuantizedType>(type.getElementType()) : attn::QuantizedType();
  if (quantized && quantized.getCode() == attn::QuantizedCode::s8)
    return shapes.dim(value, 0) * Polynomial(type.getDimSize(1) + 4 * quantized.groups(type.getDimSize(1)));
  if (quantized && type.getRank() == 2 && type.hasStaticShape())
    return Polynomial(
        quantized.matrixBytes(type.getDimSize(quantized.getAxis()), type.getDimSize(1 - quantized.getAxis())));
  return elementBytes(value) * shapes.elements(value);
}

/// The parameter that a value is, or of which it is a layer; null for other values.
attn::ParameterOp EntryModel::parameterOf(Value value) {
  auto slice = value.getDefiningOp<attn::ParameterSliceOp>();
  return slice ? SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr()) : nullptr;
}

/// The name of the input that a value is; empty for other values.
std::string EntryModel::inputName(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (!argument || argument.getOwner()->getParentOp() != entry)
    return {};
  auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  return name ? name.str() : std::string();
}

/// A count, whose value is known when the entry runs.
Polynomial EntryModel::count(StringRef kind, ArrayRef<NamedAttribute> fields) {
  NamedAttrList list(fields);
  list.set("kind", b.getStringAttr(kind));
  for (Attribute made : counts) {
    NamedAttrList other(cast<DictionaryAttr>(made));
    Attribute name = other.erase("name");
    if (other.getDictionary(b.getContext()) == list.getDictionary(b.getContext()))
      return Polynomial::of(cast<StringAttr>(name).str());
  }
  std::string name = "count" + std::to_string(counts.size());
  list.set("name", b.getStringAttr(name));
  counts.push_back(list.getDictionary(b.getContext()));
  return Polynomial::of(name);
}

/// The inputs that give the numbers of queries and keys of each sequence, and the mask.
std::optional<SmallVector<NamedAttribute>> EntryModel::fieldsOf(const AttentionRows &rows) {
  SmallVector<NamedAttribute> fields;
  std::pair<StringRef, Value> inputs[] = {{"queries", rows.queryBegin},
                                          {"past", rows.queryOffset},
                                          {"keys_begin", rows.keyBegin},
                                          {"keys", rows.keyLength}};
  for (auto [field, value] : inputs) {
    std::string name = inputName(value);
    if (value && name.empty())
      return std::nullopt;
    if (value)
      fields.push_back(text(b, field, name));
  }
  if (!rows.queryBegin || !(rows.queryOffset || rows.keyBegin || rows.keyLength))
    return std::nullopt;
  MaskBounds bounds = analyzeMask(rows.mask);
  if (bounds.lower)
    fields.push_back(b.getNamedAttr("lower", b.getI64IntegerAttr(*bounds.lower)));
  if (bounds.upper)
    fields.push_back(b.getNamedAttr("upper", b.getI64IntegerAttr(*bounds.upper)));
  return fields;
}

attn::CostModel::AttendedKeys EntryModel::attendedKeys(const AttentionRows &rows) {
  if (std::optional<SmallVector<NamedAttribute>> fields = fieldsOf(rows)) {
    Polynomial pairs = count("pairs", *fields);
    return {Polynomial(2) * pairs, count("keys", *fields)};
  }
  auto equal = rows.queryBegin ? rows.queryBegin.getDefiningOp<attn::EqualRowsOp>() : attn::EqualRowsOp();
  if (equal && rows.keyBegin == rows.queryBegin) {
    Polynomial length = shapes.index(equal.getLength()), keys = shapes.index(equal.getRows()) * length;
    return {Polynomial(2) * keys * length, keys};
  }
  if (rows.queryBegin || rows.keyBegin || rows.keyLength)
    return {Polynomial::unknown(), Polynomial::unknown()};
  bool isCausal = analyzeMask(rows.mask).upper == 1 && !rows.queryOffset; // then queries are as many as keys
  Polynomial keys = rows.rows * rows.keys;
  return {isCausal ? rows.rows * rows.queries * (rows.queries + Polynomial(1)) : Polynomial(2) * rows.queries * keys,
          keys};
}

Polynomial EntryModel::timeSteps(Value offsets) {
  std::string rows = inputName(offsets);
  if (rows.empty())
    return Polynomial::unknown();
  return count("steps", {text(b, "queries", rows), b.getNamedAttr("rows", b.getI64IntegerAttr(1))});
}

void EntryModel::compute(const Polynomial &flops, Type dtype) {
  cost.flops = cost.flops + flops;
  cost.dtype = dtype;
}

/// The operands and results of an op, as attn.moves counts them.
SmallVector<Value> valuesOf(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  return values;
}

void EntryModel::move(Value value, const Polynomial &bytes) {
  bool isCache = isa<attn::KVCacheType>(value.getType()) || value.getDefiningOp<attn::KVViewOp>();
  Polynomial &moved = parameterOf(value) ? cost.weights : isCache ? cost.cache : cost.activations;
  moved = moved + bytes;
  if (&moved != &cost.activations)
    return;
  SmallVector<Value> values = valuesOf(current);
  if (auto at = llvm::find(values, value); at != values.end())
    cost.moves[at - values.begin()] = cost.moves[at - values.begin()] + bytes;
}

Cost EntryModel::costOf(attn::CostOpInterface op) {
  cost = Cost();
  current = op;
  cost.moves.resize(op->getNumOperands() + op->getNumResults());
  op.addCosts(*this);
  return cost;
}

/// Where the first weight that an op reads comes from: "h.{layer}.attn.c_attn"; the tensors that were put side by side
/// with it are told by their last part.
std::string EntryModel::nameOf(Operation *op) {
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
    return name;
  }
  return {};
}

/// Blocks of one iteration of the layer loop differ in the constant that is added to the induction variable.
void EntryModel::seeLayer(Operation *op) {
  auto slice = dyn_cast<attn::ParameterSliceOp>(op);
  if (!slice || !slice.getLayer())
    return;
  APInt number;
  auto add = slice.getLayer().getDefiningOp();
  place = add && add->getNumOperands() == 2 && matchPattern(add->getOperand(1), m_ConstantInt(&number))
              ? number.getSExtValue()
              : 0;
}

DictionaryAttr EntryModel::describe(Operation *op, const Cost &cost) {
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
  std::pair<StringRef, const Polynomial &> sums[] = {
      {"flops", cost.flops}, {"weights", cost.weights}, {"cache", cost.cache}, {"activations", cost.activations}};
  for (const auto &[name, sum] : sums)
    if (Attribute value = sum.asAttribute(b.getContext()); value && !cast<ArrayAttr>(value).empty())
      fields.set(name, value);
  return fields.getDictionary(b.getContext());
}

EntryCosts EntryModel::run() {
  EntryCosts result;
  SmallVector<Attribute> ops;
  entry->walk<WalkOrder::PreOrder>([&](Operation *op) {
    seeLayer(op);
    auto costs = dyn_cast<attn::CostOpInterface>(op);
    if (!costs)
      return;
    const Cost cost = costOf(costs);
    ops.push_back(describe(op, cost));
    result.operations.push_back(op);
    result.moves.push_back(b.getArrayAttr(llvm::map_to_vector(cost.moves, [&](const Polynomial &bytes) -> Attribute {
      return bytes.isKnown() ? bytes.asAttribute(b.getContext()) : b.getUnitAttr();
    })));
  });
  result.facts = b.getDictionaryAttr(
      {b.getNamedAttr("counts", b.getArrayAttr(counts)), b.getNamedAttr("ops", b.getArrayAttr(ops))});
  return result;
}

} // namespace

EntryCosts rapt::costsOf(FunctionOpInterface entry) { return EntryModel(entry).run(); }
