// The likeliest continuations of a prompt by beam search, printed best first.
#include "lib/Generation/CommandLine/Beams.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Json.h"
#include <chrono>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

} // namespace

Outcome BeamRun::prepare() {
  RAPT_RETURN_IF_ERROR(rows.open(options, text, prompt, most));
  const int64_t tokens = rows.cacheTokens(model, size_t(prompt.sourceLength(model)));
  RAPT_RETURN_IF_ERROR(makeContext(options, tokens, model));
  note(std::string(model.info.name) + ": " + model.info.task + ", " +
       (model.hasImageSource() ? "1 image"
                               : "prompt of " + counted(std::max(prompt.source.size(), prompt.ids.size()), "token")) +
       ", cache for " + grouped(uint64_t(tokens)) + "; " + rows.summary());
  return {};
}

Outcome BeamRun::search() {
  auto start = Clock::now();
  Interrupts interrupts(model.context.get());
  Sequence first;
  RAPT_RETURN_IF_ERROR(Sequence::make(model.context, first));
  RAPT_RETURN_IF_ERROR(prompt.begin(model, first));
  Outcome outcome = rows.search(model, text, prompt, std::move(first), prompt.ids);
  seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return outcome;
}

/// Takes the results over, with their text.
Outcome BeamRun::collect() {
  RAPT_RETURN_IF_ERROR(rows.collect(found));
  texts.resize(found.size());
  for (size_t i = 0; i < found.size() && !options.tokens; ++i)
    RAPT_RETURN_IF_ERROR(text.writer.decode(found[i].ids, texts[i]));
  return {};
}

/// Draws the attention of the best text, with the cache of all sequences.
Outcome BeamRun::draw() {
  return maps.isWanted() && !found.empty() ? drawGeneration(maps, model, text, prompt, found.front().ids) : Outcome{};
}

json::Value BeamRun::toJson() const {
  json::Array list;
  for (size_t i = 0; i < found.size(); ++i) {
    const FoundText &one = found[i];
    json::Object object;
    json::Array ids;
    for (int32_t id : one.ids)
      ids.emplace_back(int64_t(id));
    object.emplace_back("tokens", json::Value(std::move(ids)));
    if (!options.tokens)
      object.emplace_back("text", json::Value(texts[i]));
    object.emplace_back("score", json::Value(one.score));
    object.emplace_back("reason", json::Value(one.ended ? "end" : "length"));
    list.emplace_back(std::move(object));
  }
  json::Object object;
  if (!model.hasImageSource())
    object.emplace_back("prompt_tokens", json::Value(uint64_t(std::max(prompt.source.size(), prompt.ids.size()))));
  object.emplace_back("sequences", json::Value(std::move(list)));
  object.emplace_back("seconds", json::Value(seconds));
  object.emplace_back("peak_memory", json::Value(peakMemory()));
  return json::Value(std::move(object));
}

Outcome BeamRun::run() {
  RAPT_RETURN_IF_ERROR(search());
  RAPT_RETURN_IF_ERROR(collect());
  return draw();
}

Status BeamRun::finish(const ResultSink &sink) const {
  if (options.json)
    return sink.end(toJson(), "");
  for (size_t i = 0; i < found.size(); ++i) {
    std::string line = texts[i];
    if (options.tokens)
      for (int32_t id : found[i].ids)
        line += (line.empty() ? "" : ",") + std::to_string(id);
    RAPT_RETURN_IF_ERROR(printGenerated(line));
    RAPT_RETURN_IF_ERROR(print("\n"));
  }
  return {};
}

} // namespace rapt::run
