// preprocessor_config.json of sound, and a few samples through what it says.
#include "lib/Audio/LogMel.h"
#include "test/Fuzz/Fuzz.h"
#include <cmath>

using namespace rapt;
using namespace rapt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto how = audio::readExtraction(std::string_view(reinterpret_cast<const char *>(data), size));
  if (!how) {
    requireMessage(how.error());
    return 0;
  }
  const bool isOfWindows = how->kind == audio::Extraction::Whisper;
  if ((isOfWindows ? how->windowFrames() : 1500 / how->hop + 1) * (how->fftSize + how->bins) > 1 << 18)
    return 0; // valid, and slow
  const std::unique_ptr<audio::Extractor> features = audio::makeExtractor(*how);
  std::vector<float> samples;
  for (int i = 0; i < 1500; ++i)
    samples.push_back(float(i * i % 97) / 97);
  auto shape = features->shape(samples.size());
  if (!shape && how->kind == audio::Extraction::Gemma4) {
    requireMessage(shape.error());
    return 0;
  }
  require(bool(shape), "samples have features");
  require(!isOfWindows || (*shape)[1] >= how->windowFrames(), "a window has its frames");
  std::vector<float> values(size_t((*shape)[0] * (*shape)[1]), NAN);
  require(bool(features->run(samples, values.data())), "finite samples have features");
  for (float value : values)
    require(std::isfinite(value), "all values are there");
  return 0;
}
