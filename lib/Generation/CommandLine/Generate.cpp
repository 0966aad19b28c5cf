// Text from a prompt, as it comes.
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Beams.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

constexpr int64_t usualCache = 4096; // tokens, when the number of new ones is not said

/// One run: what it needs, what it made, and how long that took.
struct Generation {
  const Options &options;
  Model model;
  Text text;
  Prompt prompt;
  Ids made;
  std::string output; ///< text, for --json
  int64_t room = 0;   ///< tokens that fit, prompt and new ones
  int64_t most = -1;  ///< new tokens, -1 for as many as fit
  rapt_sampler_options sampling = sized<rapt_sampler_options>();
  Owned<rapt_sampler> sampler;
  Owned<rapt_text_stream> stream; ///< null when ids are printed
  AttentionMaps maps;
  const char *reason = "length";
  double firstToken = 0, total = 0, prefill = 0;

  Generation(const Options &options, Model model) : options(options), model(std::move(model)) {}
  Outcome open();
  Outcome prepare();
  Outcome run();
  bool searches() const;
  int finish(const Outcome &outcome);

private:
  Outcome readPromptIds();
  Outcome chooseSource();
  /// Tokens of what the user gave.
  size_t promptSize() const { return model.hasEncoder() ? prompt.source.size() : prompt.ids.size(); }
  Outcome chooseRoom();
  Outcome openSampler();
  Outcome openStream();
  Outcome loop(const Sequence &sequence);
  Outcome emit(int32_t id, bool &stopped);
  Outcome put(rapt_text_view piece);
  std::string summary() const;
  void tellStats() const;
  Status printJson() const;
};

Outcome Generation::readPromptIds() {
  if (options.tokens) {
    prompt.ids = *options.tokens;
    return {};
  }
  std::string content = options.prompt.value_or("");
  if (options.promptFile) {
    auto read = readPrompt(*options.promptFile);
    if (!read)
      return {RAPT_IO, read.error().message};
    content = std::move(*read);
  }
  if (options.chat)
    return encodeChat(model, text, options.system ? &*options.system : nullptr, content, prompt.ids);
  if (!options.raw && hasChatTemplate(model))
    note(std::string(model.info.name) + " has a chat template: --chat uses it, --raw says that it is not wanted");
  if (Outcome outcome = encode(model, text, content, prompt.ids); !outcome)
    return outcome;
  if (prompt.ids.empty() && !model.hasEncoder()) {
    int32_t begin = rapt_tokenizer_role(text.tokenizer.get(), RAPT_TOKEN_BEGIN);
    begin = begin >= 0 ? begin : rapt_tokenizer_role(text.tokenizer.get(), RAPT_TOKEN_END);
    if (begin < 0 && !text.ends.empty())
      begin = *text.ends.begin();
    if (begin < 0)
      return {RAPT_INVALID, "the prompt is empty and the model has no token that begins a text"};
    prompt.ids.push_back(begin);
  }
  return {};
}

/// What was given is the source of a model with an encoder, whose own text starts afresh.
Outcome Generation::chooseSource() {
  if (!model.hasEncoder())
    return {};
  prompt.source = std::move(prompt.ids);
  prompt.ids.assign(1, int32_t(model.info.start_token));
  if (int64_t(prompt.source.size()) <= model.info.max_positions)
    return {};
  return {RAPT_TOO_LONG, "the prompt has " + std::to_string(prompt.source.size()) +
                             " tokens; the model's positions hold " + std::to_string(model.info.max_positions)};
}

/// Decides how many tokens the cache must hold. Never cuts the prompt or the number of new tokens.
Outcome Generation::chooseRoom() {
  int64_t bound = model.info.max_positions, length = int64_t(prompt.ids.size());
  auto tooLong = [&](const std::string &what, int64_t limit, const char *of) {
    return Outcome{RAPT_TOO_LONG, what + "; " + of + " " + std::to_string(limit) + " tokens"};
  };
  std::string given = "the prompt has " + std::to_string(length) + " tokens";
  if (options.maxNewTokens)
    given += " and " + std::to_string(*options.maxNewTokens) + " new ones are asked for, together " +
             std::to_string(length + std::min(*options.maxNewTokens, INT64_MAX - length));
  if (options.context && *options.context > bound)
    return tooLong("--context is " + std::to_string(*options.context), bound, "the model's positions hold");
  bool fromConfig = !options.maxNewTokens && text.config.max_new_tokens > 0;
  most = options.maxNewTokens.value_or(fromConfig ? text.config.max_new_tokens : -1);
  int64_t asked = most < 0 ? std::max(usualCache, length + 1) : length + std::min(most, bound + 1);
  if (int64_t longest = text.config.max_length; most < 0 && longest > 0) {
    if (length >= longest)
      return {RAPT_TOO_LONG, given + "; generation_config.json's max_length is " + std::to_string(longest) +
                                 ": say how many new ones are wanted, -n"};
    most = longest - length;
    asked = std::min(asked, longest);
  }
  room = options.context.value_or(options.maxNewTokens ? asked : std::min(asked, bound));
  if (room > bound || (options.maxNewTokens && asked > room) || length > room)
    return room > bound || !options.context ? tooLong(given, bound, "the model's positions hold")
                                            : tooLong(given, room, "the cache (--context) holds");
  return {};
}

Outcome Generation::openSampler() {
  sampling = text.config.sampler;
  bool sampled = options.temperature || options.topK || options.topP || options.minP;
  sampling.temperature = options.temperature.value_or(sampled && sampling.temperature == 0 ? 1 : sampling.temperature);
  sampling.top_k = options.topK.value_or(sampling.top_k);
  sampling.top_p = options.topP.value_or(sampling.top_p);
  sampling.min_p = options.minP.value_or(sampling.min_p);
  sampling.repetition_penalty = options.repetitionPenalty.value_or(sampling.repetition_penalty);
  sampling.seed = options.seed;
  rapt_sampler *opened = nullptr;
  Outcome outcome =
      Outcome::of([&](char *message, size_t size) { return rapt_sampler_open(&sampling, &opened, message, size); });
  sampler.reset(opened);
  if (!outcome)
    return outcome;
  return Outcome::of([&](char *message, size_t size) {
    return rapt_sampler_accept(opened, prompt.ids.data(), prompt.ids.size(), message, size);
  });
}

Outcome Generation::openStream() {
  if (options.tokens) {
    if (!text.stops.empty())
      note("with --tokens ids are printed: the stop_strings of generation_config.json are not looked for");
    return options.stops.empty() ? Outcome{} : Outcome{RAPT_INVALID, "--stop is a text; with --tokens ids are printed"};
  }
  std::vector<std::string> all = options.stops;
  all.insert(all.end(), text.stops.begin(), text.stops.end());
  std::vector<rapt_text_view> stops;
  for (const std::string &stop : all)
    stops.push_back({stop.data(), stop.size()});
  rapt_text_stream *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_text_stream_open(text.writer, stops.data(), stops.size(), 0, &opened, message, size);
  });
  stream.reset(opened);
  return outcome;
}

std::string Generation::summary() const {
  char line[256];
  std::string how = "greedy";
  if (sampling.temperature > 0) {
    snprintf(line, sizeof line, "seed %llu, temperature %g, top-k %lld, top-p %g, min-p %g",
             (unsigned long long)sampling.seed, sampling.temperature, (long long)sampling.top_k,
             sampling.top_p > 0 ? sampling.top_p : 1, sampling.min_p);
    how = line;
  }
  if (sampling.repetition_penalty > 0 && sampling.repetition_penalty != 1) {
    snprintf(line, sizeof line, ", repetition penalty %g", sampling.repetition_penalty);
    how += line;
  }
  return std::string(model.info.name) + ": " + model.info.task + ", prompt of " + grouped(promptSize()) +
         " tokens, cache for " + grouped(uint64_t(room)) + "; " + how;
}

Outcome Generation::open() {
  if (Outcome outcome = openText(model, !options.tokens, text); !outcome)
    return outcome;
  if (Outcome outcome = AttentionMaps::open(options, model, maps); !outcome)
    return outcome;
  for (auto step : {&Generation::readPromptIds, &Generation::chooseSource, &Generation::chooseRoom})
    if (Outcome outcome = (this->*step)(); !outcome)
      return outcome;
  return {};
}

/// Whether beams are asked for: on the line, or by generation_config.json where the line does not ask to sample.
bool Generation::searches() const {
  bool sampled = options.temperature || options.topK || options.topP || options.minP;
  return options.beams || (text.config.beams > 1 && !sampled);
}

Outcome Generation::prepare() {
  for (auto step : {&Generation::openSampler, &Generation::openStream})
    if (Outcome outcome = (this->*step)(); !outcome)
      return outcome;
  if (Outcome outcome = makeContext(options, room + model.inBlocks(int64_t(prompt.source.size())), model); !outcome)
    return outcome;
  note(summary());
  return {};
}

Outcome Generation::put(rapt_text_view piece) {
  std::string_view bytes(piece.data, piece.size);
  if (options.json) {
    output += bytes;
    return {};
  }
  Status status = printGenerated(bytes);
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
}

/// Shows a new token: its id, or the text that it makes certain.
Outcome Generation::emit(int32_t id, bool &stopped) {
  made.push_back(id);
  if (!stream) {
    std::string shown = (made.size() > 1 ? "," : "") + std::to_string(id);
    return options.json ? Outcome{} : put({shown.data(), shown.size()});
  }
  rapt_text_view piece{};
  int stop = 0;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_text_stream_feed(stream.get(), id, &piece, &stop, message, size);
  });
  stopped = stop;
  return outcome ? put(piece) : outcome;
}

Outcome Generation::loop(const Sequence &sequence) {
  Ids next = prompt.ids;
  auto start = Clock::now();
  if (Outcome outcome = prompt.begin(model, sequence); !outcome)
    return outcome;
  while (most < 0 || int64_t(made.size()) < most) {
    rapt_chunk chunk = sequence.chunk(next);
    if (Outcome outcome = model.context.step(chunk); !outcome)
      return outcome;
    int32_t id = 0;
    Outcome outcome = Outcome::of([&](char *message, size_t size) {
      rapt_status status =
          rapt_sampler_sample(sampler.get(), chunk.logits, size_t(text.vocabulary), &id, message, size);
      return status ? status : rapt_sampler_accept(sampler.get(), &id, 1, message, size);
    });
    if (!outcome)
      return outcome;
    total = seconds(Clock::now() - start);
    firstToken = made.empty() ? total : firstToken;
    if (!options.ignoreEnd && text.ends.count(id)) {
      reason = "end";
      return {};
    }
    bool stopped = false;
    if (outcome = emit(id, stopped); !outcome)
      return outcome;
    if (stopped) {
      reason = "stop";
      return {};
    }
    if (int64_t(prompt.ids.size() + made.size()) >= room)
      return {};
    next.assign(1, id);
  }
  return {};
}

Outcome Generation::run() {
  Sequence sequence;
  if (Outcome outcome = Sequence::make(model.context, sequence); !outcome)
    return outcome;
  Interrupts interrupts(model.context.get());
  Outcome outcome = loop(sequence);
  rapt_text_view rest{};
  if (stream && (outcome || outcome.status == RAPT_CANCELLED)) { // what was held back is text, too
    Outcome finished = Outcome::of(
        [&](char *message, size_t size) { return rapt_text_stream_finish(stream.get(), &rest, message, size); });
    if (finished)
      finished = put(rest);
    if (!finished)
      return finished;
  }
  return outcome;
}

void Generation::tellStats() const {
  char line[512];
  double decode = total - firstToken;
  snprintf(line, sizeof line,
           "time to first token %.3f s (%.1f prompt tokens/s); %zu new tokens, %.2f tokens/s after the first",
           firstToken, firstToken > 0 ? double(promptSize()) / firstToken : 0, made.size(),
           decode > 0 && made.size() > 1 ? double(made.size() - 1) / decode : 0);
  note(line);
  auto contextOptions = sized<rapt_context_options>();
  contextOptions.cache_tokens = room + model.inBlocks(int64_t(prompt.source.size()));
  contextOptions.pool = model.pool.get();
  auto memory = sized<rapt_memory>();
  rapt_context_memory(model.module.get(), &contextOptions, &memory, nullptr, 0);
  note("memory: peak " + inUnits(peakMemory()) + " resident; weights " + inUnits(memory.weights) + ", cache " +
       inUnits(memory.cache) + ", workspace " + inUnits(memory.workspace) +
       "; threads: " + std::to_string(model.pool.threads()) + "; code for " + model.info.target_cpu);
}

Status Generation::printJson() const {
  json::Object object;
  json::Array ids;
  for (int32_t id : made)
    ids.emplace_back(int64_t(id));
  object.emplace_back("prompt_tokens", json::Value(uint64_t(promptSize())));
  object.emplace_back("tokens", json::Value(std::move(ids)));
  if (stream)
    object.emplace_back("text", json::Value(output));
  object.emplace_back("reason", json::Value(std::string(reason)));
  object.emplace_back("seconds_to_first_token", json::Value(firstToken));
  object.emplace_back("seconds", json::Value(total));
  object.emplace_back("peak_memory", json::Value(peakMemory()));
  return print(json::write(json::Value(std::move(object))) + "\n");
}

int Generation::finish(const Outcome &outcome) {
  bool interrupted = outcome.status == RAPT_CANCELLED && Interrupts::caught();
  if (!outcome && !interrupted)
    return fail(outcome.message, Failure(outcome).code);
  if (interrupted)
    reason = "interrupted";
  Status status = options.json ? printJson() : print("\n");
  if (!status)
    return fail(status.error().message);
  if (options.stats)
    tellStats();
  return interrupted ? Interrupts::caught() : 0;
}

} // namespace

int generate(const Options &options, Model model) {
  Generation generation(options, std::move(model));
  if (Outcome outcome = generation.open(); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  if (generation.searches()) {
    if (!options.stops.empty())
      return fail("--stop does not go with beams, of which generation_config.json asks for " +
                  std::to_string(generation.text.config.beams) + "; --temperature 0 takes the most likely token");
    if (!generation.text.stops.empty())
      return fail("--beams does not go with the stop_strings of generation_config.json");
    int64_t fits = generation.room - int64_t(generation.prompt.ids.size());
    int64_t most = generation.most < 0 ? fits : std::min(generation.most, fits);
    return searchBeams(options, generation.model, generation.text, generation.prompt, most, generation.maps);
  }
  if (Outcome outcome = generation.prepare(); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  Outcome outcome = generation.run();
  if (outcome && generation.maps.isWanted())
    outcome = drawGeneration(generation.maps, generation.model, generation.text, generation.prompt, generation.made);
  return generation.finish(outcome);
}

} // namespace rapt::run
