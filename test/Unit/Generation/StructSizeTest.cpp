// Structs of callers that were compiled with another version of rapt_text.h, or that never set a size (fault 60).
#include "rapt/rapt_rules.h"
#include "rapt/rapt_text.h"
#include "test/Unit/GuardedStruct.h"
#include <cstddef>
#include <string_view>

using namespace rapt::test;

namespace {

constexpr char json[] = R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";

rapt_tokenizer_files files() {
  rapt_tokenizer_files files{};
  files.tokenizer_json = {json, sizeof json - 1};
  return files;
}

TEST(StructSize, TokenizerFiles) {
  checkStructSizes(offsetof(rapt_tokenizer_files, added_tokens), files(), [](const rapt_tokenizer_files *given) {
    rapt_tokenizer *tokenizer = nullptr;
    rapt_status status = rapt_tokenizer_open(given, &tokenizer, nullptr, 0);
    rapt_tokenizer_free(tokenizer);
    return status;
  });
}

TEST(StructSize, EncodeOptions) {
  rapt_tokenizer_files given = files();
  given.size = sizeof given;
  rapt_tokenizer *tokenizer = nullptr;
  ASSERT_EQ(rapt_tokenizer_open(&given, &tokenizer, nullptr, 0), RAPT_OK);
  checkStructSizes(sizeof(rapt_encode_options), rapt_encode_options{}, [&](const rapt_encode_options *options) {
    size_t count;
    return rapt_tokenizer_encode(tokenizer, "ab", 2, options, nullptr, 0, &count, nullptr, 0);
  });
  rapt_tokenizer_free(tokenizer);
}

TEST(StructSize, SamplerOptions) {
  checkStructSizes(sizeof(rapt_sampler_options), rapt_sampler_options{}, [](const rapt_sampler_options *options) {
    rapt_sampler *sampler = nullptr;
    rapt_status status = rapt_sampler_open(options, &sampler, nullptr, 0);
    rapt_sampler_free(sampler);
    return status;
  });
}

TEST(StructSize, BeamOptions) {
  rapt_beam_options good{};
  good.max_new_tokens = 1;
  checkStructSizes(sizeof good, good, [](const rapt_beam_options *options) {
    rapt_beams *beams = nullptr;
    rapt_status status = rapt_beams_open(options, nullptr, 0, &beams, nullptr, 0);
    rapt_beams_free(beams);
    return status;
  });
}

TEST(StructSize, TokenRules) {
  checkStructSizes(offsetof(rapt_token_rules, timestamp_begin), rapt_token_rules{}, [](const rapt_token_rules *rules) {
    float logits[2] = {0, 0};
    return rapt_rules_apply(rules, nullptr, 0, 0, logits, 2, nullptr, 0);
  });
}

TEST(StructSize, TokenRulesThatAreRead) {
  const std::string_view json =
      R"({"return_timestamps": true, "no_timestamps_token_id": 8, "eos_token_id": 5, "min_length": 3})";
  auto read = [&](rapt_token_rules *rules) {
    size_t count;
    return rapt_rules_read(json.data(), json.size(), rules, nullptr, 0, &count, nullptr, 0);
  };
  GuardedStruct<rapt_token_rules> older(offsetof(rapt_token_rules, timestamp_begin)), now(sizeof(rapt_token_rules));
  EXPECT_EQ(read(older.get()), RAPT_OK);
  EXPECT_EQ(older.get()->min_length, 3);
  EXPECT_EQ(older.get()->size, offsetof(rapt_token_rules, timestamp_begin));
  EXPECT_EQ(read(now.get()), RAPT_OK);
  EXPECT_EQ(now.get()->timestamp_begin, 9);
  EXPECT_EQ(now.get()->timestamp_text, 5);
  EXPECT_EQ(now.get()->timestamp_initial, 0);
  older.claim(offsetof(rapt_token_rules, timestamp_begin) - 8);
  EXPECT_EQ(read(older.get()), RAPT_INVALID);
}

TEST(StructSize, GenerationConfig) {
  auto read = [](rapt_generation_config *config) {
    size_t count;
    return rapt_generation_config_read("{}", 2, config, nullptr, 0, &count, nullptr, 0);
  };
  GuardedStruct<rapt_generation_config> good(sizeof(rapt_generation_config));
  EXPECT_EQ(read(good.get()), RAPT_OK);
  for (size_t claimed : {size_t(0), size_t(8), SIZE_MAX}) {
    GuardedStruct<rapt_generation_config> config(sizeof(size_t));
    config.claim(claimed);
    EXPECT_EQ(read(config.get()), RAPT_INVALID) << claimed;
  }
}

} // namespace
