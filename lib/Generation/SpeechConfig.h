//===- SpeechConfig.h - Members of generation_config.json about speech ------===//
#pragma once
#include "lib/Generation/SpeechFallback.h"
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// The token's id, or -1 where the vocabulary has no such token.
using FindToken = std::function<int32_t(std::string_view token)>;

/// The tokens of Whisper's prompt, and their defaults.
struct SpeechConfig {
  using Names = std::map<std::string, int32_t, std::less<>>;

  Names languages;                     ///< lang_to_id, by code: "en"; empty: the model knows one language
  Names tasks;                         ///< task_to_id: "transcribe", "translate"
  std::optional<int32_t> noTimestamps; ///< no_timestamps_token_id; the ids above it are timestamps
  std::optional<int64_t> lastInitial;  ///< max_initial_timestamp_index
  std::optional<bool> multilingual;    ///< is_multilingual
  std::string language, task;          ///< the defaults, "" for none
  bool timestamps = false;             ///< return_timestamps
  std::vector<int32_t> forced;         ///< forced_decoder_ids without their positions and nulls
  std::vector<double> temperatures;    ///< temperature, where it is a list of those that are tried in turn
  SpeechThresholds thresholds;         ///< compression_ratio_threshold, logprob_threshold, no_speech_threshold
  bool knowsPrevious = false;          ///< condition_on_prev_tokens
  std::optional<int32_t> previous;     ///< prev_sot_token_id
  std::optional<int32_t> noSpeech;     ///< the token of silence, which only the vocabulary tells

  /// Whether the file is one of a speech model.
  bool isGiven() const { return noTimestamps || !languages.empty() || multilingual; }
  /// The member that only speech models obey, if the file has one.
  const char *memberOfSpeech() const;

  /// Reads a member of generation_config.json. Errors begin with `where`. Absent: the member is not about speech.
  std::optional<Status> read(std::string_view key, const json::Value &value, const std::string &where);

  /// Fills what the file leaves out from the vocabulary and from `forced`, so that languages are empty or have all
  /// defaults. Errors: an id that is not below `vocabulary`, and defaults that the model does not know.
  Status complete(int64_t vocabulary, const FindToken &find);

  /// The code of a language that the model knows, by its code ("en", "<|en|>") or its English name ("English").
  std::optional<std::string> findLanguage(std::string_view name) const;

private:
  Status readForced(const json::Value &value, const std::string &where);
  std::optional<Status> readFallback(std::string_view key, const json::Value &value, const std::string &where);
  void findTokens(const FindToken &find);
  Status obeyForced();
  Status checkDefaults();
};

/// A language of Whisper.
struct SpeechLanguage {
  std::string_view code, name; ///< "en", "english"
};

/// All of them, in the order of their tokens.
std::span<const SpeechLanguage> speechLanguages();

} // namespace rapt
