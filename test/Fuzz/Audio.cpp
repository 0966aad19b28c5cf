// Sound files.
#include "lib/Audio/Decode.h"
#include "lib/Audio/Resample.h"
#include "test/Audio/Leaks.h"
#include "test/Fuzz/Fuzz.h"
#include <cmath>

using namespace rapt;
using namespace rapt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ExactBytes bytes(std::string_view(reinterpret_cast<const char *>(data), size), 1);
  auto sound = audio::decode({bytes.data(), bytes.size});
  if (!sound) {
    requireMessage(sound.error());
    return 0;
  }
  require(sound->rate >= audio::leastRate && sound->rate <= audio::mostRate, "a rate is in its range");
  require(!sound->samples.empty() && int64_t(sound->samples.size()) <= audio::mostSamples, "a sound has samples");
  for (float sample : sound->samples)
    require(std::isfinite(sample), "samples are finite");
  if (sound->samples.size() > 4096)
    return 0; // valid, and slow
  const int64_t from = sound->rate, count = int64_t(sound->samples.size());
  auto resampled = audio::resample(std::move(*sound), 16000);
  if (!resampled) {
    requireMessage(resampled.error());
    return 0;
  }
  require(int64_t(resampled->samples.size()) == (count * 16000 + from - 1) / from, "the length follows the rates");
  return 0;
}
