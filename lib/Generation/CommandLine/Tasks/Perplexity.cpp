// How well a model predicts a text: windows of its positions, each token but the first predicted exactly once.
#include "lib/Generation/Perplexity.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {
namespace {

constexpr int64_t logitsBytes = 16 << 20; // held at a time

class Measurement final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome runWindow(const Sequence &sequence, const PerplexityWindow &w);
  Outcome score(const float *logits, size_t target);
  Outcome countBytes(int32_t id);

  Text text;
  Ids ids;
  int64_t window = 0, stride = 0;
  size_t part = 0; ///< tokens whose logits are held at a time
  PerplexityTotal total;
};

Outcome Measurement::prepare() {
  if (model.hasEncoder())
    return {RAPT_INVALID, std::string(model.info.name) + ": " + model.info.task +
                              " reads a source beside its text: --perplexity takes decoders"};
  RAPT_RETURN_IF_ERROR(openText(model, true, text));
  auto content = options.perplexityFile ? readPrompt(*options.perplexityFile)
                 : options.promptFile   ? readPromptFile(options)
                                        : options.prompts[0];
  if (!content)
    return {RAPT_IO, content.error().message};
  RAPT_RETURN_IF_ERROR(encode(model, text, *content, ids));
  window = options.context.value_or(model.info.max_positions);
  if (window > model.info.max_positions)
    return {RAPT_TOO_LONG, "--context is " + std::to_string(window) + "; the model's positions hold " +
                               std::to_string(model.info.max_positions) + " tokens"};
  stride = options.stride.value_or(window - 1);
  part = size_t(std::clamp<int64_t>(logitsBytes / (int64_t(sizeof(float)) * model.info.vocabulary), 16, 512));
  return makeContext(options, window, model);
}

Outcome Measurement::countBytes(int32_t id) {
  std::string bytes;
  Outcome outcome = text.tokenizer.token(id, bytes);
  total.bytes += bytes.size();
  return outcome;
}

Outcome Measurement::score(const float *logits, size_t target) {
  double nats = 0;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_negative_log_likelihood(logits, size_t(model.info.vocabulary), ids[target], &nats, message, size);
  });
  total.nats += nats;
  ++total.tokens;
  RAPT_RETURN_IF_ERROR(outcome);
  return countBytes(ids[target]);
}

/// Runs tokens [begin, end - 1), which predict up to end - 1; the first of them only fill the cache.
Outcome Measurement::runWindow(const Sequence &sequence, const PerplexityWindow &w) {
  RAPT_RETURN_IF_ERROR(sequence.truncate(0));
  for (size_t at = w.begin; at + 1 < w.end;) {
    bool context = at + 1 < w.firstScored;
    size_t end = std::min(context ? w.firstScored - 1 : at + part, w.end - 1);
    auto chunk = sized<rapt_chunk>();
    chunk.sequence = sequence.get();
    chunk.tokens = &ids[at];
    chunk.count = int64_t(end - at);
    chunk.want = context ? RAPT_LOGITS_NONE : RAPT_LOGITS_ALL;
    RAPT_RETURN_IF_ERROR(model.context.step(chunk));
    for (size_t i = at; !context && i < end; ++i)
      RAPT_RETURN_IF_ERROR(score(chunk.logits + int64_t(i - at) * model.info.vocabulary, i + 1));
    at = end;
  }
  return {};
}

Outcome Measurement::run() {
  auto windows = planWindows(ids.size(), size_t(window), size_t(stride));
  if (!windows)
    return {RAPT_INVALID, windows.error().message};
  Sequence sequence;
  RAPT_RETURN_IF_ERROR(Sequence::make(model.context, sequence));
  Interrupts interrupts(model.context.get());
  for (const PerplexityWindow &w : *windows)
    RAPT_RETURN_IF_ERROR(runWindow(sequence, w));
  return {};
}

Status Measurement::finish() {
  int32_t begin = text.tokenizer.role(RAPT_TOKEN_BEGIN);
  bool withBegin = begin >= 0 && ids[0] == begin;
  json::Object object;
  object.emplace_back("nats_per_token", json::Value(total.natsPerToken()));
  object.emplace_back("perplexity", json::Value(total.perplexity()));
  object.emplace_back("bits_per_byte", json::Value(total.bitsPerByte()));
  object.emplace_back("predicted_tokens", json::Value(total.tokens));
  object.emplace_back("predicted_bytes", json::Value(total.bytes));
  object.emplace_back("window", json::Value(window));
  object.emplace_back("stride", json::Value(stride));
  object.emplace_back("bos", json::Value(withBegin));
  char line[512];
  snprintf(
      line, sizeof line,
      "perplexity %.4f: %.6f nats per token over %llu predicted tokens, %.6f bits per byte over %llu bytes; windows "
      "of %lld tokens, stride %lld, %s BOS\n",
      total.perplexity(), total.natsPerToken(), (unsigned long long)total.tokens, total.bitsPerByte(),
      (unsigned long long)total.bytes, (long long)window, (long long)stride, withBegin ? "with" : "without");
  return sink.end(json::Value(std::move(object)), line);
}

} // namespace

std::unique_ptr<Job> makePerplexity(const Options &options, Model model) {
  return std::make_unique<Measurement>(options, std::move(model));
}

} // namespace rapt::run
