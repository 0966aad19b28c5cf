// preprocessor_config.json.
#include "lib/Audio/LogMel.h"
#include <gtest/gtest.h>
#include <string>

using namespace rapt;
using namespace rapt::audio;

namespace {

const std::string type = R"("feature_extractor_type": "WhisperFeatureExtractor")", file = "preprocessor_config.json: ";

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

TEST(ExtractionFaults, Extractor) {
  auto whole = [](const char *json) {
    Expected<Extraction> how = readExtraction(json);
    return how ? "" : how.error().message;
  };
  EXPECT_EQ(whole("[]"), file + "is not a JSON object");
  EXPECT_TRUE(std::string(whole("{")).starts_with(file));
  EXPECT_EQ(whole("{}"), file + "feature_extractor_type is absent, but must be WhisperFeatureExtractor");
  EXPECT_EQ(whole(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})"),
            file + "feature_extractor_type is Wav2Vec2FeatureExtractor, which is not supported; "
                   "WhisperFeatureExtractor is");
  EXPECT_EQ(whole(R"({"feature_extractor_type": 1})"),
            file + "feature_extractor_type is 1, which is not supported; WhisperFeatureExtractor is");
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
