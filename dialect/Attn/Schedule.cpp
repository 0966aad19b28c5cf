//===- Schedule.cpp - #attn.schedule ---------------------------------------------===//
//
// A dictionary whose values are lists of integers, of which one stands for itself in text, or
// schedules, one level deep.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rapt::attn;

ArrayRef<int64_t> ScheduleAttr::getList(StringRef name) const {
  auto list = getEntries().getAs<DenseI64ArrayAttr>(name);
  return list ? list.asArrayRef() : ArrayRef<int64_t>();
}

std::optional<int64_t> ScheduleAttr::getNumber(StringRef name) const {
  ArrayRef<int64_t> list = getList(name);
  return list.size() == 1 ? std::optional(list.front()) : std::nullopt;
}

ScheduleAttr ScheduleAttr::getNested(StringRef name) const { return getEntries().getAs<ScheduleAttr>(name); }

ScheduleAttr ScheduleAttr::of(Operation *op) {
  return dyn_cast_if_present<ScheduleAttr>(op->getDiscardableAttr(AttnDialect::scheduleAttr));
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, DictionaryAttr entries) {
  for (NamedAttribute entry : entries) {
    if (isa<ScheduleAttr>(entry.getValue()))
      continue;
    for (int64_t number : cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef())
      if (number < 1 || number > kMost)
        return emitError() << "a schedule's '" << entry.getName().getValue() << "' must be from 1 to " << kMost
                           << ", found " << number;
  }
  return success();
}

/// `<name = value, ...>`; `depth` schedules are around this one.
static ScheduleAttr parseEntries(AsmParser &parser, unsigned depth) {
  const SMLoc begin = parser.getCurrentLocation();
  Builder &b = parser.getBuilder();
  NamedAttrList entries;
  auto parseNumber = [&](SmallVectorImpl<int64_t> &numbers) { return parser.parseInteger(numbers.emplace_back()); };
  auto parseEntry = [&]() -> ParseResult {
    StringRef name;
    const SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (entries.get(name))
      return parser.emitError(at, "a schedule has one '") << name << "', found another";
    const SMLoc within = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLess())) {
      if (depth > 0)
        return parser.emitError(within, "a schedule within a schedule may hold no third one, found '") << name << "'";
      ScheduleAttr nested = parseEntries(parser, depth + 1);
      if (nested)
        entries.append(name, nested);
      return success(nested != nullptr);
    }
    SmallVector<int64_t> numbers;
    if (succeeded(parser.parseOptionalLSquare())) {
      if (parser.parseCommaSeparatedList([&] { return parseNumber(numbers); }) || parser.parseRSquare())
        return failure();
    } else if (parseNumber(numbers)) {
      return failure();
    }
    entries.append(name, b.getDenseI64ArrayAttr(numbers));
    return success();
  };
  if (failed(parser.parseOptionalGreater()) && (parser.parseCommaSeparatedList(parseEntry) || parser.parseGreater()))
    return nullptr;
  return parser.getChecked<ScheduleAttr>(begin, b.getContext(), entries.getDictionary(b.getContext()));
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  return parser.parseLess() ? ScheduleAttr() : parseEntries(parser, 0);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getEntries(), printer, [&](NamedAttribute entry) {
    printer << entry.getName().getValue() << " = ";
    if (auto nested = dyn_cast<ScheduleAttr>(entry.getValue()))
      return nested.print(printer);
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef();
    if (numbers.size() == 1)
      printer << numbers.front();
    else
      printer << "[", llvm::interleaveComma(numbers, printer), printer << "]";
  });
  printer << ">";
}
