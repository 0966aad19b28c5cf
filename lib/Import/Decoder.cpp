//===- Decoder.cpp - The module and the entry of a decoder --------------------===//
#include "lib/Import/Decoder.h"
#include "lib/Support/Json.h"
#include "mlir/IR/Diagnostics.h"
#include <set>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

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
    Expected<json::Value> parsed = json::parse(file->second);
    if (!parsed)
      return Error{path + ": " + parsed.error().message};
    std::optional<std::vector<int64_t>> found = readIds(parsed->find(key));
    if (!found)
      return Error{path + ": " + key + needed};
    take(*found, path);
  }
  if (fallback && *fallback < vocabulary)
    ids.insert(*fallback);
  return std::vector<int64_t>(ids.begin(), ids.end());
}

Expected<int64_t> importing::boundPositions(const ImportOptions &options, int64_t positions, const std::string &table) {
  if (options.maxSequenceLength == 0)
    return positions;
  if (options.maxSequenceLength > positions)
    return Error{"sequences of " + std::to_string(options.maxSequenceLength) + " positions were asked for, but " +
                 table + " holds " + std::to_string(positions)};
  return options.maxSequenceLength;
}

static StringRef typeName(artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::F32:
    return "f32";
  case artifact::DType::BF16:
    return "bf16";
  case artifact::DType::F16:
    return "f16";
  }
  llvm_unreachable("every storage type is handled");
}

static DictionaryAttr modelAttr(Builder &builder, const DecoderFacts &facts, int64_t elements, artifact::DType dtype) {
  auto text = [&](StringRef name, StringRef value) { return builder.getNamedAttr(name, builder.getStringAttr(value)); };
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr(
      {text("family", facts.family), text("task", "decoder"), number("layers", facts.layers),
       number("hidden", facts.hidden), number("heads", facts.heads), number("kv_heads", facts.kvHeads),
       number("head_dim", facts.headDim), number("vocab", facts.vocabulary), number("positions", facts.positions),
       number("parameters", elements), text("source_dtype", typeName(dtype)),
       builder.getNamedAttr("eos", builder.getI64ArrayAttr(facts.endTokens))});
}

DecoderModule::DecoderModule(MLIRContext &context, const DecoderFacts &facts,
                             const huggingface::ModelDescription &model, const ParameterSet &parameters,
                             const ImportOptions &options)
    : body(&context) {
  Location loc = NameLoc::get(body.getStringAttr(facts.family));
  module = ModuleOp::create(loc, facts.family);
  (*module)->setAttr(attn::AttnDialect::stageAttr, body.getStringAttr("imported"));
  (*module)->setAttr(attn::AttnDialect::modelAttr, modelAttr(body, facts, parameters.elements(), model.dtype()));
  body.setInsertionPointToEnd(module->getBody());
  declareDims(facts, options);
  parameters.declare(body);
  declareStep(facts, options);
}

void DecoderModule::declareDims(const DecoderFacts &facts, const ImportOptions &options) {
  int64_t blocks = (facts.positions + options.cacheBlock - 1) / options.cacheBlock;
  auto dim = [&](StringRef name, int64_t least, int64_t most) {
    attn::DimOp::create(body, NameLoc::get(body.getStringAttr(name)), name, least, most);
  };
  dim("tokens", 0, options.maxTokens);
  dim("rows", 1, options.maxBatch);
  dim("wanted", 0, options.maxTokens);
  dim("table", 1, blocks);
  // The pool's size is chosen when a context is made; the bound only keeps byte offsets in 64 bits.
  dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, blocks * options.maxBatch));
}

void DecoderModule::declareStep(const DecoderFacts &facts, const ImportOptions &options) {
  MLIRContext *context = body.getContext();
  Type i32 = body.getI32Type(), f32 = body.getF32Type();
  int64_t any = ShapedType::kDynamic;
  Type cache = attn::KVCacheType::get(context, facts.layers, facts.kvHeads, facts.headDim, options.cacheBlock, f32);
  Type list = RankedTensorType::get({any}, i32), table = RankedTensorType::get({any, any}, i32);
  Type logits = RankedTensorType::get({any, facts.vocabulary}, f32);

  step = func::FuncOp::create(body, NameLoc::get(body.getStringAttr("step")), "step",
                              body.getFunctionType({cache, list, list, list, table, list}, {cache, logits}));
  step->setAttr(attn::AttnDialect::entryAttr, body.getUnitAttr());
  auto name = [&](StringRef text) { return body.getStringAttr(text); };
  struct Buffer {
    StringRef name;
    SmallVector<StringRef> dims;
  };
  Buffer inputs[] = {{"cache", {"blocks"}},
                     {"tokens", {"tokens"}},
                     {"row_begin", {"rows+1"}},
                     {"past", {"rows"}},
                     {"block_table", {"rows", "table"}},
                     {"want", {"wanted"}}};
  for (auto [i, input] : llvm::enumerate(inputs)) {
    step.setArgAttr(i, attn::AttnDialect::nameAttr, name(input.name));
    step.setArgAttr(i, attn::AttnDialect::dimsAttr, body.getStrArrayAttr(input.dims));
  }
  step.setResultAttr(0, attn::AttnDialect::nameAttr, name("cache"));
  step.setResultAttr(1, attn::AttnDialect::nameAttr, name("logits"));
  step.setResultAttr(1, attn::AttnDialect::dimsAttr, body.getStrArrayAttr({"wanted"}));
  body.setInsertionPointToStart(step.addEntryBlock());
}

OwningOpRef<ModuleOp> DecoderModule::finish(Value cache, Value logits) {
  func::ReturnOp::create(body, step.getLoc(), ValueRange{cache, logits});
  return std::move(module);
}
