//===- VisionTokens.h - From images to what the last layer gives ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// Patches of pixels times PART.weight [width, channels, patch, patch], plus PART.bias: [patches, width].
mlir::Value walkPatches(const Walk &walk, const ImageSpec &spec, const std::string &part, int64_t width,
                        mlir::Value pixels, bool hasBias = true);

/// Reads the tokens behind the layer `readLayers[nth]`, [tokens, width].
using ReadTokens = llvm::function_ref<void(size_t nth, mlir::Value tokens)>;

/// The tokens of all images behind the last layer, [tokens, width]; sets `images`.
Expected<mlir::Value> walkVisionTokens(const Walk &walk, const VisionSpec &spec, Images &images, ReadTokens read = {});

/// The logits of x [images, columns].
mlir::Value walkClassifier(const Walk &walk, const ImageSpec &spec, mlir::Value x, int64_t columns,
                           const std::string &part = "classifier");

/// The first arguments of an entry that reads images: their pixels, and their adapters where the model has some. `dim`
/// is that of the images.
llvm::SmallVector<EntryBuffer> imageInputs(mlir::Builder builder, const ModelFacts &facts, int64_t channels,
                                           const std::string &dim = "rows");
/// The values of these arguments.
Images imagesOf(mlir::func::FuncOp entry, const ModelFacts &facts);

/// A model of images whose only entry is `forward`.
struct ImageModel {
  ModelFacts facts;                               ///< without those of the head
  huggingface::HeightWidth least = {}, most = {}; ///< of an image's sides
  llvm::SmallVector<EntryBuffer> outputs;         ///< without a head
  /// The outputs, or the logits of each image.
  llvm::function_ref<Expected<llvm::SmallVector<mlir::Value>>(const Walk &walk, Images &images)> walk;
};

ImportedModule importImages(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                            const ImportOptions &options, const ImageSpec &spec, const ImageModel &images);

/// Fails where the config has errors, or where a user has asked to bound the sequences of a model of images.
Status finishConfig(huggingface::ModelDescription &model, const ImportOptions &options, const ImageSpec &spec);

/// The longest side of an image in pixels: 512 patches, or the model's own size, as far as the offsets of the largest
/// batch's tokens are i32.
Expected<int64_t> mostPixels(const huggingface::ModelDescription &model, const ImageSpec &spec,
                             const ImportOptions &options);

/// Fails where the checkpoint's processor makes images of another size than `image`, of which alone `what` is: "biases
/// of scores are".
Status requireImageSize(const huggingface::ModelDescription &model, const huggingface::HeightWidth &image,
                        const std::string &what);

/// The bounds of an image's sides, for which the tokens of a batch can be counted. Warns where the checkpoint's
/// processor makes images of another size than the positions are for.
Expected<huggingface::HeightWidth> largestImage(mlir::MLIRContext &context, const huggingface::ModelDescription &model,
                                                const VisionSpec &spec, const ImportOptions &options);

} // namespace rapt::importing
