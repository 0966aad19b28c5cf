//===- VisionLanguage.h - A decoder that reads images and sounds ----------*- C++ -*-===//
//
// An encoder makes vectors of an image, a projector those of the decoder's width. In a text
// each of them is a token: the image token, in whose place the decoder reads the vector (Liu
// et al. 2023). Sounds have an encoder, a projector and a token of their own.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"
#include "lib/Import/Specs/SoundTokens.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// linear_2(activation(linear_1(x))), parts behind the prefix; linear_1 alone where there is no second one. Ahead of it
/// may be a norm.
struct ProjectorSpec {
  std::string prefix = "multi_modal_projector.", first = "linear_1", second = "linear_2";
  std::string before;           ///< the norm's part; empty: none
  bool isNormOfSquares = false; ///< of all channels of a square of patches together, instead of each patch's
  NormSpec norm = {};
  int64_t side = 1;  ///< of squares of patches that x has side by side, row by row
  int64_t inner = 0; ///< columns of linear_1; 0: those of the decoder
  attn::ActivationKind activation = attn::ActivationKind::gelu;
  bool hasBias = true;
};

/// Keys of the token that stands for a vector of an image.
inline constexpr const char *imageIdKeys[] = {"image_token_index", "image_token_id"};

/// The id that the key gives: of the token that stands for a vector, or of one ahead of such tokens or behind them. An
/// error of the config where the text's vocabulary has no such id.
int64_t readMediaId(huggingface::ConfigReader &config, const char *key, int64_t fallback, const DecoderSpec &text);

/// How a class of processors cuts images into the squares that vectors stand for: a key of preprocessor_config.json
/// with the patches on a side of a square, what the class takes without it and without patch_size, and the frames of a
/// patch; 0: the class has no such key.
struct ProcessorSquares {
  const char *sideKey;
  int64_t side, patch, frames = 0;
};

/// The sounds of a text, by the members of VisionLanguageSpec.
struct SoundPartSpec {
  SoundSpec sound;
  ProjectorSpec projector; ///< without squares
  int64_t id = 0;
  std::optional<int64_t> beginId, endId;
};

struct VisionLanguageSpec {
  DecoderSpec text;
  bool readsImages = true; ///< without them nothing below counts but `sounds`, and what is left out of the files
  std::optional<SoundPartSpec> sounds;
  VisionSpec image; ///< whose layers are those that the decoder's vectors need
  ProjectorSpec projector;
  /// DeepStack (Meng et al. 2024): a projector of each of the encoder's `readLayers`, whose vectors are added behind
  /// the decoder's first layers, one after another.
  std::vector<ProjectorSpec> deep;
  std::optional<ProcessorSquares> squares; ///< where the checkpoint's processor must make those of the model
  int64_t imageId = 0;                     ///< of the token that stands for a vector of an image
  std::optional<int64_t> beginId, endId;   ///< of tokens ahead of an image's vectors and behind them
  std::optional<int64_t> videoId;          ///< of the token that stands for a video, which no program reads
  int64_t skipped = 1;                     ///< learned tokens of an image that the decoder does not read
  std::vector<std::string_view> harmlessKeys;
  std::vector<std::string> ignoredTensors;

  /// Pixels on a side of the square that a vector stands for.
  int64_t cell() const { return image.tokenSide() * projector.side; }
  /// The numbers of an image's vector: its embedding, then those for the decoder's layers, each as wide.
  int64_t columns() const { return (1 + int64_t(deep.size())) * text.width; }
};

/// Reads video_token_id, of a vocabulary of so many words; `fallback` is the class's. Warns where the file has one.
std::optional<int64_t> readVideoId(huggingface::ModelDescription &model, int64_t fallback, int64_t vocabulary);

/// The module of stage `imported`, with the entries `step`, `encode_image` and `encode_audio`; errors are those of the
/// config, which `spec` was read from.
ImportedModule importVisionLanguage(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                    const ImportOptions &options, const VisionLanguageSpec &spec);

} // namespace rapt::importing
