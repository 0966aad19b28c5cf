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
  module.dim(nameOf(EntryDim::Tokens), 1, options.maxTokens);
  module.dim(nameOf(EntryDim::Rows), 1, options.maxBatch);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  SmallVector<EntryBuffer> all{bufferOf(context, EntryRole::InputIds, {.limit = facts.vocabulary})};
  all.append(extra.inputs.begin(), extra.inputs.end());
  all.push_back(bufferOf(context, EntryRole::RowBegin));
  forward = module.beginEntry(forwardEntry, all, outputs);
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

/// What the table of roles leaves to a decoder.
static SequenceFacts sequenceFactsOf(MLIRContext &context, const ModelFacts &facts, const CachesOfLayers &ofLayers,
                                     const ImportOptions &options, const DecoderExtras &extra) {
  SequenceFacts all{.positions = facts.positions};
  const StateLayers &states = extra.states;
  const WindowedLayers &windowed = ofLayers.windows;
  const int64_t cached = facts.layers - states.count;
  const bool hasTwoCaches = windowed.count > 0 && windowed.count < cached;
  Type f32 = Float32Type::get(&context);
  auto cacheOf = [&](int64_t layers, const CachedHeads &heads) -> Type {
    const attn::KVPart keys{heads.channels[0], f32}, values{heads.channels[1], f32};
    return attn::KVCacheType::get(&context, attn::KVSegment{layers, heads.heads, keys, values}, options.cacheBlock);
  };
  if (cached) {
    all.parts |= part::Paged;
    all.buffers[EntryRole::Cache].layout = cacheOf(cached - (hasTwoCaches ? windowed.count : 0), ofLayers.whole);
  }
  if (!states.matrices.empty()) {
    all.parts |= part::Recurrent;
    all.buffers[EntryRole::State].numbers = states.matrices;
  }
  if (!states.inputs.empty()) {
    all.parts |= part::Convolved;
    all.buffers[EntryRole::ConvState].numbers = states.inputs;
  }
  all.buffers[EntryRole::Logits].numbers = {facts.vocabulary};
  if (hasTwoCaches) {
    all.parts |= part::Windowed;
    all.buffers[EntryRole::WindowCache].layout = cacheOf(windowed.count, ofLayers.windowed);
  }
  if (extra.longestShortText) {
    all.parts |= part::LongTexts;
    all.buffers[EntryRole::TextLength].limit = extra.longestShortText + 2;
  }
  if (extra.readsImages) {
    all.parts |= part::Images | part::VectorTokens;
    SmallVector<int64_t> &numbers = all.buffers[EntryRole::Embeddings].numbers;
    numbers = {facts.hidden};
    if (extra.imageLayers)
      numbers.insert(numbers.begin(), 1 + extra.imageLayers);
    all.parts |= extra.seesWholeImages ? part::WholeImages : 0;
  }
  if (extra.rotaryAxes) {
    all.parts |= part::Grids;
    all.buffers[EntryRole::RotaryPositions].numbers = {extra.rotaryAxes};
    all.buffers[EntryRole::RotaryPositions].limit = facts.positions;
  }
  addAdapters(all, facts);
  return all;
}

DecoderModule::DecoderModule(MLIRContext &context, const ModelFacts &facts, const CachesOfLayers &ofLayers,
                             const huggingface::ModelDescription &model, const ParameterSet &parameters,
                             const ImportOptions &options, const DecoderExtras &extra)
    : module(context, facts, model, parameters),
      entries(context, &module, sequenceFactsOf(context, facts, ofLayers, options, extra)) {
  entries.declareDims(options);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  entries.beginStep();
  if (ofLayers.windows.count)
    module.entry().setArgAttr(cast<BlockArgument>(caches().back()).getArgNumber(), attn::cacheWindowAttr,
                              module.builder().getI64IntegerAttr(ofLayers.windows.window));
}

SmallVector<Value> DecoderModule::present(std::initializer_list<EntryRole> roles) const {
  SmallVector<Value> found;
  for (EntryRole role : roles)
    if (Value value = argument(role))
      found.push_back(value);
  return found;
}

void DecoderModule::endStep(ValueRange caches, Value logits, ValueRange states) {
  std::map<EntryRole, Value> results{{EntryRole::Logits, logits}};
  auto give = [&](std::initializer_list<EntryRole> roles, ValueRange values) {
    for (EntryRole role : roles)
      if (argument(role) && !values.empty()) {
        results[role] = values.front();
        values = values.drop_front();
      }
  };
  give({EntryRole::Cache, EntryRole::WindowCache}, caches);
  give({EntryRole::State, EntryRole::ConvState}, states);
  entries.end(results);
}
