#include <rapt/rapt_text.h>
#include <stdio.h>

int main(void) {
  rapt_sampler_options options = {sizeof options};
  rapt_sampler *sampler;
  float logits[3] = {1, 3, 2};
  int32_t id = -1;
  char message[256] = "";
  rapt_status status = rapt_sampler_open(&options, &sampler, message, sizeof message);
  if (status == RAPT_OK)
    status = rapt_sampler_sample(sampler, logits, 3, &id, message, sizeof message);
  printf("Rapt %s: the largest is %d %s\n", rapt_text_version(), (int)id, message);
  rapt_sampler_free(sampler);
  return status != RAPT_OK;
}
