//===- VisionTokens.cpp - From images to what the last layer gives ---------------===//
#include "lib/Import/Specs/VisionTokens.h"
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/PooledGrid.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include <algorithm>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::HeightWidth;
using huggingface::Init;

/// The weight of all learned tokens.
static std::string learnedSymbol(const VisionSpec &spec) {
  return spec.learnedTokens() == 1 ? spec.learned.front() : "embeddings.learned_tokens";
}

Value importing::walkPatches(const Walk &walk, const ImageSpec &spec, const std::string &part, int64_t width,
                             Value pixels, bool hasBias) {
  const int64_t side = spec.patch, columns = spec.channels * side * side,
                all = columns * std::max<int64_t>(1, spec.frames);
  walk.declare([&](const ParameterScope &weights) {
    artifact::Source kernel{weights.tensors + part + ".weight", {width, spec.channels, side, side}};
    if (spec.frames) {
      kernel.shape = {width, spec.channels, spec.frames, side, side};
      kernel.transforms.push_back(artifact::Transpose{{0, 2, 1, 3, 4}});
    }
    kernel.transforms.push_back(artifact::Reshape{{width, all}});
    weights.parameters.addTransformed(weights.symbols + part + ".weight", kernel, Init::weight(all));
    if (hasBias)
      weights.add(part + ".bias", {width}, Init::bias());
  });
  return walk.emit([&](const Scope &top) {
    auto cut = tensorOf({ShapedType::kDynamic, columns}, top.builder.getF32Type());
    Value patches = attn::PatchesOp::create(top.builder, top.at(part), cut, pixels, uint64_t(side));
    if (spec.frames > 1)
      patches = attn::ConcatOp::create(top.builder, top.at(part), SmallVector<Value>(size_t(spec.frames), patches));
    return dense(top, patches, part);
  });
}

/// The learned tokens, and the table of positions.
static void addLearned(const ParameterScope &top, const VisionSpec &spec) {
  const int64_t width = spec.width, positions = spec.rows() * spec.columns() + spec.learnedTokens();
  using Shape = std::vector<int64_t>;
  std::vector<artifact::Source> learned;
  for (const std::string &tensor : spec.learned)
    learned.push_back(
        {top.tensors + tensor, spec.arePlain ? Shape{width} : Shape{1, 1, width}, {artifact::Reshape{{1, width}}}});
  if (spec.registers != 0)
    learned.push_back(
        {top.tensors + spec.registerTokens, {1, spec.registers, width}, {artifact::Reshape{{spec.registers, width}}}});
  if (!learned.empty())
    top.parameters.addRows(top.symbols + learnedSymbol(spec), std::move(learned), Init::embedding());
  if (spec.positions.empty())
    return;
  if (spec.arePlain)
    return addEmbedding(top, spec.positions, positions, width);
  top.parameters.addTransformed(
      top.symbols + spec.positions,
      {top.tensors + spec.positions, {1, positions, width}, {artifact::Reshape{{positions, width}}}},
      Init::embedding());
}

/// The tokens of all images: learned ones and patches, with their positions.
static Value walkEmbeddings(const Walk &walk, const VisionSpec &spec, Images &images) {
  walk.declare([&](const ParameterScope &weights) { addLearned(weights, spec); });
  walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    Location loc = top.at("embeddings");
    auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
    auto extent = [&](int64_t i) -> Value { return tensor::DimOp::create(builder, loc, images.pixels, i); };
    Value size = number(spec.patch);
    images.rows = arith::DivUIOp::create(builder, loc, extent(2), size);
    images.columns = arith::DivUIOp::create(builder, loc, extent(3), size);
    images.length = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, images.rows, images.columns), number(spec.learnedTokens()));
    images.rowBegin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                                extent(0), images.length);
  });
  Value patches = walkPatches(walk, spec, spec.kernel, spec.width, images.pixels, spec.hasKernelBias);
  Value x = walk.emit([&](const Scope &top) -> Value {
    OpBuilder &builder = top.builder;
    Location loc = top.at("embeddings");
    Type f32 = builder.getF32Type();
    auto stream = tensorOf({ShapedType::kDynamic, spec.width}, f32);
    Value positions;
    if (spec.positions.empty()) // zeros, which change nothing
      positions = tensor::SplatOp::create(builder, loc, constant(top, loc, 0), stream, images.length);
    else if (spec.arePositionsBilinear)
      positions = resizeBilinearly(top, spec.positions, images, spec.rows(), spec.columns());
    else
      positions =
          attn::ResizePositionsOp::create(builder, top.at(spec.positions), stream, top.weight(spec.positions),
                                          images.rows, images.columns, ArrayRef<int64_t>{spec.rows(), spec.columns()});
    Value learned;
    if (spec.learnedTokens() == 0)
      learned = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(tensorOf({0, spec.width}, f32), ArrayRef<float>()));
    else
      learned = top.weight(learnedSymbol(spec));
    return attn::ImageTokensOp::create(builder, loc, stream, patches, learned, positions);
  });
  return walk.norm(x, spec.embeddingNorm, spec.norm, spec.width);
}

Expected<Value> importing::walkVisionTokens(const Walk &walk, const VisionSpec &spec, Images &images, ReadTokens read) {
  Value x = spec.pooled ? walkSquares(walk, spec, images) : walkEmbeddings(walk, spec, images);
  if (spec.layers == 0)
    return x;
  const Stack stack{spec.layers, spec.stack};
  if (const std::optional<GridBiasSpec> &bias = spec.gridBias)
    walk.declare([&](const ParameterScope &weights) {
      weights.parameters.addTable(weights.symbols + bias->table,
                                  weights.tensors + (bias->isOfLayer ? spec.layer : "") + bias->table,
                                  {gridBiasRows(spec.rows(), spec.columns()), spec.attention.heads}, Init::embedding(),
                                  bias->isOfLayer ? std::optional(stack) : std::nullopt);
    });
  WalkedLayers layers{.loop = {.stack = stack, .stops = spec.readLayers},
                      .path = spec.layer,
                      .state = {x},
                      .shared = {images.rowBegin}};
  walk.emit([&](const Scope &top) {
    layers.adapters = orderImages(top.builder, top.at("adapters"), images.adapters, images.length);
    if (spec.attention.rotary.empty())
      return;
    const RotaryFrequencies &rotary = spec.attention.rotary[0];
    llvm::append_range(layers.further, spec.pooled ? buildSquareRotation(top, spec, rotary, images)
                                       : rotary.axes.empty()
                                           ? buildGridRotation(top, rotary, images, spec.learnedTokens())
                                           : buildPatchRotation(top, rotary, images));
  });
  auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
    auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                      std::optional<int64_t>) -> Attended {
      Value table = spec.gridBias ? scope.weight(spec.gridBias->table) : Value();
      attn::AttentionOp op = rowAttention(scope, loc, queryKeyValue, scale, shared[0]);
      if (table)
        addGridBias(scope, spec.rows(), spec.columns(), op, table);
      return {op.getResult(), op};
    };
    return {walkLayer(layer, spec, state[0], {.rotation = shared.drop_front(), .attend = attend})};
  };
  auto readState = [&](size_t nth, ValueRange state) { read(nth, state[0]); };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkLayers(walk, layers, body, readState));
  return last[0];
}

Value importing::walkClassifier(const Walk &walk, const ImageSpec &spec, Value x, int64_t columns,
                                const std::string &part) {
  return walk.withPrefix("").matmul(x, {.part = part, .out = spec.labels, .in = columns, .hasBias = true});
}

ImportedModule importing::importImages(MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options, const ImageSpec &spec, const ImageModel &images) {
  const std::string prefix = model.choosePrefix({spec.prefix, ""}, spec.kernel + ".weight");
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, prefix, spec.ignoredTensors, [&](const Walk &walk) {
                          Images none;
                          (void)images.walk(walk, none);
                        }));
  ModelFacts facts = images.facts;
  facts.task = spec.head == VisionHead::Classification ? "image-classification" : "image-feature-extraction";
  facts.labels = spec.labels;
  ModelModule module(context, facts, model, parameters);
  module.dim(nameOf(EntryDim::Rows), 1, options.maxBatch);
  module.dim("height", images.least.height, images.most.height);
  module.dim("width", images.least.width, images.most.width);
  module.declareParameters();
  OpBuilder &builder = module.builder();
  SmallVector<EntryBuffer> outputs = images.outputs;
  if (spec.head == VisionHead::Classification)
    outputs = {{"logits", tensorOf({ShapedType::kDynamic, spec.labels}, builder.getF32Type()), {"rows"}}};
  func::FuncOp forward = module.beginEntry(forwardEntry, imageInputs(builder, facts, spec.channels), outputs);
  Images given = imagesOf(forward, facts);
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> results, images.walk(Walk(module.scope()), given));
  module.endEntry(results);
  return module.take();
}

Status importing::finishConfig(huggingface::ModelDescription &model, const ImportOptions &options,
                               const ImageSpec &spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  if (!options.maxSequenceLength)
    return {};
  return Error{model.config().file() + ": a " + model.modelType() +
               " reads images, and has no longest sequence to bound"};
}

SmallVector<EntryBuffer> importing::imageInputs(Builder builder, const ModelFacts &facts, int64_t channels,
                                                const std::string &dim) {
  const int64_t any = ShapedType::kDynamic;
  SmallVector<EntryBuffer> inputs{{.name = nameOf(EntryRole::PixelValues),
                                   .type = tensorOf({any, channels, any, any}, builder.getF32Type()),
                                   .dims = {dim, "height", "width"}}};
  if (std::optional<EntryBuffer> adapter = imageAdapterInput(builder, facts, dim))
    inputs.push_back(std::move(*adapter));
  return inputs;
}

Images importing::imagesOf(func::FuncOp entry, const ModelFacts &facts) {
  Images images{.pixels = entry.getArgument(0)};
  if (!facts.adapters.empty())
    images.adapters = {entry.getArgument(1), matricesOf(facts)};
  return images;
}

Expected<int64_t> importing::mostPixels(const huggingface::ModelDescription &model, const ImageSpec &spec,
                                        const ImportOptions &options) {
  const HeightWidth &image = spec.image;
  auto fits = [&](int64_t side) { return (side * side + 1) * options.maxBatch <= INT32_MAX; };
  int64_t side = 512;
  while (side > 1 && !fits(side))
    --side;
  side = std::max({side, image.height / spec.patch, image.width / spec.patch});
  if (!fits(side))
    return Error{model.path() + ": a batch of " + std::to_string(options.maxBatch) + " images of " +
                 std::to_string(side) + " x " + std::to_string(side) +
                 " patches has more tokens than 32 bits can count"};
  return std::max({side * spec.patch, image.height, image.width});
}

/// The size of the images that the checkpoint's processor makes; the model's own where it does not say. Faults of
/// the file are reported where it is used.
static HeightWidth processedSize(const huggingface::ModelDescription &model, const HeightWidth &image) {
  auto file = model.files().find("preprocessor_config.json");
  if (file == model.files().end())
    return image;
  Expected<json::Value> processor = json::parse(file->second);
  if (!processor)
    return image;
  const json::Value *crops = processor->find("do_center_crop");
  const json::Value *size = processor->find(crops && crops->asBool() == true ? "crop_size" : "size");
  auto side = [&](const char *name, int64_t own) {
    const json::Value *number = size && size->isObject() ? size->find(name) : size;
    return number ? number->asInteger().value_or(own) : own;
  };
  return {side("height", image.height), side("width", image.width)};
}

Status importing::requireImageSize(const huggingface::ModelDescription &model, const HeightWidth &image,
                                   const std::string &what) {
  const HeightWidth processed = processedSize(model, image);
  if (processed.height == image.height && processed.width == image.width)
    return {};
  return Error{model.path() + "/preprocessor_config.json: images become " + std::to_string(processed.width) + " x " +
               std::to_string(processed.height) + " pixels, but image_size is " + std::to_string(image.width) + " x " +
               std::to_string(image.height) + ", and " + what + " of that size alone"};
}

/// Warns where the processor makes images of another size than the positions are for: Hugging Face's model refuses them
/// unless it is asked to interpolate, which this one always does. Without positions there is nothing to interpolate.
static void noteImageSize(MLIRContext &context, const std::string &path, const VisionSpec &spec,
                          huggingface::HeightWidth images) {
  if (spec.positions.empty())
    return;
  if (images.height != spec.image.height || images.width != spec.image.width)
    emitWarning(UnknownLoc::get(&context))
        << path << "/preprocessor_config.json: images become " << images.width << " x " << images.height
        << " pixels, but image_size is " << spec.image.width << " x " << spec.image.height
        << ": the positions are interpolated";
}

Expected<HeightWidth> importing::largestImage(MLIRContext &context, const huggingface::ModelDescription &model,
                                              const VisionSpec &spec, const ImportOptions &options) {
  if (spec.pooled) {
    const int64_t longest = mostSquarePixels(spec, options);
    return HeightWidth{longest, longest};
  }
  RAPT_ASSIGN_OR_RETURN(int64_t most, mostPixels(model, spec, options));
  if (spec.gridBias) {
    RAPT_RETURN_IF_ERROR(requireImageSize(model, spec.image, "biases of scores are"));
    return spec.image;
  }
  const HeightWidth processed = processedSize(model, spec.image);
  noteImageSize(context, model.path(), spec, processed);
  // Attention probabilities are dense: the output holds all pairs of tokens of the images that there will be, and no
  // more.
  auto longest = [&](int64_t own, int64_t ofProcessor) {
    return options.attentionWeights ? std::clamp(ofProcessor, own, most) : most;
  };
  return HeightWidth{longest(spec.image.height, processed.height), longest(spec.image.width, processed.width)};
}
