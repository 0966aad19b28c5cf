// Text from one prompt as it comes, or from several, which run together.
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Beams.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Continuation.h"
#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

/// "[3, 64, 64]"
std::string shownShape(const int64_t (&shape)[3]) {
  return "[" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + "]";
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// One run: what it needs, what it made, and how long that took.
class Generation final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;
  bool printsPart() const override { return !beams; }

private:
  Outcome open();
  Outcome openImages();
  Outcome openBeams();
  Outcome generate();
  Outcome begin();
  Outcome loop();
  Outcome take(Continuation &one, const float *logits);
  Outcome put(Continuation &one, std::string_view piece);
  Outcome showFinished();
  template <typename Count> size_t sum(Count count) const {
    size_t sum = 0;
    for (const Continuation &one : all)
      sum += size_t(count(one));
    return sum;
  }
  size_t promptTokens() const {
    return sum([](const Continuation &one) { return one.given; });
  }
  int64_t cacheTokens() const;
  std::string summary() const;
  void printStatistics() const;
  Tokenizer shownBy() const;
  Status printJudged() const;
  json::Object jsonOf(const Continuation &one) const;
  json::Value toJson() const;

  Text text;
  std::vector<Continuation> all; ///< one a prompt
  AttentionMaps maps;
  std::optional<BeamRun> beams; ///< a search takes the place of the sampling
  double firstToken = 0, total = 0;
  size_t shown = 0; ///< continuations before this one are printed; its own text is printed as it comes
};

Outcome Generation::open() {
  RAPT_RETURN_IF_ERROR(openText(model, !options.tokens, text));
  RAPT_RETURN_IF_ERROR(AttentionMaps::open(options, model, maps));
  if (model.hasImageSource())
    return openImages();
  std::vector<std::string> prompts = options.prompts;
  if (options.tokens)
    prompts.assign(1, "");
  if (options.promptFile) {
    auto read = readPromptFile(options);
    if (!read)
      return {RAPT_IO, read.error().message};
    prompts.assign(1, withoutLastNewline(std::move(*read)));
  }
  if (!options.tokens && !options.chat && !options.raw && hasChatTemplate(model))
    note(std::string(model.info.name) + " has a chat template: --chat uses it, --raw says that it is not wanted");
  if (prompts.size() > 1 && maps.isWanted())
    return {RAPT_INVALID, "--attention-weights takes one prompt of a model that generates"};
  if (prompts.empty())
    return {RAPT_INVALID, std::string(model.info.name) + " reads " + (options.images.empty() ? "sounds" : "images") +
                              " within a text: give one with -p"};
  if (const bool hasImages = !options.images.empty();
      (hasImages || !options.audio.empty()) && (prompts.size() > 1 || maps.isWanted()))
    return {RAPT_INVALID, std::string(prompts.size() > 1 ? "several prompts" : "--attention-weights") + " and " +
                              (hasImages ? "--image" : "--audio") + " do not go together"};
  PromptVectors vectors;
  RAPT_RETURN_IF_ERROR(vectors.read(options, model));
  all = std::vector<Continuation>(prompts.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (Outcome outcome = all[i].open(options, model, text, vectors, prompts[i]); !outcome) {
      if (all.size() > 1)
        outcome.message = "prompt " + std::to_string(i + 1) + ": " + outcome.message;
      return outcome;
    }
  return {};
}

/// Each image is the source of a text.
Outcome Generation::openImages() {
  const rapt_module_info &info = model.info;
  if (options.images.size() > 1 && maps.isWanted())
    return {RAPT_INVALID, "--attention-weights takes one image of a model that generates"};
  ImageReader reader;
  RAPT_RETURN_IF_ERROR(reader.open(model));
  all = std::vector<Continuation>(options.images.size());
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t shape[3];
    std::vector<float> pixels;
    RAPT_RETURN_IF_ERROR(reader.read(options.images[i], shape, pixels));
    if (const int64_t own[] = {info.image_channels, info.image_height, info.image_width};
        !std::equal(shape, shape + 3, own))
      return {RAPT_MISMATCH, json::printable(options.images[i]) + ": preprocessor_config.json makes pixels " +
                                 shownShape(shape) + " of it, but the model reads " + shownShape(own)};
    RAPT_RETURN_IF_ERROR(all[i].openImage(options, model, text, std::move(pixels)));
  }
  return {};
}

/// A single text has exactly as many tokens as it needs; several share the blocks of the cache.
int64_t Generation::cacheTokens() const {
  if (all.size() == 1)
    return all[0].kept + model.inBlocks(all[0].prompt.sourceLength(model));
  return int64_t(sum([&](const Continuation &one) { return one.blockTokens(model); }));
}

std::string Generation::summary() const {
  const std::string tokens = counted(promptTokens(), "token"),
                    prompts = all.size() == 1 ? "prompt of " + tokens
                                              : std::to_string(all.size()) + " prompts, " + tokens + " in all";
  return std::string(model.info.name) + ": " + model.info.task + ", " +
         (model.hasImageSource() ? counted(all.size(), "image") : prompts) + ", cache for " +
         grouped(uint64_t(all.size() == 1 ? all[0].kept : cacheTokens())) + "; " + all[0].summary();
}

Outcome Generation::prepare() {
  RAPT_RETURN_IF_ERROR(open());
  if (BeamRows::areAskedFor(options, text))
    return openBeams();
  for (size_t i = 0; i < all.size(); ++i)
    RAPT_RETURN_IF_ERROR(all[i].prepare(options, text, i));
  RAPT_RETURN_IF_ERROR(makeContext(options, cacheTokens(), model));
  note(summary());
  return {};
}

/// Prints a part of the text that is shown now; keeps that of others.
Outcome Generation::put(Continuation &one, std::string_view piece) {
  if (options.json || &one != &all[shown]) {
    one.output += piece;
    return {};
  }
  return outcomeOf(printGenerated(piece));
}

/// Goes on to the first text that is not finished, with a blank line behind each.
Outcome Generation::showFinished() {
  while (!options.json && shown + 1 < all.size() && all[shown].reason) {
    const std::string before = "\n\n", &text = all[++shown].output;
    RAPT_RETURN_IF_ERROR(outcomeOf(print(before)));
    RAPT_RETURN_IF_ERROR(outcomeOf(printGenerated(text)));
  }
  return {};
}

/// Chooses the next token of a text.
Outcome Generation::take(Continuation &one, const float *logits) {
  std::string piece;
  RAPT_RETURN_IF_ERROR(one.take(options, model, text, logits, piece));
  return put(one, piece);
}

Outcome Generation::begin() {
  for (Continuation &one : all) {
    RAPT_RETURN_IF_ERROR(Sequence::make(model.context, one.sequence));
    RAPT_RETURN_IF_ERROR(one.prompt.begin(model, one.sequence));
    one.next = one.prompt.ids;
    if (one.most == 0)
      one.reason = "length";
  }
  return {};
}

Outcome Generation::loop() {
  auto start = Clock::now();
  RAPT_RETURN_IF_ERROR(begin());
  while (true) {
    std::vector<rapt_chunk> chunks;
    std::vector<Continuation *> live;
    for (Continuation &one : all)
      if (!one.reason) {
        chunks.push_back(one.prompt.withVectors(one.sequence.chunk(one.next)));
        live.push_back(&one);
      }
    if (chunks.empty())
      return {};
    RAPT_RETURN_IF_ERROR(stepTogether(model, text, live, chunks));
    const bool isFirst = total == 0;
    for (size_t i = 0; i < live.size(); ++i)
      RAPT_RETURN_IF_ERROR(take(*live[i], chunks[i].logits));
    total = seconds(Clock::now() - start);
    firstToken = isFirst ? total : firstToken;
    RAPT_RETURN_IF_ERROR(showFinished());
  }
}

/// Until the texts end or Ctrl-C ends them.
Outcome Generation::generate() {
  Interrupts interrupts(model.context.get());
  Outcome outcome = loop();
  if (outcome.status != RAPT_CANCELLED)
    return outcome;
  for (Continuation &one : all) {
    std::string rest;
    if (!one.reason)
      RAPT_RETURN_IF_ERROR(one.end("interrupted", rest));
    RAPT_RETURN_IF_ERROR(put(one, rest));
  }
  RAPT_RETURN_IF_ERROR(showFinished());
  return outcome;
}

void Generation::printStatistics() const {
  char line[512];
  double decode = total - firstToken;
  const size_t made = sum([](const Continuation &one) { return one.made.size(); });
  char rate[64] = ""; // of prompts
  if (!model.hasImageSource())
    snprintf(rate, sizeof rate, " (%.1f prompt tokens/s)", firstToken > 0 ? double(promptTokens()) / firstToken : 0);
  snprintf(line, sizeof line, "time to first token %.3f s%s; %s, %.2f tokens/s after the first", firstToken, rate,
           counted(made, "new token").c_str(),
           decode > 0 && made > all.size() ? double(made - all.size()) / decode : 0);
  note(line);
  auto contextOptions = sized<rapt_context_options>();
  contextOptions.cache_tokens = cacheTokens();
  contextOptions.max_step_tokens = model.stepTokens;
  contextOptions.pool = model.pool.get();
  auto memory = sized<rapt_memory>();
  rapt_context_memory(model.module.get(), &contextOptions, &memory, nullptr, 0);
  note("memory: peak " + inUnits(peakMemory()) + " resident; weights " + inUnits(memory.weights) + ", cache " +
       inUnits(memory.cache) + ", workspace " + inUnits(memory.workspace) +
       (model.isOnGpu() ? "" : "; threads: " + std::to_string(model.pool.threads())) + "; code for " +
       model.info.target_cpu + (model.isOnGpu() ? std::string(" and ") + model.info.target_gpu : ""));
  if (all[0].isSampled())
    note("seed: " + std::to_string(options.seed));
}

/// The tokenizer that shows new tokens; none where ids are printed.
Tokenizer Generation::shownBy() const { return options.tokens ? Tokenizer() : text.writer; }

/// How likely the tokens are, a table behind the texts for each of them.
Status Generation::printJudged() const {
  std::string lines;
  for (const Continuation &one : all) {
    lines += "\n";
    if (Outcome outcome = showTokens(shownBy(), one.judged, lines); !outcome)
      return Error{outcome.message};
  }
  return print(lines);
}

json::Object Generation::jsonOf(const Continuation &one) const {
  json::Object object;
  json::Array ids;
  for (int32_t id : one.made)
    ids.emplace_back(int64_t(id));
  if (!model.hasImageSource())
    object.emplace_back("prompt_tokens", json::Value(uint64_t(one.given)));
  object.emplace_back("tokens", json::Value(std::move(ids)));
  if (one.stream)
    object.emplace_back("text", json::Value(one.output));
  object.emplace_back("reason", json::Value(std::string(one.reason)));
  if (json::Array judged; options.logprobs && listTokens(shownBy(), one.judged, judged))
    object.emplace_back("logprobs", json::Value(std::move(judged)));
  return object;
}

json::Value Generation::toJson() const {
  json::Object object;
  if (all.size() == 1)
    object = jsonOf(all[0]);
  else {
    json::Array list;
    for (const Continuation &one : all)
      list.emplace_back(jsonOf(one));
    object.emplace_back("sequences", json::Value(std::move(list)));
  }
  if (all[0].isSampled())
    object.emplace_back("seed", json::Value(options.seed));
  object.emplace_back("seconds_to_first_token", json::Value(firstToken));
  object.emplace_back("seconds", json::Value(total));
  object.emplace_back("peak_memory", json::Value(peakMemory()));
  return json::Value(std::move(object));
}

Outcome Generation::openBeams() {
  const std::string config = ", of which generation_config.json asks for " + std::to_string(text.config.beams) +
                             "; --temperature 0 takes the most likely token";
  if (all.size() > 1 && options.beams) // of several images: prompts were counted with the options
    return {RAPT_INVALID, "--beams takes one image"};
  if (all.size() > 1)
    return {RAPT_INVALID, std::string(model.hasImageSource() ? "beams take one image" : "beams take one prompt") +
                              ", but generation_config.json asks for " + std::to_string(text.config.beams) +
                              " beams; --temperature 0 takes the most likely token"};
  if (options.logprobs)
    return {RAPT_INVALID, "--logprobs does not go with beams" + config};
  if (!options.stops.empty())
    return {RAPT_INVALID, "--stop does not go with beams" + config};
  if (!text.stops.empty())
    return {RAPT_INVALID, "--beams does not go with the stop_strings of generation_config.json"};
  beams.emplace(options, model, text, all[0].prompt, all[0].mostNew(), maps);
  return beams->prepare();
}

Outcome Generation::run() {
  if (beams)
    return beams->run();
  Outcome outcome = generate();
  for (Continuation &one : all)
    one.sequence = {};
  if (outcome && maps.isWanted())
    outcome = drawGeneration(maps, model, text, all[0].prompt, all[0].made);
  return outcome;
}

Status Generation::finish() {
  if (beams)
    return beams->finish(sink);
  RAPT_RETURN_IF_ERROR(options.json ? sink.end(toJson(), "") : print("\n"));
  if (options.logprobs && !options.json)
    RAPT_RETURN_IF_ERROR(printJudged());
  if (options.stats)
    printStatistics();
  return {};
}

} // namespace

std::unique_ptr<Job> makeGeneration(const Options &options, Model model) {
  return std::make_unique<Generation>(options, std::move(model));
}

} // namespace rapt::run
