// Structs of callers that were compiled with another version of rapt_text.h, or that never set a size (fault 60).
#include "rapt/rapt_rules.h"
#include "rapt/rapt_text.h"
#include "test/Unit/GuardedStruct.h"
#include <cstddef>

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
  checkStructSizes(sizeof(rapt_token_rules), rapt_token_rules{}, [](const rapt_token_rules *rules) {
    float logits[2] = {0, 0};
    return rapt_rules_apply(rules, nullptr, 0, 0, logits, 2, nullptr, 0);
  });
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
