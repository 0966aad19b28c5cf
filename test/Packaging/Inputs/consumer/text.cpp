#include <cstdio>
#include <rapt/rapt_text.hpp>

int main() {
  rapt::text::Sampler sampler;
  const float logits[3] = {1, 3, 2};
  int32_t id = -1;
  rapt::Outcome outcome = rapt::text::Sampler::open(rapt::sized<rapt_sampler_options>(), sampler);
  if (outcome)
    outcome = sampler.sample(logits, 3, id);
  std::printf("Rapt %s: the largest is %d %s\n", rapt_text_version(), int(id), outcome.message.c_str());
  return outcome ? 0 : 1;
}
