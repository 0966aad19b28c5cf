//===- Text.h - The tokenizers that travel in the weight file ------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "rapt/rapt_text.hpp"
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rapt::run {

using text::Message;
using text::Tokenizer;

using Ids = std::vector<int32_t>;

/// The ids that generation starts from.
struct Prompt {
  Ids source;                    ///< what the encoder reads, of a model that has one
  Ids ids;                       ///< what the first new token follows
  std::optional<int32_t> first;  ///< the first new token, where a language is asked for
  std::vector<float> embeddings; ///< what image and audio tokens stand for
  Ids grids;                     ///< rows and columns of each image's vectors, where the model needs them
  std::vector<float> pixels;     ///< of the image that the encoder reads, of a model whose sources are images

  /// `chunk` of its tokens with what image and audio tokens among them stand for. New tokens are none.
  rapt_chunk withVectors(rapt_chunk chunk) const {
    chunk.embeddings = embeddings.empty() ? nullptr : embeddings.data();
    chunk.embedding_bytes = embeddings.size() * sizeof(float);
    chunk.image_grids = grids.empty() ? nullptr : grids.data();
    chunk.image_grid_bytes = grids.size() * sizeof(int32_t);
    return chunk;
  }
  /// Positions of the source in the cache.
  int64_t sourceLength(const Model &model) const {
    return model.hasImageSource() ? model.facts.longestSource() : int64_t(source.size());
  }
  /// Gives the sequence its source, where the model has an encoder.
  Outcome begin(const Model &model, const Sequence &sequence) const {
    if (model.hasImageSource())
      return sequence.encode(pixels);
    return model.hasEncoder() ? sequence.encode(source) : Outcome{};
  }
};

/// The tokenizers and generation settings of a model directory.
struct Text {
  Tokenizer tokenizer; ///< of what the model reads; empty for a model without one
  Tokenizer writer;    ///< of what it writes, which may have a vocabulary of its own
  rapt_generation_config config = text::GenerationSettings::usual();
  rapt_token_rules rules = sized<rapt_token_rules>(); ///< of generation_config.json
  Ids ruleIds;                                        ///< the lists of `rules`
  std::vector<rapt_biased_sequence> sequences;        ///< those of `rules`
  Ids sequenceIds;
  std::set<int32_t> ends;         ///< ids that end a text
  std::vector<std::string> stops; ///< texts that end one, of generation_config.json
  int64_t vocabulary = 0;         ///< logits that are tokens
  Ids placeholders;               ///< that only a prompt may have
};

/// The content of a file of the model's directory, by its name; no data where there is none.
using SideFiles = std::function<rapt_text_view(const char *name)>;

/// Opens the tokenizer of what the model reads; none where there are no files of one.
Outcome openTokenizer(const SideFiles &content, Tokenizer &tokenizer);

/// Opens the tokenizers and generation settings of the module's sections. Without a tokenizer: `needed` decides.
Outcome openText(const Model &model, bool needed, Text &text);

/// Ids of a text that the model is to read, checked against its vocabulary.
Outcome encode(const Model &model, const Text &text, const std::string &content, Ids &ids);

/// Ids of a text as the model writes it, without special tokens.
Outcome encodePlain(const Model &model, const Text &text, const std::string &content, Ids &ids);

/// The chat template of the model's directory, which must have one.
Outcome openChat(const Model &model, text::ChatTemplate &chat);

/// Numbers of the images and sounds ahead of a message's text.
struct MediaCounts {
  size_t images = 0, sounds = 0;
};

/// Ids of the prompt that a chat template makes of messages, the last with `media` ahead of its text. `now`:
/// what templates ask for, seconds since 1970.
Outcome encodeMessages(const Model &model, const Text &text, const text::ChatTemplate &chat,
                       const std::vector<Message> &messages, MediaCounts media, int64_t now, Ids &ids);

/// The same by the model's own template, for a message of the user and, where `system` is not null, one of the
/// system's.
Outcome encodeChat(const Model &model, const Text &text, const std::string *system, const std::string &content,
                   MediaCounts media, Ids &ids);

/// Tokens of the prompt that tokenizer and chat template make of a user's message; 0 where they make none.
int64_t countChatTokens(const SideFiles &content, int64_t vocabulary, std::string_view message);

/// Whether the model's directory has a chat template, be it one that can be used or not.
bool hasChatTemplate(const Model &model);

/// Refuses ids of --tokens that the model's vocabulary has not.
Outcome checkIds(const Model &model, const Ids &ids);

/// The bytes of a file, or of the standard input for "-"; at most 1 GiB.
Expected<std::string> readPrompt(const std::string &path);
/// Those of --file, or of the standard input that takeStandardInput read.
Expected<std::string> readPromptFile(const Options &options);
/// The newline that ends the last line of a file is no part of the prompt.
std::string withoutLastNewline(std::string text);

/// The lines of a file; the newline at its end begins none.
std::vector<std::string> linesOf(const std::string &content);

/// Where nothing is given to run and the standard input is a file or a pipe with a text, the text is the prompt:
/// --file=-. Where it is a terminal, --chat converses.
Status takeStandardInput(Options &options);

} // namespace rapt::run
