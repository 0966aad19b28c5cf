//===- VisionLanguage.cpp - The module of a decoder that reads images and sounds --===//
#include "lib/Import/Specs/VisionLanguage.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/DecoderBuilder.h"
#include "lib/Import/Specs/PooledGrid.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

constexpr llvm::StringLiteral projectorSymbols = "projector.", soundSymbols = "audio.",
                              soundProjectorSymbols = "audio_projector.";

/// Frames behind the first one, of which a sound has as many as the dim says: four frames make a vector.
constexpr const char *laterFrames = "later_frames", *soundVectors = "vectors", *soundsDim = "sounds";
constexpr int64_t framesOfVector = 4;

/// What a projector makes of vectors x of `width` numbers.
Value walkProjector(const Walk &walk, const ProjectorSpec &p, Value x, int64_t width, int64_t out) {
  const int64_t inner = p.inner ? p.inner : out;
  x = walk.matmul(x, {.part = p.first, .out = inner, .in = width, .hasBias = p.hasBias});
  if (p.second.empty())
    return x;
  x = walk.activate(x, p.first, p.activation);
  return walk.matmul(x, {.part = p.second, .out = out, .in = inner, .hasBias = p.hasBias});
}

/// Squares of patches as one vector each, which `images` has instead of them then.
Value mergePatches(const Walk &walk, const VisionLanguageSpec &spec, Value x, Images &images) {
  const int64_t side = spec.projector.side;
  if (side == 1)
    return x;
  return walk.emit([&](const Scope &scope) {
    OpBuilder &builder = scope.builder;
    Location loc = scope.at(spec.projector.first);
    auto extent = [&](int64_t dim) -> Value { return tensor::DimOp::create(builder, loc, images.pixels, dim); };
    Value count = extent(0), cell = arith::ConstantIndexOp::create(builder, loc, spec.cell());
    const ImageSides patches{count, images.rows, images.columns};
    images.rows = arith::DivUIOp::create(builder, loc, extent(2), cell);
    images.columns = arith::DivUIOp::create(builder, loc, extent(3), cell);
    images.length = arith::MulIOp::create(builder, loc, images.rows, images.columns);
    return cutWindows(scope, loc, x, patches, {count, images.rows, images.columns}, {.side = side, .areByRows = true});
  });
}

/// Vectors of the tokens of all images, as wide as those of the decoder's tokens.
Expected<Value> walkVectors(const Walk &walk, const VisionLanguageSpec &spec, Images &images) {
  const VisionSpec &image = spec.image;
  RAPT_ASSIGN_OR_RETURN(Value x, walkVisionTokens(walk.inside(image.prefix, image.stack + "."), image, images));
  if (image.pooled)
    x = walkSquareMeans(walk.inside(image.prefix, image.stack + "."), image, x, images);
  const ProjectorSpec &p = spec.projector;
  const Walk projector = walk.inside(p.prefix, projectorSymbols.str());
  x = mergePatches(projector, spec, projector.norm(x, p.before, p.norm, image.width), images);
  return walkProjector(projector, p, x, p.side * p.side * image.width, spec.text.width);
}

/// The same of all sounds.
Expected<Value> walkSoundVectors(const Walk &walk, const VisionLanguageSpec &spec, Sounds &sounds) {
  const SoundPartSpec &part = *spec.sounds;
  const SoundSpec &sound = part.sound;
  RAPT_ASSIGN_OR_RETURN(Value x, walkSoundTokens(walk.inside(sound.prefix, soundSymbols.str()), sound, sounds));
  const ProjectorSpec &p = part.projector;
  const Walk projector = walk.inside(p.prefix, soundProjectorSymbols.str());
  x = projector.norm(x, p.before, p.norm, sound.vectorWidth());
  return walkProjector(projector, p, x, sound.vectorWidth(), spec.text.width);
}

/// x [tokens, width] with row `indices[t]` of `vectors` in place of row t where `indices[t]` is not negative.
Value replaceRows(const Scope &scope, Value x, Value vectors, Value indices) {
  OpBuilder &builder = scope.builder;
  Location loc = scope.at("image_embeddings");
  auto type = cast<RankedTensorType>(x.getType());
  Value rows = tensor::DimOp::create(builder, loc, x, 0);
  Value empty = tensor::EmptyOp::create(builder, loc, type, rows);
  AffineExpr token, column;
  bindDims(builder.getContext(), token, column);
  AffineMap whole = builder.getMultiDimIdentityMap(2), row = AffineMap::get(2, 0, {token}, builder.getContext());
  Value inputs[] = {x, indices};
  AffineMap maps[] = {whole, row, whole};
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, loops,
             [&](OpBuilder &b, Location at, ValueRange elements) {
               Value zero = arith::ConstantIntOp::create(b, at, 0, 32);
               Value isReplaced = arith::CmpIOp::create(b, at, arith::CmpIPredicate::sge, elements[1], zero);
               // A row is read in any case.
               Value place = arith::IndexCastOp::create(b, at, b.getIndexType(),
                                                        arith::MaxSIOp::create(b, at, elements[1], zero));
               Value vector = tensor::ExtractOp::create(b, at, vectors,
                                                        ValueRange{place, linalg::IndexOp::create(b, at, uint64_t(1))});
               Value chosen = arith::SelectOp::create(b, at, isReplaced, vector, elements[0]);
               linalg::YieldOp::create(b, at, chosen);
             })
      .getResult(0);
}

/// The entry encode_image: vectors of each image, without the first `skipped` tokens.
Status buildEncodeImage(ModelModule &module, const VisionLanguageSpec &spec, const ModelFacts &facts) {
  OpBuilder &builder = module.builder();
  const VisionSpec &image = spec.image;
  const int64_t any = ShapedType::kDynamic, width = spec.text.width;
  auto type = tensorOf({any, any, width}, builder.getF32Type());
  const std::string side = "/" + std::to_string(spec.cell());
  const int64_t kept = image.learnedTokens() - spec.skipped;
  const std::string length = "height" + side + "*width" + side + (kept ? "+" + std::to_string(kept) : "");
  func::FuncOp entry = module.beginEntry("encode_image", imageInputs(builder, facts, image.channels, "images"),
                                         {{"image_embeddings", type, {"images", length}}});
  const Scope top = module.scope();
  Images images = imagesOf(entry, facts);
  RAPT_ASSIGN_OR_RETURN(Value x, walkVectors(Walk(top), spec, images));
  Location loc = top.at(spec.projector.prefix + "image_embeddings");
  x = attn::UnpackRowsOp::create(builder, loc, type, x, images.length);
  if (spec.skipped) {
    Value skipped = arith::ConstantIndexOp::create(builder, loc, spec.skipped);
    OpFoldResult rest = Value(arith::SubIOp::create(builder, loc, images.length, skipped));
    const OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets = {zero, builder.getIndexAttr(spec.skipped), zero},
                              sizes = {tensor::getMixedSize(builder, loc, x, 0), rest, builder.getIndexAttr(width)};
    x = tensor::ExtractSliceOp::create(builder, loc, type, x, offsets, sizes, SmallVector<OpFoldResult>(3, one));
  }
  module.endEntry(x);
  return {};
}

/// The entry encode_audio: vectors of each sound.
Status buildEncodeAudio(ModelModule &module, const VisionLanguageSpec &spec, const ModelFacts &facts) {
  OpBuilder &builder = module.builder();
  const SoundSpec &sound = spec.sounds->sound;
  const int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  const std::string frames = sound.isEncoded ? laterFrames + std::string("+1") : soundVectors,
                    vectors =
                        sound.isEncoded ? laterFrames + ("/" + std::to_string(framesOfVector)) + "+1" : soundVectors;
  SmallVector<EntryBuffer> inputs{{.name = nameOf(EntryRole::InputFeatures),
                                   .type = tensorOf({any, any, sound.numbers}, f32),
                                   .dims = {soundsDim, frames}}};
  if (std::optional<EntryBuffer> adapter = imageAdapterInput(builder, facts, soundsDim))
    inputs.push_back(std::move(*adapter));
  auto type = tensorOf({any, any, spec.text.width}, f32);
  func::FuncOp entry = module.beginEntry("encode_audio", inputs, {{"audio_embeddings", type, {soundsDim, vectors}}});
  const Scope top = module.scope();
  Sounds sounds{.features = entry.getArgument(0)};
  if (!facts.adapters.empty())
    sounds.adapters = {entry.getArgument(1), matricesOf(facts)};
  RAPT_ASSIGN_OR_RETURN(Value x, walkSoundVectors(Walk(top), spec, sounds));
  Location loc = top.at(spec.sounds->projector.prefix + "audio_embeddings");
  module.endEntry(Value(attn::UnpackRowsOp::create(builder, loc, type, x, sounds.length)));
  return {};
}

/// The dims of the entries that make vectors. A sound is no longer than the longest text.
Expected<std::vector<DimBounds>> dimsOf(MLIRContext &context, const huggingface::ModelDescription &model,
                                        const ImportOptions &options, const VisionLanguageSpec &spec,
                                        int64_t positions) {
  std::vector<DimBounds> dims;
  if (spec.readsImages) {
    RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec.image, options));
    dims = {{"images", 1, options.maxBatch}, {"height", spec.cell(), most.height}, {"width", spec.cell(), most.width}};
  }
  if (!spec.sounds)
    return dims;
  const SoundSpec &sound = spec.sounds->sound;
  dims.push_back({soundsDim, 1, options.maxBatch});
  // 32 bits count the pixels of the first convolution's result.
  const int64_t most = std::min(positions, int64_t(INT32_MAX) / options.maxBatch /
                                               (sound.isEncoded ? framesOfVector * sound.numbers : 1));
  if (most < 1)
    return Error{model.path() + ": a batch of " + std::to_string(options.maxBatch) +
                 " sounds of one vector each has more numbers than 32 bits can count"};
  if (sound.isEncoded)
    dims.push_back({laterFrames, 0, framesOfVector * most - 1});
  else
    dims.push_back({soundVectors, 1, most});
  return dims;
}

} // namespace

ImportedModule importing::importVisionLanguage(MLIRContext &context, huggingface::ModelDescription &model,
                                               const ImportOptions &options, const VisionLanguageSpec &spec) {
  const DecoderSpec &text = spec.text;
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens, readEndTokens(context, model, text.vocabulary, text.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, boundPositions(options, text.positions, text.positionsKey));
  RAPT_ASSIGN_OR_RETURN(std::vector<DimBounds> dims, dimsOf(context, model, options, spec, positions));
  const std::string prefix = model.choosePrefix({text.prefixes[0], text.prefixes[1]}, text.embedding.words + ".weight");
  std::vector<std::string_view> ignored(spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  ignored.insert(ignored.end(), text.ignoredTensors.begin(), text.ignoredTensors.end());
  auto walkAll = [&](const Walk &walk) {
    (void)walkDecoder(walk, text);
    Images images;
    if (spec.readsImages)
      (void)walkVectors(walk.withPrefix(""), spec, images);
    Sounds sounds;
    if (spec.sounds)
      (void)walkSoundVectors(walk.withPrefix(""), spec, sounds);
  };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, prefix, ignored, walkAll));

  ModelFacts facts = decoderFacts(text, model, positions, endTokens);
  facts.task = !spec.sounds ? "image-text-to-text" : spec.readsImages ? "any-to-any" : "audio-text-to-text";
  if (spec.readsImages)
    facts.imageToken = spec.imageId, facts.imageBegin = spec.beginId, facts.imageEnd = spec.endId;
  if (const std::optional<SoundPartSpec> &sounds = spec.sounds)
    facts.audioToken = sounds->id, facts.audioBegin = sounds->beginId, facts.audioEnd = sounds->endId;
  const bool hasAxes = !text.attention.rotary.empty() && !text.attention.rotary[0].axes.empty();
  if (hasAxes)
    facts.imageCell = spec.cell();
  const DecoderExtras extra{.longestShortText = longestShortText(text),
                            .readsImages = true,
                            .seesWholeImages = spec.readsImages && text.seesWholeImages,
                            .rotaryAxes = hasAxes ? 3 : 0,
                            .dims = std::move(dims),
                            .states = stateLayersOf(text)};
  DecoderModule decoder(context, facts, cachesOf(text, positions), model, parameters, options, extra);
  auto replace = [&](const Scope &top, Value embeddings) {
    return replaceRows(top, embeddings, decoder.argument(EntryRole::Embeddings),
                       decoder.argument(EntryRole::EmbeddingOf));
  };
  RAPT_RETURN_IF_ERROR(buildDecoderStep(decoder, text, replace));
  if (spec.readsImages)
    RAPT_RETURN_IF_ERROR(buildEncodeImage(decoder.getModule(), spec, facts));
  if (spec.sounds)
    RAPT_RETURN_IF_ERROR(buildEncodeAudio(decoder.getModule(), spec, facts));
  return decoder.take();
}
