// generation_config.json, and samplers and beams with what it sets.
#include "lib/Generation/GenerationConfig.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (auto ids = readEndIds(text, "config.json"); !ids)
    requireMessage(ids.error());
  auto config = readGenerationConfig(text);
  if (!config) {
    requireMessage(config.error());
    return 0;
  }
  require(config->stopStrings.size() <= mostStopStrings, "stop strings are few");
  require(config->beams >= 1 && config->returned >= 1, "there is a beam");
  uniteIds({config->endIds, {3, 1}});
  require(bool(config->rules.check()), "rules that are read hold");
  const int32_t past[] = {1, 2, 3};
  double scores[8] = {};
  config->rules.apply(past, 1, scores);
  auto sampler = Sampler::create(config->sampling(1));
  if (!sampler) {
    requireMessage(sampler.error());
    return 0;
  }
  const float logits[] = {1, 2, -3, 0, 2, -1e30f, 5, 0.5f};
  for (int i = 0; i < 4; ++i) {
    auto id = sampler->sample(logits);
    require(id && *id >= 0 && *id < 8, "a sampled id is of the vocabulary", id ? "" : id.error().message);
    require(bool(sampler->accept(*id)), "a sampled id is accepted");
  }
  return 0;
}
