//===- VisionLanguage.cpp - The module of a decoder that reads images and sounds --===//
#include "lib/Import/Specs/VisionLanguage.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/Convolution.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/DecoderBuilder.h"
#include "lib/Import/Specs/PooledGrid.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
Value mergePatches(const Walk &walk, const VisionLanguageSpec &spec, const ProjectorSpec &p, Value x, Images &images) {
  const int64_t side = p.side;
  if (side == 1)
    return x;
  return walk.emit([&](const Scope &scope) {
    OpBuilder &builder = scope.builder;
    Location loc = scope.at(p.first);
    auto extent = [&](int64_t dim) -> Value { return tensor::DimOp::create(builder, loc, images.pixels, dim); };
    Value count = extent(0), cell = arith::ConstantIndexOp::create(builder, loc, spec.cell());
    const ImageSides patches{count, images.rows, images.columns};
    images.rows = arith::DivUIOp::create(builder, loc, extent(2), cell);
    images.columns = arith::DivUIOp::create(builder, loc, extent(3), cell);
    images.length = arith::MulIOp::create(builder, loc, images.rows, images.columns);
    return cutWindows(scope, loc, x, patches, {count, images.rows, images.columns}, {.side = side, .areByRows = true});
  });
}

/// What a projector makes of the encoder's tokens x: vectors as wide as those of the decoder's tokens, whose grid
/// `images` has then.
Value project(const Walk &walk, const VisionLanguageSpec &spec, const ProjectorSpec &p, Value x, Images &images) {
  const int64_t width = spec.image.width, merged = p.side * p.side * width;
  if (!p.isNormOfSquares)
    x = walk.norm(x, p.before, p.norm, width);
  x = mergePatches(walk, spec, p, x, images);
  if (p.isNormOfSquares)
    x = walk.norm(x, p.before, p.norm, merged);
  return walkProjector(walk, p, x, merged, spec.text.width);
}

/// Vectors of all sounds, as wide as those of the decoder's tokens.
Expected<Value> walkSoundVectors(const Walk &walk, const VisionLanguageSpec &spec, Sounds &sounds) {
  const SoundPartSpec &part = *spec.sounds;
  const SoundSpec &sound = part.sound;
  RAPT_ASSIGN_OR_RETURN(Value x, walkSoundTokens(walk.inside(sound.prefix, soundSymbols.str()), sound, sounds));
  const ProjectorSpec &p = part.projector;
  const Walk projector = walk.inside(p.prefix, soundProjectorSymbols.str());
  x = projector.norm(x, p.before, p.norm, sound.vectorWidth());
  return walkProjector(projector, p, x, sound.vectorWidth(), spec.text.width);
}

/// Vectors of the tokens of all images, [tokens, spec.columns()].
Expected<Value> walkVectors(const Walk &walk, const VisionLanguageSpec &spec, Images &images) {
  const VisionSpec &image = spec.image;
  SmallVector<Value> parts(1);
  // Each part merges the patches of the one grid.
  auto read = [&](size_t nth, Value tokens) {
    const ProjectorSpec &p = spec.deep[nth];
    Images own = images;
    parts.push_back(
        project(walk.inside(p.prefix, "deep_projector." + std::to_string(nth) + "."), spec, p, tokens, own));
  };
  RAPT_ASSIGN_OR_RETURN(Value x, walkVisionTokens(walk.inside(image.prefix, image.stack + "."), image, images, read));
  if (image.pooled)
    x = walkSquareMeans(walk.inside(image.prefix, image.stack + "."), image, x, images);
  const Walk projector = walk.inside(spec.projector.prefix, projectorSymbols.str());
  parts[0] = project(projector, spec, spec.projector, x, images);
  if (parts.size() == 1)
    return parts[0];
  return walk.emit(
      [&](const Scope &scope) { return attn::ConcatOp::create(scope.builder, scope.at("image_embeddings"), parts); });
}

/// Fails where the checkpoint's processor cuts images into other squares than those of the model, or repeats them for
/// other frames. Faults of the file are reported where it is used.
Status checkSquares(const huggingface::ModelDescription &model, const VisionLanguageSpec &spec) {
  const auto file = model.files().find("preprocessor_config.json");
  if (!spec.squares || file == model.files().end())
    return {};
  Expected<json::Value> processor = json::parse(file->second);
  if (!processor || !processor->isObject())
    return {};
  auto number = [&](const char *key, int64_t own) {
    const json::Value *value = processor->find(key);
    return value ? value->asInteger().value_or(own) : own;
  };
  constexpr int64_t most = 4096; // whose square is no fault of the file
  const ProcessorSquares &squares = *spec.squares;
  const int64_t patch = number("patch_size", squares.patch), side = number(squares.sideKey, squares.side);
  const std::string where = shownPath(model.path() + "/preprocessor_config.json") + ": ";
  auto shown = [](int64_t pixels) { return std::to_string(pixels) + " x " + std::to_string(pixels); };
  if (patch > 0 && side > 0 && patch <= most && side <= most && patch * side != spec.cell())
    return Error{where + "images become squares of " + shown(patch * side) + " pixels (patch_size, " + squares.sideKey +
                 "), but those of vision_config are " + shown(spec.cell())};
  constexpr const char *frames = "temporal_patch_size";
  if (const int64_t given = number(frames, squares.frames); squares.frames && given != spec.image.frames)
    return Error{where + frames + " is " + std::to_string(given) + ", but in vision_config it is " +
                 std::to_string(spec.image.frames) + ": a patch has as many frames, all of which are the image"};
  return {};
}

/// The entry encode_image: vectors of each image, without the first `skipped` tokens.
Status buildEncodeImage(ModelModule &module, const VisionLanguageSpec &spec, const ModelFacts &facts) {
  OpBuilder &builder = module.builder();
  const VisionSpec &image = spec.image;
  const int64_t any = ShapedType::kDynamic, width = spec.columns();
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

int64_t importing::readMediaId(huggingface::ConfigReader &config, const char *key, int64_t fallback,
                               const DecoderSpec &text) {
  const int64_t id = config.getInt(key, 0, INT32_MAX, fallback);
  if (config.errors() && id >= text.vocabulary)
    config.fail(std::string(key) + " " + std::to_string(id) + " is not below vocab_size " +
                std::to_string(text.vocabulary));
  return id;
}

std::optional<int64_t> importing::readVideoId(huggingface::ModelDescription &model, int64_t fallback,
                                              int64_t vocabulary) {
  constexpr const char *key = "video_token_id";
  huggingface::ConfigReader &config = model.config();
  std::optional<int64_t> id = config.getOptionalInt(key, 0, INT32_MAX);
  if (id)
    model.warn(shownPath(config.file()) + ": " + key +
               " stands for videos, which are not supported; give frames of them as "
               "images");
  else if (!config.names(key))
    id = fallback;
  return id && *id < vocabulary ? id : std::nullopt;
}

ImportedModule importing::importVisionLanguage(MLIRContext &context, huggingface::ModelDescription &model,
                                               const ImportOptions &options, const VisionLanguageSpec &spec) {
  const DecoderSpec &text = spec.text;
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens, readEndTokens(context, model, text.vocabulary, text.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_RETURN_IF_ERROR(checkSquares(model, spec));
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
  facts.videoToken = spec.videoId;
  if (const std::optional<SoundPartSpec> &sounds = spec.sounds)
    facts.audioToken = sounds->id, facts.audioBegin = sounds->beginId, facts.audioEnd = sounds->endId;
  const bool hasAxes = !text.attention.rotary.empty() && !text.attention.rotary[0].axes.empty();
  if (hasAxes)
    facts.imageCell = spec.cell();
  const DecoderExtras extra{.longestShortText = longestShortText(text),
                            .readsImages = true,
                            .seesWholeImages = spec.readsImages && text.seesWholeImages,
                            .imageLayers = text.imageLayers,
                            .rotaryAxes = hasAxes ? 3 : 0,
                            .dims = std::move(dims),
                            .states = stateLayersOf(text)};
  DecoderModule decoder(context, facts, cachesOf(text, positions), model, parameters, options, extra);
  // The first part of each vector takes the place of an image token's embedding.
  auto replace = [&](const Scope &top, Value embeddings) -> Value {
    Location loc = top.at("image_embeddings");
    Value first = text.imageLayers ? Value(arith::ConstantIndexOp::create(top.builder, loc, 0)) : Value();
    return attn::WriteRowsOp::create(top.builder, loc, attn::RowWrite::set, embeddings,
                                     decoder.argument(EntryRole::Embeddings), first,
                                     decoder.argument(EntryRole::EmbeddingTokens));
  };
  RAPT_RETURN_IF_ERROR(buildDecoderStep(decoder, text, replace));
  if (spec.readsImages)
    RAPT_RETURN_IF_ERROR(buildEncodeImage(decoder.getModule(), spec, facts));
  if (spec.sounds)
    RAPT_RETURN_IF_ERROR(buildEncodeAudio(decoder.getModule(), spec, facts));
  return decoder.take();
}
