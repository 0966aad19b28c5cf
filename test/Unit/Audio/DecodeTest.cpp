// Files of several formats, and files that are refused in one line.
#include "lib/Audio/Decode.h"
#include "test/Audio/Leaks.h"
#include "test/Unit/Audio/Fixtures.h"
#include <random>

using namespace rapt;
using namespace rapt::audio;
using namespace rapt::test;

namespace {

std::string problemOf(std::string_view file, int64_t most = mostSamples) {
  Expected<Sound> sound = decode(file, most);
  return sound ? "" : sound.error().message;
}

Sound soundOf(std::string_view file) {
  Expected<Sound> sound = decode(file);
  EXPECT_TRUE(bool(sound)) << sound.error().message;
  return sound ? *sound : Sound();
}

std::string floats(std::initializer_list<float> numbers) {
  std::string data;
  for (float number : numbers)
    data += bytesOf(number);
  return data;
}

const std::string failed = "the sound file cannot be decoded: ";

} // namespace

TEST(Decode, Integers) {
  Wav wav;
  for (int sample : {0, 1, -1, 32767, -32768})
    wav.data += littleEndian(uint64_t(int64_t(sample)), 2);
  Sound sound = soundOf(wav.file());
  EXPECT_EQ(sound.rate, 16000);
  EXPECT_EQ(sound.samples, (std::vector<float>{0, 1 / 32768.0f, -1 / 32768.0f, 32767 / 32768.0f, -1}));

  Wav wide{.rate = 44100, .bits = 24};
  for (int sample : {1, -8388608, 8388607})
    wide.data += littleEndian(uint64_t(int64_t(sample)), 3);
  sound = soundOf(wide.file());
  EXPECT_EQ(sound.rate, 44100);
  EXPECT_EQ(sound.samples, (std::vector<float>{1 / 8388608.0f, -1, 8388607 / 8388608.0f}));

  EXPECT_EQ(soundOf(Wav{.bits = 8, .data = std::string("\x80\0\xC0", 3)}.file()).samples,
            (std::vector<float>{0, -1, 0.5f}));
}

TEST(Decode, Floats) {
  Wav wav{.format = 3, .bits = 32, .data = floats({0.25f, -3.5f, 1e-30f})};
  EXPECT_EQ(soundOf(wav.file()).samples, (std::vector<float>{0.25f, -3.5f, 1e-30f}));
}

TEST(Decode, MeanOfChannels) {
  Wav wav{.format = 3, .channels = 2, .bits = 32, .data = floats({1, 0, -0.5f, -0.25f, 3e38f, 3e38f})};
  EXPECT_EQ(soundOf(wav.file()).samples, (std::vector<float>{0.5f, -0.375f, 3e38f}));
  Wav many{.channels = 64};
  for (int i = 0; i < 64 * 5000; ++i)
    many.data += littleEndian(i % 64 == 63 ? 1 << 14 : 0, 2);
  EXPECT_EQ(soundOf(many.file()).samples, std::vector<float>(5000, 0.5f / 64));
}

TEST(Decode, Compressed) {
  Sound original = soundOf(readFixture("sweep.wav"));
  ASSERT_EQ(original.samples.size(), 1600u);
  EXPECT_EQ(soundOf(readFixture("sweep.flac")).samples, original.samples);
  for (const char *name : {"sweep.ogg", "sweep.mp3"}) {
    SCOPED_TRACE(name);
    Sound sound = soundOf(readFixture(name));
    EXPECT_EQ(sound.rate, 16000);
    ASSERT_EQ(sound.samples.size(), 1600u);
    double error = 0, energy = 0;
    for (size_t i = 0; i < 1600; ++i) {
      error += std::pow(sound.samples[i] - original.samples[i], 2);
      energy += std::pow(original.samples[i], 2);
    }
    EXPECT_LT(error, 0.1 * energy);
  }
}

/// Programs that write to a pipe leave the largest length.
TEST(Decode, LengthOfAStream) {
  Wav wav{.data = "abcdef", .claimed = 0xFFFFFFFF};
  EXPECT_EQ(soundOf(wav.file()).samples.size(), 3u);
  wav.claimed = 0x7FFFFFF0;
  EXPECT_EQ(soundOf(wav.file()).samples.size(), 3u);
}

TEST(DecodeFaults, NotASound) {
  EXPECT_EQ(problemOf(""), "the sound file is empty");
  EXPECT_TRUE(problemOf("GIF89a and more").starts_with(failed + "Format not "));
}

/// A dump header for samples of 16 bits and 62.5 us, and one packet.
TEST(DecodeFaults, MidiSampleDump) {
  std::string header("\xF0\x7E\0\1\0\0\x10\x24\x74\3\x20\0\0\0\0\0\x20\0\0\0\xF7", 21), packet("\xF0\x7E\0\2\0", 5);
  std::string body(120, '\0');
  EXPECT_EQ(problemOf(header + packet + body + "\x7C\xF7"),
            "the sound file is a MIDI sample dump, which is not supported");
}

TEST(DecodeFaults, NoSamples) { EXPECT_EQ(problemOf(Wav().file()), "the sound file has no samples"); }

TEST(DecodeFaults, Header) {
  const std::string data(65 * 2, '\1');
  EXPECT_EQ(problemOf(Wav{.channels = 65, .data = data}.file()),
            "the sound file has 65 channels, but must have 1 to 64");
  EXPECT_EQ(problemOf(Wav{.rate = 999, .data = data}.file()),
            "the sound file has a rate of 999 Hz, but must have 1000 to 768000");
  EXPECT_EQ(problemOf(Wav{.rate = 768001, .data = data}.file()),
            "the sound file has a rate of 768001 Hz, but must have 1000 to 768000");
  EXPECT_EQ(problemOf(Wav{.rate = 768000, .data = data}.file()), "");
  EXPECT_EQ(problemOf(Wav{.rate = 1000, .data = data}.file()), "");
  EXPECT_NE(problemOf(Wav{.channels = 0, .data = data}.file()).find(failed), std::string::npos);
  EXPECT_NE(problemOf(Wav{.rate = 0x80000000, .data = data}.file()), "");
}

TEST(DecodeFaults, NotFinite) {
  Wav wav{.format = 3, .channels = 2, .bits = 32, .data = floats({1, 0, 0, NAN})};
  EXPECT_EQ(problemOf(wav.file()), "sample 1 of the sound file is not finite");
  wav.data = floats({INFINITY, -INFINITY});
  EXPECT_EQ(problemOf(wav.file()), "sample 0 of the sound file is not finite");
}

/// A FLAC header of 2^36 - 1 samples at 655,350 Hz, and one of 25 hours: nothing is decoded or allocated.
TEST(DecodeFaults, ClaimedLength) {
  std::string flac = readFixture("sweep.flac");
  auto claim = [&](uint64_t rate, uint64_t samples) {
    uint64_t packed = rate << 44 | uint64_t(15) << 36 | samples; // one channel of 16 bits
    for (int i = 0; i < 8; ++i)
      flac[size_t(18 + i)] = char(packed >> 8 * (7 - i));
    return problemOf(flac);
  };
  EXPECT_EQ(claim(16000, 1600), "");
  EXPECT_EQ(claim(655350, (uint64_t(1) << 36) - 1),
            "the sound file of 68719476735 samples at 655350 Hz is too long: at most 24 hours and 1073741824 samples");
  EXPECT_EQ(claim(655350, 1073741825),
            "the sound file of 1073741825 samples at 655350 Hz is too long: at most 24 hours and 1073741824 samples");
  EXPECT_EQ(claim(1000, 86400001),
            "the sound file of 86400001 samples at 1000 Hz is too long: at most 24 hours and 1073741824 samples");
  EXPECT_EQ(claim(16000, 1073741824), "the sound file is truncated: 1600 of 1073741824 samples can be decoded");
}

/// A stream does not tell its length: it is counted while it is read.
TEST(DecodeFaults, UnknownLength) {
  std::string flac = readFixture("sweep.flac");
  flac[21] = char(flac[21] & 0xF0);
  flac.replace(22, 4, 4, '\0');
  EXPECT_EQ(problemOf(flac, 1600), "");
  EXPECT_EQ(problemOf(flac, 1599),
            "the sound file of more than 1599 samples at 16000 Hz is too long: at most 24 hours and 1599 samples");
}

/// Any beginning of a file gives an error, or those samples that are there.
TEST(DecodeFaults, Truncated) {
  for (const char *name : {"sweep.wav", "sweep.flac", "sweep.ogg"}) {
    SCOPED_TRACE(name);
    std::string file = readFixture(name);
    for (size_t bytes = 0; bytes < file.size(); bytes += bytes < 300 ? 1 : 37) {
      Expected<Sound> sound = decode(std::string_view(file).substr(0, bytes));
      if (!sound)
        ASSERT_NE(sound.error().message, "");
      else
        ASSERT_TRUE(name == std::string("sweep.wav") && sound->samples.size() == (bytes - 44) / 2) << bytes;
    }
  }
}

TEST(DecodeFaults, Reasons) {
  std::string flac = readFixture("sweep.flac"), ogg = readFixture("sweep.ogg");
  EXPECT_EQ(problemOf(std::string_view(flac).substr(0, flac.size() - 100)), failed + "flac decoder lost sync");
  EXPECT_EQ(problemOf(std::string_view(ogg).substr(0, ogg.size() / 2)),
            failed + "Supported file format but file is malformed");
}

/// A changed byte gives an error or samples, never more.
TEST(DecodeFaults, Damaged) {
  for (const char *name : {"sweep.wav", "sweep.flac", "sweep.ogg"}) {
    std::string file = readFixture(name);
    for (size_t at = 0; at < file.size(); at += at < 200 ? 1 : 61)
      for (int change : {1, 0x80, 0xFF}) {
        std::string damaged = file;
        damaged[at] = char(damaged[at] ^ change);
        if (Expected<Sound> sound = decode(damaged); sound) {
          ASSERT_TRUE(!sound->samples.empty() && sound->rate >= leastRate && sound->rate <= mostRate);
        }
      }
  }
}

TEST(DecodeFaults, RandomBytes) {
  std::mt19937 random(1);
  for (const char *begin : {"", "RIFF", "RIFX", "RF64", "fLaC", "OggS", "FORM", ".snd", "caff"})
    for (int round = 0; round < 20; ++round) {
      std::string file = begin;
      for (int i = 0; i < 1000; ++i)
        file += char(random());
      Expected<Sound> sound = decode(file);
      if (!sound) {
        ASSERT_EQ(sound.error().message.find('\n'), std::string::npos);
        ASSERT_NE(sound.error().message, "");
      }
    }
}
