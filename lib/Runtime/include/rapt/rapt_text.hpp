//===- rapt_text.hpp - rapt_text.h and its parts for C++ --------------------===//
//
// Owners of tokenizers, streams, samplers, searches and chat templates, and results of
// any length in vectors and strings. Header only, C++17, without exceptions; calls return
// an Outcome of rapt.hpp. Link librapt_text; librapt_runtime is not needed for it.
//
//   if (rapt::Outcome outcome = rapt::text::Tokenizer::open(files, tokenizer); !outcome)
//     return fail(outcome.message);
//
//===----------------------------------------------------------------------===//
#ifndef RAPT_RAPT_TEXT_HPP
#define RAPT_RAPT_TEXT_HPP
#include "rapt.hpp"
#include "rapt_rules.h"
#include "rapt_sample.h"
#include "rapt_text.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::text {

inline rapt_text_view viewOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view viewOf(rapt_text_view bytes) { return {bytes.data, bytes.size}; }

template <auto free> struct FreeBy {
  template <typename T> void operator()(T *handle) const { free(handle); }
};
template <typename T, auto free> using Owned = std::unique_ptr<T, FreeBy<free>>;

/// Makes a handle, owned or counted, by `call(&made, message, message_size)`.
template <auto free, typename Handle, typename Call> Outcome openHandle(Handle &handle, Call &&call) {
  typename Handle::element_type *made = nullptr;
  Outcome outcome = Outcome::of([&](char *text, size_t size) { return call(&made, text, size); });
  handle = Owned<typename Handle::element_type, free>(made);
  return outcome;
}

/// Fills `result`, a string or a vector, by `call(data, capacity, count, message, message_size)`, which is called again
/// where the length that `result` has already is too small.
template <typename Result, typename Call> Outcome collect(Result &result, Call &&call) {
  size_t count = 0;
  auto fill = [&](char *message, size_t size) { return call(result.data(), result.size(), &count, message, size); };
  Outcome outcome = Outcome::of(fill);
  // Without memory only the length was asked for.
  if (outcome.status == RAPT_FULL || (outcome && result.empty() && count > 0)) {
    result.resize(count);
    outcome = Outcome::of(fill);
  }
  result.resize(outcome ? count : 0);
  return outcome;
}

/// A counted tokenizer, which any number of threads may use; copies share it.
class Tokenizer {
public:
  static Outcome open(const rapt_tokenizer_files &files, Tokenizer &tokenizer) {
    return openHandle<rapt_tokenizer_free>(tokenizer.handle, [&](rapt_tokenizer **opened, char *text, size_t size) {
      return rapt_tokenizer_open(&files, opened, text, size);
    });
  }
  explicit operator bool() const { return handle != nullptr; }
  const rapt_tokenizer *get() const { return handle.get(); }
  int32_t vocabulary() const { return rapt_tokenizer_vocabulary(get()); }
  /// -1: there is none.
  int32_t role(rapt_token_role role) const { return rapt_tokenizer_role(get(), role); }
  int32_t find(std::string_view token) const { return rapt_tokenizer_find(get(), token.data(), token.size()); }

  Outcome encode(std::string_view text, std::vector<int32_t> &ids, const rapt_encode_options *options = nullptr) const {
    ids.resize(text.size() + 8);
    return collect(
        ids, [&](auto... rest) { return rapt_tokenizer_encode(get(), text.data(), text.size(), options, rest...); });
  }
  /// Two texts together, or one where `second` is absent, with the type of each id.
  Outcome encodePair(std::string_view first, rapt_text_view second, std::vector<int32_t> &ids,
                     std::vector<int32_t> &types, const rapt_encode_options *options = nullptr) const {
    ids.resize(first.size() + second.size + 8);
    Outcome outcome = collect(ids, [&](int32_t *data, size_t capacity, size_t *count, char *message, size_t size) {
      types.resize(capacity);
      return rapt_tokenizer_encode_pair(get(), first.data(), first.size(), second.data, second.size, options, data,
                                        types.data(), capacity, count, message, size);
    });
    types.resize(ids.size());
    return outcome;
  }
  /// Those of the ids that encodePair gives.
  Outcome spans(std::string_view first, rapt_text_view second, std::vector<rapt_token_span> &spans,
                const rapt_encode_options *options = nullptr) const {
    return collect(spans, [&](auto... rest) {
      return rapt_tokenizer_spans(get(), first.data(), first.size(), second.data, second.size, options, rest...);
    });
  }
  /// `flags`: RAPT_DECODE_...
  Outcome decode(const std::vector<int32_t> &ids, std::string &text, uint32_t flags = 0) const {
    text.resize(ids.size() * 8 + 8);
    return collect(text,
                   [&](auto... rest) { return rapt_tokenizer_decode(get(), ids.data(), ids.size(), flags, rest...); });
  }
  /// The bytes of one token.
  Outcome token(int32_t id, std::string &bytes) const {
    bytes.resize(32);
    return collect(bytes, [&](auto... rest) { return rapt_tokenizer_token(get(), id, rest...); });
  }

private:
  std::shared_ptr<rapt_tokenizer> handle;
};

/// Text of one sequence as it is generated.
class Stream {
public:
  /// `stops`: texts at which the sequence ends. `flags`: RAPT_DECODE_...
  static Outcome open(const Tokenizer &tokenizer, const std::vector<std::string> &stops, Stream &stream,
                      uint32_t flags = 0) {
    std::vector<rapt_text_view> views;
    for (const std::string &stop : stops)
      views.push_back(viewOf(stop));
    return openHandle<rapt_text_stream_free>(stream.handle, [&](rapt_text_stream **opened, char *text, size_t size) {
      return rapt_text_stream_open(tokenizer.get(), views.data(), views.size(), flags, opened, text, size);
    });
  }
  explicit operator bool() const { return handle != nullptr; }
  rapt_text_stream *get() const { return handle.get(); }
  /// Appends the text that `id` makes certain. `stopped`: a stop string is complete.
  Outcome feed(int32_t id, std::string &text, bool *stopped = nullptr) const {
    rapt_text_view piece{};
    int stop = 0;
    Outcome outcome = Outcome::of(
        [&](char *message, size_t size) { return rapt_text_stream_feed(get(), id, &piece, &stop, message, size); });
    text += viewOf(piece);
    if (stopped)
      *stopped = stop != 0;
    return outcome;
  }
  /// Appends what was held back.
  Outcome finish(std::string &text) const {
    rapt_text_view piece{};
    Outcome outcome =
        Outcome::of([&](char *message, size_t size) { return rapt_text_stream_finish(get(), &piece, message, size); });
    text += viewOf(piece);
    return outcome;
  }

private:
  Owned<rapt_text_stream, rapt_text_stream_free> handle;
};

/// Chooses the next ids of one sequence.
class Sampler {
public:
  static Outcome open(const rapt_sampler_options &options, Sampler &sampler) {
    return openHandle<rapt_sampler_free>(sampler.handle, [&](rapt_sampler **opened, char *text, size_t size) {
      return rapt_sampler_open(&options, opened, text, size);
    });
  }
  rapt_sampler *get() const { return handle.get(); }
  /// For a forked sequence.
  Outcome copy(Sampler &to) const {
    return openHandle<rapt_sampler_free>(to.handle, [&](rapt_sampler **made, char *text, size_t size) {
      return rapt_sampler_copy(get(), made, text, size);
    });
  }
  Outcome accept(const std::vector<int32_t> &ids) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_sampler_accept(get(), ids.data(), ids.size(), text, size); });
  }
  Outcome accept(int32_t id) const {
    return Outcome::of([&](char *text, size_t size) { return rapt_sampler_accept(get(), &id, 1, text, size); });
  }
  /// By logits[0 .. count); the id is not accepted by itself.
  Outcome sample(const float *logits, size_t count, int32_t &id) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_sampler_sample(get(), logits, count, &id, text, size); });
  }
  /// The most likely tokens that the next function needs; 0 where all logits are needed.
  int64_t topNeeded() const { return rapt_sampler_top_needed(get()); }
  /// By the most likely tokens of `count` logits.
  Outcome sampleTop(const std::vector<int32_t> &ids, const std::vector<float> &logits, size_t count,
                    int32_t &id) const {
    return Outcome::of([&](char *text, size_t size) {
      return rapt_sampler_sample_top(get(), ids.data(), logits.data(), ids.size(), count, &id, text, size);
    });
  }

private:
  Owned<rapt_sampler, rapt_sampler_free> handle;
};

/// A beam search, which its owner runs the model for.
class Beams {
public:
  /// `prompt`: the ids so far.
  static Outcome open(const rapt_beam_options &options, const std::vector<int32_t> &prompt, Beams &beams) {
    return openHandle<rapt_beams_free>(beams.handle, [&](rapt_beams **opened, char *text, size_t size) {
      return rapt_beams_open(&options, prompt.data(), prompt.size(), opened, text, size);
    });
  }
  rapt_beams *get() const { return handle.get(); }
  Outcome setRules(const rapt_token_rules &rules) const {
    return Outcome::of([&](char *text, size_t size) { return rapt_beams_set_rules(get(), &rules, text, size); });
  }
  /// Takes logits [rows, vocabulary]. `steps`: the `count` rows to run next, which live until the next call.
  Outcome advance(const float *logits, size_t rows, size_t vocabulary, const rapt_beam_step *&steps,
                  size_t &count) const {
    return Outcome::of([&](char *text, size_t size) {
      return rapt_beams_advance(get(), logits, rows, vocabulary, &steps, &count, text, size);
    });
  }
  size_t found() const { return rapt_beams_found(get()); }
  /// The index-th best sequence.
  Outcome result(size_t index, std::vector<int32_t> &ids, double &score, bool &ended) const {
    int isEnded = 0;
    Outcome outcome = collect(ids, [&](int32_t *data, size_t capacity, size_t *count, char *message, size_t size) {
      return rapt_beams_result(get(), index, data, capacity, count, &score, &isEnded, message, size);
    });
    ended = isEnded != 0;
    return outcome;
  }

private:
  Owned<rapt_beams, rapt_beams_free> handle;
};

/// A message of a conversation: of "system", "user" or "assistant".
struct Message {
  std::string role, content;
};

/// A counted chat template, which any number of threads may use; copies share it.
class ChatTemplate {
public:
  /// The contents of chat_template.jinja and tokenizer_config.json; either may be absent. `chat` is empty where there
  /// is no template.
  static Outcome open(rapt_text_view jinja, rapt_text_view config, ChatTemplate &chat) {
    return openHandle<rapt_chat_free>(chat.handle, [&](rapt_chat **opened, char *text, size_t size) {
      return rapt_chat_open(jinja, config, opened, text, size);
    });
  }
  explicit operator bool() const { return handle != nullptr; }
  const rapt_chat *get() const { return handle.get(); }
  /// Ids of the prompt for the next answer. `now`: seconds since 1970. `images`, `sounds`: their number in each
  /// message; empty: none has any.
  Outcome encode(const Tokenizer &tokenizer, const std::vector<Message> &messages, int64_t now,
                 std::vector<int32_t> &ids, const rapt_encode_options *options = nullptr,
                 const std::vector<size_t> &images = {}, const std::vector<size_t> &sounds = {}) const {
    std::vector<rapt_chat_message> views;
    size_t bytes = 256;
    for (const Message &one : messages) {
      views.push_back({viewOf(one.role), viewOf(one.content)});
      bytes += one.content.size();
    }
    if ((!images.empty() && images.size() != messages.size()) || (!sounds.empty() && sounds.size() != messages.size()))
      return {RAPT_INVALID, "there are not as many numbers of images or sounds as messages"};
    ids.resize(bytes + 8);
    return collect(ids, [&](auto... rest) {
      return rapt_chat_encode_media(get(), tokenizer.get(), views.data(), images.empty() ? nullptr : images.data(),
                                    sounds.empty() ? nullptr : sounds.data(), views.size(), now, options, rest...);
    });
  }

private:
  std::shared_ptr<rapt_chat> handle;
};

/// The settings of generation_config.json.
struct GenerationSettings {
  rapt_generation_config config = usual();
  std::vector<int32_t> ends;      ///< ids that end a text
  std::vector<std::string> stops; ///< texts that do

  /// Those of a model without the file.
  static rapt_generation_config usual() {
    auto config = sized<rapt_generation_config>();
    config.sampler.size = sizeof config.sampler;
    config.beams = config.returns = 1;
    config.length_penalty = 1;
    return config;
  }
  /// `json`: the file's content.
  static Outcome read(std::string_view json, GenerationSettings &settings) {
    settings.config = usual();
    Outcome outcome = collect(settings.ends, [&](auto... rest) {
      return rapt_generation_config_read(json.data(), json.size(), &settings.config, rest...);
    });
    settings.stops.clear();
    for (std::string stop(1, 0); outcome && !stop.empty();) {
      stop.clear();
      outcome = collect(stop, [&](auto... rest) {
        return rapt_generation_config_stop(json.data(), json.size(), settings.stops.size(), rest...);
      });
      if (!stop.empty())
        settings.stops.push_back(stop);
    }
    return outcome;
  }
};

} // namespace rapt::text
#endif
