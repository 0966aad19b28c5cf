//===- EntryDescription.cpp ---------------------------------------------------===//
#include "dialect/Attn/EntryDescription.h"
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
namespace rapt::attn {

int64_t largestOf(ModuleOp module, EntryDim dim) {
  auto declared = module.lookupSymbol<DimOp>(nameOf(dim));
  return declared ? int64_t(declared.getMax()) : 0;
}

void describeDims(ModuleOp module, ArrayAttr own, json::Object &entry) {
  json::Array dims, bounds;
  for (auto dim : module.getOps<DimOp>()) {
    if (own && !llvm::is_contained(own.getAsValueRange<StringAttr>(), dim.getSymName()))
      continue;
    dims.emplace_back(dim.getSymName().str());
    bounds.emplace_back(json::Array{json::Value(int64_t(dim.getMin())), json::Value(int64_t(dim.getMax()))});
  }
  entry.emplace_back("dims", json::Value(std::move(dims)));
  entry.emplace_back("bounds", json::Value(std::move(bounds)));
}

Status describeTensor(DictionaryAttr attributes, ShapedType type, json::Object &buffer) {
  auto dims = attributes.getAs<ArrayAttr>(AttnDialect::dimsAttr);
  json::Array shape;
  size_t next = 0;
  for (int64_t extent : type.getShape()) {
    if (!ShapedType::isDynamic(extent))
      shape.emplace_back(extent);
    else if (dims && next < dims.size())
      shape.emplace_back(cast<StringAttr>(dims[next++]).str());
    else
      return Error{"buffer '" + attributes.getAs<StringAttr>(AttnDialect::nameAttr).str() +
                   "' has an extent without a name"};
  }
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  buffer.emplace_back("dtype", json::Value(std::move(element)));
  buffer.emplace_back("shape", json::Value(std::move(shape)));
  if (auto limit = attributes.getAs<IntegerAttr>(AttnDialect::limitAttr))
    buffer.emplace_back("limit", json::Value(limit.getInt()));
  if (attributes.contains(AttnDialect::optionalAttr))
    buffer.emplace_back("optional", json::Value(true));
  return {};
}

} // namespace rapt::attn
