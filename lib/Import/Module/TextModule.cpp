//===- TextModule.cpp - The modules of encoders and decoders of texts -----===//
#include "lib/Import/Module/TextModule.h"
#include "dialect/Attn/CacheWindow.h"
#include "lib/Support/Json.h"
#include "mlir/IR/Diagnostics.h"
#include <set>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

EncoderModule::EncoderModule(MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                             const ParameterSet &parameters, const ImportOptions &options, const ExtraInputs &extra,
                             ArrayRef<EntryBuffer> outputs)
    : module(context, facts, model, parameters), hasAdapters(!facts.adapters.empty()) {
  module.dim("tokens", 1, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  Type list = tensorOf({ShapedType::kDynamic}, builder().getI32Type());
  SmallVector<EntryBuffer> all{{"input_ids", list, {"tokens"}, facts.vocabulary}};
  all.append(extra.inputs.begin(), extra.inputs.end());
  all.push_back({"row_begin", list, {"rows+1"}});
  forward = module.beginEntry("forward", all, outputs);
}

std::optional<AdapterRows> EncoderModule::adapters() {
  ValueRange last = forward.getArguments().drop_back().take_back(hasAdapters ? adapterValues : 0);
  return takeAdapters(hasAdapters, last);
}

OwningOpRef<ModuleOp> EncoderModule::finish(ValueRange outputs) {
  module.endEntry(outputs);
  return module.take();
}

/// An id, a list of ids, or nothing; no value when it is anything else.
static std::optional<std::vector<int64_t>> readIds(const json::Value *value) {
  std::vector<int64_t> ids;
  if (!value || value->isNull())
    return ids;
  const json::Array *list = value->asArray();
  for (const json::Value &element : list ? *list : json::Array{*value}) {
    std::optional<int64_t> id = element.asInteger();
    if (!id || *id < 0 || *id > INT32_MAX)
      return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

Expected<std::vector<int64_t>> importing::readEndTokens(MLIRContext &context, huggingface::ModelDescription &model,
                                                        int64_t vocabulary, std::optional<int64_t> fallback) {
  constexpr const char *key = "eos_token_id", *needed = " must be a token id or a list of token ids";
  std::set<int64_t> ids;
  auto take = [&](const std::vector<int64_t> &some, const std::string &file) {
    for (int64_t id : some)
      if (id < vocabulary)
        ids.insert(id);
      else
        emitWarning(UnknownLoc::get(&context))
            << file << ": " << key << " " << id << " is left out: the vocabulary has " << vocabulary << " ids";
    fallback = some.empty() ? fallback : std::nullopt;
  };
  if (std::optional<std::vector<int64_t>> found = readIds(model.config().getRaw(key)))
    take(*found, model.config().file());
  else
    model.config().fail(std::string(key) + needed);

  if (auto file = model.files().find("generation_config.json"); file != model.files().end()) {
    std::string path = model.path() + "/generation_config.json";
    RAPT_ASSIGN_OR_RETURN(json::Value parsed, withContext(path, json::parse(file->second)));
    std::optional<std::vector<int64_t>> found = readIds(parsed.find(key));
    if (!found)
      return Error{path + ": " + key + needed};
    take(*found, path);
  }
  if (fallback && *fallback < vocabulary)
    ids.insert(*fallback);
  return std::vector<int64_t>(ids.begin(), ids.end());
}

DecoderModule::DecoderModule(MLIRContext &context, const ModelFacts &facts, const std::array<int64_t, 2> &cacheChannels,
                             const huggingface::ModelDescription &model, const ParameterSet &parameters,
                             const ImportOptions &options, const WindowedLayers &windowed, const ExtraInputs &extra)
    : hasAdapters(!facts.adapters.empty()), module(context, facts, model, parameters),
      hasTwoCaches(windowed.count > 0 && windowed.count < facts.layers) {
  int64_t blocks = (facts.positions + options.cacheBlock - 1) / options.cacheBlock, any = ShapedType::kDynamic;
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("table", 1, blocks);
  // The pool's size is chosen when a context is made; the bound only keeps byte offsets in 64 bits.
  const int64_t mostBlocks = std::max<int64_t>(int64_t(1) << 20, blocks * options.maxBatch);
  module.dim("blocks", 1, mostBlocks);
  if (hasTwoCaches)
    module.dim("window_blocks", 1, mostBlocks);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();

  Type i32 = builder().getI32Type(), f32 = builder().getF32Type();
  const attn::KVPart keys{cacheChannels[0], f32}, values{cacheChannels[1], f32};
  auto cacheOf = [&](int64_t layers) -> Type {
    return attn::KVCacheType::get(&context, attn::KVSegment{layers, facts.kvHeads, keys, values}, options.cacheBlock);
  };
  const int64_t own = hasTwoCaches ? windowed.count : 0; // layers of a cache of their own
  Type cache = cacheOf(facts.layers - own);
  Type list = tensorOf({any}, i32), table = tensorOf({any, any}, i32);
  std::vector<EntryBuffer> inputs = {{"cache", cache, {"blocks"}},
                                     {"tokens", list, {"tokens"}},
                                     {"row_begin", list, {"rows+1"}},
                                     {"past", list, {"rows"}},
                                     {"block_table", table, {"rows", "table"}},
                                     {"want", list, {"wanted"}}};
  inputs.insert(inputs.end(), extra.inputs.begin(), extra.inputs.end());
  std::vector<EntryBuffer> outputs = {{"cache", cache, {}},
                                      {"logits", tensorOf({any, facts.vocabulary}, f32), {"wanted"}}};
  if (hasTwoCaches) {
    inputs.insert(inputs.end(),
                  {{"window_cache", cacheOf(own), {"window_blocks"}}, {"window_table", table, {"rows", "table"}}});
    outputs.push_back({"window_cache", cacheOf(own), {}});
  }
  step = module.beginEntry("step", inputs, outputs);
  if (windowed.count)
    step.setArgAttr(cast<BlockArgument>(caches().back()).getArgNumber(), attn::cacheWindowAttr,
                    builder().getI64IntegerAttr(windowed.window));
}

std::optional<AdapterRows> DecoderModule::adapters() {
  ValueRange behind = step.getArguments().drop_front(6);
  return takeAdapters(hasAdapters, behind);
}

SmallVector<Value> DecoderModule::caches() {
  SmallVector<Value> all{step.getArgument(0)};
  if (hasTwoCaches)
    all.push_back(step.getArgument(step.getNumArguments() - 2));
  return all;
}

Value DecoderModule::argument(StringRef name) {
  for (BlockArgument argument : step.getArguments())
    if (step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::AttnDialect::nameAttr) == name)
      return argument;
  llvm_unreachable("the step has the argument");
}

void DecoderModule::endStep(ValueRange caches, Value logits) {
  SmallVector<Value> results{caches[0], logits};
  llvm::append_range(results, caches.drop_front());
  module.endEntry(results);
}
