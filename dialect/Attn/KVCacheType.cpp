//===- KVCacheType.cpp - The type of a cache of keys and values ----------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt::attn;

Type KVPart::viewElement() const { return isa<FloatType>(element) ? element : Float32Type::get(element.getContext()); }

StringRef rapt::attn::nameOfStorage(Type element) {
  return element.isF32() ? "f32" : element.isBF16() ? "bf16" : element.isF16() ? "f16" : "int8";
}

llvm::hash_code rapt::attn::hash_value(const KVSegment &segment) {
  return llvm::hash_combine(segment.layers, segment.heads, segment.keys.channels, segment.keys.element,
                            segment.values.channels, segment.values.element);
}

LogicalResult rapt::attn::verifyCacheExtents(function_ref<InFlightDiagnostic()> emitError, int64_t positions,
                                             int64_t keys, int64_t values) {
  for (int64_t extent : {positions, keys, values})
    if (extent < 1 || extent > kMostCacheExtent)
      return emitError() << "expected positions and channels from 1 to 2^27, found " << positions << ", " << keys
                         << " and " << values;
  return success();
}

SmallVector<RankedTensorType, 2> rapt::attn::poolsOf(CacheLayoutInterface layout, const KVSegment &segment) {
  auto poolOf = [&](const KVPart &part, int64_t parts) {
    SmallVector<int64_t> shape{ShapedType::kDynamic, segment.layers, segment.heads, parts};
    shape.append(layout.getHeadShape(part.element, part.channels));
    return RankedTensorType::get(shape, part.element);
  };
  if (segment.isUniform())
    return {poolOf(segment.keys, 2)};
  return {poolOf(segment.keys, 1), poolOf(segment.values, 1)};
}

LogicalResult CacheRowsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t positions, int64_t keys,
                                    int64_t values) {
  return verifyCacheExtents(emitError, positions, keys, values);
}

int64_t CacheRowsAttr::getPadded(int64_t channels) const { return channels; }

SmallVector<int64_t> CacheRowsAttr::getHeadShape(Type element, int64_t channels) const {
  return {getPositions(), channels + (element.isInteger(8) ? kScaleBytes : 0)};
}

std::string CacheRowsAttr::getElementAt(Type element, int64_t channels, bool) const {
  return "p * " + std::to_string(getHeadShape(element, channels)[1]) + " + c";
}

std::string CacheRowsAttr::getScaleAt(Type element, int64_t channels) const {
  if (!element.isInteger(8))
    return {};
  return "p * " + std::to_string(getHeadShape(element, channels)[1]) + " + " + std::to_string(channels);
}

LogicalResult KVCacheType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<KVSegment> segments,
                                  int64_t block) {
  if (segments.empty())
    return emitError() << "kv_cache needs at least one segment of layers";
  for (const KVSegment &segment : segments)
    for (const KVPart &part : {segment.keys, segment.values}) {
      if (segment.layers < 1 || segment.heads < 1 || part.channels < 1)
        return emitError() << "kv_cache extents must be positive, found " << segment.layers << " x " << segment.heads
                           << " x " << part.channels;
      Type element = part.element;
      if (!element.isF32() && !element.isBF16() && !element.isF16() && !element.isSignlessInteger(8))
        return emitError() << "kv_cache element type must be f32, bf16, f16 or i8, found " << element;
    }
  std::optional<int64_t> layers = 0;
  for (const KVSegment &segment : segments)
    layers = layers ? llvm::checkedAdd(*layers, segment.layers) : std::nullopt;
  if (!layers)
    return emitError() << "kv_cache has more layers than 64 bits hold";
  if (block < 1)
    return emitError() << "kv_cache block must be positive, found " << block;
  return success();
}

Type KVCacheType::getElementType() const {
  Type common = getSegments()[0].keys.element;
  bool same = llvm::all_of(getSegments(), [&](const KVSegment &segment) {
    return segment.keys.element == common && segment.values.element == common;
  });
  return same ? common : Type();
}

KVCacheType KVCacheType::withElementType(Type keys, Type values) const {
  SmallVector<KVSegment> segments(getSegments());
  for (KVSegment &segment : segments)
    segment.keys.element = keys, segment.values.element = values;
  return get(getContext(), segments, getBlock());
}

int64_t KVCacheType::getLayers() const {
  return llvm::sum_of(llvm::map_range(getSegments(), [](const KVSegment &segment) { return segment.layers; }));
}

namespace {

/// "x" and a number.
ParseResult parseExtent(AsmParser &parser, int64_t &number) {
  return failure(parser.parseKeyword("x") || parser.parseInteger(number));
}

/// "64 x f32".
ParseResult parsePart(AsmParser &parser, KVPart &part) {
  return failure(parser.parseInteger(part.channels) || parser.parseKeyword("x") || parser.parseType(part.element));
}

/// "4 x 8 x 64 x f32" or "4 x 8 x (96 x bf16, 64 x f32)".
ParseResult parseSegment(AsmParser &parser, KVSegment &segment) {
  if (parser.parseInteger(segment.layers) || parseExtent(parser, segment.heads) || parser.parseKeyword("x"))
    return failure();
  if (failed(parser.parseOptionalLParen())) {
    if (parsePart(parser, segment.keys))
      return failure();
    segment.values = segment.keys;
    return success();
  }
  return failure(parsePart(parser, segment.keys) || parser.parseComma() || parsePart(parser, segment.values) ||
                 parser.parseRParen());
}

ParseResult parseBlock(AsmParser &parser, int64_t &block) {
  return failure(parser.parseComma() || parser.parseKeyword("block") || parser.parseEqual() ||
                 parser.parseInteger(block));
}

} // namespace

Type KVCacheType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<KVSegment> segments;
  int64_t block = 0;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalLSquare())) {
    auto parse = [&] { return parseSegment(parser, segments.emplace_back()); };
    const bool isEmpty = succeeded(parser.parseOptionalRSquare());
    if ((!isEmpty && (parser.parseCommaSeparatedList(parse) || parser.parseRSquare())) || parseBlock(parser, block) ||
        parser.parseGreater())
      return {};
  } else {
    KVSegment all{};
    if (parser.parseInteger(all.layers) || parseExtent(parser, all.heads) || parseExtent(parser, all.keys.channels) ||
        parseBlock(parser, block) || parser.parseComma() || parser.parseType(all.keys.element) || parser.parseGreater())
      return {};
    all.values = all.keys;
    segments.push_back(all);
  }
  return getChecked([&] { return parser.emitError(start); }, parser.getContext(), ArrayRef<KVSegment>(segments), block);
}

void KVCacheType::print(AsmPrinter &printer) const {
  if (isUniform()) {
    const KVSegment &all = getSegments()[0];
    printer << '<' << all.layers << " x " << all.heads << " x " << all.keys.channels << ", block = " << getBlock()
            << ", " << all.keys.element << '>';
    return;
  }
  auto print = [&](const KVPart &part) { printer << part.channels << " x " << part.element; };
  printer << "<[";
  llvm::interleaveComma(getSegments(), printer, [&](const KVSegment &segment) {
    printer << segment.layers << " x " << segment.heads << " x ";
    if (segment.isUniform())
      return print(segment.keys);
    printer << '(';
    print(segment.keys);
    printer << ", ";
    print(segment.values);
    printer << ')';
  });
  printer << "], block = " << getBlock() << '>';
}
