//===- SamplingInterface.cpp - rapt_text_stream_..., rapt_sampler_... ------===//
#include "lib/Generation/GenerationConfig.h"
#include "lib/Generation/Perplexity.h"
#include "lib/Generation/Sampler.h"
#include "lib/Generation/TextInterface.h"
#include "lib/Generation/TextStream.h"
#include "rapt/rapt_sample.h"

using namespace rapt;
using namespace rapt::text;

struct rapt_text_stream {
  std::shared_ptr<const Tokenizer> tokenizer; // kept alive for the stream
  TextStream stream;
  std::string piece; // what the last call gave
};

struct rapt_sampler {
  Sampler sampler;
};

rapt_status rapt_text_stream_open(const rapt_tokenizer *tokenizer, const rapt_text_view *stops, size_t stop_count,
                                  uint32_t flags, rapt_text_stream **result, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || !result || (!stops && stop_count > 0))
      return invalid("rapt_text_stream_open: tokenizer, stops or result is NULL");
    *result = nullptr;
    std::vector<std::string> texts;
    for (size_t index = 0; index < stop_count; ++index)
      texts.emplace_back(stops[index].data ? std::string(stops[index].data, stops[index].size) : std::string());
    Expected<TextStream> stream =
        TextStream::create(*tokenizer->tokenizer, std::move(texts), !(flags & RAPT_DECODE_KEEP_SPECIAL));
    if (!stream)
      return invalid(stream.error().message);
    *result = new rapt_text_stream{tokenizer->tokenizer, std::move(*stream), {}};
    return {};
  });
}

void rapt_text_stream_free(rapt_text_stream *stream) { delete stream; }

rapt_status rapt_text_stream_feed(rapt_text_stream *stream, int32_t id, rapt_text_view *piece, int *stopped,
                                  char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!stream || !piece)
      return invalid("rapt_text_stream_feed: stream or piece is NULL");
    *piece = {nullptr, 0};
    Expected<std::string> text = stream->stream.feed(id);
    if (!text)
      return invalid(text.error().message);
    stream->piece = std::move(*text);
    *piece = {stream->piece.data(), stream->piece.size()};
    if (stopped)
      *stopped = stream->stream.stopped();
    return {};
  });
}

rapt_status rapt_text_stream_finish(rapt_text_stream *stream, rapt_text_view *piece, char *message,
                                    size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!stream || !piece)
      return invalid("rapt_text_stream_finish: stream or piece is NULL");
    stream->piece = stream->stream.finish();
    *piece = {stream->piece.data(), stream->piece.size()};
    return {};
  });
}

static SamplingOptions optionsOf(const rapt_sampler_options &given) {
  SamplingOptions options;
  options.temperature = given.temperature;
  options.topK = given.top_k;
  options.topP = given.top_p == 0 ? 1 : given.top_p;
  options.minP = given.min_p;
  options.repetitionPenalty = given.repetition_penalty == 0 ? 1 : given.repetition_penalty;
  options.seed = given.seed;
  options.sequence = given.sequence;
  return options;
}

rapt_status rapt_sampler_open(const rapt_sampler_options *options, rapt_sampler **result, char *message,
                              size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!result)
      return invalid("rapt_sampler_open: result is NULL");
    *result = nullptr;
    rapt_sampler_options given;
    RAPT_RETURN_IF_ERROR(readStruct(options, sizeof(rapt_sampler_options), "rapt_sampler_options", given));
    Expected<Sampler> sampler = Sampler::create(optionsOf(given));
    if (!sampler)
      return invalid(sampler.error().message);
    *result = new rapt_sampler{std::move(*sampler)};
    return {};
  });
}

rapt_status rapt_sampler_copy(const rapt_sampler *sampler, rapt_sampler **result, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!sampler || !result)
      return invalid("rapt_sampler_copy: sampler or result is NULL");
    *result = nullptr;
    *result = new rapt_sampler(*sampler);
    return {};
  });
}

void rapt_sampler_free(rapt_sampler *sampler) { delete sampler; }

rapt_status rapt_sampler_accept(rapt_sampler *sampler, const int32_t *ids, size_t count, char *message,
                                size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!sampler || (!ids && count > 0))
      return invalid("rapt_sampler_accept: sampler or ids is NULL");
    for (size_t index = 0; index < count; ++index)
      if (Status status = sampler->sampler.accept(ids[index]); !status)
        return invalid(status.error().message);
    return {};
  });
}

rapt_status rapt_sampler_sample(rapt_sampler *sampler, const float *logits, size_t count, int32_t *id, char *message,
                                size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!sampler || !logits || !id)
      return invalid("rapt_sampler_sample: sampler, logits or id is NULL");
    Expected<int32_t> chosen = sampler->sampler.sample({logits, count});
    if (!chosen)
      return invalid(chosen.error().message);
    *id = *chosen;
    return {};
  });
}

int64_t rapt_sampler_top_needed(const rapt_sampler *sampler) { return sampler ? sampler->sampler.topNeeded() : 0; }

rapt_status rapt_sampler_sample_top(rapt_sampler *sampler, const int32_t *ids, const float *logits, size_t top_count,
                                    size_t count, int32_t *id, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!sampler || !ids || !logits || !id)
      return invalid("rapt_sampler_sample_top: sampler, ids, logits or id is NULL");
    Expected<int32_t> chosen = sampler->sampler.sampleTop({ids, top_count}, {logits, top_count}, count);
    if (!chosen)
      return invalid(chosen.error().message);
    *id = *chosen;
    return {};
  });
}

rapt_status rapt_generation_config_read(const char *json, size_t json_size, rapt_generation_config *config,
                                        int32_t *end_ids, size_t capacity, size_t *count, char *message,
                                        size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !config || !count)
      return invalid("rapt_generation_config_read: json, config or count is NULL");
    if (config->size < sizeof *config || config->size > mostStructBytes)
      return invalid("rapt_generation_config.size is " + std::to_string(config->size) + ", but at least " +
                     std::to_string(sizeof *config) + " is needed; set it to sizeof");
    Expected<GenerationConfig> read = readGenerationConfig({json, json_size});
    if (!read)
      return {RAPT_BAD_FILE, read.error().message};
    SamplingOptions options = read->sampling(0);
    config->sampler = {sizeof config->sampler,
                       options.temperature,
                       options.topK,
                       options.topP,
                       options.minP,
                       options.repetitionPenalty,
                       0,
                       0};
    config->max_new_tokens = read->maxNewTokens.value_or(0);
    config->beams = read->beams, config->returns = read->returned;
    config->length_penalty = read->lengthPenalty;
    config->early_stopping = int32_t(read->earlyStopping);
    config->max_length = read->maxLength.value_or(0);
    return give(read->endIds.data(), read->endIds.size(), end_ids, capacity, count, "ids");
  });
}

rapt_status rapt_generation_config_stop(const char *json, size_t json_size, size_t index, char *text, size_t capacity,
                                        size_t *bytes, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !bytes)
      return invalid("rapt_generation_config_stop: json or bytes is NULL");
    *bytes = 0;
    Expected<GenerationConfig> read = readGenerationConfig({json, json_size});
    if (!read)
      return {RAPT_BAD_FILE, read.error().message};
    if (index >= read->stopStrings.size())
      return {};
    const std::string &stop = read->stopStrings[index];
    return give(stop.data(), stop.size(), text, capacity, bytes, "bytes");
  });
}

rapt_status rapt_negative_log_likelihood(const float *logits, size_t count, int32_t target, double *nats, char *message,
                                         size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!logits || !nats)
      return invalid("rapt_negative_log_likelihood: logits or nats is NULL");
    Expected<double> value = negativeLogLikelihood({logits, count}, target);
    if (!value)
      return invalid(value.error().message);
    *nats = *value;
    return {};
  });
}
