#include "lib/Generation/GenerationConfig.h"
#include <gtest/gtest.h>

using namespace rapt;
using Ids = std::vector<int32_t>;

namespace {

/// The speech members of a file, completed for a vocabulary of 100 whose tokens are `tokens`.
Expected<SpeechConfig> read(std::string_view content, const std::map<std::string_view, int32_t> &tokens = {}) {
  RAPT_ASSIGN_OR_RETURN(GenerationConfig config, readGenerationConfig(content));
  SpeechConfig speech = config.speech;
  RAPT_RETURN_IF_ERROR(speech.complete(100, [&](std::string_view token) {
    auto found = tokens.find(token);
    return found == tokens.end() ? -1 : found->second;
  }));
  return speech;
}

std::string errorOf(std::string_view content, const std::map<std::string_view, int32_t> &tokens = {}) {
  Expected<SpeechConfig> speech = read(content, tokens);
  return speech ? "" : speech.error().message;
}

constexpr std::string_view kMultilingual = R"({"is_multilingual": true, "no_timestamps_token_id": 60,
    "lang_to_id": {"<|en|>": 51, "<|de|>": 52}, "task_to_id": {"transcribe": 55, "translate": 56},
    "max_initial_timestamp_index": 20, "alignment_heads": [[2, 2], [3, 0]], "median_filter_width": 7,
    "prev_sot_token_id": 57, "decoder_start_token_id": 50, "eos_token_id": 49, "max_length": 448,
    "begin_suppress_tokens": [3, 49], "suppress_tokens": [1, 2], "forced_decoder_ids": [[1, null], [2, 55]],
    "return_timestamps": false})";

const std::map<std::string_view, int32_t> tokenizer = {{"<|en|>", 51},         {"<|de|>", 52},        {"<|haw|>", 53},
                                                       {"<|transcribe|>", 55}, {"<|translate|>", 56}, {"<|0.00|>", 61}};

} // namespace

TEST(SpeechConfig, ReadsWhatWhisperHas) {
  Expected<SpeechConfig> speech = read(kMultilingual);
  ASSERT_TRUE(speech) << speech.error().message;
  EXPECT_EQ(speech->languages, (SpeechConfig::Names{{"en", 51}, {"de", 52}}));
  EXPECT_EQ(speech->tasks, (SpeechConfig::Names{{"transcribe", 55}, {"translate", 56}}));
  EXPECT_EQ(speech->noTimestamps, 60);
  EXPECT_EQ(speech->lastInitial, 20);
  EXPECT_EQ(speech->language, "");
  EXPECT_EQ(speech->task, "transcribe");
  EXPECT_FALSE(speech->timestamps);
  for (std::string_view name : {"en", "<|en|>", "EN", "english", "English"})
    EXPECT_EQ(speech->findLanguage(name), "en") << name;
  for (std::string_view name : {"", "fr", "French", "<|fr|>", "<||>", "e"})
    EXPECT_FALSE(speech->findLanguage(name)) << name;
}

TEST(SpeechConfig, ReadsFallback) {
  Expected<SpeechConfig> speech = read(kMultilingual);
  ASSERT_TRUE(speech);
  EXPECT_TRUE(speech->thresholds.areEmpty() && speech->temperatures.empty() && !speech->knowsPrevious);
  EXPECT_EQ(speech->previous, 57);
  EXPECT_EQ(speech->noSpeech, 59) << "the one before the times' token";
  speech = read(R"({"is_multilingual": false, "temperature": [0.0, 0.4, 1], "compression_ratio_threshold": 2.4,
      "logprob_threshold": -1.0, "no_speech_threshold": 0.6, "condition_on_prev_tokens": true,
      "prompt_condition_type": "first-segment"})",
                {{"<|startofprev|>", 61}, {"<|nocaptions|>", 62}});
  ASSERT_TRUE(speech) << speech.error().message;
  EXPECT_EQ(speech->temperatures, (std::vector<double>{0, 0.4, 1}));
  EXPECT_EQ(speech->thresholds.compressionRatio, 2.4);
  EXPECT_EQ(speech->thresholds.meanLogProbability, -1);
  EXPECT_EQ(speech->thresholds.noSpeech, 0.6);
  EXPECT_TRUE(speech->knowsPrevious);
  EXPECT_EQ(speech->previous, 61);
  EXPECT_EQ(speech->noSpeech, 62);

  const std::string file = "generation_config.json: ";
  EXPECT_EQ(errorOf(R"({"temperature": [0, "x"]})"), file + "temperature has \"x\", expected a number from 0 on");
  EXPECT_EQ(errorOf(R"({"temperature": [-1]})"), file + "temperature has -1, expected a number from 0 on");
  EXPECT_EQ(errorOf(R"({"logprob_threshold": "low"})"), file + "logprob_threshold: is not a number");
  EXPECT_EQ(errorOf(R"({"condition_on_prev_tokens": 1})"),
            file + "condition_on_prev_tokens: is neither true nor false");
  EXPECT_EQ(errorOf(R"({"prev_sot_token_id": -1})"), file + "prev_sot_token_id: is not a token id");
  EXPECT_EQ(errorOf(R"({"is_multilingual": false, "prev_sot_token_id": 100})"),
            file + "the token of prev_sot_token_id is 100; the model's vocabulary is 0 to 99");
  EXPECT_EQ(errorOf(R"({"prompt_condition_type": "all-segments"})"),
            file + "prompt_condition_type is \"all-segments\", which would change the output and is not supported");
  for (const char *member : {R"("temperature": [0, 1])", R"("no_speech_threshold": 0.6)", R"("logprob_threshold": -1)",
                             R"("compression_ratio_threshold": 2)", R"("condition_on_prev_tokens": true)"})
    EXPECT_NE(errorOf("{" + std::string(member) + "}").find("would change the output and is supported for speech only"),
              std::string::npos)
        << member;
}

TEST(SpeechFallback, ThresholdsAsTranscribeHasThem) {
  const SpeechThresholds both = {2.4, -1, {}}, all = {2.4, -1, 0.6}, silence = {{}, {}, 0.6};
  EXPECT_FALSE(both.refuse({0, 2.4, -1, 1}));
  EXPECT_TRUE(both.refuse({0, 2.5, -0.5, 1}));
  EXPECT_TRUE(both.refuse({0, 1, -1.1, 1}));
  EXPECT_FALSE(both.findSilence({0, 1, -1.1, 1}));
  EXPECT_FALSE(all.refuse({0, 3, -1.1, 0.7})) << "silence is not written again";
  EXPECT_TRUE(all.findSilence({0, 3, -1.1, 0.7}));
  EXPECT_TRUE(all.refuse({0, 3, -0.9, 0.7}));
  EXPECT_FALSE(all.findSilence({0, 3, -0.9, 0.7})) << "the text is likely";
  EXPECT_FALSE(all.findSilence({0, 3, -1.1, 0.6}));
  EXPECT_TRUE(silence.findSilence({0, 1, 0, 0.7}));
  EXPECT_FALSE(silence.refuse({0, 9, -9, 0.7}));
  EXPECT_TRUE(SpeechThresholds().areEmpty() && !silence.areEmpty());
}

TEST(SpeechFallback, TemperaturesGoUpToOne) {
  EXPECT_EQ(temperaturesFrom(0, 0.5), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(temperaturesFrom(0, 0.2).size(), 6u);
  EXPECT_EQ(temperaturesFrom(0.4, 0.4), (std::vector<double>{0.4, 0.8}));
  EXPECT_EQ(temperaturesFrom(1, 0.2), (std::vector<double>{1}));
}

TEST(SpeechConfig, TimestampsMakeARule) {
  EXPECT_TRUE(readGenerationConfig(kMultilingual)->rules.timestamps.isEmpty());
  Expected<GenerationConfig> config = readGenerationConfig(
      R"({"return_timestamps": true, "no_timestamps_token_id": 60, "eos_token_id": [49, 50], "max_initial_timestamp_index": 0})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rules.timestamps.begin, 61);
  EXPECT_EQ(config->rules.timestamps.text, 49);
  EXPECT_EQ(config->rules.timestamps.initial, 1);
}

TEST(SpeechConfig, TheVocabularyFillsWhatTheFileLacks) {
  Expected<SpeechConfig> speech = read("{}", tokenizer);
  ASSERT_TRUE(speech) << speech.error().message;
  EXPECT_EQ(speech->languages, (SpeechConfig::Names{{"en", 51}, {"de", 52}, {"haw", 53}}));
  EXPECT_EQ(speech->tasks.size(), 2u);
  EXPECT_EQ(speech->noTimestamps, 60);
  EXPECT_TRUE(*speech->multilingual);
  EXPECT_EQ(speechLanguages().size(), 100u);
  // Nothing is known: one language, without times.
  speech = read("{}");
  ASSERT_TRUE(speech);
  EXPECT_TRUE(speech->languages.empty());
  EXPECT_FALSE(speech->noTimestamps);
}

TEST(SpeechConfig, EnglishAloneHasNoLanguages) {
  for (std::string_view content : {R"({"is_multilingual": false, "forced_decoder_ids": [[1, 60]], "language": "xx"})",
                                   R"({"forced_decoder_ids": [[1, 60]], "begin_suppress_tokens": [1]})"}) {
    Expected<SpeechConfig> speech = read(content, tokenizer);
    ASSERT_TRUE(speech) << speech.error().message;
    EXPECT_TRUE(speech->languages.empty()) << content;
    EXPECT_EQ(speech->language, "");
    EXPECT_EQ(speech->noTimestamps, 60);
  }
}

TEST(SpeechConfig, MembersReplaceForcedIds) {
  auto both = [](std::string_view members) {
    return read("{\"begin_suppress_tokens\": [1], \"forced_decoder_ids\": [[1, 52], [2, 56], [3, 60]]" +
                    std::string(members) + "}",
                tokenizer);
  };
  EXPECT_EQ(both("")->language, "de");
  EXPECT_EQ(both("")->task, "translate");
  EXPECT_EQ(both(R"(, "language": "english", "task": "transcribe")")->language, "en");
  EXPECT_EQ(both(R"(, "language": "english", "task": "transcribe")")->task, "transcribe");
}

TEST(SpeechConfig, RefusesWrongMembers) {
  const std::string file = "generation_config.json: ";
  EXPECT_EQ(errorOf(R"({"lang_to_id": [1]})"), file + "lang_to_id: is not an object of names and token ids");
  EXPECT_EQ(errorOf(R"({"lang_to_id": {"<|en|>": -1}})"), file + "lang_to_id: <|en|> is -1, but expected a token id");
  EXPECT_EQ(errorOf(R"({"task_to_id": {"transcribe": "x"}})"),
            file + "task_to_id: transcribe is \"x\", but expected a token id");
  EXPECT_EQ(errorOf(R"({"no_timestamps_token_id": 1e20})"), file + "no_timestamps_token_id: is not a token id");
  EXPECT_EQ(errorOf(R"({"max_initial_timestamp_index": -1})"), file + "max_initial_timestamp_index: is not a count");
  EXPECT_EQ(errorOf(R"({"is_multilingual": 1})"), file + "is_multilingual: is neither true nor false");
  EXPECT_EQ(errorOf(R"({"return_timestamps": "yes"})"), file + "return_timestamps: is neither true nor false");
  EXPECT_EQ(errorOf(R"({"language": 5})"), file + "language: is not a text");
  for (std::string_view ids : {"5", "[5]", "[[1]]", "[[1, 2, 3]]", "[[null, 2]]", "[[1, -2]]", "[[1, \"x\"]]"})
    EXPECT_EQ(errorOf("{\"forced_decoder_ids\": " + std::string(ids) + "}"),
              file + "forced_decoder_ids: is not a list of pairs of a position and a token id");
  EXPECT_EQ(errorOf(R"({"forced_decoder_ids": [[1, 5]]})"),
            file + "forced_decoder_ids would change the output and is supported for speech only");
  EXPECT_EQ(errorOf(R"({"forced_decoder_ids": [[1, 5]], "begin_suppress_tokens": [1]})", tokenizer),
            file + "forced_decoder_ids has the id 5, which is neither a language nor a task");
  EXPECT_EQ(errorOf(R"({"language": "klingon"})", tokenizer),
            file + "language is 'klingon', which the model does not know");
  EXPECT_EQ(errorOf(R"({"task": "sing"})", tokenizer), file + "task is 'sing', which the model does not know");
  EXPECT_EQ(errorOf(R"({"no_timestamps_token_id": 100})", tokenizer),
            file + "the token of no_timestamps_token_id is 100; the model's vocabulary is 0 to 99");
  EXPECT_EQ(errorOf(R"({"lang_to_id": {"<|en|>": 100}})", tokenizer),
            file + "the token of 'en' is 100; the model's vocabulary is 0 to 99");
  EXPECT_EQ(errorOf(R"({"is_multilingual": true, "lang_to_id": {"<|en|>": 1}})"),
            file + "task_to_id has no 'transcribe'");
}
