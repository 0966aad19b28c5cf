// preprocessor_config.json.
#include "lib/Audio/LogMel.h"
#include <gtest/gtest.h>
#include <string>

using namespace rapt;
using namespace rapt::audio;

namespace {

const std::string type = R"("feature_extractor_type": "WhisperFeatureExtractor")", file = "preprocessor_config.json: ";
const std::string classes = "WhisperFeatureExtractor, Gemma4AudioFeatureExtractor, Gemma4UnifiedAudioFeatureExtractor";

std::string problem(const std::string &members) {
  Expected<Extraction> how = readExtraction("{" + type + ", " + members + "}");
  return how ? "" : how.error().message;
}

} // namespace

TEST(Extraction, Defaults) {
  Expected<Extraction> how = readExtraction("{" + type + "}");
  ASSERT_TRUE(bool(how));
  EXPECT_EQ(how->bins, 80);
  EXPECT_EQ(how->rate, 16000);
  EXPECT_EQ(how->hop, 160);
  EXPECT_EQ(how->fftSize, 400);
  EXPECT_EQ(how->windowSamples(), 480000);
  EXPECT_EQ(how->windowFrames(), 3000);
}

TEST(Extraction, Members) {
  Expected<Extraction> how =
      readExtraction("{" + type + R"(, "feature_size": 128, "sampling_rate": 8000, "hop_length": 100,
    "n_fft": 512, "chunk_length": 10, "n_samples": 80000, "nb_max_frames": 800, "padding_side": "right",
    "padding_value": 0.0, "return_attention_mask": true, "dither": 0, "do_normalize": false, "mel_filters": [[0.0]],
    "processor_class": "WhisperProcessor", "unknown": null, "other": false})");
  ASSERT_TRUE(bool(how)) << how.error().message;
  EXPECT_EQ(how->bins, 128);
  EXPECT_EQ(how->rate, 8000);
  EXPECT_EQ(how->hop, 100);
  EXPECT_EQ(how->fftSize, 512);
  EXPECT_EQ(how->windowSamples(), 80000);
  EXPECT_EQ(how->windowFrames(), 800);
}

/// The settings that are published with gemma4 have the class's defaults.
TEST(Extraction, Gemma4) {
  Expected<Extraction> how = readExtraction(R"({"feature_extractor_type": "Gemma4AudioFeatureExtractor"})");
  ASSERT_TRUE(bool(how)) << how.error().message;
  EXPECT_EQ(how->kind, Extraction::Gemma4);
  EXPECT_EQ(how->bins, 128);
  EXPECT_EQ(how->frame, 320);
  EXPECT_EQ(how->hop, 160);
  EXPECT_EQ(how->fftSize, 512);
  EXPECT_EQ(how->longest, 480000);
  how = readExtraction(R"({"feature_extractor_type": "Gemma4UnifiedAudioFeatureExtractor"})");
  ASSERT_TRUE(bool(how)) << how.error().message;
  EXPECT_EQ(how->kind, Extraction::Samples);
  EXPECT_EQ(how->bins, 640);
  EXPECT_EQ(how->longest, 0);
}

TEST(ExtractionFaults, Gemma4) {
  auto fault = [](const std::string &members, const char *name = "Gemma4AudioFeatureExtractor") {
    Expected<Extraction> how =
        readExtraction("{\"feature_extractor_type\": \"" + std::string(name) + "\", " + members + "}");
    return how ? "" : how.error().message;
  };
  const std::string above = ", but must be a number above 0, at most ";
  EXPECT_EQ(fault(R"("frame_length_ms": 0)"), file + "frame_length_ms is 0" + above + "1000");
  EXPECT_EQ(fault(R"("hop_length_ms": "10")"), file + "hop_length_ms is \"10\"" + above + "1000");
  EXPECT_EQ(fault(R"("mel_floor": -1)"), file + "mel_floor is -1" + above + "1");
  EXPECT_EQ(fault(R"("min_frequency": -1)"), file + "min_frequency is -1, but must be a frequency from 0 to 768000 Hz");
  EXPECT_EQ(fault(R"("min_frequency": 8000)"), file + "min_frequency is not below max_frequency");
  EXPECT_EQ(fault(R"("per_bin_mean": 1)"), file + "per_bin_mean is 1, but must be a list of numbers");
  EXPECT_EQ(fault(R"("per_bin_stddev": [0])"), file + "per_bin_stddev is [0], but must be a list of numbers above 0");
  EXPECT_EQ(fault(R"("per_bin_mean": [1, 2])"), file + "per_bin_mean has 2 numbers, but feature_size is 128");
  EXPECT_EQ(fault(R"("frame_length": 512)"),
            file + "frame_length is 512, but must be frame_length_ms in samples, which is 320");
  EXPECT_EQ(fault(R"("hop_length": 80)"),
            file + "hop_length is 80, but must be hop_length_ms in samples, which is 160");
  EXPECT_EQ(fault(R"("fft_length": 1024)"),
            file + "fft_length is 1024, but must be the power of two from frame_length on, which is 512");
  EXPECT_EQ(fault(R"("frame_length_ms": 0.01)"),
            file +
                "a frame has 0 samples and the next one begins 160 later, but frames must have 2 to 16384, and begin "
                "at least one later");
  for (const char *key : {"preemphasis", "dither"})
    EXPECT_EQ(fault("\"" + std::string(key) + "\": 0.5"), file + key + " is 0.5, but must be 0");
  EXPECT_EQ(fault(R"("fft_overdrive": true)"), file + "fft_overdrive is true, but must be false");
  EXPECT_EQ(fault(R"("input_scale_factor": 2)"), file + "input_scale_factor is 2, but must be 1");
  EXPECT_EQ(fault(R"("feature_size": 640, "audio_samples_per_token": 320)", "Gemma4UnifiedAudioFeatureExtractor"),
            file + "audio_samples_per_token is 320, but must be feature_size, which is 640");
}

TEST(ExtractionFaults, Extractor) {
  auto whole = [](const char *json) {
    Expected<Extraction> how = readExtraction(json);
    return how ? "" : how.error().message;
  };
  EXPECT_EQ(whole("[]"), file + "is not a JSON object");
  EXPECT_TRUE(std::string(whole("{")).starts_with(file));
  EXPECT_EQ(whole("{}"), file + "feature_extractor_type is absent, but must be one of " + classes);
  EXPECT_EQ(whole(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})"),
            file + "feature_extractor_type is Wav2Vec2FeatureExtractor, which is not supported; supported are " +
                classes);
  EXPECT_EQ(whole(R"({"feature_extractor_type": 1})"),
            file + "feature_extractor_type is 1, which is not supported; supported are " + classes);
}

TEST(ExtractionFaults, Ranges) {
  EXPECT_EQ(problem(R"("feature_size": 0)"), file + "feature_size is 0, but must be an integer from 1 to 1024");
  EXPECT_EQ(problem(R"("feature_size": 1025)"), file + "feature_size is 1025, but must be an integer from 1 to 1024");
  EXPECT_EQ(problem(R"("feature_size": "80")"), file + "feature_size is \"80\", but must be an integer from 1 to 1024");
  EXPECT_EQ(problem(R"("sampling_rate": 999)"),
            file + "sampling_rate is 999, but must be an integer from 1000 to 768000");
  EXPECT_EQ(problem(R"("hop_length": 0)"), file + "hop_length is 0, but must be an integer from 1 to 768000");
  EXPECT_EQ(problem(R"("n_fft": 16385)"), file + "n_fft is 16385, but must be an integer from 2 to 16384");
  EXPECT_EQ(problem(R"("n_fft": 401)"), file + "n_fft is 401, but must be even");
  EXPECT_EQ(problem(R"("chunk_length": 3601)"), file + "chunk_length is 3601, but must be an integer from 1 to 3600");
  EXPECT_EQ(problem(R"("chunk_length": 1.5)"), file + "chunk_length is 1.5, but must be an integer from 1 to 3600");
}

TEST(ExtractionFaults, Together) {
  EXPECT_EQ(problem(R"("sampling_rate": 1000, "chunk_length": 1, "n_fft": 2000)"),
            file + "the window has 1000 samples, but must have more than half of n_fft 2000");
  EXPECT_EQ(problem(R"("sampling_rate": 1000, "chunk_length": 1, "n_fft": 1998)"), "");
  EXPECT_EQ(problem(R"("sampling_rate": 1000, "chunk_length": 1, "hop_length": 1001)"),
            file + "the window has 1000 samples, but must have hop_length 1001 at least");
  EXPECT_EQ(problem(R"("feature_size": 1024, "hop_length": 1)"),
            file + "a window has 480000 frames of 1024 bins, but must have at most 67108864 values");
  EXPECT_EQ(problem(R"("n_samples": 480001)"),
            file + "n_samples is 480001, but must be chunk_length * sampling_rate, which is 480000");
  EXPECT_EQ(problem(R"("n_samples": "480000")"),
            file + "n_samples is \"480000\", but must be chunk_length * sampling_rate, which is 480000");
  EXPECT_EQ(problem(R"("nb_max_frames": 1500)"),
            file + "nb_max_frames is 1500, but must be n_samples / hop_length, which is 3000");
}

TEST(ExtractionFaults, OneValue) {
  EXPECT_EQ(problem(R"("padding_side": "left")"), file + "padding_side is \"left\", but must be \"right\"");
  EXPECT_EQ(problem(R"("padding_value": 0.5)"), file + "padding_value is 0.5, but must be 0");
  EXPECT_EQ(problem(R"("dither": 1e-05)"), file + "dither is 1e-05, but must be 0");
  EXPECT_EQ(problem(R"("do_normalize": true)"), file + "do_normalize is true, but must be false");
  EXPECT_EQ(problem(R"("do_normalize": 0)"), file + "do_normalize is 0, but must be false");
  EXPECT_EQ(problem(R"("mel_filters": 3)"), file + "mel_filters is 3, but must be a list of lists");
  EXPECT_EQ(problem(R"("return_attention_mask": 1)"), file + "return_attention_mask is 1, but must be true or false");
}

TEST(ExtractionFaults, Unknown) {
  EXPECT_EQ(problem(R"("fmax": 7600)"), file + "fmax is 7600, which could change the numbers and is not supported");
}
