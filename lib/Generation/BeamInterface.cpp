//===- BeamInterface.cpp - rapt_beams_... ----------------------------------===//
#include "lib/Generation/BeamSearch.h"
#include "lib/Generation/TextInterface.h"
#include "rapt/rapt_rules.h"

using namespace rapt;
using namespace rapt::text;

struct rapt_beams {
  BeamSearch search;
  std::vector<rapt_beam_step> steps;
  std::vector<BeamResult> results;
};

static Outcome readOptions(const rapt_beam_options *options, BeamOptions &settings) {
  rapt_beam_options given;
  RAPT_RETURN_IF_ERROR(readStruct(options, sizeof(rapt_beam_options), "rapt_beam_options", given));
  if (given.early_stopping < RAPT_STOP_ESTIMATE || given.early_stopping > RAPT_STOP_NEVER)
    return invalid("rapt_beam_options.early_stopping is " + std::to_string(given.early_stopping) +
                   ", but must be one of rapt_early_stopping");
  if (!given.ends && given.end_count > 0)
    return invalid("rapt_beam_options.ends is NULL");
  settings.beams = given.beams ? given.beams : 1;
  settings.returned = given.returns ? given.returns : 1;
  settings.maxNewTokens = given.max_new_tokens;
  settings.lengthPenalty = given.length_penalty ? *given.length_penalty : 1;
  settings.earlyStopping = EarlyStopping(given.early_stopping);
  settings.ends.assign(given.ends, given.ends + given.end_count);
  settings.repetitionPenalty = given.repetition_penalty != 0 ? given.repetition_penalty : 1;
  settings.rules.noRepeatNgram = given.no_repeat_ngram;
  return {};
}

rapt_status rapt_beams_open(const rapt_beam_options *options, const int32_t *prompt, size_t count, rapt_beams **result,
                            char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!options || !result || (!prompt && count > 0))
      return invalid("rapt_beams_open: options, prompt or result is NULL");
    *result = nullptr;
    BeamOptions settings;
    RAPT_RETURN_IF_ERROR(readOptions(options, settings));
    Expected<BeamSearch> search = BeamSearch::create(settings, {prompt, count});
    if (!search)
      return invalid(search.error().message);
    *result = new rapt_beams{std::move(*search), {}, {}};
    return {};
  });
}

rapt_status rapt_beams_set_rules(rapt_beams *beams, const rapt_token_rules *rules, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!beams)
      return invalid("rapt_beams_set_rules: beams is NULL");
    TokenRules all;
    RAPT_RETURN_IF_ERROR(readRules(rules, all));
    Status status = beams->search.setRules(std::move(all));
    return status ? Outcome{} : invalid(status.error().message);
  });
}

void rapt_beams_free(rapt_beams *beams) { delete beams; }

rapt_status rapt_beams_advance(rapt_beams *beams, const float *logits, size_t rows, size_t vocabulary,
                               const rapt_beam_step **steps, size_t *count, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!beams || !logits || !steps || !count)
      return invalid("rapt_beams_advance: beams, logits, steps or count is NULL");
    *count = 0;
    if (!beams->search.isDone() && rows != beams->search.rows())
      return invalid("there are logits of " + std::to_string(rows) + " rows, but the search has " +
                     std::to_string(beams->search.rows()));
    if (Status status = beams->search.advance({logits, rows * vocabulary}); !status)
      return invalid(status.error().message);
    beams->steps.clear();
    for (const BeamStep &step : beams->search.steps())
      beams->steps.push_back({step.parent, step.token});
    beams->results = beams->search.results();
    *steps = beams->steps.data();
    *count = beams->steps.size();
    return {};
  });
}

size_t rapt_beams_found(const rapt_beams *beams) { return beams ? beams->results.size() : 0; }

rapt_status rapt_beams_result(const rapt_beams *beams, size_t index, int32_t *ids, size_t capacity, size_t *count,
                              double *score, int *ended, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!beams || !count)
      return invalid("rapt_beams_result: beams or count is NULL");
    *count = 0;
    if (index >= beams->results.size())
      return invalid("there is no sequence " + std::to_string(index) + " among " +
                     std::to_string(beams->results.size()));
    const BeamResult &result = beams->results[index];
    if (score)
      *score = result.score;
    if (ended)
      *ended = result.ended;
    return give(result.tokens.data(), result.tokens.size(), ids, capacity, count, "ids");
  });
}
