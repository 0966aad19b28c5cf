#include "lib/Generation/GenerationConfig.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;
using Ids = std::vector<int32_t>;

static std::string errorOf(std::string_view content) {
  auto config = readGenerationConfig(content);
  return config ? "" : config.error().message;
}

TEST(GenerationConfig, ReadsWhatGpt2Has) {
  auto config = readGenerationConfig(
      R"({"_from_model_config": true, "bos_token_id": 50256, "eos_token_id": 50256, "transformers_version": "4.26.0.dev0"})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endIds, (Ids{50256}));
  EXPECT_EQ(config->beginId, 50256);
  EXPECT_EQ(config->sampling(0).temperature, 0);
}

TEST(GenerationConfig, ReadsSampling) {
  auto config = readGenerationConfig(
      R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "eos_token_id": [3, 1], "repetition_penalty": 1.1,
      "min_p": 0.05, "max_new_tokens": 7, "max_length": 20, "stop_strings": ["END", "x"], "top_k": 20})");
  ASSERT_TRUE(config) << config.error().message;
  SamplingOptions options = config->sampling(9);
  EXPECT_EQ(options.temperature, 0.6);
  EXPECT_EQ(options.topP, 0.9);
  EXPECT_EQ(options.minP, 0.05);
  EXPECT_EQ(options.topK, 20);
  EXPECT_EQ(options.repetitionPenalty, 1.1);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(config->endIds, (Ids{3, 1}));
  EXPECT_EQ(config->maxNewTokens, 7);
  EXPECT_EQ(config->stopStrings, (std::vector<std::string>{"END", "x"}));
}

TEST(GenerationConfig, SamplingWithoutTopKKeepsFifty) {
  SamplingOptions options = readGenerationConfig(R"({"do_sample": true})")->sampling(0);
  EXPECT_EQ(options.topK, 50);
  EXPECT_EQ(options.temperature, 1);
  // Without do_sample the sampling members have no effect, the penalty has.
  options = readGenerationConfig(R"({"temperature": 0.6, "repetition_penalty": 1.2})")->sampling(0);
  EXPECT_EQ(options.temperature, 0);
  EXPECT_EQ(options.repetitionPenalty, 1.2);
}

TEST(GenerationConfig, RefusesWhatWouldChangeTheOutput) {
  EXPECT_EQ(errorOf(R"({"num_beam_groups": 4})"),
            "generation_config.json: num_beam_groups is 4, which would change the "
            "output and is not supported; its neutral value is 1");
  EXPECT_EQ(errorOf(R"({"encoder_no_repeat_ngram_size": 3})").substr(0, 55),
            "generation_config.json: encoder_no_repeat_ngram_size is");
  EXPECT_EQ(errorOf(R"({"force_words_ids": [[1, 2]]})"),
            "generation_config.json: force_words_ids is [[1,2]], which would change the output and is not supported");
  EXPECT_NE(errorOf(R"({"something_new": 1})"), "");
  EXPECT_EQ(
      errorOf(
          R"({"num_beams": 1, "no_repeat_ngram_size": 0, "typical_p": 1.0, "suppress_tokens": null, "begin_suppress_tokens": [],
      "bad_words_ids": null, "renormalize_logits": false, "forced_bos_token_id": null, "sequence_bias": {}, "something_new": false})"),
      "");
}

TEST(GenerationConfig, RefusesWrongKinds) {
  EXPECT_EQ(errorOf(R"({"temperature": "hot"})"), "generation_config.json: temperature: is not a number");
  EXPECT_EQ(errorOf(R"({"top_k": -5})"), "generation_config.json: top_k: is not a count");
  EXPECT_EQ(errorOf(R"({"eos_token_id": "x"})"),
            "generation_config.json: eos_token_id: is neither a token id nor a list of them");
  EXPECT_EQ(errorOf(R"({"eos_token_id": [1, -1]})"),
            "generation_config.json: eos_token_id: is neither a token id nor a list of them");
  std::string stops = "\"x\"";
  for (size_t i = 1; i < mostStopStrings; ++i)
    stops += ", \"x\"";
  EXPECT_EQ(errorOf("{\"stop_strings\": [" + stops + "]}"), "");
  EXPECT_EQ(errorOf("{\"stop_strings\": [" + stops + ", \"x\"]}"),
            "generation_config.json: stop_strings: has 65 strings; at most 64 are supported");
  EXPECT_EQ(errorOf("[]"), "generation_config.json: is not a JSON object");
  EXPECT_NE(errorOf(R"({"temperature": NaN})"), "");
}

TEST(GenerationConfig, ReadsRules) {
  // bart-large-cnn and opus-mt
  auto config = readGenerationConfig(
      R"({"bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": true, "eos_token_id": 2, "forced_bos_token_id": 0,
      "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142, "min_length": 56, "no_repeat_ngram_size": 3,
      "num_beams": 4, "pad_token_id": 1})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rules.first, Ids{0});
  EXPECT_EQ(config->rules.last, Ids{2});
  EXPECT_EQ(config->rules.minLength, 56);
  EXPECT_EQ(config->rules.noRepeatNgram, 3);
  EXPECT_FALSE(config->rules.renormalizes);
  config = readGenerationConfig(
      R"({"bad_words_ids": [[58100], [7]], "suppress_tokens": [6, 1], "begin_suppress_tokens": [220, 50256],
      "forced_eos_token_id": [3, 4], "renormalize_logits": true, "min_new_tokens": 5,
      "eos_token_id": 7})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rules.banned, (Ids{1, 6, 58100})) << "an end is no bad word";
  EXPECT_EQ(config->rules.bannedFirst, (Ids{220, 50256}));
  EXPECT_EQ(config->rules.last, (Ids{3, 4}));
  EXPECT_EQ(config->rules.minNewTokens, 5);
  EXPECT_TRUE(config->rules.renormalizes);
  const std::string file = "generation_config.json: ";
  EXPECT_EQ(errorOf(R"({"bad_words_ids": [1]})"), file + "bad_words_ids has 1, expected a list of token ids");
  EXPECT_EQ(errorOf(R"({"bad_words_ids": [[1], []]})"), file + "bad_words_ids has [], expected a list of token ids");
  EXPECT_EQ(errorOf(R"({"bad_words_ids": [[1, -2]]})"),
            file + "bad_words_ids: is neither a token id nor a list of them");
  EXPECT_EQ(errorOf(R"({"suppress_tokens": [-1]})"),
            file + "suppress_tokens: is neither a token id nor a list of them");
  EXPECT_EQ(errorOf(R"({"min_length": -1})"), file + "min_length: is not a count");
  EXPECT_EQ(errorOf(R"({"renormalize_logits": 2})"), file + "renormalize_logits: is neither true nor false");
}

TEST(GenerationConfig, ReadsSequences) {
  using Sequences = std::vector<BiasedSequence>;
  auto config = readGenerationConfig(
      R"({"bad_words_ids": [[7], [2, 3], [7, 7]], "sequence_bias": [[[5], -1.5], [[1, 2], 3], [[5], 2]], "eos_token_id": 7})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rules.banned, Ids{}) << "an end is no bad word";
  EXPECT_EQ(config->rules.sequences, (Sequences{{{2, 3}, -INFINITY}, {{7, 7}, -INFINITY}, {{1, 2}, 3}, {{5}, 2}}));
  const std::string file = "generation_config.json: ";
  const std::string pair = ", expected a list of token ids and a number";
  EXPECT_EQ(errorOf(R"({"sequence_bias": [[[1, 2]]]})"), file + "sequence_bias has [[1,2]]" + pair);
  EXPECT_EQ(errorOf(R"({"sequence_bias": [[[1, 2], "x"]]})"), file + R"(sequence_bias has [[1,2],"x"])" + pair);
  EXPECT_NE(errorOf(R"({"sequence_bias": [[[1, 2], 1e40]]})").find(pair), std::string::npos);
  EXPECT_EQ(errorOf(R"({"sequence_bias": {"1": 2}})"), file + R"(sequence_bias has {"1":2})" + pair);
  EXPECT_EQ(errorOf(R"({"sequence_bias": [[[], 1]]})"), file + "sequence_bias has [], expected a list of token ids");
  std::string words = "[1, 2]";
  for (size_t i = 1; i < mostSequences; ++i)
    words += ", [1, 2]";
  EXPECT_EQ(errorOf("{\"bad_words_ids\": [" + words + "]}"), "");
  EXPECT_EQ(errorOf("{\"bad_words_ids\": [" + words + ", [1, 2]]}"),
            file + "bad_words_ids: there are 65537 sequences of tokens; at most 65536 are supported");
}

TEST(GenerationConfig, UnitesEndIds) {
  EXPECT_EQ(uniteIds({{3, 1}, {}, {2, 3}}), (Ids{1, 2, 3}));
  EXPECT_EQ(*readEndIds(R"({"eos_token_id": [5]})", "config.json"), (Ids{5}));
  EXPECT_EQ(*readEndIds(R"({"eos_token_id": null})", "config.json"), Ids());
  EXPECT_EQ(*readEndIds("{}", "config.json"), Ids());
  EXPECT_EQ(readEndIds(R"({"eos_token_id": 1.5})", "config.json").error().message,
            "config.json: eos_token_id: is neither a token id nor a list of them");
}

TEST(GenerationConfig, ReadsBeams) {
  Expected<GenerationConfig> config = readGenerationConfig(
      R"({"num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.5, "early_stopping": true})");
  ASSERT_TRUE(bool(config));
  EXPECT_EQ(config->beams, 4);
  EXPECT_EQ(config->returned, 2);
  EXPECT_EQ(config->lengthPenalty, 0.5);
  EXPECT_EQ(config->earlyStopping, EarlyStopping::Yes);
  config = readGenerationConfig(R"({"early_stopping": "never"})");
  ASSERT_TRUE(bool(config));
  EXPECT_EQ(config->earlyStopping, EarlyStopping::Never);
  EXPECT_EQ(readGenerationConfig(R"({"early_stopping": false})")->earlyStopping, EarlyStopping::Estimate);
  const std::string file = "generation_config.json: ";
  EXPECT_EQ(errorOf(R"({"num_beams": 0})"), file + "num_beams: is not a number from 1 on");
  EXPECT_EQ(errorOf(R"({"early_stopping": 3})"), file + "early_stopping: is neither true, false nor \"never\"");
  EXPECT_EQ(errorOf(R"({"length_penalty": "x"})"), file + "length_penalty: is not a finite number");
  EXPECT_EQ(errorOf(R"({"num_beams": 2, "do_sample": true})"),
            file + "num_beams is 2 with do_sample: sampled beams are not supported");
  EXPECT_EQ(errorOf(R"({"num_beams": 2, "num_return_sequences": 3})"),
            file + "num_return_sequences is 3, which is more than num_beams");
  EXPECT_EQ(errorOf(R"({"num_return_sequences": 3})"),
            file + "num_return_sequences is 3, which is supported with beams only");
}
