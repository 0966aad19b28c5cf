#include "lib/Audio/Resample.h"
#include "lib/Audio/Libraries.h"
#include "test/Unit/Audio/Fixtures.h"

using namespace rapt;
using namespace rapt::audio;
using namespace rapt::test;

/// The window of the filter, which reaches over the ends, makes the first and last samples others.
static void expectSine(const Sound &sound, int64_t margin) {
  Sound expected = sine(sound.rate, int64_t(sound.samples.size()));
  for (size_t i = size_t(margin); i + size_t(margin) < sound.samples.size(); ++i)
    ASSERT_NEAR(sound.samples[i], expected.samples[i], 1e-3) << i;
}

TEST(Resample, KeepsASine) {
  for (int64_t from : {8000, 22050, 44100, 48000, 96000}) {
    SCOPED_TRACE(from);
    Expected<Sound> result = resample(sine(from, from / 2), 16000);
    ASSERT_TRUE(bool(result)) << result.error().message;
    EXPECT_EQ(result->rate, 16000);
    EXPECT_EQ(result->samples.size(), 8000u);
    expectSine(*result, 400);
  }
}

TEST(Resample, LengthIsRoundedUp) {
  for (auto [count, length] : {std::pair(0, 0), std::pair(1, 1), std::pair(441, 160), std::pair(442, 161)}) {
    Expected<Sound> result = resample(sine(44100, count), 16000);
    ASSERT_TRUE(bool(result));
    EXPECT_EQ(result->samples.size(), size_t(length));
  }
}

TEST(Resample, EqualRatesChangeNothing) {
  Sound sound = sine(16000, 100);
  sound.samples[5] = 3e38f;
  Expected<Sound> result = resample(sound, 16000);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->samples, sound.samples);
}

TEST(Resample, Faults) {
  auto problem = [](Sound sound, int64_t rate) {
    Expected<Sound> result = resample(std::move(sound), rate);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(problem(sine(1000, 10), 257000),
            "the sound cannot be resampled from 1000 to 257000 Hz: the rates differ by more than a factor of 256");
  EXPECT_EQ(problem(sine(1000, 10), 256000), "");
  EXPECT_EQ(problem(sine(999, 10), 1000),
            "the sound cannot be resampled from 999 to 1000 Hz: a rate is 1000 to 768000");
  EXPECT_EQ(problem(sine(1000, 10), 768001),
            "the sound cannot be resampled from 1000 to 768001 Hz: a rate is 1000 to 768000");
  EXPECT_EQ(problem(sine(1000, 4194305), 256000), "the sound of 4194305 samples is too long to be resampled from 1000 "
                                                  "to 256000 Hz: at most 1073741824 samples");
  Sound loud{8000, {}};
  for (int i = 0; i < 1000; ++i)
    loud.samples.push_back(i / 9 % 2 ? 3.4e38f : -3.4e38f);
  EXPECT_EQ(problem(loud, 16000),
            "the sound cannot be resampled from 8000 to 16000 Hz: a sample is not finite afterwards");
}

TEST(Libraries, AreThere) {
  EXPECT_TRUE(bool(openSoundFile()));
  EXPECT_TRUE(bool(openSampleRate()));
}

TEST(Libraries, FaultsSayWhatToInstall) {
  void *address = nullptr;
  const Symbol symbols[] = {{"sf_open_virtual", &address}, {"sf_make_coffee", &address}};
  Status absent = openLibrary("libnone.so.7", "libnone7", symbols);
  ASSERT_FALSE(bool(absent));
  EXPECT_EQ(absent.error().message, "sound needs libnone.so.7, which cannot be opened; install it (Debian: libnone7)");
  Status old = openLibrary("libsndfile.so.1", "libsndfile1", symbols);
  ASSERT_FALSE(bool(old));
  EXPECT_EQ(old.error().message,
            "libsndfile.so.1 has no function sf_make_coffee, so it is too old; install it (Debian: libsndfile1)");
}
