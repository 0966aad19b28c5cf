//===- ProcessorReader.cpp - The settings of extractors of features -------===//
#include "lib/Audio/LogMel.h"
#include "lib/Audio/Sound.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/Json.h"
#include <bit>
#include <cmath>
#include <functional>
#include <map>

namespace rapt::audio {
namespace {

const std::string fileName = "preprocessor_config.json";

constexpr int64_t mostBins = 1024, mostFftSize = 16384, mostWindowSeconds = 3600;
constexpr int64_t mostWindowValues = int64_t(1) << 26; // of one window's features
constexpr int64_t mostOfGemma4 = 480000;               // samples, of which the class reads no more

/// What a file has that the settings follow from.
struct Read : Extraction {
  double frameMilliseconds = 20, hopMilliseconds = 10;
};

using Where = const std::string &;
using Setter = std::function<Status(Read &, const json::Value &, Where)>;

Error mustBe(Where where, const json::Value &value, const std::string &expected) {
  return Error{where + " is " + json::printable(json::write(value), 60) + ", but must be " + expected};
}

Setter integer(int64_t Extraction::*member, int64_t least, int64_t most) {
  return [=](Read &how, const json::Value &value, Where where) -> Status {
    std::optional<int64_t> number = value.asInteger();
    if (!number || *number < least || *number > most)
      return mustBe(where, value, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    how.*member = *number;
    return {};
  };
}

/// A member that must have one value, as no other is supported.
Setter exactly(json::Value expected) {
  return [=](Read &, const json::Value &value, Where where) -> Status {
    bool numbers = value.asNumber() && value.asNumber() == expected.asNumber();
    if (numbers || json::write(value) == json::write(expected))
      return {};
    return mustBe(where, value, json::write(expected));
  };
}

Status ignore(Read &, const json::Value &, Where) { return {}; }

Status readFilters(Read &, const json::Value &value, Where where) {
  return value.isArray() ? Status() : Status(mustBe(where, value, "a list of lists"));
}

Status readFlag(Read &, const json::Value &value, Where where) {
  return value.asBool() ? Status() : Status(mustBe(where, value, "true or false"));
}

Setter number(double Read::*member, double most, bool mayBeZero, std::string expected) {
  return [=](Read &how, const json::Value &value, Where where) -> Status {
    std::optional<double> number = value.asNumber();
    if (!number || !(*number >= 0 && *number <= most) || (*number == 0 && !mayBeZero))
      return mustBe(where, value, expected);
    how.*member = *number;
    return {};
  };
}

Setter positive(double Read::*member, int64_t most) {
  return number(member, double(most), /*mayBeZero=*/false, "a number above 0, at most " + std::to_string(most));
}

Setter frequency(double Read::*member) {
  return number(member, mostRate, /*mayBeZero=*/true, "a frequency from 0 to " + std::to_string(mostRate) + " Hz");
}

/// A number for each bin, which checkTogether counts.
Setter listOf(std::vector<double> Extraction::*member, bool arePositive) {
  return [=](Read &how, const json::Value &value, Where where) -> Status {
    const json::Array *list = value.asArray();
    const Status wrong =
        mustBe(where, value, std::string("a list of ") + (arePositive ? "numbers above 0" : "numbers"));
    if (!list || list->size() > size_t(mostBins))
      return wrong;
    (how.*member).clear();
    for (const json::Value &one : *list) {
      std::optional<double> number = one.asNumber();
      if (!number || !std::isfinite(float(*number)) || (arePositive && !(float(*number) > 0)))
        return wrong;
      (how.*member).push_back(*number);
    }
    return {};
  };
}

using Setters = std::map<std::string_view, Setter>;

/// n_samples and nb_max_frames follow from the others and are checked with all of them.
const Setters &whisper() {
  static const Setters all = {{"feature_size", integer(&Extraction::bins, 1, mostBins)},
                              {"sampling_rate", integer(&Extraction::rate, leastRate, mostRate)},
                              {"hop_length", integer(&Extraction::hop, 1, mostRate)},
                              {"n_fft", integer(&Extraction::fftSize, 2, mostFftSize)},
                              {"chunk_length", integer(&Extraction::windowSeconds, 1, mostWindowSeconds)},
                              {"padding_side", exactly(json::Value("right"))},
                              {"padding_value", exactly(json::Value(0))},
                              {"dither", exactly(json::Value(0))},
                              {"do_normalize", exactly(json::Value(false))},
                              {"return_attention_mask", readFlag},
                              {"mel_filters", readFilters},
                              {"feature_extractor_type", ignore},
                              {"n_samples", ignore},
                              {"nb_max_frames", ignore}};
  return all;
}

/// frame_length, hop_length and fft_length follow from the others.
const Setters &gemma4() {
  static const Setters all = {{"feature_size", integer(&Extraction::bins, 1, mostBins)},
                              {"sampling_rate", integer(&Extraction::rate, leastRate, mostRate)},
                              {"frame_length_ms", positive(&Read::frameMilliseconds, 1000)},
                              {"hop_length_ms", positive(&Read::hopMilliseconds, 1000)},
                              {"min_frequency", frequency(&Extraction::leastHertz)},
                              {"max_frequency", frequency(&Extraction::mostHertz)},
                              {"mel_floor", positive(&Read::floor, 1)},
                              {"per_bin_mean", listOf(&Extraction::mean, /*arePositive=*/false)},
                              {"per_bin_stddev", listOf(&Extraction::deviation, /*arePositive=*/true)},
                              {"padding_side", exactly(json::Value("right"))},
                              {"padding_value", exactly(json::Value(0))},
                              {"dither", exactly(json::Value(0))},
                              {"preemphasis", exactly(json::Value(0))},
                              {"fft_overdrive", exactly(json::Value(false))},
                              {"input_scale_factor", exactly(json::Value(1))},
                              {"return_attention_mask", readFlag},
                              {"feature_extractor_type", ignore},
                              {"frame_length", ignore},
                              {"hop_length", ignore},
                              {"fft_length", ignore}};
  return all;
}

const Setters &samples() {
  static const Setters all = {{"feature_size", integer(&Extraction::bins, 1, mostRate)},
                              {"sampling_rate", integer(&Extraction::rate, leastRate, mostRate)},
                              {"padding_side", exactly(json::Value("right"))},
                              {"padding_value", exactly(json::Value(0))},
                              {"return_attention_mask", readFlag},
                              {"feature_extractor_type", ignore},
                              {"audio_samples_per_token", ignore}};
  return all;
}

struct Class {
  std::string_view name;
  Extraction::Kind kind;
  const Setters &(*setters)();
};

constexpr Class classes[] = {{"WhisperFeatureExtractor", Extraction::Whisper, whisper},
                             {"Gemma4AudioFeatureExtractor", Extraction::Gemma4, gemma4},
                             {"Gemma4UnifiedAudioFeatureExtractor", Extraction::Samples, samples}};

Extraction defaultsOf(Extraction::Kind kind) {
  switch (kind) {
  case Extraction::Whisper:
    return {};
  case Extraction::Gemma4:
    return {.kind = kind, .bins = 128, .longest = mostOfGemma4};
  case Extraction::Samples:
    return {.kind = kind, .bins = 640};
  }
  __builtin_unreachable();
}

Expected<const Class *> classOf(const json::Value &root) {
  const json::Value *type = root.find("feature_extractor_type");
  std::string name = !type || type->isNull() ? "" : type->asString() ? *type->asString() : json::write(*type), known;
  for (const Class &one : classes) {
    if (name == one.name)
      return &one;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  if (name.empty())
    return Error{fileName + ": feature_extractor_type is absent, but must be one of " + known};
  return Error{fileName + ": feature_extractor_type is " + json::printable(name, 80) +
               ", which is not supported; supported are " + known};
}

Status checkDerived(const json::Value &root, const char *key, int64_t expected, const char *rule) {
  const json::Value *value = root.find(key);
  if (!value || value->isNull() || value->asInteger() == expected)
    return {};
  return mustBe(fileName + ": " + key, *value, std::string(rule) + ", which is " + std::to_string(expected));
}

Status checkWhisper(const json::Value &root, const Extraction &how) {
  if (how.fftSize % 2)
    return Error{fileName + ": n_fft is " + std::to_string(how.fftSize) + ", but must be even"};
  const std::string window = "the window has " + std::to_string(how.windowSamples()) + " samples";
  if (how.windowSamples() <= how.fftSize / 2)
    return Error{fileName + ": " + window + ", but must have more than half of n_fft " + std::to_string(how.fftSize)};
  if (how.windowFrames() < 1)
    return Error{fileName + ": " + window + ", but must have hop_length " + std::to_string(how.hop) + " at least"};
  if (how.windowFrames() > mostWindowValues / how.bins)
    return Error{fileName + ": a window has " + std::to_string(how.windowFrames()) + " frames of " +
                 std::to_string(how.bins) + " bins, but must have at most " + std::to_string(mostWindowValues) +
                 " values"};
  Status status = checkDerived(root, "n_samples", how.windowSamples(), "chunk_length * sampling_rate");
  return status ? checkDerived(root, "nb_max_frames", how.windowFrames(), "n_samples / hop_length") : status;
}

/// The samples of so many milliseconds, rounded half to even, as Python does.
int64_t samplesOf(double milliseconds, const Read &how) {
  return int64_t(std::nearbyint(double(how.rate) * milliseconds / 1000));
}

Status checkGemma4(const json::Value &root, Read &how) {
  how.frame = samplesOf(how.frameMilliseconds, how), how.hop = samplesOf(how.hopMilliseconds, how);
  if (how.frame < 2 || how.frame > mostFftSize || how.hop < 1)
    return Error{fileName + ": a frame has " + std::to_string(how.frame) + " samples and the next one begins " +
                 std::to_string(how.hop) + " later, but frames must have 2 to " + std::to_string(mostFftSize) +
                 ", and begin at least one later"};
  how.fftSize = int64_t(std::bit_ceil(uint64_t(how.frame)));
  if (how.leastHertz >= how.mostHertz)
    return Error{fileName + ": min_frequency is not below max_frequency"};
  for (const auto *list : {&how.mean, &how.deviation})
    if (!list->empty() && int64_t(list->size()) != how.bins)
      return Error{fileName + ": " + (list == &how.mean ? "per_bin_mean" : "per_bin_stddev") + " has " +
                   std::to_string(list->size()) + " numbers, but feature_size is " + std::to_string(how.bins)};
  RAPT_RETURN_IF_ERROR(checkDerived(root, "frame_length", how.frame, "frame_length_ms in samples"));
  RAPT_RETURN_IF_ERROR(checkDerived(root, "hop_length", how.hop, "hop_length_ms in samples"));
  return checkDerived(root, "fft_length", how.fftSize, "the power of two from frame_length on");
}

Status checkTogether(const json::Value &root, Read &how) {
  switch (how.kind) {
  case Extraction::Whisper:
    return checkWhisper(root, how);
  case Extraction::Gemma4:
    return checkGemma4(root, how);
  case Extraction::Samples:
    how.hop = how.bins;
    return checkDerived(root, "audio_samples_per_token", how.bins, "feature_size");
  }
  __builtin_unreachable();
}

} // namespace

Expected<Extraction> readExtraction(std::string_view content) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, withContext(fileName, json::parse(content)));
  if (!root.isObject())
    return Error{fileName + ": is not a JSON object"};
  RAPT_ASSIGN_OR_RETURN(const Class *own, classOf(root));
  const Setters &setters = own->setters();
  Read how{defaultsOf(own->kind)};
  for (const auto &[key, value] : *root.asObject()) {
    auto setter = setters.find(key);
    if (value.isNull() || (setter == setters.end() && isHarmlessKey(fileName, key)))
      continue;
    std::string where = fileName + ": " + json::printable(key);
    if (setter != setters.end()) {
      RAPT_RETURN_IF_ERROR(setter->second(how, value, where));
    } else if (value.asBool() != false) {
      return Error{where + " is " + json::printable(json::write(value), 60) +
                   ", which could change the numbers and is not supported"};
    }
  }
  RAPT_RETURN_IF_ERROR(checkTogether(root, how));
  return how;
}

} // namespace rapt::audio
