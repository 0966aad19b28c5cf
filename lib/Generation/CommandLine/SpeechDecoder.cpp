// One window of sound: the encoder, the language, and the tokens.
#include "lib/Generation/CommandLine/SpeechDecoder.h"
#include "lib/Generation/CommandLine/BeamRows.h"
#include "lib/Generation/CommandLine/CompressionRatio.h"
#include "lib/Generation/CommandLine/Transcript.h"
#include "lib/Generation/GenerationConfig.h"
#include <algorithm>
#include <cmath>

namespace rapt::run {

Outcome SpeechDecoder::readConfig() {
  size_t bytes = 0;
  const void *json = rapt_module_section(model.module.get(), "generation_config.json", &bytes);
  if (json) {
    Expected<GenerationConfig> read = readGenerationConfig({static_cast<const char *>(json), bytes});
    if (!read)
      return {RAPT_BAD_FILE, read.error().message};
    speech = read->speech;
  }
  const auto find = [&](std::string_view token) { return text.writer.find(token); };
  Status status = speech.complete(model.info.vocabulary, find);
  return status ? Outcome{} : Outcome{RAPT_BAD_FILE, status.error().message};
}

Outcome SpeechDecoder::chooseLanguageAndTask() {
  const std::string name = model.info.name;
  if (speech.languages.empty()) {
    if (options.language || options.speechTask)
      return {RAPT_INVALID, name + " writes one language: it takes no --language and no --task"};
    speech.task = "transcribe";
    return {};
  }
  if (options.language) {
    const std::optional<std::string> code = speech.findLanguage(*options.language);
    if (!code)
      return {RAPT_INVALID, "--language: " + name + " knows no language " + json::printable(*options.language) +
                                "; expected a code such as " + speech.languages.begin()->first};
    speech.language = *code;
  }
  speech.task = options.speechTask.value_or(speech.task.empty() ? "transcribe" : speech.task);
  if (!speech.tasks.count(speech.task))
    return {RAPT_INVALID, "--task: " + name + " does not " + speech.task};
  return {};
}

/// Temperatures and thresholds: those of the line come before those of generation_config.json.
Outcome SpeechDecoder::chooseFallback() {
  SpeechThresholds &thresholds = speech.thresholds;
  for (auto [given, member] : {std::pair(options.compressionRatio, &thresholds.compressionRatio),
                               std::pair(options.meanLogProbability, &thresholds.meanLogProbability),
                               std::pair(options.noSpeech, &thresholds.noSpeech)})
    if (given)
      *member = given;
  if (options.temperatureStep) {
    temperatures = temperaturesFrom(options.temperature.value_or(0), *options.temperatureStep);
    if (!thresholds.compressionRatio)
      thresholds.compressionRatio = 2.4; // the defaults of transcribe.py
    if (!thresholds.meanLogProbability)
      thresholds.meanLogProbability = -1;
  } else if (!options.temperature) {
    temperatures = speech.temperatures;
  }
  speech.knowsPrevious = speech.knowsPrevious || options.knowsPrevious;
  hasPrevious = speech.knowsPrevious || !options.prompts.empty();
  const std::string name = model.info.name;
  if (hasPrevious && !speech.previous)
    return {RAPT_UNSUPPORTED, "--prompt and --condition-on-previous-text: " + name + " has no token <|startofprev|>"};
  if (thresholds.noSpeech && !speech.noSpeech)
    return {RAPT_UNSUPPORTED, "--no-speech-threshold: " + name + " has no token <|nospeech|>"};
  return {};
}

int64_t SpeechDecoder::mostPrevious() const { return model.info.max_positions / 2 - 1; }

/// Checks the numbers of the module that the loop counts with, and -n.
Outcome SpeechDecoder::chooseRoom() {
  const rapt_module_info &info = model.info;
  const std::string name = info.name;
  if (info.source_positions < 1 || info.feature_frames % info.source_positions)
    return {RAPT_UNSUPPORTED, name + " reads " + std::to_string(info.feature_frames) + " frames into " +
                                  std::to_string(info.source_positions) + " positions, which does not divide them"};
  const int64_t prompt = (speech.languages.empty() ? 2 : 4) + (hasPrevious ? mostPrevious() + 1 : 0); // at most
  if (prompt >= info.max_positions)
    return {RAPT_TOO_LONG, name + " has " + std::to_string(info.max_positions) + " positions, too few for a prompt"};
  if (options.maxNewTokens && *options.maxNewTokens > info.max_positions - prompt)
    return {RAPT_TOO_LONG, "--max-new-tokens is " + std::to_string(*options.maxNewTokens) + ", but a window of " +
                               name + " has at most " + std::to_string(info.max_positions - prompt)};
  // Timestamps are tokens, also where the tokenizer's files leave them out.
  const int64_t times = speech.noTimestamps ? *speech.noTimestamps + 2 + info.source_positions : 0;
  text.vocabulary = std::min(info.vocabulary, std::max(text.vocabulary, times));
  return {};
}

Outcome SpeechDecoder::open() {
  if (!model.hasEncoder())
    return {RAPT_UNSUPPORTED, std::string(model.info.name) + " has no token that a text starts with"};
  RAPT_RETURN_IF_ERROR(openText(model, true, text));
  if (!text.stops.empty())
    return {RAPT_UNSUPPORTED, "generation_config.json: stop_strings do not go with --audio"};
  for (auto part : {&SpeechDecoder::readConfig, &SpeechDecoder::chooseLanguageAndTask, &SpeechDecoder::chooseFallback,
                    &SpeechDecoder::chooseRoom})
    RAPT_RETURN_IF_ERROR((this->*part)());
  return {};
}

TimestampUnit SpeechDecoder::timestamps() const {
  if (!hasTimestamps())
    return {};
  return {*speech.noTimestamps + int64_t(1), model.info.feature_frames / model.info.source_positions};
}

Ids SpeechDecoder::promptOf(const WindowRequest &request) const {
  Ids prompt;
  if (!request.previous.empty()) {
    const size_t count = std::min(request.previous.size(), size_t(mostPrevious()));
    prompt.push_back(*speech.previous);
    prompt.insert(prompt.end(), request.previous.end() - ptrdiff_t(count), request.previous.end());
  }
  prompt.push_back(int32_t(model.info.start_token));
  if (!speech.languages.empty()) {
    const auto given = speech.languages.find(request.language);
    prompt.push_back(given == speech.languages.end() ? speech.languages.begin()->second : given->second);
    prompt.push_back(speech.tasks.find(speech.task)->second);
  }
  if (!request.withTimestamps && speech.noTimestamps)
    prompt.push_back(*speech.noTimestamps);
  return prompt;
}

/// generation_config.json's max_length counts the first token of the prompt only, as transformers obeys it.
/// Earlier text may leave less.
int64_t SpeechDecoder::mostNew(const Ids &prompt) const {
  int64_t most = model.info.max_positions - int64_t(prompt.size());
  if (options.maxNewTokens)
    return std::min(most, *options.maxNewTokens);
  if (text.config.max_new_tokens > 0)
    return std::min(most, text.config.max_new_tokens);
  return text.config.max_length > 0 ? std::min(most, text.config.max_length - 1) : most;
}

void SpeechDecoder::setTimestamps(bool areWanted) {
  rapt_token_rules &rules = text.rules;
  rules.timestamp_begin = rules.timestamp_text = rules.timestamp_initial = 0;
  if (!areWanted)
    return;
  rules.timestamp_begin = timestamps().begin;
  rules.timestamp_text = rules.timestamp_begin;
  if (!text.ends.empty())
    rules.timestamp_text = std::min<int64_t>(rules.timestamp_text, *text.ends.begin());
  rules.timestamp_initial = speech.lastInitial ? *speech.lastInitial + 1 : 0;
}

Outcome SpeechDecoder::prepare() {
  const bool searches = BeamRows::areAskedFor(options, text);
  int64_t tokens = 0;
  for (const bool withTimestamps : {false, true}) {
    Continuation one;
    const Ids longest(hasPrevious ? size_t(mostPrevious()) : 0, int32_t(model.info.start_token));
    one.prompt.ids = promptOf({speech.language, withTimestamps});
    one.most = std::max<int64_t>(mostNew(one.prompt.ids), 1);
    one.prompt.ids = promptOf({speech.language, withTimestamps, longest});
    one.capacity = std::min(int64_t(one.prompt.ids.size()) + one.most, model.info.max_positions);
    BeamRows rows;
    RAPT_RETURN_IF_ERROR(searches ? rows.open(options, text, one.prompt, one.most) : one.prepare(options, text, 0));
    const int64_t written = model.inBlocks(one.capacity) + model.inBlocks(model.info.source_positions);
    // Beams fork the sequence with the source, which a further attempt needs.
    tokens =
        std::max({tokens, written,
                  searches ? rows.cacheTokens(model, size_t(model.info.source_positions)) + model.inBlocks(1) : 0});
    how = searches ? rows.summary() : one.summary();
    isSampled = !searches && one.isSampled();
  }
  if (temperatures.size() > 1) {
    how += ", up to temperature " + json::shownNumber(temperatures.back()) + " where a text is refused";
    if (!isSampled)
      how += ", with seed " + std::to_string(options.seed);
    isSampled = true;
  }
  return makeContext(options, tokens, model);
}

Outcome SpeechDecoder::listen(const std::vector<float> &features) {
  sequence = {}; // frees the blocks of the window before
  RAPT_RETURN_IF_ERROR(Sequence::make(model.context, sequence));
  return sequence.encode(features);
}

Outcome SpeechDecoder::findLanguage(std::string &code) {
  code = speech.language;
  if (isLanguageGiven())
    return {};
  const Ids start = {int32_t(model.info.start_token)};
  rapt_chunk chunk = sequence.chunk(start);
  RAPT_RETURN_IF_ERROR(model.context.step(chunk));
  code = std::max_element(speech.languages.begin(), speech.languages.end(), [&](const auto &a, const auto &b) {
           return chunk.logits[a.second] < chunk.logits[b.second];
         })->first;
  return {};
}

/// Text of a new token as it comes. Times are no text, whatever the tokenizer says about them.
Outcome SpeechDecoder::show(const Continuation &one, int32_t id, const TextSink &sink) const {
  if (!sink || id >= timestamps().begin)
    return {};
  std::string piece;
  RAPT_RETURN_IF_ERROR(one.stream.feed(id, piece));
  return sink(piece);
}

/// Adds the natural logarithm of a token's probability.
static Outcome addLogProbability(std::span<const float> logits, int32_t id, double &sum) {
  double nats = 0;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_negative_log_likelihood(logits.data(), logits.size(), id, &nats, message, size);
  });
  sum -= nats;
  return outcome;
}

Outcome SpeechDecoder::choose(Continuation &one, const float *logits, int32_t &id) {
  const auto vocabulary = size_t(text.vocabulary);
  if (!one.rules.areEmpty())
    RAPT_RETURN_IF_ERROR(one.rules.apply(one.prompt, one.made, vocabulary, logits));
  RAPT_RETURN_IF_ERROR(one.sampler.sample(logits, vocabulary, id));
  if (!speech.thresholds.areEmpty())
    RAPT_RETURN_IF_ERROR(addLogProbability({logits, vocabulary}, id, logProbability));
  return one.sampler.accept(id);
}

Outcome SpeechDecoder::generate(const Options &own, size_t number, Continuation &one, const TextSink &sink) {
  // Each attempt draws its own numbers.
  RAPT_RETURN_IF_ERROR(one.prepare(own, text, windows + (number << 32)));
  while (int64_t(one.made.size()) < one.most) {
    rapt_chunk chunk = sequence.chunk(one.next);
    RAPT_RETURN_IF_ERROR(model.context.step(chunk));
    int32_t id = 0;
    RAPT_RETURN_IF_ERROR(choose(one, chunk.logits, id));
    if (text.ends.count(id))
      break;
    one.made.push_back(id);
    one.next.assign(1, id);
    RAPT_RETURN_IF_ERROR(show(one, id, sink));
  }
  std::string rest;
  RAPT_RETURN_IF_ERROR(one.stream.finish(rest));
  return sink ? sink(rest) : Outcome{};
}

Outcome SpeechDecoder::search(const Options &own, Continuation &one, const TextSink &sink) {
  BeamRows rows;
  std::vector<FoundText> found;
  Sequence first;
  RAPT_RETURN_IF_ERROR(rows.open(own, text, one.prompt, one.most));
  RAPT_RETURN_IF_ERROR(sequence.fork(first));
  RAPT_RETURN_IF_ERROR(rows.search(model, text, one.prompt, std::move(first), one.next));
  RAPT_RETURN_IF_ERROR(rows.collect(found));
  if (!found.empty()) {
    one.made = std::move(found.front().ids);
    logProbability = found.front().score * rows.divisorOf(one.made.size() + found.front().ended);
  }
  if (!sink)
    return {};
  const int64_t times = timestamps().begin;
  Ids words;
  std::copy_if(one.made.begin(), one.made.end(), std::back_inserter(words), [&](int32_t id) { return id < times; });
  std::string content;
  RAPT_RETURN_IF_ERROR(text.writer.decode(words, content));
  return sink(content);
}

/// The probability of silence is the first token's, be there earlier text before it or not.
Outcome SpeechDecoder::measureSilence(const Ids &prompt, double &probability) {
  const auto start = std::find(prompt.begin(), prompt.end(), int32_t(model.info.start_token));
  const Ids tokens(prompt.begin(), start + 1);
  rapt_chunk chunk = sequence.chunk(tokens);
  RAPT_RETURN_IF_ERROR(model.context.step(chunk));
  double logarithm = 0;
  Outcome outcome = addLogProbability({chunk.logits, size_t(model.info.vocabulary)}, *speech.noSpeech, logarithm);
  probability = std::exp(logarithm);
  return outcome;
}

Outcome SpeechDecoder::beginAttempt(size_t number, Options &own, Continuation &one, SpeechAttempt &attempt) {
  attempt.temperature = options.temperature.value_or(text.config.sampler.temperature);
  if (!temperatures.empty()) {
    attempt.temperature = temperatures[number];
    if (attempt.temperature > 0) {
      own.beams.reset();
      own.topK = options.topK.value_or(0); // as the original, from all tokens
    }
    if (attempt.temperature > 0 || options.temperature || text.config.sampler.temperature > 0)
      own.temperature = attempt.temperature;
  }
  const bool measures = speech.thresholds.noSpeech && number == 0;
  // Where the language was detected, the sequence has the first token already.
  const bool isBegun = number == 0 && !measures && one.prompt.ids.front() == model.info.start_token;
  if (!isBegun)
    RAPT_RETURN_IF_ERROR(sequence.truncate(0));
  if (measures)
    RAPT_RETURN_IF_ERROR(measureSilence(one.prompt.ids, attempt.noSpeech));
  // The logits behind the prompt come from a step of its own.
  if (sequence.length() == int64_t(one.prompt.ids.size()))
    RAPT_RETURN_IF_ERROR(sequence.truncate(sequence.length() - 1));
  one.next.assign(one.prompt.ids.begin() + sequence.length(), one.prompt.ids.end());
  return {};
}

/// The numbers that thresholds judge; the token that ends a text counts, as in the original, whether there is one or
/// not.
Outcome SpeechDecoder::judge(const Ids &ids, SpeechAttempt &attempt) const {
  if (speech.thresholds.areEmpty())
    return {};
  attempt.meanLogProbability = logProbability / double(ids.size() + 1);
  const int64_t times = timestamps().begin;
  Ids words;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(words), [&](int32_t id) { return id < times; });
  std::string content;
  RAPT_RETURN_IF_ERROR(text.writer.decode(words, content));
  attempt.compressionRatio = compressionRatio(trimmed(content));
  return {};
}

Outcome SpeechDecoder::write(const WindowRequest &request, const TextSink &sink, WindowText &result) {
  setTimestamps(request.withTimestamps);
  for (size_t number = 0; number == 0 || number < temperatures.size(); ++number) {
    Continuation one;
    Options own = options;
    one.prompt.ids = promptOf(request);
    one.most = mostNew(one.prompt.ids);
    one.capacity = int64_t(one.prompt.ids.size()) + one.most;
    logProbability = 0;
    RAPT_RETURN_IF_ERROR(beginAttempt(number, own, one, result.attempt));
    Outcome outcome;
    if (one.most > 0)
      outcome = BeamRows::areAskedFor(own, text) ? search(own, one, sink) : generate(own, number, one, sink);
    result.ids = std::move(one.made);
    RAPT_RETURN_IF_ERROR(outcome);
    RAPT_RETURN_IF_ERROR(judge(result.ids, result.attempt));
    if (!speech.thresholds.refuse(result.attempt))
      break;
  }
  ++windows;
  return {};
}

} // namespace rapt::run
