//===- VisionTokens.h - From images to what the last layer gives ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/ModelModule.h"
#include "lib/Import/ParameterScope.h"
#include "lib/Import/VisionSpec.h"

namespace rapt::importing {

/// The images' values while an entry is built.
struct Images {
  mlir::Value pixels;        ///< [images, channels, height, width]
  mlir::Value rowBegin;      ///< of the packed tokens of all images
  mlir::Value length;        ///< tokens of one image
  mlir::Value rows, columns; ///< of patches
};

/// The weights of the patches, the learned tokens, the positions and the layers.
void addVisionTokens(const ParameterScope &top, const VisionSpec &spec);

/// The tokens of all images behind the last layer, [tokens, width]; sets `images`.
Expected<mlir::Value> buildVisionTokens(const Scope &top, mlir::func::FuncOp entry, const VisionSpec &spec,
                                        Images &images);

/// The argument with the images of an entry.
EntryBuffer pixelBuffer(mlir::Builder builder, int64_t channels);

/// A user has asked to bound the sequences of a model of images.
Error sequenceBoundError(huggingface::ModelDescription &model);

/// The longest side of an image in pixels: 512 patches, or the model's own size, as far as the offsets of the largest
/// batch's tokens are i32.
Expected<int64_t> mostPixels(int64_t patch, const huggingface::HeightWidth &image, const ImportOptions &options);

/// Fails where the checkpoint's processor makes images of another size than `image`, the only one that biases of scores
/// are for.
Status requireImageSize(const huggingface::ModelDescription &model, const huggingface::HeightWidth &image);

/// The bounds of an image's sides, for which the tokens of a batch can be counted. Tells where the checkpoint's
/// processor makes images of another size than the positions are for.
Expected<huggingface::HeightWidth> largestImage(mlir::MLIRContext &context, const huggingface::ModelDescription &model,
                                                const VisionSpec &spec, const ImportOptions &options);

} // namespace rapt::importing
