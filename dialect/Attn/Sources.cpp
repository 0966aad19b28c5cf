//===- Sources.cpp - How tensors of a checkpoint become parameters ----------------===//
//
// Shapes and text of #attn.source and its transforms. Extents come from text that nobody
// checked, so multiplications of extents are checked.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt::attn;

using EmitError = function_ref<InFlightDiagnostic()>;

/// Numbers of elements that a shape may have.
static constexpr int64_t kMostElements = int64_t(1) << 48;

/// None where the shape has more than kMostElements.
static std::optional<int64_t> elementsOf(ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = 1;
  for (int64_t extent : shape)
    if (!count || !(count = llvm::checkedMul(*count, extent)) || *count > kMostElements)
      return std::nullopt;
  return count;
}

static LogicalResult verifyShape(EmitError emitError, ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitError() << "extents are from 1 on, found [" << shape << "]";
  if (!elementsOf(shape))
    return emitError() << "a shape has at most 2^48 elements, found [" << shape << "]";
  return success();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<int64_t> &shape) {
  if (succeeded(parser.parseOptionalLSquare()))
    return parser.parseRSquare();
  const SMLoc at = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return failure();
  return shape.empty() ? parser.emitError(at, "expected a shape, as 12x64, or [] of a single element") : ParseResult();
}

static void printShape(AsmPrinter &printer, ArrayRef<int64_t> shape) {
  if (shape.empty())
    printer << "[]";
  llvm::interleave(shape, printer, "x");
}

Attribute ReshapeAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  const SMLoc begin = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape) || parser.parseGreater())
    return {};
  return parser.getChecked<ReshapeAttr>(begin, parser.getContext(), ArrayRef<int64_t>(shape));
}

void ReshapeAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  printer << ">";
}

/// `<NUMBER>`, a number of f32, as the parameter of a transform.
template <typename Transform> static Attribute parseFloatTransform(AsmParser &parser) {
  APFloat number(APFloat::IEEEsingle());
  const SMLoc begin = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  if (parser.parseFloat(APFloat::IEEEsingle(), number) || parser.parseGreater())
    return {};
  return parser.getChecked<Transform>(begin, parser.getContext(), number);
}

Attribute ScaleAttr::parse(AsmParser &parser, Type) { return parseFloatTransform<ScaleAttr>(parser); }
Attribute AddAttr::parse(AsmParser &parser, Type) { return parseFloatTransform<AddAttr>(parser); }

void ScaleAttr::print(AsmPrinter &printer) const { printer << "<" << getFactor() << ">"; }
void AddAttr::print(AsmPrinter &printer) const { printer << "<" << getSummand() << ">"; }

/// All transforms, by which text is told apart.
template <typename... Transforms> struct AnyOf {
  /// Reads the transform that `name` begins; null where none does or its text is wrong.
  static SourceTransformInterface parse(AsmParser &parser, StringRef name, SMLoc at) {
    Attribute transform;
    const bool isKnown =
        ((name == Transforms::getMnemonic() && (transform = Transforms::parse(parser, Type()), true)) || ...);
    if (!isKnown) {
      InFlightDiagnostic error = parser.emitError(at) << "a source has no transform '" << name << "', but ";
      llvm::interleaveComma(ArrayRef<StringRef>{Transforms::getMnemonic()...}, error);
    }
    return cast_if_present<SourceTransformInterface>(transform);
  }

  static void print(AsmPrinter &printer, Attribute transform) {
    (void)((isa<Transforms>(transform) &&
            (printer << Transforms::getMnemonic(), cast<Transforms>(transform).print(printer), true)) ||
           ...);
  }
};
using Transform = AnyOf<SliceAttr, TransposeAttr, ReshapeAttr, CastAttr, ScaleAttr, AddAttr>;

Attribute SourceAttr::parse(AsmParser &parser, Type) {
  std::string name;
  std::optional<QuantizedCode> code;
  DenseI64ArrayAttr shape;
  SmallVector<SourceTransformInterface> transforms;
  const SMLoc begin = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&name))
    return {};
  if (succeeded(parser.parseOptionalColon())) {
    const SMLoc at = parser.getCurrentLocation();
    if (StringRef keyword; succeeded(parser.parseOptionalKeyword(&keyword))) {
      code = codeNamed(keyword);
      if (!code || !blocksOf(*code))
        return parser.emitError(at) << "a checkpoint has no blocks of '" << keyword << "'", Attribute();
    }
    SmallVector<int64_t> extents;
    if (code ? parser.parseDimensionList(extents, /*allowDynamic=*/false, /*withTrailingX=*/false)
             : parseShape(parser, extents))
      return {};
    if (!code || !extents.empty()) // blocks may have no shape behind them, but not that of a single element
      shape = parser.getBuilder().getDenseI64ArrayAttr(extents);
  }
  while (succeeded(parser.parseOptionalComma())) {
    StringRef mnemonic;
    const SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&mnemonic))
      return {};
    transforms.push_back(Transform::parse(parser, mnemonic, at));
    if (!transforms.back())
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SourceAttr>(begin, parser.getContext(), StringRef(name), code, shape,
                                       ArrayRef<SourceTransformInterface>(transforms));
}

void SourceAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getName());
  if (getCode() || getShape())
    printer << " : ";
  if (getCode())
    printer << *getCode() << (getShape() ? " " : "");
  if (getShape())
    printShape(printer, getShape().asArrayRef());
  for (SourceTransformInterface transform : getTransforms()) {
    printer << ", ";
    Transform::print(printer, transform);
  }
  printer << ">";
}

std::string SourceAttr::textOfTransforms() {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(getTransforms(), os, [&](Attribute transform) {
    std::string whole;
    llvm::raw_string_ostream(whole) << transform;
    os << StringRef(whole).drop_front(StringRef("#attn.").size());
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

LogicalResult SliceAttr::verify(EmitError emitError, int64_t dim, int64_t begin, int64_t end) {
  if (dim < 0)
    return emitError() << "a slice's dim is from 0 on, found " << dim;
  if (begin < 0 || end <= begin)
    return emitError() << "a slice needs 0 <= begin < end, found " << begin << " to " << end;
  return success();
}

FailureOr<SmallVector<int64_t>> SliceAttr::shapeAfter(ArrayRef<int64_t> shape, EmitError emitError) const {
  SmallVector<int64_t> result(shape);
  if (getDim() >= int64_t(shape.size()))
    return emitError() << *this << " takes a part of dim " << getDim() << ", which [" << shape << "] does not have";
  if (getEnd() > shape[getDim()])
    return emitError() << *this << " leaves dim " << getDim() << " of [" << shape << "]";
  result[getDim()] = getEnd() - getBegin();
  return result;
}

std::optional<SmallVector<int64_t>> SliceAttr::shapeBefore(ArrayRef<int64_t>) const { return std::nullopt; }

LogicalResult TransposeAttr::verify(EmitError emitError, ArrayRef<int64_t> order) {
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (order.empty() || !llvm::equal(sorted, llvm::seq<int64_t>(order.size())))
    return emitError() << "a transpose names each dim once, from 0 on, found <" << order << ">";
  return success();
}

FailureOr<SmallVector<int64_t>> TransposeAttr::shapeAfter(ArrayRef<int64_t> shape, EmitError emitError) const {
  if (shape.size() != getOrder().size())
    return emitError() << *this << " permutes " << getOrder().size() << " dims, but [" << shape << "] has "
                       << shape.size();
  return llvm::map_to_vector(getOrder(), [&](int64_t dim) { return shape[dim]; });
}

std::optional<SmallVector<int64_t>> TransposeAttr::shapeBefore(ArrayRef<int64_t> shape) const {
  if (shape.size() != getOrder().size())
    return std::nullopt;
  SmallVector<int64_t> result(shape.size());
  for (auto [dim, extent] : llvm::zip_equal(getOrder(), shape))
    result[dim] = extent;
  return result;
}

LogicalResult ReshapeAttr::verify(EmitError emitError, ArrayRef<int64_t> shape) {
  return verifyShape(emitError, shape);
}

FailureOr<SmallVector<int64_t>> ReshapeAttr::shapeAfter(ArrayRef<int64_t> shape, EmitError emitError) const {
  if (elementsOf(shape) != elementsOf(getShape()))
    return emitError() << *this << " has " << *elementsOf(getShape()) << " elements, but [" << shape << "] has "
                       << elementsOf(shape).value_or(0);
  return SmallVector<int64_t>(getShape());
}

std::optional<SmallVector<int64_t>> ReshapeAttr::shapeBefore(ArrayRef<int64_t>) const { return std::nullopt; }

LogicalResult CastAttr::verify(EmitError emitError, FloatType type) {
  if (!type.isF32() && !type.isBF16() && !type.isF16())
    return emitError() << "a cast is to f32, bf16 or f16, found " << type;
  return success();
}

LogicalResult ScaleAttr::verify(EmitError emitError, APFloat factor) {
  if (&factor.getSemantics() != &APFloat::IEEEsingle() || !factor.isFiniteNonZero())
    return emitError() << "a scale is a finite number of f32 other than 0";
  return success();
}

LogicalResult AddAttr::verify(EmitError emitError, APFloat summand) {
  if (&summand.getSemantics() != &APFloat::IEEEsingle() || !summand.isFiniteNonZero())
    return emitError() << "a summand is a finite number of f32 other than 0";
  return success();
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult SourceAttr::verify(EmitError emitError, StringRef, std::optional<QuantizedCode> code,
                                 DenseI64ArrayAttr shape,
                                 [[maybe_unused]] ArrayRef<SourceTransformInterface> transforms) {
  assert(llvm::all_of(transforms, [](SourceTransformInterface transform) { return bool(transform); }) &&
         "a transform is null");
  if (!shape)
    return success();
  const BlockFormat *blocks = code ? blocksOf(*code) : nullptr;
  if (blocks && (shape.empty() || shape.asArrayRef().back() % blocks->block != 0))
    return emitError() << "a tensor of " << nameOf(*code) << " has rows of blocks of " << blocks->block << ", found ["
                       << shape.asArrayRef() << "]";
  return verifyShape(emitError, shape.asArrayRef());
}

FailureOr<SmallVector<int64_t>> SourceAttr::shapeOfPart(ArrayRef<int64_t> stored, EmitError emitError) {
  FailureOr<SmallVector<int64_t>> shape = SmallVector<int64_t>(stored);
  for (SourceTransformInterface transform : getTransforms())
    if (succeeded(shape))
      shape = transform.shapeAfter(SmallVector<int64_t>(*shape), emitError);
  return shape;
}

std::optional<SmallVector<int64_t>> SourceAttr::storedShape(std::optional<ArrayRef<int64_t>> part) {
  if (getShape())
    return SmallVector<int64_t>(getShape().asArrayRef());
  if (!part)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> shape = SmallVector<int64_t>(*part);
  for (SourceTransformInterface transform : llvm::reverse(getTransforms()))
    if (shape)
      shape = transform.shapeBefore(SmallVector<int64_t>(*shape));
  return shape;
}

SourceAttr SourceAttr::withShape(ArrayRef<int64_t> shape) {
  return get(getContext(), getName(), getCode(), DenseI64ArrayAttr::get(getContext(), shape), getTransforms());
}

SourceAttr SourceAttr::withTransforms(ArrayRef<SourceTransformInterface> transforms) {
  return get(getContext(), getName(), getCode(), getShape(), transforms);
}

std::optional<int64_t> SourceAttr::dimOfBlocks(ArrayRef<int64_t> stored) {
  const BlockFormat *blocks = getCode() ? blocksOf(*getCode()) : nullptr;
  if (!blocks || stored.empty())
    return std::nullopt;
  SmallVector<int64_t> shape(stored);
  int64_t dim = int64_t(stored.size()) - 1, run = stored.back();
  for (Attribute transform : getTransforms()) {
    if (auto slice = dyn_cast<SliceAttr>(transform)) {
      shape[slice.getDim()] = slice.getEnd() - slice.getBegin();
    } else if (auto transpose = dyn_cast<TransposeAttr>(transform)) {
      shape = llvm::map_to_vector(transpose.getOrder(), [&](int64_t from) { return shape[from]; });
      dim = llvm::find(transpose.getOrder(), dim) - transpose.getOrder().begin();
    } else if (auto reshape = dyn_cast<ReshapeAttr>(transform); reshape && dim + 1 == int64_t(shape.size()) &&
                                                                !reshape.getShape().empty() &&
                                                                run % reshape.getShape().back() == 0) {
      // A row may become several, each of whole blocks.
      shape.assign(reshape.getShape().begin(), reshape.getShape().end());
      dim = int64_t(shape.size()) - 1;
      run = shape.back();
    } else {
      return std::nullopt;
    }
    if (shape[dim] != run || run % blocks->block != 0)
      return std::nullopt;
  }
  return dim;
}

SourceAttr SourceAttr::transposed() {
  SmallVector<SourceTransformInterface> transforms(getTransforms());
  auto transpose = TransposeAttr::get(getContext(), {1, 0});
  if (!transforms.empty() && transforms.back() == transpose)
    transforms.pop_back();
  else
    transforms.push_back(transpose);
  return withTransforms(transforms);
}
