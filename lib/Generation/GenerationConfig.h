//===- GenerationConfig.h - generation_config.json -------------------------===//
#pragma once
#include "lib/Generation/BeamSearch.h"
#include "lib/Generation/Sampler.h"
#include "lib/Generation/SpeechConfig.h"
#include "lib/Support/Expected.h"
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Every new piece of text is searched for all of them, and the C interface reads the file once for each.
inline constexpr size_t mostStopStrings = 64;

/// Each new token is compared with the ends of all of them.
inline constexpr size_t mostSequences = 65536;

/// The settings of the file; keys that it leaves out have the defaults of Hugging Face's GenerationConfig.
struct GenerationConfig {
  bool sample = false; ///< do_sample
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK, maxNewTokens, maxLength;
  std::vector<int32_t> endIds; ///< eos_token_id, a number or a list
  std::optional<int32_t> beginId;
  std::vector<std::string> stopStrings;
  int64_t beams = 1, returned = 1; ///< num_beams, num_return_sequences
  double lengthPenalty = 1;
  std::vector<int32_t> badWords; ///< bad_words_ids of one id, which `rules` have, too
  TokenRules rules;              ///< without `ends` and the number of new tokens, which the run decides
  EarlyStopping earlyStopping = EarlyStopping::Estimate;
  SpeechConfig speech; ///< with return_timestamps, `rules` have a rule about timestamps

  /// Greedy unless do_sample; sampling without top_k keeps 50, Hugging Face's default, which the file leaves out.
  SamplingOptions sampling(uint64_t seed) const;
};

/// Reads the file's content. Errors: a member of the wrong kind, and one that would change the output but is not obeyed
/// (sampled beams, penalties and constraints other than the above), with its name, value and neutral value. null, false
/// and empty mean absent.
Expected<GenerationConfig> readGenerationConfig(std::string_view content);

/// eos_token_id of one configuration file (config.json, generation_config.json): absent, a number or a list.
Expected<std::vector<int32_t>> readEndIds(std::string_view content, const std::string &file);

/// All ids of the lists, sorted, each once.
std::vector<int32_t> uniteIds(std::initializer_list<std::vector<int32_t>> lists);

} // namespace rapt
