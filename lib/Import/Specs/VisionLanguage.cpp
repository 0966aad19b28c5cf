//===- VisionLanguage.cpp - The module of a decoder that reads images -------------===//
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
    return cutWindows(scope, loc, x, patches, {count, images.rows, images.columns}, side, /*areByRows=*/true);
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
  const int64_t inner = p.inner ? p.inner : spec.text.width;
  x = walk.matmul(x, {.part = p.first, .out = inner, .in = merged, .hasBias = p.hasBias});
  if (p.second.empty())
    return x;
  x = walk.activate(x, p.first, p.activation);
  return walk.matmul(x, {.part = p.second, .out = spec.text.width, .in = inner, .hasBias = p.hasBias});
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
  const Walk projector = walk.inside(spec.projector.prefix, "projector.");
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

} // namespace

ImportedModule importing::importVisionLanguage(MLIRContext &context, huggingface::ModelDescription &model,
                                               const ImportOptions &options, const VisionLanguageSpec &spec) {
  const DecoderSpec &text = spec.text;
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens, readEndTokens(context, model, text.vocabulary, text.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_RETURN_IF_ERROR(checkSquares(model, spec));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, boundPositions(options, text.positions, text.positionsKey));
  RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec.image, options));
  const std::string prefix = model.choosePrefix({text.prefixes[0], text.prefixes[1]}, text.embedding.words + ".weight");
  std::vector<std::string_view> ignored(spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  ignored.insert(ignored.end(), text.ignoredTensors.begin(), text.ignoredTensors.end());
  auto walkAll = [&](const Walk &walk) {
    (void)walkDecoder(walk, text);
    Images images;
    (void)walkVectors(walk.withPrefix(""), spec, images);
  };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, prefix, ignored, walkAll));

  ModelFacts facts = decoderFacts(text, model, positions, endTokens);
  facts.task = "image-text-to-text";
  facts.imageToken = spec.imageId;
  facts.imageBegin = spec.beginId;
  facts.imageEnd = spec.endId;
  const bool hasAxes = !text.attention.rotary.empty() && !text.attention.rotary[0].axes.empty();
  if (hasAxes)
    facts.imageCell = spec.cell();
  const DecoderExtras extra{.longestShortText = longestShortText(text),
                            .readsImages = true,
                            .seesWholeImages = text.seesWholeImages,
                            .imageLayers = text.imageLayers,
                            .rotaryAxes = hasAxes ? 3 : 0,
                            .dims = {{"images", 1, options.maxBatch},
                                     {"height", spec.cell(), most.height},
                                     {"width", spec.cell(), most.width}},
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
  RAPT_RETURN_IF_ERROR(buildEncodeImage(decoder.getModule(), spec, facts));
  return decoder.take();
}
