// The numbers of NumPy; test/Audio/make-fixtures.py made the expectations.
#include "lib/Audio/LogMel.h"
#include "lib/Audio/Decode.h"
#include "lib/Support/Json.h"
#include "test/Unit/Audio/Fixtures.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::audio;
using namespace rapt::test;

namespace {

int64_t number(const json::Value &entry, const char *key) { return *entry.find(key)->asInteger(); }
const std::string &text(const json::Value &entry, const char *key) { return *entry.find(key)->asString(); }

Expected<int64_t> framesOf(const LogMel &features, size_t count) {
  RAPT_ASSIGN_OR_RETURN(auto shape, features.shape(count));
  return shape[1];
}

void checkCase(const json::Value &entry) {
  Expected<Extraction> how = readExtraction(text(entry, "config"));
  ASSERT_TRUE(bool(how)) << how.error().message;
  Expected<Sound> sound = decode(readFixture(text(entry, "file")));
  ASSERT_TRUE(bool(sound)) << sound.error().message;
  LogMel features(*how);
  std::span<const float> samples(sound->samples);
  samples = samples.subspan(size_t(number(entry, "begin")), size_t(number(entry, "end") - number(entry, "begin")));
  Expected<int64_t> frames = framesOf(features, samples.size());
  ASSERT_TRUE(bool(frames)) << frames.error().message;
  ASSERT_EQ(*frames, number(entry, "frames"));
  ASSERT_EQ(how->bins, number(entry, "bins"));
  std::vector<float> values(size_t(how->bins * *frames), NAN);
  ASSERT_TRUE(bool(features.run(samples, values.data())));

  const json::Array &expected = *entry.find("values")->asArray();
  const int64_t given = int64_t(expected.size()) / how->bins; // frames; the others have one value
  for (int64_t bin = 0; bin < how->bins; ++bin)
    for (int64_t frame = 0; frame < *frames; ++frame) {
      const json::Value &value = frame < given ? expected[size_t(bin * given + frame)] : *entry.find("rest");
      ASSERT_NEAR(values[size_t(bin * *frames + frame)], *value.asNumber(), 1e-6) << bin << ", " << frame;
    }
}

/// Of classes whose frames are rows.
void checkFrames(const json::Value &entry) {
  Expected<Extraction> how = readExtraction(text(entry, "config"));
  ASSERT_TRUE(bool(how)) << how.error().message;
  Expected<Sound> sound = decode(readFixture(text(entry, "file")));
  ASSERT_TRUE(bool(sound)) << sound.error().message;
  const std::unique_ptr<Extractor> features = makeExtractor(*how);
  std::span<const float> samples(sound->samples);
  samples = samples.subspan(size_t(number(entry, "begin")), size_t(number(entry, "end") - number(entry, "begin")));
  auto shape = features->shape(samples.size());
  ASSERT_TRUE(bool(shape)) << shape.error().message;
  EXPECT_EQ((*shape)[0], number(entry, "frames"));
  EXPECT_EQ((*shape)[1], number(entry, "bins"));
  const json::Array &expected = *entry.find("values")->asArray();
  ASSERT_EQ(int64_t(expected.size()), (*shape)[0] * (*shape)[1]);
  std::vector<float> values(expected.size(), NAN);
  ASSERT_TRUE(bool(features->run(samples, values.data())));
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], *expected[i].asNumber(), 2e-6) << i;
}

std::string shapeFault(const Extractor &features, size_t count) {
  auto shape = features.shape(count);
  return shape ? "" : shape.error().message;
}

LogMel whisper() {
  return LogMel(*readExtraction(R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 128})"));
}

} // namespace

TEST(LogMel, NumbersOfNumPy) {
  Expected<json::Value> root = json::parse(readFixture("expected.json"));
  ASSERT_TRUE(bool(root));
  const json::Array &cases = *root->find("features")->asArray();
  EXPECT_EQ(cases.size(), 9u);
  for (const json::Value &entry : cases) {
    SCOPED_TRACE(text(entry, "name"));
    checkCase(entry);
  }
}

TEST(LogMel, FramesOfNumPy) {
  Expected<json::Value> root = json::parse(readFixture("expected.json"));
  ASSERT_TRUE(bool(root));
  const json::Array &cases = *root->find("frames")->asArray();
  EXPECT_EQ(cases.size(), 4u);
  for (const json::Value &entry : cases) {
    SCOPED_TRACE(text(entry, "name"));
    checkFrames(entry);
  }
}

TEST(LogMel, LengthsOfGemma4) {
  const auto features = makeExtractor(*readExtraction(R"({"feature_extractor_type": "Gemma4AudioFeatureExtractor"})"));
  EXPECT_EQ(shapeFault(*features, 0), "the sound has 0 samples, but a frame of it needs 161");
  EXPECT_EQ(shapeFault(*features, 1), "the sound has 1 sample, but a frame of it needs 161");
  EXPECT_EQ(shapeFault(*features, 160), "the sound has 160 samples, but a frame of it needs 161");
  for (auto [count, frames] : {std::pair(161, 1), {320, 1}, {321, 2}, {16000, 99}, {480000, 2999}})
    EXPECT_EQ((*features->shape(size_t(count)))[0], frames) << count;
  EXPECT_EQ(shapeFault(*features, 480001),
            "the sound of 480001 samples is too long for one run: at most 480000 samples");
  const auto samples =
      makeExtractor(*readExtraction(R"({"feature_extractor_type": "Gemma4UnifiedAudioFeatureExtractor"})"));
  EXPECT_EQ(shapeFault(*samples, 0), "the sound has no samples");
  for (auto [count, frames] : {std::pair(1, 1), {640, 1}, {641, 2}, {480001, 751}})
    EXPECT_EQ((*samples->shape(size_t(count)))[0], frames) << count;
  EXPECT_EQ(shapeFault(*samples, size_t(mostSamples) + 1),
            "the sound of 1073741825 samples is too long for one run: at most 1073741824 samples");
}

TEST(LogMel, Silence) {
  std::vector<float> silence(100), values(128 * 3000);
  ASSERT_TRUE(bool(whisper().run(silence, values.data())));
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float value) { return value == -1.5f; }));
}

/// The loudest sound that floats can have is still finite in double.
TEST(LogMel, Loudest) {
  std::vector<float> square, values(128 * 3000);
  for (int i = 0; i < 16000; ++i)
    square.push_back(i / 20 % 2 ? 3.4e38f : -3.4e38f);
  ASSERT_TRUE(bool(whisper().run(square, values.data())));
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }));
}

TEST(LogMel, FramesFollowTheLength) {
  LogMel features = whisper();
  EXPECT_EQ(*framesOf(features, 0), 3000);
  EXPECT_EQ(*framesOf(features, 480159), 3000);
  EXPECT_EQ(*framesOf(features, 480160), 3001);
  EXPECT_EQ(*framesOf(features, size_t(mostSamples)), mostSamples / 160);
}

TEST(LogMel, Faults) {
  LogMel features = whisper();
  std::vector<float> samples(9), values(128 * 3000);
  samples[7] = NAN;
  EXPECT_EQ(features.run(samples, values.data()).error().message, "sample 7 is not finite");
  samples[7] = -INFINITY;
  EXPECT_EQ(features.run(samples, values.data()).error().message, "sample 7 is not finite");
  EXPECT_EQ(framesOf(features, size_t(mostSamples) + 1).error().message,
            "the sound of 1073741825 samples is too long for one run: at most 1073741824 samples");
  EXPECT_FALSE(bool(framesOf(features, SIZE_MAX)));
  LogMel close(*readExtraction(
      R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 1024, "hop_length": 10})"));
  EXPECT_EQ(*framesOf(close, 20971529), 2097152);
  EXPECT_EQ(framesOf(close, 20971530).error().message,
            "the sound of 20971530 samples is too long for one run: at most 20971520 samples");
}

TEST(MelFilters, WeightsOfTheDefinition) {
  std::vector<MelFilter> filters = makeMelFilters(80, 400, 16000);
  ASSERT_EQ(filters.size(), 80u);
  // Corners 0, 37.24, 74.48 Hz over frequencies of 40 Hz: only the second is inside.
  EXPECT_EQ(filters[0].first, 1);
  ASSERT_EQ(filters[0].weights.size(), 1u);
  EXPECT_NEAR(filters[0].weights[0], 0.0248626, 1e-7); // transformers' matrix [1, 0]
  for (const MelFilter &filter : filters) {
    EXPECT_FALSE(filter.weights.empty());
    EXPECT_LE(filter.first + int64_t(filter.weights.size()), 201);
  }
}
