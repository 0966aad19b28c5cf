//===- VisionSpec.h - The specification of an encoder of images -----------*- C++ -*-===//
//
// A family of vision transformers is data: a stack of layers, patches, learned tokens,
// and heads. A family's file reads it from config.json; importVision makes the module of
// any of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Parts/StackSpec.h"

namespace rapt::importing {

enum class VisionHead : uint8_t { None, Classification };

/// Vectors of an image that the classifier reads.
enum class VisionPooling : uint8_t {
  ClassToken,
  PatchMean,    ///< of the patches' norms
  ClassAndMean, ///< the class token, then the mean of the patches
  MeanNorm,     ///< the norm `pooledNorm` of the patches' mean
  Distilled     ///< the mean of two classifiers' logits, of the class token and of the distillation token
};

/// The pooler of a model without head.
enum class VisionPooler : uint8_t {
  None,
  Dense,      ///< activation(dense(class token)), where the checkpoint has it
  ClassToken, ///< the class token itself
  MeanNorm    ///< the norm `pooledNorm` of the patches' mean
};

/// Biases of scores by the distance of two patches in rows and columns, one for each head, and three rows behind them:
/// of the class token's scores, of scores with it, and of its score with itself.
struct GridBiasSpec {
  std::string table; ///< a tensor behind the layer's path, or the prefix
  bool isOfLayer = true;
};

/// Squares of `side` x `side` patches, which become one vector each (Gemma 4). A patch has positions of its own in two
/// tables, one of columns and one of rows, and rotates by both numbers where there are layers.
struct PooledGridSpec {
  int64_t side = 3;          ///< of a square, in patches
  int64_t positions = 0;     ///< columns, and rows, that the tables have
  std::string table;         ///< a tensor [2, positions, width]: those of columns, then those of rows
  bool isByPosition = false; ///< that tensor is [positions, 2, width]
  bool isCentered = true;    ///< pixels are made to be from -1 to 1
  /// Norms of a patch's pixels, of what the kernel makes of them, and of that with its positions; empty: none.
  std::string pixelNorm, patchNorm, positionNorm;
  double scale = 1;          ///< times the mean of a square
  std::string shift, spread; ///< tensors [width]: (x - shift) * spread of what that gives; empty: none
};

/// What all encoders of images have.
struct ImageSpec {
  huggingface::HeightWidth image = {}; ///< pixels of the images that the model was made for
  int64_t patch = 0, channels = 0, labels = 0;
  int64_t frames = 0; ///< of videos that a patch spans, all of which are the image; 0: the kernel has no such dim
  VisionHead head = VisionHead::None;
  std::string prefix, kernel; ///< of tensors; the part that patches are multiplied by
  std::vector<std::string_view> harmlessKeys, ignoredTensors;
};

/// An encoder of images: patches as tokens behind learned ones. readVision sets the names that vit has. Where attention
/// rotates, its one table is of a patch's row and again of its column, as shares of the image's extents, or in patches
/// where the frequencies have axes (PatchGrid.h).
struct VisionSpec : StackSpec, ImageSpec {
  std::string stack;               ///< name of the layers' stack; empty where the model has one
  std::vector<int64_t> readLayers; ///< numbers of layers whose tokens are read besides those of the last one, ascending
  std::vector<std::string> learned = {"embeddings.cls_token"}; ///< tensors [1, 1, width], which have positions
  int64_t registers = 0; ///< further ones behind them, the rows of a tensor [1, registers, width]
  std::string registerTokens = "embeddings.register_tokens";
  std::string positions = "embeddings.position_embeddings"; ///< a tensor [1, tokens, width]; empty: none
  bool arePositionsBilinear = false;    ///< where they are resized (resizeBilinearly), and there are no learned tokens
  std::optional<GridBiasSpec> gridBias; ///< of one learned token and patches, which are of one number then
  std::optional<PooledGridSpec> pooled; ///< in place of learned tokens and positions; pixels are from 0 to 1
  bool arePlain = false; ///< learned tensors are [width], and positions the weight [tokens, width] of a part
  bool hasKernelBias = true;
  std::string embeddingNorm;           ///< of all tokens ahead of the layers; empty: none
  std::string finalNorm = "layernorm"; ///< of all tokens; empty: none
  std::string pooledNorm;
  VisionPooling pooling = VisionPooling::ClassToken;
  std::string classifier = "classifier", distilled = "distillation_classifier";
  VisionPooler pooler = VisionPooler::Dense;
  int64_t poolerWidth = 0;
  attn::ActivationKind poolerActivation = attn::ActivationKind::tanh;

  /// Rows and columns of patches of the images that the positions were learned for.
  int64_t rows() const { return image.height / patch; }
  int64_t columns() const { return image.width / patch; }
  /// The side of what becomes a token behind the layers, in pixels.
  int64_t tokenSide() const { return patch * (pooled ? pooled->side : 1); }
  int64_t learnedTokens() const { return int64_t(learned.size()) + registers; }
};

/// A family's names, and what its configuration class takes where the file has no key.
struct VisionDefaults {
  std::string architecture; ///< "ViT" of ViTModel and ViTForImageClassification
  int64_t width = 768, heads = 12, image = 224, patch = 16, inner = 3072; ///< inner 0: mlp_ratio says it
  double epsilon = 1e-12;
  std::vector<std::string> classifiers = {"ForImageClassification"};
};

/// Reads the size of images and their patches.
void readPatches(huggingface::ConfigReader &config, int64_t defaultImage, int64_t defaultPatch, ImageSpec &spec);

/// Reads head and labels; `architecture` is "ViT" of ViTModel and ViTForImageClassification, of which the latter is one
/// of `classifiers`.
void readImageHead(huggingface::ModelDescription &model, const std::string &architecture, ImageSpec &spec,
                   const std::vector<std::string> &classifiers = {"ForImageClassification"});

/// Reads sizes, activation, head and labels; layers, embedding and heads are those of vit.
VisionSpec readVision(huggingface::ModelDescription &model, const VisionDefaults &defaults);

/// The module of stage `imported` of an encoder of images; errors are those of the config, which `spec` was read from.
ImportedModule importVision(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                            const ImportOptions &options, VisionSpec spec);

} // namespace rapt::importing
