//===- Describe.cpp - From the IR to manifest and packer ------------------------------------===//
#include "lib/Driver/Describe.h"
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/CacheWindow.h"
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/EntryDescription.h"
#include "dialect/Attn/Facts.h"
#include "dialect/Attn/ReadByRows.h"
#include "lib/Driver/CachePages.h"
#include "lib/Host/CacheMemory.h"
#include "lib/Support/EntryRoles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace rapt;

namespace {

std::optional<artifact::DType> storageOf(Type type) {
  if (type.isF32())
    return artifact::DType::F32;
  if (type.isBF16())
    return artifact::DType::BF16;
  if (type.isF16())
    return artifact::DType::F16;
  if (isa<attn::QuantizedType>(type))
    return artifact::DType::F32; // what the packer rounds
  return std::nullopt;
}

artifact::Source describe(attn::SourceAttr source, ArrayRef<int64_t> shape) {
  artifact::Source result{source.getName().str(), shape.vec()};
  for (Attribute transform : source.getTransforms())
    result.transforms.push_back(
        llvm::TypeSwitch<Attribute, artifact::Transform>(transform)
            .Case([](attn::SliceAttr step) { return artifact::Slice{step.getDim(), step.getBegin(), step.getEnd()}; })
            .Case([](attn::TransposeAttr step) { return artifact::Transpose{step.getOrder().vec()}; })
            .Case([](attn::ReshapeAttr step) { return artifact::Reshape{step.getShape().vec()}; })
            .Case([](attn::CastAttr step) { return artifact::Cast{*storageOf(step.getType())}; })
            .Case([](attn::ScaleAttr step) { return artifact::Scale{step.getFactor().convertToFloat()}; })
            .Case([](attn::AddAttr step) { return artifact::Add{step.getSummand().convertToFloat()}; }));
  return result;
}

std::optional<artifact::Layout> describe(attn::ParameterLayoutInterface layout, const Target &target) {
  if (auto rows = dyn_cast<attn::RowsAttr>(layout))
    return artifact::Layout{.columnGroup = rows.getColumnGroup()};
  return target.layoutInFile(layout);
}

/// Bytes of a layer by its type: of a quantized matrix, those of groups along dim 1, by rows or in panels.
uint64_t bytesOf(RankedTensorType layer, const artifact::Parameter &parameter) {
  const artifact::Quantization &how = parameter.quantization;
  ArrayRef<int64_t> shape = layer.getShape();
  if (!how)
    return llvm::product_of(shape) * artifact::sizeOf(parameter.storage);
  const bool isByRows = parameter.layout.kind == artifact::Layout::RowMajor;
  return shape[0] * how.groups(shape[1]) * (isByRows ? how.rowGroupBytes(shape[1]) : how.groupBytes(shape[1]));
}

Expected<artifact::Parameter> describe(attn::ParameterOp op, const Target &target) {
  auto wrong = [&](const std::string &what) { return Error{"parameter '" + op.getSymName().str() + "' " + what}; };
  std::optional<attn::ParameterLayoutInterface> layout = op.getLayout();
  std::optional<artifact::DType> storage = storageOf(cast<RankedTensorType>(op.getType()).getElementType());
  if (!layout || !op.getOffset() || !op.getStride())
    return wrong("has no place in the weight file");
  if (!storage)
    return wrong("has a storage type that weight files do not have");
  const std::optional<artifact::Layout> inFile = describe(*layout, target);
  if (!inFile)
    return wrong("has a layout that target '" + target.name().str() + "' does not know");
  artifact::Parameter parameter;
  parameter.name = op.getSymName().str();
  parameter.storage = *storage;
  parameter.shape.assign(layout->getShape().begin(), layout->getShape().end());
  parameter.layers = op.getLayers().value_or(1);
  parameter.firstLayer = op.getFirstLayer();
  if (std::optional<ArrayRef<int64_t>> numbers = op.getLayerNumbers())
    parameter.layerNumbers = numbers->vec();
  for (auto source : op.getSources().getAsRange<attn::SourceAttr>())
    parameter.sources.push_back(describe(source, op.getStoredShape(source)));
  if (std::optional<attn::JoinAttr> join = op.getJoin())
    parameter.join = {join->getKind() == attn::JoinKind::stack ? artifact::Join::Stack : artifact::Join::Concat,
                      join->getDim()};
  parameter.layout = *inFile;
  if (auto how = dyn_cast<attn::QuantizedType>(op.getSliceType().getElementType()))
    parameter.quantization = artifact::Quantization::of(how);
  parameter.readByRows = op->hasAttr(attn::readByRowsAttr);
  parameter.offset = static_cast<uint64_t>(*op.getOffset());
  parameter.layerStride = static_cast<uint64_t>(*op.getStride());
  const uint64_t bytes = artifact::packedExtents(parameter).bytes, typed = bytesOf(op.getSliceType(), parameter);
  if (bytes != typed || llvm::alignTo(bytes, 64) != parameter.layerStride)
    return wrong("takes " + std::to_string(bytes) + " bytes a layer by its layout, " + std::to_string(typed) +
                 " by its type, and has a stride of " + std::to_string(parameter.layerStride));
  return parameter;
}

/// Keys and values, which the manifest describes apart; the other buffers of its kind are states.
bool isCache(DictionaryAttr buffer) {
  StringRef name = cast<StringAttr>(buffer.get(attn::AttnDialect::nameAttr)).getValue();
  return cast<StringAttr>(buffer.get("kind")).getValue() == "cache" && isCacheName(name);
}

/// The memory of the cache, and its type where that does not tell it.
struct CacheBuffer {
  ShapedType memory; ///< null without a cache
  attn::KVCacheType type;
  int64_t window = 0;
};

/// The cache of that name, at any stage.
CacheBuffer cacheOf(Operation *entry, StringRef wanted) {
  auto typeOf = [](Attribute attribute) {
    auto type = dyn_cast_or_null<TypeAttr>(attribute);
    return type ? dyn_cast<attn::KVCacheType>(type.getValue()) : attn::KVCacheType();
  };
  auto windowOf = [](Attribute attribute) {
    auto window = dyn_cast_or_null<IntegerAttr>(attribute);
    return window ? window.getInt() : 0;
  };
  if (auto buffers = entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr)) {
    for (auto buffer : buffers.getAsRange<DictionaryAttr>())
      if (isCache(buffer) && cast<StringAttr>(buffer.get(attn::AttnDialect::nameAttr)).getValue() == wanted)
        return {cast<ShapedType>(cast<TypeAttr>(buffer.get("type")).getValue()),
                typeOf(buffer.get(attn::AttnDialect::cacheAttr)), windowOf(buffer.get(attn::cacheWindowAttr))};
    return {};
  }
  if (auto function = dyn_cast<FunctionOpInterface>(entry))
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
          name && name.getValue() == wanted)
        return {dyn_cast<ShapedType>(function.getArgumentTypes()[i]),
                typeOf(function.getArgAttr(i, attn::AttnDialect::cacheAttr)),
                windowOf(function.getArgAttr(i, attn::cacheWindowAttr))};
  return {};
}

/// Bytes of the states of a sequence, at any stage.
int64_t stateBytesOf(Operation *entry) {
  int64_t bytes = 0;
  auto add = [&](ShapedType type) {
    int64_t numbers = 1;
    for (int64_t extent : type.getShape())
      numbers *= ShapedType::isDynamic(extent) ? 1 : extent; // of a slot
    bytes += numbers * int64_t(sizeof(float));
  };
  if (auto buffers = entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr)) {
    for (auto buffer : buffers.getAsRange<DictionaryAttr>())
      if (cast<StringAttr>(buffer.get("kind")).getValue() == "cache" && !isCache(buffer))
        add(cast<ShapedType>(cast<TypeAttr>(buffer.get("type")).getValue()));
  } else if (auto function = dyn_cast<FunctionOpInterface>(entry)) {
    for (EntryRole role : {EntryRole::State, EntryRole::ConvState})
      if (const std::optional<unsigned> argument = attn::findArgument(function, role))
        add(cast<ShapedType>(function.getArgumentTypes()[*argument]));
  }
  return bytes;
}

/// A cache of a type, whose blocks have so many bytes. Its layout's name tells what differs between layers, or keys and
/// values, so that a sequence's saved state fits no other.
artifact::Manifest::Cache describeCache(attn::KVCacheType type, StringRef order, int64_t blockBytes,
                                        const Target &target) {
  std::string text;
  llvm::raw_string_ostream(text) << type << order;
  artifact::Manifest::Cache cache;
  cache.dtype = type.getElementType() ? attn::nameOfStorage(type.getElementType()).str() : "mixed";
  const std::string segments =
      type.isUniform() ? cache.dtype : llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, 16);
  cache.layout = "kv-" + segments + "-" + target.cacheLayout(type.isUniform() ? type.getElementType() : Type()).str();
  if (type.isUniform() && !order.empty())
    cache.layout += "-" + order.str();
  cache.block = type.getBlock();
  cache.blockBytes = blockBytes;
  cache.bytesPerToken = cache.blockBytes / cache.block;
  if (type.isUniform())
    return cache;
  for (const attn::KVSegment &segment : type.getSegments())
    cache.segments.push_back({segment.layers, segment.heads, segment.keys.channels, segment.values.channels,
                              attn::nameOfStorage(segment.keys.element).str(),
                              attn::nameOfStorage(segment.values.element).str()});
  return cache;
}

/// Adds how the pages of a kernel's cache lie in memory.
void addPages(DictionaryAttr buffer, const Target &target, json::Object &described) {
  auto type = buffer.getAs<TypeAttr>(attn::AttnDialect::cacheAttr);
  auto cache = type ? dyn_cast<attn::KVCacheType>(type.getValue()) : attn::KVCacheType();
  auto memory = dyn_cast<ShapedType>(cast<TypeAttr>(buffer.get("type")).getValue());
  auto dims = buffer.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr);
  if (!cache || !memory || !dims || dims.size() != 1)
    return;
  json::Array lines;
  for (std::string &line : driver::describePages(cache, memory, target))
    lines.emplace_back(std::move(line));
  described.emplace_back("blocks", json::Value(cast<StringAttr>(dims[0]).str()));
  described.emplace_back("pages", json::Value(std::move(lines)));
}

/// One element of an entry's "buffers". `pages`: the target that lays a kernel's cache out; the runtime holds a
/// model's.
Expected<json::Value> describeBuffer(DictionaryAttr buffer, const Target *pages) {
  StringRef name = cast<StringAttr>(buffer.get(attn::AttnDialect::nameAttr)).getValue();
  StringRef kind = cast<StringAttr>(buffer.get("kind")).getValue();
  json::Object result{{"name", json::Value(name.str())}, {"kind", json::Value(kind.str())}};
  if (pages)
    addPages(buffer, *pages, result);
  if (kind == "input" || kind == "output" || (kind == "cache" && !isCache(buffer)))
    RAPT_RETURN_IF_ERROR(
        attn::describeTensor(buffer, cast<ShapedType>(cast<TypeAttr>(buffer.get("type")).getValue()), result));
  return json::Value(std::move(result));
}

/// Dictionaries, arrays, strings and integers as JSON, members by their names; null for anything else.
json::Value toJson(Attribute attribute) {
  if (auto members = dyn_cast<DictionaryAttr>(attribute)) {
    json::Object object;
    for (NamedAttribute member : members)
      object.emplace_back(member.getName().str(), toJson(member.getValue()));
    return json::Value(std::move(object));
  }
  json::Array array;
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
    for (int64_t number : numbers.asArrayRef())
      array.emplace_back(number);
  else if (auto items = dyn_cast<ArrayAttr>(attribute))
    for (Attribute item : items)
      array.push_back(toJson(item));
  else if (auto text = dyn_cast<StringAttr>(attribute))
    return json::Value(text.str());
  else if (auto number = dyn_cast<IntegerAttr>(attribute); number && number.getValue().getSignificantBits() <= 64)
    return json::Value(number.getValue().getSExtValue());
  else
    return json::Value();
  return json::Value(std::move(array));
}

} // namespace

Expected<std::vector<artifact::Parameter>> driver::describeParameters(ModuleOp module, const Target &target) {
  std::vector<artifact::Parameter> parameters;
  for (auto op : module.getOps<attn::ParameterOp>()) {
    RAPT_ASSIGN_OR_RETURN(artifact::Parameter parameter, describe(op, target));
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void driver::describeModel(ModuleOp module, const Target &target, artifact::Manifest &manifest) {
  manifest.maxTokens = attn::largestOf(module, EntryDim::Tokens);
  manifest.maxRows = attn::largestOf(module, EntryDim::Rows);
  if (!module->hasAttr(attn::AttnDialect::modelAttr))
    return;
  manifest.model = attn::factsOf(module);
  manifest.maxPositions = manifest.model->positions;
  for (Operation &op : *module.getBody())
    if (op.hasAttr(attn::AttnDialect::entryAttr)) {
      manifest.stateBytes = std::max(manifest.stateBytes, stateBytesOf(&op));
      for (auto [name, described] : {std::pair(nameOf(EntryRole::Cache), &manifest.cache),
                                     {nameOf(EntryRole::WindowCache), &manifest.windowCache}}) {
        const auto [memory, type, window] = cacheOf(&op, name);
        const std::optional<int64_t> bytes = type && memory ? bytesOfCacheBlock(memory) : std::nullopt;
        if (!bytes)
          continue;
        auto order = module->getAttrOfType<StringAttr>(attn::AttnDialect::cacheOrderAttr);
        *described = describeCache(type, order ? order.getValue() : StringRef(), *bytes, target);
        (*described)->window = window;
      }
    }
}

Status driver::describeEntries(ModuleOp module, const Target &target, artifact::Manifest &manifest) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto list = function->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr);
    if (!function->hasAttr(attn::AttnDialect::entryAttr) || !list)
      continue;
    json::Object entry{{"name", json::Value(function.getSymName().str())}};
    // A kernel has dims of its own; a model's entries have all.
    attn::describeDims(module, function->getAttrOfType<ArrayAttr>(attn::AttnDialect::dimsAttr), entry);
    json::Array buffers;
    for (auto buffer : list.getAsRange<DictionaryAttr>()) {
      RAPT_ASSIGN_OR_RETURN(json::Value described,
                            withContext("entry '" + function.getSymName().str() + "'",
                                        describeBuffer(buffer, manifest.model ? nullptr : &target)));
      buffers.push_back(std::move(described));
    }
    entry.emplace_back("buffers", json::Value(std::move(buffers)));
    if (auto costs = function->getAttrOfType<DictionaryAttr>(attn::AttnDialect::costsAttr))
      entry.emplace_back("costs", toJson(costs));
    if (auto dispatches = function->getAttrOfType<DenseI64ArrayAttr>(attn::AttnDialect::dispatchAttr))
      entry.emplace_back("dispatches", toJson(dispatches));
    manifest.entries.emplace_back(std::move(entry));
  }
  return {};
}
