// --audio: what is said in sound files.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/SoundReader.h"
#include "lib/Generation/CommandLine/SpeechDecoder.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/Transcript.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

class SpeechRun final : public Job {
public:
  SpeechRun(const Options &options, Model given) : Job(options, std::move(given)), decoder(options, model) {}
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome runAll();
  Outcome transcribe(const std::string &path);
  Outcome checkTimestamps(const Sound &sound, const std::string &path) const;
  Outcome beginText();
  Outcome writeWindow(const Sound &sound, int64_t &begin, bool withTimestamps, Transcript &transcript);
  Outcome addSegments(const CutWindow &cut, const SpeechAttempt &attempt, bool isPrinted, Transcript &transcript);
  Outcome detect(const std::string &path);
  void printStatistics() const;
  Transcript::Form form() const {
    return options.json         ? Transcript::Form::Json
           : options.timestamps ? Transcript::Form::Lines
                                : Transcript::Form::Text;
  }

  SoundReader reader;
  SpeechDecoder decoder;
  std::string language;  ///< of the sound that is read
  Ids said;              ///< of that sound so far, and what --prompt says of it, for the prompts of further windows
  size_t tokens = 0;     ///< new ones of all sounds
  double heard = 0;      ///< seconds of sound
  double seconds = 0;    ///< that it took
  bool isInLine = false; ///< a text was begun and not ended
};

Outcome SpeechRun::prepare() {
  if (options.promptFile)
    return {RAPT_INVALID, std::string(model.info.name) + ": " + model.info.task +
                              " takes the text before the sound by --prompt, not by --file"};
  RAPT_RETURN_IF_ERROR(decoder.open());
  RAPT_RETURN_IF_ERROR(reader.open(model));
  if (options.timestamps && !decoder.hasTimestamps())
    return {RAPT_UNSUPPORTED, std::string("--timestamps: ") + model.info.name + " has no tokens of times"};
  RAPT_RETURN_IF_ERROR(decoder.prepare());
  note(std::string(model.info.name) + ": " + model.info.task + ", " + counted(options.audio.size(), "sound") + ", " +
       decoder.task() + "; " + decoder.summary());
  return {};
}

/// Windows of a long sound begin where the timestamps of the one before say so.
Outcome SpeechRun::checkTimestamps(const Sound &sound, const std::string &path) const {
  if (decoder.hasTimestamps() || sound.frames <= reader.windowFrames())
    return {};
  char line[160];
  snprintf(line, sizeof line, ": is %.1f seconds long; a model without tokens of times takes at most %.1f",
           reader.seconds(sound.frames), reader.seconds(reader.windowFrames()));
  return {RAPT_TOO_LONG, json::printable(path) + line};
}

/// The first window decides for all of the sound.
Outcome SpeechRun::detect(const std::string &path) {
  if (!language.empty())
    return {};
  RAPT_RETURN_IF_ERROR(decoder.findLanguage(language));
  if (!decoder.isLanguageGiven())
    note(json::printable(path) + ": the language is " + language + "; --language says another one");
  return {};
}

/// Takes the text that comes before the sound.
Outcome SpeechRun::beginText() {
  said.clear();
  if (options.prompts.empty())
    return {};
  return encodePlain(model, decoder.getText(), " " + std::string(trimmed(options.prompts.front())), said);
}

/// The numbers of an attempt that thresholds judge.
static json::Object membersOf(const SpeechAttempt &attempt, const SpeechThresholds &thresholds) {
  if (thresholds.areEmpty())
    return {};
  json::Object members = {{"temperature", json::Value(attempt.temperature)},
                          {"avg_logprob", json::Value(attempt.meanLogProbability)},
                          {"compression_ratio", json::Value(attempt.compressionRatio)}};
  if (thresholds.noSpeech)
    members.emplace_back("no_speech_prob", json::Value(attempt.noSpeech));
  return members;
}

/// Segments without text are left out, also of what further windows know.
Outcome SpeechRun::addSegments(const CutWindow &cut, const SpeechAttempt &attempt, bool isPrinted,
                               Transcript &transcript) {
  const json::Object members = membersOf(attempt, decoder.thresholds());
  for (size_t i = 0; i < cut.segments.size(); ++i) {
    const SpeechSegment &segment = cut.segments[i];
    std::string content;
    RAPT_RETURN_IF_ERROR(decoder.getText().writer.decode(segment.ids, content));
    if (!trimmed(content).empty())
      said.insert(said.end(), cut.parts[i].begin(), cut.parts[i].end());
    RAPT_RETURN_IF_ERROR(
        transcript.add(reader.seconds(segment.begin), reader.seconds(segment.end), content, isPrinted, members));
  }
  return {};
}

/// Writes the window that begins at frame `begin`, which becomes that of the next one.
Outcome SpeechRun::writeWindow(const Sound &sound, int64_t &begin, bool withTimestamps, Transcript &transcript) {
  TextSink sink;
  const bool isPrinted = !withTimestamps && form() == Transcript::Form::Text && decoder.thresholds().areEmpty();
  if (isPrinted)
    sink = [&](std::string_view piece) { return transcript.put(piece); };
  WindowText written;
  RAPT_RETURN_IF_ERROR(decoder.write({language, withTimestamps, said}, sink, written));
  tokens += written.ids.size();
  const SoundWindow window = {begin, std::min(reader.windowFrames(), sound.frames - begin)};
  if (decoder.thresholds().findSilence(written.attempt)) {
    begin += window.frames;
    return {};
  }
  TimestampUnit unit = decoder.timestamps();
  if (!withTimestamps) {
    std::erase_if(written.ids, [&](int32_t id) { return id >= unit.begin; });
    unit = {};
  }
  const CutWindow cut = cutWindow(written.ids, unit, window);
  RAPT_RETURN_IF_ERROR(addSegments(cut, written.attempt, isPrinted, transcript));
  if (!decoder.knowsPrevious() || written.attempt.temperature > mostForPrevious)
    said.clear();
  begin += cut.advance;
  return {};
}

Outcome SpeechRun::transcribe(const std::string &path) {
  Sound sound;
  RAPT_RETURN_IF_ERROR(reader.read(path, sound));
  RAPT_RETURN_IF_ERROR(checkTimestamps(sound, path));
  const bool withTimestamps = decoder.hasTimestamps() && (options.timestamps || decoder.config().timestamps ||
                                                          sound.frames > reader.windowFrames());
  Transcript transcript(form());
  language.clear();
  RAPT_RETURN_IF_ERROR(beginText());
  isInLine = form() == Transcript::Form::Text;
  for (int64_t begin = 0; begin < sound.frames;) {
    RAPT_RETURN_IF_ERROR(decoder.listen(reader.cut(sound, begin)));
    RAPT_RETURN_IF_ERROR(detect(path));
    RAPT_RETURN_IF_ERROR(writeWindow(sound, begin, withTimestamps, transcript));
  }
  isInLine = false;
  heard += reader.seconds(sound.frames);
  if (options.json) {
    json::Object object;
    if (options.audio.size() > 1)
      object.emplace_back("file", json::Value(path));
    object.emplace_back("task", json::Value(decoder.task()));
    object.emplace_back("language", language.empty() ? json::Value() : json::Value(language));
    if (decoder.maySample())
      object.emplace_back("seed", json::Value(options.seed));
    for (auto &[name, value] : transcript.toJson())
      object.emplace_back(name, std::move(value));
    RAPT_RETURN_IF_ERROR(sink.add(json::Value(std::move(object)), ""));
  }
  return transcript.end();
}

Outcome SpeechRun::runAll() {
  const auto start = Clock::now();
  for (size_t i = 0; i < options.audio.size(); ++i) {
    if (options.audio.size() > 1 && !options.json) {
      RAPT_RETURN_IF_ERROR(outcomeOf(printGenerated((i ? "\n" : "") + json::printable(options.audio[i]) + "\n")));
    }
    RAPT_RETURN_IF_ERROR(transcribe(options.audio[i]));
  }
  seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

Outcome SpeechRun::run() {
  Interrupts interrupts(model.context.get());
  Outcome outcome = runAll();
  if (outcome.status == RAPT_CANCELLED && isInLine)
    RAPT_RETURN_IF_ERROR(outcomeOf(print("\n")));
  return outcome;
}

void SpeechRun::printStatistics() const {
  char line[256];
  snprintf(line, sizeof line, "%.1f s of sound in %.3f s; %s, %.2f tokens/s", heard, seconds,
           counted(tokens, "new token").c_str(), seconds > 0 ? double(tokens) / seconds : 0);
  note(line);
  note("memory: peak " + inUnits(peakMemory()) + " resident");
  if (decoder.maySample())
    note("seed: " + std::to_string(options.seed));
}

Status SpeechRun::finish() {
  if (options.stats)
    printStatistics();
  return sink.endList("results");
}

} // namespace

std::unique_ptr<Job> makeSpeech(const Options &options, Model model) {
  return std::make_unique<SpeechRun>(options, std::move(model));
}

} // namespace rapt::run
