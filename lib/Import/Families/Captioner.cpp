//===- Captioner.cpp - Captions of images ---------------------------------------===//
//
// Xu et al. 2015, "Show, Attend and Tell: Neural Image Caption Generation with Visual
// Attention", with soft attention: convolutions make a grid of annotations of an image, and
// a recurrent decoder attends to it before each word. The schema is that of docs/Captioner.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/ImageGrid.h"
#include "lib/Import/Specs/RecurrentEntries.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { ConditionalGeneration };
constexpr HeadName<Head> heads[] = {{"CaptionerForConditionalGeneration", Head::ConditionalGeneration}};

/// The factor of the context that the decoder's state decides: none, one number, or one for each column.
enum class Gate { None, Scalar, Vector };

const std::string embeddingTable = "embedding.weight", gatePart = "attention.gate", stateOutput = "output.state",
                  contextOutput = "output.context";

struct Config {
  ImageGridSpec images;
  RecurrentStack decoder;
  Gate gate;
  int64_t words, positions, startToken, embedding, attentionSize;
  bool isDeep; ///< the head reads embedding, state and context, else the state alone
  bool tied;
  bool isScoreMatrix = false; ///< the checkpoint has attention.score as the weight of a Linear with one output

  int64_t annotation() const { return images.grid().channels; }
  /// Columns that the head reads.
  int64_t headInputs() const { return isDeep ? embedding : decoder.hidden; }
  FirstStates firstStates() const { return {{"init_h", "init_c"}, "init", annotation()}; }
};

/// What the table of roles leaves to a captioner.
SequenceFacts sequenceFactsOf(MLIRContext &context, const Config &config, const ImportOptions &options) {
  Type f32 = Float32Type::get(&context);
  const GridExtents image = config.images.image, grid = config.images.grid();
  SequenceFacts facts{.parts = part::Always | part::Recurrent | part::Source | part::Pixels,
                      .isSerial = true,
                      .longestSource = grid.pixels()};
  facts.buffers[EntryRole::State].numbers = {config.decoder.layers * config.decoder.states(), config.decoder.hidden};
  const attn::KVSegment memory{1, /*heads=*/1, {config.attentionSize, f32}, {config.annotation(), f32}};
  facts.buffers[EntryRole::Cache].layout = attn::KVCacheType::get(&context, memory, options.cacheBlock);
  facts.buffers[EntryRole::PixelValues].numbers = {image.channels, image.height, image.width};
  facts.buffers[EntryRole::Hidden].numbers = {grid.pixels(), grid.channels};
  facts.buffers[EntryRole::Logits].numbers = {config.words};
  return facts;
}

Gate readGate(huggingface::ConfigReader &reader) {
  const std::string name = reader.getEnum("gate", {"none", "scalar", "vector"}, "scalar");
  return name == "none" ? Gate::None : name == "scalar" ? Gate::Scalar : Gate::Vector;
}

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  readHead<Head>(model, heads, Head::ConditionalGeneration);
  Config config{.images = readImageGrid(reader)};
  const attn::RecurrenceKind cell = readCell(reader);
  const int64_t hidden = readHiddenSize(reader, "hidden_size");
  config.words = reader.getInt("vocab_size", 1, 1 << 24);
  config.embedding = readHiddenSize(reader, "embedding_size", hidden);
  config.gate = readGate(reader);
  config.attentionSize = readHiddenSize(reader, "attention_size", hidden);
  config.isDeep = reader.getBool("deep_output", true);
  config.decoder = {cell,
                    "decoder",
                    config.embedding + config.annotation(),
                    hidden,
                    readLayerCount(reader, "decoder_layers", 1),
                    /*bidirectional=*/false,
                    reader.getBool("bias", true)};
  config.positions = reader.getInt("max_length", 1, 1 << 24, 1024);
  config.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX);
  config.tied = reader.getBool("tie_word_embeddings", false);
  if (!reader.errors())
    return config;
  if (config.startToken >= config.words)
    reader.fail("decoder_start_token_id " + std::to_string(config.startToken) + " is not below vocab_size " +
                std::to_string(config.words));
  if (config.tied && config.headInputs() != config.embedding)
    reader.fail("tie_word_embeddings needs embedding_size " + std::to_string(config.embedding) + " equal to the " +
                std::to_string(config.headInputs()) + " columns that the head reads");
  return config;
}

class Entries : RecurrentEntries {
public:
  Entries(MLIRContext &context, const Walk &walk, ModelModule *module, const Config &config,
          const ImportOptions &options)
      : RecurrentEntries(context, walk, module, sequenceFactsOf(context, config, options), options), config(config) {}

  /// Both entries.
  Status walkAll() {
    RAPT_RETURN_IF_ERROR(walkEncode());
    return walkStep();
  }

private:
  Status walkEncode();
  Status walkStep();
  Value lookAt(Value state);

  const Config &config;
};

Status Entries::walkEncode() {
  const GridExtents grid = config.images.grid();
  beginEncode();
  Value pixels = argument(EntryRole::PixelValues), annotations = walkImageGrid(walk, config.images, pixels);
  Value count, rowBegin, mean;
  walk.emit([&](const Scope &top) {
    count = tensor::DimOp::create(top.builder, loc(), pixels, 0);
    Value length = arith::ConstantIndexOp::create(top.builder, loc(), grid.pixels());
    auto offsets = tensorOf({ShapedType::kDynamic}, top.builder.getI32Type());
    rowBegin = attn::EqualRowsOp::create(top.builder, loc(), offsets, count, length);
    mean = poolRows(top, top.at("init"), attn::PoolingKind::mean, annotations, rowBegin);
  });
  KeptStates kept = keptStatesOf(*this);
  RAPT_RETURN_IF_ERROR(config.firstStates().walk(walk, config.decoder, mean, kept));
  Value keys = matmul(annotations, "attention.key", config.attentionSize, config.annotation());
  keys = walk.splitHeads(keys, "attention", 1);
  Value cache = append(argument(EntryRole::Cache), /*layer=*/0, keys, annotations, rowBegin);
  Value hidden = walk.emit([&](const Scope &top) {
    const SmallVector<OpFoldResult> sizes = {count, top.builder.getIndexAttr(grid.pixels()),
                                             top.builder.getIndexAttr(grid.channels)};
    auto type = tensorOf({ShapedType::kDynamic, grid.pixels(), grid.channels}, top.builder.getF32Type());
    return tensor::ExpandShapeOp::create(top.builder, loc(), type, annotations,
                                         ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  });
  end({{EntryRole::State, kept.state}, {EntryRole::Cache, cache}, {EntryRole::Hidden, hidden}});
  return {};
}

/// The context of each row for the decoder's state.
Value Entries::lookAt(Value state) {
  Value query = matmul(state, "attention.query", config.attentionSize, config.decoder.hidden);
  Value one = walk.emit([&](const Scope &top) { return constant(top, top.at("attention"), 1); });
  Value context = attend(query, one, /*layer=*/0, score(config.attentionSize, config.isScoreMatrix));
  if (config.gate == Gate::None)
    return context;
  const int64_t columns = config.gate == Gate::Scalar ? 1 : config.annotation();
  Value gate = matmul(state, gatePart, columns, config.decoder.hidden, /*hasBias=*/true);
  gate = walk.activate(gate, gatePart, attn::ActivationKind::sigmoid);
  return walk.emit([&](const Scope &top) -> Value {
    Location loc = top.at(gatePart);
    if (config.gate == Gate::Vector)
      return arith::MulFOp::create(top.builder, loc, context, gate);
    return attn::CombineRowsOp::create(top.builder, loc, context.getType(), context, gate, /*indices=*/Value());
  });
}

Status Entries::walkStep() {
  beginStep();
  KeptStates kept = keptStatesOf(*this);
  Value token = walk.table(argument(EntryRole::Tokens), embeddingTable, config.words, config.embedding);
  const int64_t last = (config.decoder.layers - 1) * config.decoder.states();
  Value context = lookAt(read(kept, "attention.query", last));
  RAPT_ASSIGN_OR_RETURN(
      Value x, stepLayers(walk, config.decoder, concat({token, context}), argument(EntryRole::RowBegin), kept));
  if (config.isDeep) {
    Value ofState = matmul(x, stateOutput, config.embedding, config.decoder.hidden),
          ofContext = matmul(context, contextOutput, config.embedding, config.annotation());
    x = walk.add(walk.add(token, ofState, stateOutput), ofContext, contextOutput);
  }
  endStep(kept, x, config.tied ? embeddingTable : "", config.words, config.headInputs());
  return {};
}

/// All pixels of a batch must be countable, those that convolutions make among them.
Status checkPixels(huggingface::ModelDescription &model, const Config &config, const ImportOptions &options) {
  for (size_t i = 0; i < config.images.layers.size(); ++i)
    if (const GridExtents made = config.images.convolved(i); made.pixels() > INT32_MAX / options.maxBatch)
      return Error{model.path() + ": a batch of " + std::to_string(options.maxBatch) + " images of " +
                   std::to_string(made.height) + " x " + std::to_string(made.width) + " pixels behind conv_channels[" +
                   std::to_string(i) + "] has more pixels than 32 bits can count"};
  const GridExtents &image = config.images.image;
  return requireImageSize(model, {image.height, image.width}, "the convolutions' grid is");
}

} // namespace

ImportedModule importing::importCaptioner(MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  Config config = readConfig(model);
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, config.words, /*fallback=*/std::nullopt));
  RAPT_RETURN_IF_ERROR(model.config().finish({"dropout", "is_encoder_decoder"}));
  RAPT_RETURN_IF_ERROR(checkPixels(model, config, options));
  if (options.maxSequenceLength)
    config.positions = options.maxSequenceLength;
  config.isScoreMatrix = model.tensors().find("attention.score.weight");
  auto declare = [&](const Walk &walk) { (void)Entries(context, walk, /*module=*/nullptr, config, options).walkAll(); };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
  const GridExtents grid = config.images.grid(), &image = config.images.image;
  ModelFacts facts{.family = "captioner",
                   .task = "image-to-text",
                   .layers = config.decoder.layers,
                   .hidden = grid.channels,
                   .heads = 1,
                   .kvHeads = 1,
                   .headDim = grid.channels,
                   .vocabulary = config.words,
                   .positions = config.positions,
                   .endTokens = endTokens,
                   .startToken = config.startToken,
                   .imageChannels = image.channels,
                   .imageHeight = image.height,
                   .imageWidth = image.width,
                   .gridHeight = grid.height,
                   .gridWidth = grid.width,
                   .sourcePositions = grid.pixels()};
  ModelModule module(context, facts, model, parameters);
  const Walk walk(module.scope());
  RAPT_RETURN_IF_ERROR(Entries(context, walk, &module, config, options).walkAll());
  return module.take();
}
