//===- Assembly.h - Pieces of assembly format shared by op families --------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/OpImplementation.h"

namespace rapt::attn {

/// custom<SameType>(type($a), ref(type($b))): prints nothing, a has b's type.
inline mlir::ParseResult parseSameType(mlir::OpAsmParser &, mlir::Type &type, mlir::Type reference) {
  type = reference;
  return mlir::success();
}
inline void printSameType(mlir::OpAsmPrinter &, mlir::Operation *, mlir::Type, mlir::Type) {}

/// custom<KeysAndValues>(type($keys), type($values)): their types, or the one that both have.
inline mlir::ParseResult parseKeysAndValues(mlir::OpAsmParser &parser, mlir::Type &keys, mlir::Type &values) {
  if (parser.parseType(keys))
    return mlir::failure();
  values = keys;
  return mlir::failure(mlir::succeeded(parser.parseOptionalComma()) && parser.parseType(values));
}
inline void printKeysAndValues(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type keys, mlir::Type values) {
  printer << keys;
  if (values != keys)
    printer << ", " << values;
}

/// custom<OptionalRegion>($region): a region, or nothing when it is empty.
inline mlir::ParseResult parseOptionalRegion(mlir::OpAsmParser &parser, mlir::Region &region) {
  mlir::OptionalParseResult result = parser.parseOptionalRegion(region);
  return result.has_value() ? *result : mlir::success();
}
inline void printOptionalRegion(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &region) {
  if (!region.empty()) {
    printer << ' ';
    printer.printRegion(region);
  }
}

/// custom<NamedRegions>($score, $mask): `score {...}` and `mask {...}`, each optional.
inline mlir::ParseResult parseNamedRegions(mlir::OpAsmParser &parser, mlir::Region &score, mlir::Region &mask) {
  if (mlir::succeeded(parser.parseOptionalKeyword("score")) && parser.parseRegion(score))
    return mlir::failure();
  if (mlir::succeeded(parser.parseOptionalKeyword("mask")) && parser.parseRegion(mask))
    return mlir::failure();
  return mlir::success();
}
inline void printNamedRegions(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &score, mlir::Region &mask) {
  for (auto [name, region] : {std::pair("score", &score), std::pair("mask", &mask)}) {
    if (region->empty())
      continue;
    printer << ' ' << name << ' ';
    printer.printRegion(*region);
  }
}

/// custom<OutputsAndMaps>($lse_map, $maps): `log_sum_exp`, where it is asked for, with its map where that is not the
/// result's without dv, and `maps [...]`.
inline mlir::ParseResult parseOutputsAndMaps(mlir::OpAsmParser &parser, mlir::AffineMapAttr &lseMap,
                                             mlir::ArrayAttr &maps) {
  const bool has = mlir::succeeded(parser.parseOptionalKeyword("log_sum_exp"));
  if (has && mlir::succeeded(parser.parseOptionalLParen()) && (parser.parseAttribute(lseMap) || parser.parseRParen()))
    return mlir::failure();
  const llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("maps") || parser.parseAttribute(maps))
    return mlir::failure();
  if (has && !lseMap && !(lseMap = AttentionOp::getDefaultLseMap(maps)))
    return parser.emitError(loc, "no log-sum-exp by these maps: the fourth must be the result's");
  return mlir::success();
}
inline void printOutputsAndMaps(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::AffineMapAttr lseMap,
                                mlir::ArrayAttr maps) {
  if (lseMap)
    printer << "log_sum_exp";
  if (lseMap && lseMap != AttentionOp::getDefaultLseMap(maps))
    printer << '(' << lseMap << ')';
  printer << (lseMap ? " maps " : "maps ") << maps;
}

/// custom<OutputsAndRegions>(type($lse), type($new_weights), $score, $mask, ref(...)...): the types of the results
/// beside the first follow from it and from the operand, and are not printed.
inline mlir::ParseResult parseOutputsAndRegions(mlir::OpAsmParser &parser, mlir::Type &lse, mlir::Type &newWeights,
                                                mlir::Region &score, mlir::Region &mask, mlir::Type result,
                                                mlir::Type weights, mlir::ArrayAttr maps, mlir::AffineMapAttr lseMap) {
  newWeights = weights;
  if (lseMap && !(lse = AttentionOp::getLseType(result, maps, lseMap)))
    return parser.emitError(parser.getCurrentLocation(), "A12: no log-sum-exp of ")
           << result << " by the map " << lseMap << ": it must have the result's dims but dv";
  return parseNamedRegions(parser, score, mask);
}
inline void printOutputsAndRegions(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type, mlir::Type,
                                   mlir::Region &score, mlir::Region &mask, mlir::Type, mlir::Type, mlir::ArrayAttr,
                                   mlir::AffineMapAttr) {
  printNamedRegions(printer, op, score, mask);
}

/// custom<Frequencies>($frequencies): `[0.5, ...]` with as many digits as give the same bits again; the array's own
/// form has seven.
inline mlir::ParseResult parseFrequencies(mlir::OpAsmParser &parser, mlir::DenseF32ArrayAttr &frequencies) {
  llvm::SmallVector<float> values;
  auto parse = [&] {
    double value = 0;
    const mlir::ParseResult result = parser.parseFloat(value);
    values.push_back(float(value));
    return result;
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, parse))
    return mlir::failure();
  frequencies = parser.getBuilder().getDenseF32ArrayAttr(values);
  return mlir::success();
}

inline void printFrequencies(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::DenseF32ArrayAttr frequencies) {
  printer << '[';
  llvm::interleaveComma(frequencies.asArrayRef(), printer,
                        [&](float value) { printer.printFloat(llvm::APFloat(value)); });
  printer << ']';
}

/// custom<JoinedSources>($join, $sources): the sources, behind `concat<dim = D>` or `stack<dim = D>` where they are
/// joined.
inline mlir::ParseResult parseJoinedSources(mlir::OpAsmParser &parser, JoinAttr &join, mlir::ArrayAttr &sources) {
  llvm::StringRef kind;
  const llvm::SMLoc at = parser.getCurrentLocation();
  if (mlir::failed(parser.parseOptionalKeyword(&kind)))
    return parser.parseAttribute(sources);
  const std::optional<JoinKind> known = symbolizeJoinKind(kind);
  int64_t dim = 0;
  if (!known)
    return parser.emitError(at, "sources are joined by concat or stack, found '") << kind << "'";
  if (parser.parseLess() || parser.parseKeyword("dim") || parser.parseEqual() || parser.parseInteger(dim) ||
      parser.parseGreater())
    return mlir::failure();
  join = JoinAttr::get(parser.getContext(), *known, dim);
  return parser.parseAttribute(sources);
}
inline void printJoinedSources(mlir::OpAsmPrinter &printer, mlir::Operation *, JoinAttr join, mlir::ArrayAttr sources) {
  if (join)
    printer << stringifyJoinKind(join.getKind()) << "<dim = " << join.getDim() << "> ";
  printer << sources;
}

} // namespace rapt::attn
