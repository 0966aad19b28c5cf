//===- Resample.cpp --------------------------------------------------------===//
#include "lib/Audio/Resample.h"
#include "lib/Audio/Libraries.h"
#include <algorithm>
#include <cmath>

namespace rapt::audio {

Status checkResampler() {
  RAPT_RETURN_IF_ERROR(openSampleRate());
  return {};
}

Expected<Sound> resample(Sound sound, int64_t rate) {
  if (sound.rate == rate)
    return sound;
  const std::string rates = std::to_string(sound.rate) + " to " + std::to_string(rate) + " Hz";
  if (std::min(sound.rate, rate) < leastRate || std::max(sound.rate, rate) > mostRate)
    return Error{"the sound cannot be resampled from " + rates + ": a rate is " + std::to_string(leastRate) + " to " +
                 std::to_string(mostRate)};
  RAPT_ASSIGN_OR_RETURN(const SampleRateLibrary *library, openSampleRate());
  const double ratio = double(rate) / double(sound.rate);
  if (!library->isValidRatio(ratio))
    return Error{"the sound cannot be resampled from " + rates + ": the rates differ by more than a factor of 256"};
  const int64_t count = int64_t(sound.samples.size());
  if (count > mostSamples || (count * rate + sound.rate - 1) / sound.rate > mostSamples)
    return Error{"the sound of " + std::to_string(count) + " samples is too long to be resampled from " + rates +
                 ": at most " + std::to_string(mostSamples) + " samples"};
  Sound result{rate, std::vector<float>(size_t((count * rate + sound.rate - 1) / sound.rate))};
  SRC_DATA data = {};
  data.data_in = sound.samples.data(), data.input_frames = long(count);
  data.data_out = result.samples.data(), data.output_frames = long(result.samples.size());
  data.src_ratio = ratio;
  if (int problem = count > 0 ? library->run(&data, SRC_SINC_MEDIUM_QUALITY, 1) : 0)
    return Error{"the sound cannot be resampled from " + rates + ": " + library->text(problem)};
  if (!std::all_of(result.samples.begin(), result.samples.end(), [](float sample) { return std::isfinite(sample); }))
    return Error{"the sound cannot be resampled from " + rates + ": a sample is not finite afterwards"};
  return result;
}

} // namespace rapt::audio
