//===- VisionTokens.h - From images to what the last layer gives ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// PART.weight [width, channels, patch, patch] as the matrix that patches are multiplied by, and PART.bias.
void addPatches(const ParameterScope &top, const std::string &part, int64_t width, int64_t channels, int64_t patch,
                bool hasBias = true);

/// The weights of the patches, the learned tokens, the positions and the layers.
void addVisionTokens(const ParameterScope &top, const VisionSpec &spec);

/// The tokens of all images behind the last layer, [tokens, width]; sets `images`.
Expected<mlir::Value> buildVisionTokens(const Scope &top, mlir::func::FuncOp entry, const VisionSpec &spec,
                                        Images &images);

/// The first arguments of an entry that reads images: their pixels, and their adapters where the model has some. `dim`
/// is that of the images.
llvm::SmallVector<EntryBuffer> imageInputs(mlir::Builder builder, const ModelFacts &facts, int64_t channels,
                                           const std::string &dim = "rows");
/// The values of these arguments.
Images imagesOf(mlir::func::FuncOp entry, const ModelFacts &facts);

/// The entry of an image model, and its body.
struct ImageEntry {
  int64_t channels;
  huggingface::HeightWidth least, most; ///< of an image's sides
  llvm::SmallVector<EntryBuffer> outputs;
  /// Ends the entry.
  llvm::function_ref<Status(ModelModule &module, mlir::func::FuncOp entry, const Images &images)> build;
};

/// The task of a model of images.
std::string imageTask(VisionHead head);

/// The module whose only entry is `forward`; the parameters are resolved.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> makeImageModule(mlir::MLIRContext &context, const ModelFacts &facts,
                                                            const huggingface::ModelDescription &model,
                                                            const ParameterSet &parameters,
                                                            const ImportOptions &options, const ImageEntry &entry);

/// A user has asked to bound the sequences of a model of images.
Error sequenceBoundError(huggingface::ModelDescription &model);

/// The longest side of an image in pixels: 512 patches, or the model's own size, as far as the offsets of the largest
/// batch's tokens are i32.
Expected<int64_t> mostPixels(int64_t patch, const huggingface::HeightWidth &image, const ImportOptions &options);

/// Fails where the checkpoint's processor makes images of another size than `image`, of which alone `what` is: "biases
/// of scores are".
Status requireImageSize(const huggingface::ModelDescription &model, const huggingface::HeightWidth &image,
                        const std::string &what);

/// The bounds of an image's sides, for which the tokens of a batch can be counted. Tells where the checkpoint's
/// processor makes images of another size than the positions are for.
Expected<huggingface::HeightWidth> largestImage(mlir::MLIRContext &context, const huggingface::ModelDescription &model,
                                                const VisionSpec &spec, const ImportOptions &options);

} // namespace rapt::importing
