// The likeliest continuations of a prompt by beam search: each hypothesis is a sequence that forks its cache.
#include "lib/Generation/CommandLine/Beams.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Rules.h"
#include "lib/Support/Json.h"
#include <chrono>
#include <cstdio>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

struct Found {
  Ids ids;
  double score = 0;
  bool ended = false;
  std::string text;
};

class BeamRun {
public:
  BeamRun(const Options &options, Model &model, const Text &text, const Prompt &prompt, int64_t most,
          AttentionMaps &maps)
      : options(options), model(model), text(text), prompt(prompt), most(most), maps(maps) {}
  Outcome prepare();
  Outcome search();
  Outcome collect();
  Outcome draw();
  Status tell() const;

private:
  Outcome step(const rapt_beam_step *steps, size_t count);
  Outcome advance(const std::vector<rapt_chunk> &chunks, const rapt_beam_step *&steps, size_t &count);
  Status tellJson() const;

  const Options &options;
  Model &model;
  const Text &text;
  const Prompt &prompt;
  const int64_t most;
  AttentionMaps &maps;
  rapt_beam_options settings = sized<rapt_beam_options>();
  Owned<rapt_beams> beams;
  std::vector<Sequence> sequences; // one a row
  std::vector<Found> found;
  double seconds = 0;
};

Outcome BeamRun::prepare() {
  double lengthPenalty = options.lengthPenalty.value_or(text.config.length_penalty);
  Ids ends(text.ends.begin(), text.ends.end());
  settings.beams = options.beams.value_or(text.config.beams);
  settings.returns = options.returns.value_or(options.beams ? 1 : text.config.returns);
  settings.max_new_tokens = most;
  settings.length_penalty = &lengthPenalty;
  settings.early_stopping = options.earlyStopping.value_or(text.config.early_stopping);
  settings.ends = ends.data();
  settings.end_count = options.ignoreEnd ? 0 : ends.size();
  settings.repetition_penalty = options.repetitionPenalty.value_or(text.config.sampler.repetition_penalty);
  rapt_beams *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_beams_open(&settings, prompt.ids.data(), prompt.ids.size(), &opened, message, size);
  });
  beams.reset(opened);
  if (!outcome)
    return outcome;
  const Rules rules(options, text, prompt, most);
  outcome = Outcome::of(
      [&](char *message, size_t size) { return rapt_beams_set_rules(opened, &rules.get(), message, size); });
  if (!outcome)
    return outcome;
  // Beams share the whole blocks of the prompt; each may hold blocks of its own behind them, and one that it copies.
  int64_t tokens = model.inBlocks(int64_t(prompt.source.size())) + model.inBlocks(int64_t(prompt.ids.size())) +
                   settings.beams * (model.inBlocks(most) + 2 * model.inBlocks(1));
  if (outcome = makeContext(options, tokens, model); !outcome)
    return outcome;
  char line[160];
  snprintf(line, sizeof line, "%lld beams, length penalty %g, early stopping %s, up to %s new tokens",
           (long long)settings.beams, lengthPenalty,
           settings.early_stopping == RAPT_STOP_EARLY   ? "true"
           : settings.early_stopping == RAPT_STOP_NEVER ? "never"
                                                        : "false",
           grouped(uint64_t(most)).c_str());
  note(std::string(model.info.name) + ": " + model.info.task + ", prompt of " +
       counted(std::max(prompt.source.size(), prompt.ids.size()), "token") + ", cache for " +
       grouped(uint64_t(tokens)) + "; " + line);
  return {};
}

/// Hands the search the logits behind each chunk: those of ids that are tokens, not of padding of the embedding.
Outcome BeamRun::advance(const std::vector<rapt_chunk> &chunks, const rapt_beam_step *&steps, size_t &count) {
  size_t vocabulary = size_t(text.vocabulary);
  std::vector<float> logits;
  logits.reserve(chunks.size() * vocabulary);
  for (const rapt_chunk &chunk : chunks)
    logits.insert(logits.end(), chunk.logits, chunk.logits + vocabulary);
  return Outcome::of([&](char *message, size_t size) {
    return rapt_beams_advance(beams.get(), logits.data(), chunks.size(), vocabulary, &steps, &count, message, size);
  });
}

/// Makes the sequences of the next rows: the first that goes on from a sequence takes it over, the others fork it.
Outcome BeamRun::step(const rapt_beam_step *steps, size_t count) {
  std::vector<Sequence> next(count);
  std::vector<size_t> heirs(sequences.size(), SIZE_MAX);
  for (size_t row = 0; row < count; ++row) {
    size_t parent = size_t(steps[row].parent);
    if (heirs[parent] == SIZE_MAX)
      heirs[parent] = row;
    else if (Outcome outcome = sequences[parent].fork(next[row]); !outcome)
      return outcome;
  }
  for (size_t parent = 0; parent < sequences.size(); ++parent)
    if (heirs[parent] != SIZE_MAX)
      next[heirs[parent]] = std::move(sequences[parent]);
  sequences = std::move(next);
  return {};
}

Outcome BeamRun::search() {
  auto start = Clock::now();
  Interrupts interrupts(model.context.get());
  sequences.resize(1);
  if (Outcome outcome = Sequence::make(model.context, sequences[0]); !outcome)
    return outcome;
  if (Outcome outcome = prompt.begin(model, sequences[0]); !outcome)
    return outcome;
  std::vector<Ids> tokens = {prompt.ids};
  while (!tokens.empty()) {
    std::vector<rapt_chunk> chunks;
    for (size_t row = 0; row < tokens.size(); ++row)
      chunks.push_back(sequences[row].chunk(tokens[row]));
    if (Outcome outcome = model.context.step(chunks); !outcome)
      return outcome;
    const rapt_beam_step *steps = nullptr;
    size_t count = 0;
    if (Outcome outcome = advance(chunks, steps, count); !outcome)
      return outcome;
    if (Outcome outcome = step(steps, count); !outcome)
      return outcome;
    tokens.clear();
    for (size_t row = 0; row < count; ++row)
      tokens.push_back({steps[row].token});
  }
  seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

/// Takes the results over, with their text and without the id that ended them.
Outcome BeamRun::collect() {
  for (size_t index = 0; index < rapt_beams_found(beams.get()); ++index) {
    Found &one = found.emplace_back();
    one.ids.resize(size_t(most));
    size_t count = 0;
    int ended = 0;
    Outcome outcome = Outcome::of([&](char *message, size_t size) {
      return rapt_beams_result(beams.get(), index, one.ids.data(), one.ids.size(), &count, &one.score, &ended, message,
                               size);
    });
    if (!outcome)
      return outcome;
    one.ended = ended;
    one.ids.resize(count - size_t(ended));
    if (!options.tokens)
      if (outcome = decode(text.writer, one.ids, one.text); !outcome)
        return outcome;
  }
  return {};
}

/// Draws the attention of the best text, with the cache of all sequences.
Outcome BeamRun::draw() {
  if (!maps.isWanted() || found.empty())
    return {};
  sequences.clear();
  return drawGeneration(maps, model, text, prompt, found.front().ids);
}

Status BeamRun::tellJson() const {
  json::Array list;
  for (const Found &one : found) {
    json::Object object;
    json::Array ids;
    for (int32_t id : one.ids)
      ids.emplace_back(int64_t(id));
    object.emplace_back("tokens", json::Value(std::move(ids)));
    if (!options.tokens)
      object.emplace_back("text", json::Value(one.text));
    object.emplace_back("score", json::Value(one.score));
    object.emplace_back("reason", json::Value(one.ended ? "end" : "length"));
    list.emplace_back(std::move(object));
  }
  json::Object object;
  object.emplace_back("prompt_tokens", json::Value(uint64_t(std::max(prompt.source.size(), prompt.ids.size()))));
  object.emplace_back("sequences", json::Value(std::move(list)));
  object.emplace_back("seconds", json::Value(seconds));
  object.emplace_back("peak_memory", json::Value(peakMemory()));
  return print(json::write(json::Value(std::move(object))) + "\n");
}

Status BeamRun::tell() const {
  if (options.json)
    return tellJson();
  for (const Found &one : found) {
    std::string line = one.text;
    if (options.tokens)
      for (size_t i = 0; i < one.ids.size(); ++i)
        line += (i ? "," : "") + std::to_string(one.ids[i]);
    Status status = printGenerated(line);
    if (status)
      status = print("\n");
    if (!status)
      return status;
  }
  return {};
}

} // namespace

int searchBeams(const Options &options, Model &model, const Text &text, const Prompt &prompt, int64_t most,
                AttentionMaps &maps) {
  BeamRun run(options, model, text, prompt, most, maps);
  for (auto part : {&BeamRun::prepare, &BeamRun::search, &BeamRun::collect, &BeamRun::draw})
    if (Outcome outcome = (run.*part)(); !outcome)
      return outcome.status == RAPT_CANCELLED && Interrupts::caught() ? Interrupts::caught()
                                                                      : fail(outcome.message, Failure(outcome).code);
  Status status = run.tell();
  return status ? 0 : fail(status.error().message);
}

} // namespace rapt::run
