//===- ProcessorReader.cpp - preprocessor_config.json ----------------------===//
#include "lib/Audio/LogMel.h"
#include "lib/Audio/Sound.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/Json.h"
#include <functional>
#include <map>

namespace rapt::audio {
namespace {

const std::string fileName = "preprocessor_config.json";

constexpr int64_t mostBins = 1024, mostFftSize = 16384, mostWindowSeconds = 3600;
constexpr int64_t mostWindowValues = int64_t(1) << 26; // of one window's features

using Where = const std::string &;
using Setter = std::function<Status(Extraction &, const json::Value &, Where)>;

Error mustBe(Where where, const json::Value &value, const std::string &expected) {
  return Error{where + " is " + json::printable(json::write(value), 60) + ", but must be " + expected};
}

Setter integer(int64_t Extraction::*member, int64_t least, int64_t most) {
  return [=](Extraction &how, const json::Value &value, Where where) -> Status {
    std::optional<int64_t> number = value.asInteger();
    if (!number || *number < least || *number > most)
      return mustBe(where, value, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    how.*member = *number;
    return {};
  };
}

/// A member that must have one value, as no other is supported.
Setter exactly(json::Value expected) {
  return [=](Extraction &, const json::Value &value, Where where) -> Status {
    bool numbers = value.asNumber() && value.asNumber() == expected.asNumber();
    if (numbers || json::write(value) == json::write(expected))
      return {};
    return mustBe(where, value, json::write(expected));
  };
}

Status ignore(Extraction &, const json::Value &, Where) { return {}; }

Status readFilters(Extraction &, const json::Value &value, Where where) {
  return value.isArray() ? Status() : Status(mustBe(where, value, "a list of lists"));
}

Status readFlag(Extraction &, const json::Value &value, Where where) {
  return value.asBool() ? Status() : Status(mustBe(where, value, "true or false"));
}

/// n_samples and nb_max_frames follow from the others and are checked with all of them.
const std::map<std::string_view, Setter> &setters() {
  static const std::map<std::string_view, Setter> setters = {
      {"feature_size", integer(&Extraction::bins, 1, mostBins)},
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
  return setters;
}

Status checkType(const json::Value &root) {
  constexpr std::string_view known = "WhisperFeatureExtractor";
  const json::Value *type = root.find("feature_extractor_type");
  if (!type || type->isNull())
    return Error{fileName + ": feature_extractor_type is absent, but must be WhisperFeatureExtractor"};
  std::string name = type->asString() ? *type->asString() : json::write(*type);
  if (name == known)
    return {};
  return Error{fileName + ": feature_extractor_type is " + json::printable(name, 80) +
               ", which is not supported; WhisperFeatureExtractor is"};
}

Status checkDerived(const json::Value &root, const char *key, int64_t expected, const char *rule) {
  const json::Value *value = root.find(key);
  if (!value || value->isNull() || value->asInteger() == expected)
    return {};
  return mustBe(fileName + ": " + key, *value, std::string(rule) + ", which is " + std::to_string(expected));
}

Status checkTogether(const json::Value &root, const Extraction &how) {
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

} // namespace

Expected<Extraction> readExtraction(std::string_view content) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, withContext(fileName, json::parse(content)));
  if (!root.isObject())
    return Error{fileName + ": is not a JSON object"};
  RAPT_RETURN_IF_ERROR(checkType(root));
  Extraction how;
  for (const auto &[key, value] : *root.asObject()) {
    auto setter = setters().find(key);
    if (value.isNull() || (setter == setters().end() && isHarmlessKey(fileName, key)))
      continue;
    std::string where = fileName + ": " + json::printable(key);
    if (setter != setters().end()) {
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
