//===- AttentionMaps.h - Attention probabilities as pictures ---------------------===//
#pragma once
#include "lib/Drawing/Sheet.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Support/Json.h"

namespace rapt::run {

/// An image as a model sees it, from its darkest to its lightest value.
struct PatchedImage {
  drawing::GrayImage pixels;
  size_t patchHeight = 1, patchWidth = 1;
  size_t gridHeight = 0, gridWidth = 0; ///< of an image that is a source: of its positions; else 0

  /// `values` [channels, height, width].
  PatchedImage(std::span<const float> values, const int64_t *shape);
};

/// The attention maps that --attention-weights asks for, as far as the artifact gives them.
class AttentionMaps {
public:
  /// Reads which layers and heads the artifact's outputs have. Errors, before anything runs: an artifact that gives no
  /// weights (says how to compile it), a layer or head that none of its outputs has (lists those there are). Does
  /// nothing without --attention-weights.
  static Outcome open(const Options &options, const Model &model, AttentionMaps &maps);

  bool isWanted() const { return !folder.empty(); }
  /// Names of the outputs: attentions, or encoder_attentions, decoder_attentions and cross_attentions where they exist.
  std::vector<std::string> names() const;
  /// Whether a row of the output has one query, which is none of its tokens: that of a pool.
  bool isOfRows(const std::string &name) const;
  /// Appends those that are not among `names`; nothing where no maps are wanted.
  void request(std::vector<std::string> &names) const;

  /// Writes FOLDER/PREFIXNAME-layerL-headH.npy [queries, keys], .svg and .png of row `row` of output NAME
  /// [rows, tokens, layers, heads, positions], for each layer and head that is asked for. Queries go down,
  /// keys to the right. Maps that are too large for a drawing are left out with a note. Beside
  /// them, FOLDER/PREFIXNAME-layerL.png is an overview of the layer's heads where there are several, and with an image
  /// FOLDER/PREFIXNAME-layerL-overlay.png shows it below its class token's probabilities, or once for each query where
  /// the keys are its grid, in the mean of the heads.
  /// Makes the folder, or removes an older run's maps from it.
  Outcome write(const std::string &prefix, const std::string &name, const RowOutput &output, size_t row,
                const std::vector<std::string> &queries, const std::vector<std::string> &keys,
                const PatchedImage *image = nullptr);

  /// The tokens of an image, for both axes: the class token, and patches by line and column. Sets the patches' size.
  Outcome patchAxis(PatchedImage &image, std::vector<std::string> &labels) const;

private:
  struct Output {
    std::string name;
    std::vector<int64_t> layers, heads; ///< by their numbers in the model, in the output's order
    std::string tokens;                 ///< of an entry that takes images: the number of them, as the manifest says it
    bool isOfRows = false;              ///< each row of a batch has one query
  };
  struct Job;

  Status read(const Model &model);
  void readBuffer(const json::Value &buffer, Output output);
  Outcome check(const char *what, const std::vector<int64_t> &asked, std::vector<int64_t> Output::*field) const;
  Status draw(Job &job, const std::string &title, std::span<const float> weights);
  static Expected<drawing::Picture> drawWords(const Job &job, const std::string &title, const PatchedImage &image);
  Status drawLayer(Job &job, const std::string &title, const PatchedImage *image);
  void noteOnce(const std::string &message);

  std::string folder;
  bool hasFolder = false;             ///< it is ready for this run's files
  std::vector<int64_t> layers, heads; ///< asked for; empty: all
  std::vector<Output> outputs;
  std::string model;
  std::vector<std::string> told;
};

/// Draws the attention of a model that generates, over all that it was given and made: of an encoder-decoder that of
/// the source, of the text, and of the text to the source, whose lines are named by the tokens that were made there.
/// The cache of the context holds one sequence of that length.
Outcome drawGeneration(AttentionMaps &maps, const Model &model, const Text &text, const Prompt &prompt,
                       const Ids &made);

} // namespace rapt::run
