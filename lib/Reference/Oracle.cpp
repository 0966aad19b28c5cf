//===- Oracle.cpp - The evaluator as a module of the runtime -------------------------===//
#include "lib/Reference/Oracle.h"
#include "dialect/Attn/CacheWindow.h"
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/EntryDescription.h"
#include "dialect/Attn/Facts.h"
#include "lib/Artifact/Manifest.h"
#include "lib/Reference/EntryBuffers.h"
#include "lib/Reference/Evaluator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <cstring>
#include <utility>

using namespace mlir;
namespace rapt::reference {

namespace {

constexpr size_t mostEntries = 16;     // of a module; models have up to four
constexpr uint64_t closureBytes = 64;  // of the weights
constexpr int64_t workspaceBytes = 64; // which nobody uses
constexpr size_t ownBuffers = 2;       // weights and workspace, before those of the function
constexpr int32_t stopped = 1;         // what an entry returns after an error

template <size_t number> int32_t enter(const rapt_env *, void *const *buffers, const int64_t *dims) {
  Oracle *oracle;
  memcpy(&oracle, buffers[0], sizeof oracle);
  return oracle->run(number, buffers + ownBuffers, dims) ? 0 : stopped;
}

int64_t workspaceOf(const int64_t *, int64_t) { return workspaceBytes; }

template <size_t... numbers>
constexpr std::array<rapt_entry_fn, mostEntries> functionsOf(std::index_sequence<numbers...>) {
  return {enter<numbers>...};
}

/// The cache that a module's entries call by this name, if they have one.
Expected<std::optional<artifact::Manifest::Cache>> describeCache(ArrayRef<func::FuncOp> entries, EntryRole role,
                                                                 int64_t scalarBytes) {
  for (func::FuncOp entry : entries) {
    const std::optional<unsigned> argument = attn::findArgument(entry, role);
    auto type = argument ? dyn_cast<attn::KVCacheType>(entry.getArgumentTypes()[*argument]) : attn::KVCacheType();
    if (!type)
      continue;
    const std::optional<int64_t> bytes = blockBytesOf(type, scalarBytes);
    if (!bytes)
      return Error{std::string("a block of '") + nameOf(role) + "' is larger than any memory"};
    artifact::Manifest::Cache cache;
    std::string text;
    llvm::raw_string_ostream(text) << type;
    cache.dtype = scalarBytes == sizeof(float) ? "f32" : "f64";
    cache.layout = "kv-" + cache.dtype + "-" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, 16);
    cache.block = type.getBlock();
    cache.blockBytes = *bytes;
    cache.bytesPerToken = *bytes / type.getBlock();
    if (auto window = entry.getArgAttrOfType<IntegerAttr>(*argument, attn::cacheWindowAttr))
      cache.window = window.getInt();
    return std::optional(std::move(cache));
  }
  return std::optional<artifact::Manifest::Cache>();
}

Expected<json::Value> describeEntry(func::FuncOp entry, int64_t scalarBytes) {
  json::Object described{{"name", json::Value(entry.getSymName().str())}};
  attn::describeDims(entry->getParentOfType<ModuleOp>(), ArrayAttr(), described);
  json::Array buffers;
  for (const char *name : {nameOf(EntryRole::Weights), nameOf(EntryRole::Workspace)})
    buffers.emplace_back(json::Object{{"name", json::Value(name)}, {"kind", json::Value(name)}});
  RAPT_ASSIGN_OR_RETURN(auto all, buffersOf(entry));
  for (const EntryBuffer &buffer : all) {
    RAPT_ASSIGN_OR_RETURN(json::Value one, describe(buffer, scalarBytes));
    buffers.push_back(std::move(one));
  }
  described.emplace_back("buffers", json::Value(std::move(buffers)));
  return json::Value(std::move(described));
}

template <typename S> class OracleOf final : public Oracle {
public:
  OracleOf(ModuleOp module, ParameterReader &parameters) : module(module), parameters(parameters) {
    for (auto dim : module.getOps<attn::DimOp>())
      dimNames.push_back(dim.getSymName());
  }

  Status add(func::FuncOp function) {
    RAPT_ASSIGN_OR_RETURN(auto buffers, buffersOf(function));
    all.push_back({function, std::move(buffers)});
    return {};
  }

  bool run(size_t number, void *const *buffers, const int64_t *dims) override {
    DimValues values;
    for (auto [i, name] : llvm::enumerate(dimNames))
      values[name] = dims[i];
    const Status status = evaluate(all[number], buffers, values);
    if (!status && !status.error().message.empty())
      emitError(all[number].function.getLoc()) << status.error().message;
    failed |= !status;
    return bool(status);
  }

private:
  struct Entry {
    func::FuncOp function;
    SmallVector<EntryBuffer> buffers;
  };

  /// An error without a message has been told.
  Status evaluate(Entry &entry, void *const *memory, const DimValues &dims) {
    SmallVector<Value<S>> arguments(entry.function.getNumArguments());
    for (auto [i, buffer] : llvm::enumerate(entry.buffers))
      if (buffer.argument) {
        RAPT_ASSIGN_OR_RETURN(arguments[*buffer.argument], readBuffer<S>(buffer, memory[i], dims));
      }
    FailureOr<SmallVector<Value<S>>> results = Evaluator<S>(module, parameters).runEntry(entry.function, arguments);
    if (mlir::failed(results))
      return Error{};
    for (auto [i, buffer] : llvm::enumerate(entry.buffers))
      if (buffer.result)
        RAPT_RETURN_IF_ERROR(writeBuffer<S>(buffer, (*results)[*buffer.result], memory[i], dims));
    return {};
  }

  ModuleOp module;
  ParameterReader &parameters;
  SmallVector<StringRef> dimNames;
  std::vector<Entry> all;
};

template <typename S>
Expected<std::unique_ptr<Oracle>> makeOf(ModuleOp module, ParameterReader &parameters,
                                         ArrayRef<func::FuncOp> functions) {
  auto oracle = std::make_unique<OracleOf<S>>(module, parameters);
  for (func::FuncOp function : functions)
    RAPT_RETURN_IF_ERROR(oracle->add(function));
  return std::unique_ptr<Oracle>(std::move(oracle));
}

} // namespace

Status Oracle::describe(ModuleOp module, ArrayRef<func::FuncOp> functions, int64_t scalarBytes) {
  artifact::Manifest described;
  described.version = RAPT_VERSION;
  described.name = artifact::prefixOf(module.getSymName().value_or("model").str());
  described.model = attn::factsOf(module);
  described.arch = llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
  described.variants = {{"evaluator", {}}};
  described.maxTokens = attn::largestOf(module, EntryDim::Tokens);
  described.maxRows = attn::largestOf(module, EntryDim::Rows);
  described.maxPositions = described.model->positions;
  described.weightsInside = true;
  described.weightsBytes = closureBytes;
  described.weightsFileBytes = weightsBytes;
  RAPT_ASSIGN_OR_RETURN(described.cache, describeCache(functions, EntryRole::Cache, scalarBytes));
  RAPT_ASSIGN_OR_RETURN(described.windowCache, describeCache(functions, EntryRole::WindowCache, scalarBytes));
  for (func::FuncOp function : functions) {
    RAPT_ASSIGN_OR_RETURN(json::Value entry, describeEntry(function, scalarBytes));
    described.entries.push_back(std::move(entry));
    names.push_back(function.getSymName().str());
  }
  manifest = artifact::writeManifest(described);
  table.abi_minor = artifact::abiMinorOf(described);
  return {};
}

/// Makes a weight file in memory whose weights are the oracle's address.
Status Oracle::placeFiles(const std::vector<artifact::Section> &files) {
  RAPT_ASSIGN_OR_RETURN(const rapt_weights_header header, artifact::layOut(closureBytes, files));
  weightsBytes = header.file_bytes;
  const uint64_t whole = llvm::alignTo(weightsBytes, RAPT_WEIGHTS_ALIGNMENT);
  weights = {static_cast<std::byte *>(std::aligned_alloc(RAPT_WEIGHTS_ALIGNMENT, whole)),
             [](std::byte *memory) { std::free(memory); }};
  if (!weights)
    return Error{"no memory for the files of the model"};
  memset(weights.get(), 0, whole);
  const Oracle *self = this;
  memcpy(weights.get(), &header, sizeof header);
  memcpy(weights.get() + header.sections[0].offset, &self, sizeof self);
  for (size_t i = 0; i < files.size(); ++i)
    memcpy(weights.get() + header.sections[i + 1].offset, files[i].bytes.data(), files[i].bytes.size());
  return {};
}

Expected<std::unique_ptr<Oracle>> Oracle::make(ModuleOp module, ParameterReader &parameters, bool inF64,
                                               const std::vector<artifact::Section> &files) {
  static constexpr auto functions = functionsOf(std::make_index_sequence<mostEntries>());
  SmallVector<func::FuncOp> evaluated;
  for (FunctionOpInterface entry : attn::entriesOf(module))
    if (auto function = dyn_cast<func::FuncOp>(*entry))
      evaluated.push_back(function);
  if (!module->hasAttr(attn::AttnDialect::modelAttr) || evaluated.empty() || evaluated.size() > mostEntries)
    return Error{"the module is no model with 1 to " + std::to_string(mostEntries) + " entries"};
  RAPT_ASSIGN_OR_RETURN(auto oracle, inF64 ? makeOf<double>(module, parameters, evaluated)
                                           : makeOf<float>(module, parameters, evaluated));
  RAPT_RETURN_IF_ERROR(oracle->placeFiles(files));
  RAPT_RETURN_IF_ERROR(oracle->describe(module, evaluated, inF64 ? sizeof(double) : sizeof(float)));
  for (size_t i = 0; i < evaluated.size(); ++i)
    oracle->entries.push_back({oracle->names[i].c_str(), functions[i], workspaceOf});
  rapt_artifact &table = oracle->table;
  table.magic = RAPT_ARTIFACT_MAGIC;
  table.abi_major = RAPT_ABI_MAJOR;
  table.manifest = oracle->manifest.c_str();
  table.manifest_size = oracle->manifest.size();
  table.entries = oracle->entries.data();
  table.entry_count = oracle->entries.size();
  table.weights = oracle->weights.get();
  table.weights_size = oracle->weightsBytes;
  return oracle;
}

} // namespace rapt::reference
