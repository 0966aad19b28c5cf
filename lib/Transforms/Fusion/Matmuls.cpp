//===- Matmuls.cpp - Matmuls of one input become one --------------------------------------===//
//
// A matmul's weight is a parameter, which other functions and loops may read as well. So
// the rule checks all matmuls of the module before it changes one: a parameter is
// joined to others where every matmul that reads it is.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

namespace {

constexpr llvm::StringLiteral kRule = "merge-matmuls";

/// A matmul in the form that can be merged.
struct Part {
  attn::LinearOp linear;
  attn::ParameterSliceOp weight, bias; ///< the bias is null where there is none
  attn::SplitHeadsOp heads;            ///< what alone reads the result
};
using Group = SmallVector<Part, 3>;

attn::ParameterOp parameterOf(attn::ParameterSliceOp slice) {
  return SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
}

/// The code of blocks that the checkpoint has, or nothing.
std::optional<attn::QuantizedCode> codeOf(attn::ParameterOp parameter) {
  return cast<attn::SourceAttr>(parameter.getSources()[0]).getCode();
}

/// Whether the epilogue is the sum and one vector's element, in either order.
bool addsVector(attn::LinearOp linear) {
  if (linear.getExtras().size() != 1 || cast<RankedTensorType>(linear.getExtras()[0].getType()).getRank() != 1)
    return false;
  Block &epilogue = linear.getEpilogue().front();
  auto add = dyn_cast<arith::AddFOp>(epilogue.front());
  if (!add || &*std::next(epilogue.begin()) != epilogue.getTerminator() ||
      epilogue.getTerminator()->getOperand(0) != add.getResult())
    return false;
  Value sum = epilogue.getArgument(0), vector = epilogue.getArgument(1);
  return (add.getLhs() == sum && add.getRhs() == vector) || (add.getLhs() == vector && add.getRhs() == sum);
}

/// Whether a parameter has one source, or sources that follow each other along `dim`.
bool isJoinedAlong(attn::ParameterOp parameter, int64_t dim) {
  std::optional<attn::JoinAttr> join = parameter.getJoin();
  return !join || (join->getKind() == attn::JoinKind::concat && join->getDim() == dim);
}

/// Fills in the part; says what is in the way where something is.
StringRef describe(attn::LinearOp linear, Part &part) {
  part = {linear, linear.getWeight().getDefiningOp<attn::ParameterSliceOp>(), nullptr, nullptr};
  if (linear.getGroups())
    return "its rows have a matrix of several each";
  if (!linear.getResult().hasOneUse())
    return "its result has several users";
  part.heads = dyn_cast<attn::SplitHeadsOp>(*linear->user_begin());
  if (!part.heads || part.heads.getHeads().size() != 1)
    return "its result is not cut into heads of one kind";
  if (!part.weight || !part.weight.getValue().hasOneUse())
    return "its weight is no parameter that it alone reads";
  if (!isJoinedAlong(parameterOf(part.weight), linear.getTransposed() ? 0 : 1))
    return "its weight is joined from several tensors along its rows";
  if (linear.getEpilogue().empty())
    return "";
  if (!addsVector(linear))
    return "its epilogue does more than add a bias";
  part.bias = linear.getExtras()[0].getDefiningOp<attn::ParameterSliceOp>();
  if (!part.bias || !part.bias.getValue().hasOneUse())
    return "its bias is no parameter that it alone reads";
  if (!isJoinedAlong(parameterOf(part.bias), 0))
    return "its bias is stacked from several tensors";
  return "";
}

/// Layers are equal as values, or as differences of the same value and equal constants.
bool isSameLayer(Value a, Value b) {
  if (a == b)
    return true;
  auto first = a ? a.getDefiningOp<arith::SubIOp>() : nullptr, second = b ? b.getDefiningOp<arith::SubIOp>() : nullptr;
  APInt x, y;
  return first && second && first.getLhs() == second.getLhs() && matchPattern(first.getRhs(), m_ConstantInt(&x)) &&
         matchPattern(second.getRhs(), m_ConstantInt(&y)) && x == y;
}

bool isStackedAlike(attn::ParameterSliceOp a, attn::ParameterSliceOp b) {
  attn::ParameterOp first = parameterOf(a), second = parameterOf(b);
  return isSameLayer(a.getLayer(), b.getLayer()) && first.getLayers() == second.getLayers() &&
         first.getFirstLayer() == second.getFirstLayer() && first.getLayerNumbers() == second.getLayerNumbers();
}

int64_t channelsOf(Part part) { return cast<RankedTensorType>(part.heads.getHeads()[0].getType()).getShape().back(); }

/// The reason why two matmuls of one input are not merged.
StringRef difference(Part a, Part b) {
  if (!a.bias != !b.bias)
    return "one has a bias and the other has none";
  if (channelsOf(a) != channelsOf(b))
    return "their heads have different widths";
  if (a.weight.getType().getElementType() != b.weight.getType().getElementType() ||
      codeOf(parameterOf(a.weight)) != codeOf(parameterOf(b.weight)) ||
      (a.bias && a.bias.getType().getElementType() != b.bias.getType().getElementType()))
    return "they are stored in different types";
  if (a.linear.getType().getElementType() != b.linear.getType().getElementType())
    return "their results are of different types";
  if (!isStackedAlike(a.weight, b.weight) || (a.bias && !isStackedAlike(a.bias, b.bias)))
    return "they are of different layers";
  return "";
}

/// "h.{layer}.attn.query+key" of the names "h.{layer}.attn.query" and "h.{layer}.attn.key".
std::string joinedName(ArrayRef<StringRef> names) {
  size_t common = names[0].rfind('.') + 1;
  for (StringRef name : names)
    if (!name.starts_with(names[0].take_front(common)))
      common = 0;
  std::string text = names[0].str();
  for (StringRef name : names.drop_front())
    text += "+" + name.drop_front(common).str();
  return text;
}

Location joinedLocation(const Group &group) {
  SmallVector<Location> locations;
  SmallVector<StringRef> names;
  for (Part part : group) {
    locations.push_back(part.linear.getLoc());
    names.push_back(nameOf(part.linear.getLoc()));
  }
  MLIRContext *context = locations[0]->getContext();
  if (llvm::is_contained(names, StringRef()))
    return FusedLoc::get(context, locations);
  return NameLoc::get(StringAttr::get(context, joinedName(names)));
}

class Merging {
public:
  explicit Merging(ModuleOp module) : symbols(module) {}

  void run() {
    Operation *module = symbols.getOp();
    module->walk([&](attn::ParameterSliceOp slice) { ++slices[slice.getParameterAttr().getAttr()]; });
    module->walk([&](Block *block) { collect(*block); });
    for (const Group &group : groups)
      for (Member member : {&Part::weight, &Part::bias})
        if (group[0].*member)
          ++together[keyOf(group, member)];
    // Whether a group is merged is known before any is.
    SmallVector<bool> whole;
    for (const Group &group : groups)
      whole.push_back(isWhole(group));
    for (auto [group, isMerged] : llvm::zip(groups, whole)) {
      if (isMerged)
        merge(group);
      else
        remarkNotFused(group[0].linear->getLoc(), kRule, "its weight is read elsewhere without those beside it");
    }
    for (attn::ParameterOp old : replaced)
      symbols.erase(old);
  }

private:
  using Member = attn::ParameterSliceOp Part::*;

  /// Finds the groups of a block: matmuls of one input, in order, each with the first that it fits.
  void collect(Block &block) {
    llvm::MapVector<Value, SmallVector<attn::LinearOp>> readers;
    for (auto linear : block.getOps<attn::LinearOp>())
      readers[linear.getInput()].push_back(linear);
    for (auto &[input, matmuls] : readers)
      if (matmuls.size() > 1)
        sort(matmuls);
  }

  void sort(ArrayRef<attn::LinearOp> matmuls) {
    SmallVector<Group> found;
    for (attn::LinearOp linear : matmuls) {
      Part part;
      if (StringRef why = describe(linear, part); !why.empty()) {
        remarkNotFused(linear.getLoc(), kRule, why);
        continue;
      }
      auto fits = llvm::find_if(found, [&](const Group &group) { return difference(group[0], part).empty(); });
      if (fits == found.end())
        fits = found.insert(found.end(), Group());
      fits->push_back(part);
    }
    for (auto [i, group] : llvm::enumerate(found)) {
      if (group.size() > 1)
        groups.push_back(group);
      else if (found.size() > 1)
        remarkNotFused(group[0].linear->getLoc(), kRule, difference(found[i == 0 ? 1 : 0][0], group[0]));
    }
  }

  /// The parameters of a group, by name.
  static ArrayAttr keyOf(const Group &group, Member member) {
    SmallVector<Attribute> names;
    for (Part part : group)
      names.push_back((part.*member).getParameterAttr().getAttr());
    return ArrayAttr::get(names[0].getContext(), names);
  }

  bool isWhole(const Group &group) const {
    for (Member member : {&Part::weight, &Part::bias}) {
      if (!(group[0].*member))
        continue;
      ArrayAttr key = keyOf(group, member);
      for (Attribute name : key)
        if (llvm::count(key, name) != 1 || slices.lookup(cast<StringAttr>(name)) != together.lookup(key))
          return false;
    }
    return true;
  }

  /// A slice of the parameter that has the columns of the group's, one after the other.
  Value joined(OpBuilder &b, Location loc, const Group &group, Member member) {
    attn::ParameterOp &made = parameters[keyOf(group, member)];
    if (!made)
      made = declare(group, member);
    attn::ParameterSliceOp like = group[0].*member;
    return attn::ParameterSliceOp::create(b, loc, made.getSliceType(), made.getSymName(), like.getLayer());
  }

  /// A matrix is [rows, columns], whatever its parts are.
  attn::ParameterOp declare(const Group &group, Member member) {
    attn::ParameterOp first = parameterOf(group[0].*member);
    SmallVector<Attribute> sources;
    SmallVector<StringRef> names;
    SmallVector<int64_t> shape(first.getSliceType().getShape());
    int64_t columns = 0;
    for (Part part : group) {
      attn::ParameterOp parameter = parameterOf(part.*member);
      RankedTensorType type = parameter.getSliceType();
      const bool isTransposed = type.getRank() == 2 && part.linear.getTransposed();
      columns += isTransposed ? type.getDimSize(0) : type.getShape().back();
      shape[0] = isTransposed ? type.getDimSize(1) : type.getDimSize(0);
      for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
        source = source.withShape(parameter.getStoredShape(source));
        sources.push_back(isTransposed ? source.transposed() : source);
      }
      names.push_back(parameter.getSymName());
      replaced.insert(parameter);
    }
    shape.back() = columns;
    auto join = attn::JoinAttr::get(first.getContext(), attn::JoinKind::concat, int64_t(shape.size()) - 1);
    if (first.getLayers())
      shape.insert(shape.begin(), *first.getLayers());
    OpBuilder b(first);
    auto type = RankedTensorType::get(shape, first.getSliceType().getElementType());
    auto made = attn::ParameterOp::create(b, first.getLoc(), b.getStringAttr(joinedName(names)), TypeAttr::get(type),
                                          first.getLayersAttr(), first.getFirstLayerAttr(), first.getLayerNumbersAttr(),
                                          join, b.getArrayAttr(sources),
                                          /*layout=*/nullptr, /*offset=*/nullptr, /*stride=*/nullptr);
    symbols.insert(made);
    return made;
  }

  void merge(const Group &group) {
    Location loc = joinedLocation(group);
    attn::LinearOp first = group[0].linear;
    OpBuilder b(first);
    Value weight = joined(b, loc, group, &Part::weight);
    SmallVector<Value, 1> extras;
    if (group[0].bias)
      extras.push_back(joined(b, loc, group, &Part::bias));
    const int64_t columns = cast<RankedTensorType>(weight.getType()).getDimSize(1);
    auto type = RankedTensorType::get({first.getResult().getType().getDimSize(0), columns},
                                      first.getResult().getType().getElementType());
    auto matmul =
        attn::LinearOp::create(b, loc, type, first.getInput(), weight, extras,
                               /*groups=*/Value(), /*transposed=*/false, /*layout=*/attn::WeightLayoutInterface());
    if (!extras.empty())
      matmul.getEpilogue().takeBody(first.getEpilogue());
    SmallVector<Type> types;
    for (Part part : group)
      types.push_back(part.heads.getHeads()[0].getType());
    auto heads = attn::SplitHeadsOp::create(b, loc, types, matmul);
    remarkFused(loc, kRule, Twine(group.size()) + " matmuls of one input, " + Twine(columns) + " columns");
    for (auto [part, result] : llvm::zip(group, heads.getHeads())) {
      Part old = part;
      old.heads.getHeads()[0].replaceAllUsesWith(result);
      for (Operation *op : {old.heads.getOperation(), old.linear.getOperation(), old.weight.getOperation()})
        op->erase();
      if (old.bias)
        old.bias.erase();
    }
  }

  SymbolTable symbols;
  SmallVector<Group> groups;
  llvm::DenseMap<StringAttr, unsigned> slices;  ///< of each parameter, in the module
  llvm::DenseMap<ArrayAttr, unsigned> together; ///< groups that read these
  llvm::DenseMap<ArrayAttr, attn::ParameterOp> parameters;
  llvm::SetVector<attn::ParameterOp> replaced;
};

} // namespace

void rapt::mergeMatmuls(ModuleOp module) { Merging(module).run(); }
