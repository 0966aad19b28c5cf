// The steps that prepare a prompt for a model that generates.
#include "lib/Generation/CommandLine/Continuation.h"
#include "lib/Generation/CommandLine/Console.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {
namespace {

constexpr int64_t defaultCache = 4096; // tokens, when the number of new ones is not said
constexpr int64_t mostOnDevice = 64;   // tokens that a GPU finds

} // namespace

Outcome Continuation::readIds(const Options &options, const Model &model, const Text &text,
                              const std::string &content) {
  if (options.tokens) {
    prompt.ids = *options.tokens;
    return checkIds(model, prompt.ids);
  }
  if (options.chat)
    return encodeChat(model, text, options.system ? &*options.system : nullptr, content,
                      {options.images.size(), options.audio.size()}, prompt.ids);
  RAPT_RETURN_IF_ERROR(encode(model, text, content, prompt.ids));
  if (prompt.ids.empty() && !model.hasEncoder()) {
    int32_t begin = text.tokenizer.role(RAPT_TOKEN_BEGIN);
    begin = begin >= 0 ? begin : text.tokenizer.role(RAPT_TOKEN_END);
    if (begin < 0 && !text.ends.empty())
      begin = *text.ends.begin();
    if (begin < 0)
      return {RAPT_INVALID, "the prompt is empty and the model has no token that begins a text"};
    prompt.ids.push_back(begin);
  }
  return {};
}

/// A prompt is the source of a model with an encoder, whose own text starts afresh.
Outcome Continuation::chooseSource(const Options &options, const Model &model, const Text &text) {
  if (!model.hasEncoder())
    return chooseLanguages(options, model, text, prompt);
  prompt.source = std::move(prompt.ids);
  prompt.ids.assign(1, int32_t(model.info.start_token));
  if (int64_t(prompt.source.size()) <= model.info.max_positions)
    return chooseLanguages(options, model, text, prompt);
  return {RAPT_TOO_LONG, "the prompt has " + counted(prompt.source.size(), "token") + "; the model's positions hold " +
                             std::to_string(model.info.max_positions)};
}

Outcome Continuation::chooseRoom(const Options &options, const Model &model, const Text &text) {
  int64_t bound = model.info.max_positions, length = int64_t(prompt.ids.size());
  auto tooLong = [&](const std::string &what, int64_t limit, const char *of) {
    return Outcome{RAPT_TOO_LONG, what + "; " + of + " " + std::to_string(limit) + " tokens"};
  };
  std::string given = "the prompt has " + std::to_string(length) + (length == 1 ? " token" : " tokens");
  if (options.maxNewTokens)
    given += " and " + std::to_string(*options.maxNewTokens) + " new ones are asked for, together " +
             std::to_string(length + std::min(*options.maxNewTokens, INT64_MAX - length));
  if (options.context && *options.context > bound)
    return tooLong("--context is " + std::to_string(*options.context), bound, "the model's positions hold");
  bool fromConfig = !options.maxNewTokens && text.config.max_new_tokens > 0;
  most = options.maxNewTokens.value_or(fromConfig ? text.config.max_new_tokens : -1);
  int64_t asked = most < 0 ? std::max(defaultCache, length + 1) : length + std::min(most, bound + 1);
  if (int64_t longest = text.config.max_length; most < 0 && longest > 0) {
    if (length >= longest)
      return {RAPT_TOO_LONG, given + "; generation_config.json's max_length is " + std::to_string(longest) +
                                 ": say how many new ones are wanted, -n"};
    most = longest - length;
    asked = std::min(asked, longest);
  }
  capacity = options.maxNewTokens ? asked : std::min(asked, bound);
  // A text outgrows the cache where every layer has a window.
  const bool isBound = options.context && (model.info.cache_bytes_per_token || !model.info.cache_window);
  if (options.context && (isBound || !options.maxNewTokens))
    capacity = isBound ? *options.context : std::max(capacity, *options.context);
  kept = std::min(capacity, options.context.value_or(capacity));
  if (capacity > bound || (options.maxNewTokens && asked > capacity) || length > capacity)
    return capacity > bound || !isBound ? tooLong(given, bound, "the model's positions hold")
                                        : tooLong(given, capacity, "the cache (--context) holds");
  return {};
}

Outcome Continuation::openSampler(const Options &options, const Text &text, size_t number) {
  sampling = text.config.sampler;
  sampling.temperature =
      options.temperature.value_or(options.samples() && sampling.temperature == 0 ? 1 : sampling.temperature);
  sampling.top_k = options.topK.value_or(sampling.top_k);
  sampling.top_p = options.topP.value_or(sampling.top_p);
  sampling.min_p = options.minP.value_or(sampling.min_p);
  sampling.repetition_penalty = options.repetitionPenalty.value_or(sampling.repetition_penalty);
  sampling.seed = options.seed;
  sampling.sequence = number;
  RAPT_RETURN_IF_ERROR(text::Sampler::open(sampling, sampler));
  return sampler.accept(prompt.ids);
}

Outcome Continuation::openStream(const Options &options, const Text &text) {
  if (options.tokens) {
    if (!text.stops.empty())
      note("with --tokens ids are printed: the stop_strings of generation_config.json are not looked for");
    return options.stops.empty() ? Outcome{} : Outcome{RAPT_INVALID, "--stop is a text; with --tokens ids are printed"};
  }
  std::vector<std::string> all = options.stops;
  all.insert(all.end(), text.stops.begin(), text.stops.end());
  return text::Stream::open(text.writer, all, stream);
}

Outcome Continuation::open(const Options &options, const Model &model, const Text &text, const PromptVectors &vectors,
                           const std::string &content) {
  RAPT_RETURN_IF_ERROR(readIds(options, model, text, content));
  RAPT_RETURN_IF_ERROR(vectors.place(model, text, prompt));
  given = prompt.ids.size();
  RAPT_RETURN_IF_ERROR(chooseSource(options, model, text));
  return chooseRoom(options, model, text);
}

Outcome Continuation::openImage(const Options &options, const Model &model, const Text &text,
                                std::vector<float> pixels) {
  prompt.pixels = std::move(pixels);
  prompt.ids.assign(1, int32_t(model.info.start_token));
  return chooseRoom(options, model, text);
}

Outcome Continuation::openIds(const Options &options, const Model &model, const Text &text, Ids ids) {
  prompt.ids = std::move(ids);
  given = prompt.ids.size();
  return chooseRoom(options, model, text);
}

Outcome Continuation::prepare(const Options &options, const Text &text, size_t number) {
  rules = Rules(options, text, prompt, mostNew());
  needsLogits = options.logprobs || !rules.areEmpty();
  RAPT_RETURN_IF_ERROR(openSampler(options, text, number));
  return openStream(options, text);
}

/// Draws the next token, or takes the most likely one.
Outcome Continuation::choose(const Text &text, const float *logits, int32_t &id) {
  const auto vocabulary = size_t(text.vocabulary);
  if (!rules.areEmpty())
    RAPT_RETURN_IF_ERROR(rules.apply(prompt, made, vocabulary, logits));
  RAPT_RETURN_IF_ERROR(logits ? sampler.sample(logits, vocabulary, id)
                              : sampler.sampleTop(topIds, topLogits, vocabulary, id));
  return sampler.accept(id);
}

/// Appends a new token: its id, or the text that it makes certain.
Outcome Continuation::show(int32_t id, std::string &piece, bool &stopped) {
  made.push_back(id);
  if (!stream) {
    piece += (made.size() > 1 ? "," : "") + std::to_string(id);
    return {};
  }
  return stream.feed(id, piece, &stopped);
}

Outcome Continuation::end(const char *why, std::string &piece) {
  reason = why;
  return stream ? stream.finish(piece) : Outcome{};
}

Outcome Continuation::take(const Options &options, const Model &model, const Text &text, const float *logits,
                           std::string &piece) {
  int32_t id = 0;
  RAPT_RETURN_IF_ERROR(choose(text, logits, id));
  if (!options.ignoreEnd && text.ends.count(id))
    return end("end", piece);
  if (options.logprobs) // without the rules
    judged.push_back(
        judgeToken(id, {logits, size_t(model.info.vocabulary)}, size_t(text.vocabulary), size_t(*options.logprobs)));
  bool stopped = false;
  RAPT_RETURN_IF_ERROR(show(id, piece, stopped));
  if (stopped)
    return end("stop", piece);
  const auto count = int64_t(made.size());
  if (count == most || int64_t(prompt.ids.size()) + count >= capacity)
    return end("length", piece);
  next.assign(1, id);
  return {};
}

Outcome stepTogether(const Model &model, const Text &text, std::span<Continuation *const> live,
                     std::vector<rapt_chunk> &chunks) {
  int64_t most = model.isOnGpu() ? 1 : 0;
  for (const Continuation *one : live) {
    const int64_t needed = one->needsLogits ? 0 : one->sampler.topNeeded();
    most = most && needed ? std::max(most, needed) : 0;
  }
  std::vector<rapt_top> tops;
  for (Continuation *one : live) {
    one->topIds.resize(most <= mostOnDevice ? size_t(most) : 0);
    one->topLogits.resize(one->topIds.size());
    tops.push_back(
        {sizeof(rapt_top), int64_t(one->topIds.size()), text.vocabulary, one->topIds.data(), one->topLogits.data()});
  }
  return live[0]->topIds.empty() ? model.context.step(chunks) : model.context.step(chunks, tops);
}

std::string Continuation::summary() const {
  char line[256];
  std::string how = "greedy";
  if (isSampled()) {
    snprintf(line, sizeof line, "seed %llu, temperature %g, top-k %lld, top-p %g, min-p %g",
             (unsigned long long)sampling.seed, sampling.temperature, (long long)sampling.top_k,
             sampling.top_p > 0 ? sampling.top_p : 1, sampling.min_p);
    how = line;
  }
  if (sampling.repetition_penalty > 0 && sampling.repetition_penalty != 1) {
    snprintf(line, sizeof line, ", repetition penalty %g", sampling.repetition_penalty);
    how += line;
  }
  return how;
}

} // namespace rapt::run
