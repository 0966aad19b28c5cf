/* The C interface of librapt_text as a C99 program sees it: results, lengths, messages, threads. Exits with the number
 * of failed checks. */
#include <math.h>
#include <pthread.h>
#include <rapt/rapt_audio.h>
#include <rapt/rapt_image.h>
#include <rapt/rapt_rules.h>
#include <rapt/rapt_sample.h>
#include <rapt/rapt_text.h>
#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s (message '%s')\n", __LINE__, #condition, message);                                  \
      ++failures;                                                                                                      \
    }                                                                                                                  \
  } while (0)

static const char json[] =
    "{\"decoder\": {\"type\": \"Fuse\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, "
    "\"c\": 2, \"ab\": 3, \"abc\": 4}, \"merges\": [\"a b\", \"ab c\"]}, \"added_tokens\": "
    "[{\"id\": 5, \"content\": \"<e>\", \"special\": true}]}";
static const char config[] = "{\"eos_token\": \"<e>\"}";
static char message[200];

static rapt_tokenizer *open_tokenizer(const char *text, size_t size, rapt_status expected) {
  rapt_tokenizer_files files = {sizeof files};
  rapt_tokenizer *tokenizer;
  files.tokenizer_json.data = text;
  files.tokenizer_json.size = size;
  files.tokenizer_config.data = config;
  files.tokenizer_config.size = sizeof config - 1;
  CHECK(rapt_tokenizer_open(&files, &tokenizer, message, sizeof message) == expected);
  CHECK((tokenizer != NULL) == (expected == RAPT_OK));
  return tokenizer;
}

static void check_open(void) {
  rapt_tokenizer_files files = {sizeof files};
  rapt_tokenizer *tokenizer;
  char small[8];
  open_tokenizer("{}", 2, RAPT_BAD_FILE);
  CHECK(strcmp(message, "tokenizer.json: model: is not an object") == 0);
  CHECK(rapt_tokenizer_open(&files, &tokenizer, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(rapt_tokenizer_open(&files, &tokenizer, small, sizeof small) == RAPT_BAD_FILE);
  CHECK(strcmp(small, "tokeniz") == 0);
  CHECK(rapt_tokenizer_open(&files, &tokenizer, NULL, 0) == RAPT_BAD_FILE);
  CHECK(rapt_tokenizer_open(NULL, &tokenizer, message, sizeof message) == RAPT_INVALID);
  files.size = 4;
  CHECK(rapt_tokenizer_open(&files, &tokenizer, message, sizeof message) == RAPT_INVALID);
  CHECK(strstr(message, "rapt_tokenizer_files.size is 4, but at least ") != NULL);
  rapt_tokenizer_free(NULL);
}

static void check_future_struct(void) {
  struct {
    rapt_encode_options known;
    uint64_t unknown;
  } options = {{sizeof options}, 0};
  rapt_tokenizer *tokenizer = open_tokenizer(json, sizeof json - 1, RAPT_OK);
  size_t count;
  CHECK(rapt_tokenizer_encode(tokenizer, "a", 1, &options.known, NULL, 0, &count, message, sizeof message) == RAPT_OK);
  options.unknown = 1;
  CHECK(rapt_tokenizer_encode(tokenizer, "a", 1, &options.known, NULL, 0, &count, message, sizeof message) ==
        RAPT_UNSUPPORTED);
  rapt_tokenizer_free(tokenizer);
}

static void check_encode(rapt_tokenizer *tokenizer) {
  rapt_encode_options options = {sizeof options};
  int32_t ids[8] = {0};
  size_t count = 99;
  CHECK(rapt_tokenizer_encode(tokenizer, "abc<e>ab", 8, NULL, ids, 8, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 3 && ids[0] == 4 && ids[1] == 5 && ids[2] == 3 && message[0] == 0);
  CHECK(rapt_tokenizer_encode(tokenizer, "abcab", 5, NULL, ids, 1, &count, message, sizeof message) == RAPT_FULL);
  CHECK(count == 2 && strcmp(message, "the result has 2 ids, but the buffer holds 1") == 0);
  CHECK(rapt_tokenizer_encode(tokenizer, "abcab", 5, NULL, NULL, 0, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2);
  CHECK(rapt_tokenizer_encode(tokenizer, NULL, 0, NULL, NULL, 0, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 0);
  CHECK(rapt_tokenizer_encode(tokenizer, "a\xff", 2, NULL, ids, 8, &count, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "the text is not valid UTF-8 at byte 1 of 2") == 0);
  options.flags = RAPT_ENCODE_PLAIN;
  CHECK(rapt_tokenizer_encode(tokenizer, "<e>", 3, &options, ids, 8, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 0); /* none of its characters has a token */
  options.flags = 1u << 31;
  CHECK(rapt_tokenizer_encode(tokenizer, "a", 1, &options, ids, 8, &count, message, sizeof message) == RAPT_INVALID);
  options.flags = 0;
  options.most_ids = 1;
  CHECK(rapt_tokenizer_encode(tokenizer, "abcab", 5, &options, ids, 8, &count, message, sizeof message) ==
        RAPT_TOO_LONG);
  options.most_ids = 2;
  CHECK(rapt_tokenizer_encode(tokenizer, "abcab", 5, &options, ids, 8, &count, message, sizeof message) == RAPT_OK);
  options.embedding_rows = 4;
  CHECK(rapt_tokenizer_encode(tokenizer, "abc", 3, &options, ids, 8, &count, message, sizeof message) == RAPT_INVALID);
}

static void check_encode_pair(rapt_tokenizer *tokenizer) {
  int32_t ids[8] = {0}, types[8] = {9, 9, 9, 9};
  size_t count = 99;
  CHECK(rapt_tokenizer_encode_pair(tokenizer, "ab", 2, "c<e>", 4, NULL, ids, types, 8, &count, message,
                                   sizeof message) == RAPT_OK);
  CHECK(count == 3 && ids[0] == 3 && ids[1] == 2 && ids[2] == 5 && types[0] == 0 && types[1] == 1 && types[2] == 1);
  CHECK(rapt_tokenizer_encode_pair(tokenizer, "ab", 2, NULL, 0, NULL, ids, NULL, 8, &count, message, sizeof message) ==
        RAPT_OK);
  CHECK(count == 1 && ids[0] == 3 && types[0] == 0 && types[3] == 9);
  CHECK(rapt_tokenizer_encode_pair(tokenizer, "ab", 2, "c", 1, NULL, ids, types, 1, &count, message, sizeof message) ==
        RAPT_FULL);
  CHECK(count == 2);
  CHECK(rapt_tokenizer_encode_pair(tokenizer, "ab", 2, "\xff", 1, NULL, ids, types, 8, &count, message,
                                   sizeof message) == RAPT_INVALID);
  CHECK(rapt_tokenizer_encode_pair(tokenizer, "ab", 2, NULL, 1, NULL, ids, types, 8, &count, message, sizeof message) ==
        RAPT_INVALID);
}

static void check_spans(rapt_tokenizer *tokenizer) {
  rapt_token_span spans[8] = {{7, 7, 7, 7}};
  size_t count = 99;
  CHECK(rapt_tokenizer_spans(tokenizer, "cab", 3, "<e>", 3, NULL, spans, 8, &count, message, sizeof message) ==
        RAPT_OK);
  CHECK(count == 3 && spans[0].source == 1 && spans[0].begin == 0 && spans[0].end == 1);
  CHECK(spans[1].begin == 1 && spans[1].end == 3 && spans[1].word == spans[0].word);
  CHECK(spans[2].source == 2 && spans[2].begin == 0 && spans[2].end == 3 && spans[2].word == 0);
  CHECK(rapt_tokenizer_spans(tokenizer, "cab", 3, NULL, 0, NULL, spans, 1, &count, message, sizeof message) ==
        RAPT_FULL);
  CHECK(count == 2);
  CHECK(rapt_tokenizer_spans(tokenizer, "\xff", 1, NULL, 0, NULL, spans, 8, &count, message, sizeof message) ==
        RAPT_INVALID);
  CHECK(rapt_tokenizer_spans(NULL, "a", 1, NULL, 0, NULL, spans, 8, &count, message, sizeof message) == RAPT_INVALID);
}

static rapt_text_view view_of(const char *text) {
  rapt_text_view view;
  view.data = text;
  view.size = strlen(text);
  return view;
}

/* Images and sounds are ahead of a message's text. */
static void check_chat_images(rapt_tokenizer *tokenizer, rapt_chat_message messages[2]) {
  size_t images[2] = {2, 0}, sounds[2] = {0, 0};
  rapt_chat *chat;
  int32_t ids[8];
  size_t count;
  messages[1] = messages[0];
  CHECK(rapt_chat_open(view_of("{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}"
                               "{{ eos_token }}{% else %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"),
                       view_of("{\"eos_token\": \"<e>\"}"), &chat, message, sizeof message) == RAPT_OK);
  CHECK(rapt_chat_encode_images(chat, tokenizer, messages, images, 2, 0, NULL, ids, 8, &count, message,
                                sizeof message) == RAPT_OK);
  CHECK(count == 4 && ids[0] == 5 && ids[1] == 5 && ids[2] == 3 && ids[3] == 3);
  messages[0].content = view_of("");
  CHECK(rapt_chat_encode_images(chat, tokenizer, messages, images, 1, 0, NULL, ids, 8, &count, message,
                                sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 5 && ids[1] == 5);
  images[1] = (size_t)1 << 40;
  CHECK(rapt_chat_encode_images(chat, tokenizer, messages, images, 2, 0, NULL, ids, 8, &count, message,
                                sizeof message) == RAPT_INVALID &&
        strstr(message, "message 1 has 1099511627776 images"));
  CHECK(rapt_chat_encode_media(chat, tokenizer, messages, NULL, images, 2, 0, NULL, ids, 8, &count, message,
                               sizeof message) == RAPT_INVALID &&
        strstr(message, "message 1 has 1099511627776 sounds"));
  rapt_chat_free(chat);
  /* Sounds are behind images. */
  images[1] = 0;
  sounds[0] = 1;
  messages[0].content = messages[1].content;
  CHECK(rapt_chat_open(view_of("{% for m in messages %}{% for part in m.content %}{% if part.type == 'audio' %}"
                               "{{ eos_token }}{% elif part.type == 'text' %}{{ part.text }}{% else %}a{% endif %}"
                               "{% endfor %}{% endfor %}"),
                       view_of("{\"eos_token\": \"<e>\"}"), &chat, message, sizeof message) == RAPT_OK);
  CHECK(rapt_chat_encode_media(chat, tokenizer, messages, images, sounds, 1, 0, NULL, ids, 8, &count, message,
                               sizeof message) == RAPT_OK);
  CHECK(count >= 2 && ids[count - 2] == 5 && ids[count - 1] == 3);
  rapt_chat_free(chat);
}

static void check_chat(rapt_tokenizer *tokenizer) {
  const rapt_text_view none = {NULL, 0};
  rapt_chat_message messages[2] = {{{NULL, 0}, {NULL, 0}}};
  rapt_chat *chat;
  int32_t ids[8];
  size_t count;
  messages[0].role = view_of("user");
  messages[0].content = view_of("a<e>b");
  CHECK(rapt_chat_open(none, view_of("{}"), &chat, message, sizeof message) == RAPT_OK && chat == NULL);
  CHECK(rapt_chat_open(none, view_of("{\"chat_template\": 3}"), &chat, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(rapt_chat_open(view_of("{% cycle %}"), none, &chat, message, sizeof message) == RAPT_BAD_FILE && chat == NULL);
  CHECK(rapt_chat_open(none, none, NULL, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_chat_open(view_of("{% if messages|length > 1 %}{{ raise_exception('too many') }}{% endif %}"
                               "{{ eos_token + messages[0].content }}"),
                       view_of("{\"eos_token\": \"<e>\"}"), &chat, message, sizeof message) == RAPT_OK);
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 1, 0, NULL, ids, 8, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 5 && ids[1] == 3); /* the user's <e> is no token: a and b merge over its characters */
  messages[0].content = view_of("ab");
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 1, 0, NULL, ids, 8, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 5 && ids[1] == 3);
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 1, 0, NULL, ids, 1, &count, message, sizeof message) == RAPT_FULL);
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 2, 0, NULL, ids, 8, &count, message, sizeof message) ==
            RAPT_INVALID &&
        strstr(message, "too many"));
  rapt_chat_free(chat);
  CHECK(rapt_chat_open(view_of("{% for part in messages[0].content %}{{ part.text }}{% endfor %}{{ eos_token }}"),
                       view_of("{\"eos_token\": \"<e>\"}"), &chat, message, sizeof message) == RAPT_OK);
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 1, 0, NULL, ids, 8, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 3 && ids[1] == 5); /* a list, as the text alone is left out */
  CHECK(rapt_chat_encode(NULL, tokenizer, messages, 1, 0, NULL, ids, 8, &count, message, sizeof message) ==
        RAPT_INVALID);
  rapt_chat_free(chat);
  CHECK(rapt_chat_open(view_of("{{ messages[0].content.text }}{{ eos_token }}"), view_of("{\"eos_token\": \"<e>\"}"),
                       &chat, message, sizeof message) == RAPT_OK);
  CHECK(rapt_chat_encode(chat, tokenizer, messages, 1, 0, NULL, ids, 8, &count, message, sizeof message) ==
            RAPT_UNSUPPORTED &&
        strstr(message, "leaves out what the messages say"));
  rapt_chat_free(chat);
  check_chat_images(tokenizer, messages);
  rapt_chat_free(NULL);
}

static void check_decode(rapt_tokenizer *tokenizer) {
  const int32_t ids[] = {4, 5, 3};
  char text[16];
  size_t size;
  CHECK(rapt_tokenizer_decode(tokenizer, ids, 3, 0, text, sizeof text, &size, message, sizeof message) == RAPT_OK);
  CHECK(size == 5 && memcmp(text, "abcab", 5) == 0);
  CHECK(rapt_tokenizer_decode(tokenizer, ids, 3, RAPT_DECODE_KEEP_SPECIAL, text, sizeof text, &size, message,
                              sizeof message) == RAPT_OK);
  CHECK(size == 8 && memcmp(text, "abc<e>ab", 8) == 0);
  CHECK(rapt_tokenizer_decode(tokenizer, ids, 3, 0, text, 4, &size, message, sizeof message) == RAPT_FULL && size == 5);
  CHECK(rapt_tokenizer_token(tokenizer, 3, text, sizeof text, &size, message, sizeof message) == RAPT_OK);
  CHECK(size == 2 && memcmp(text, "ab", 2) == 0);
  CHECK(rapt_tokenizer_token(tokenizer, 6, text, sizeof text, &size, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_tokenizer_vocabulary(tokenizer) == 6);
  CHECK(rapt_tokenizer_role(tokenizer, RAPT_TOKEN_END) == 5 && rapt_tokenizer_role(tokenizer, RAPT_TOKEN_BEGIN) == 5);
  CHECK(rapt_tokenizer_role(tokenizer, RAPT_TOKEN_PADDING) == -1 &&
        rapt_tokenizer_role(tokenizer, (rapt_token_role)77) == -1);
  CHECK(rapt_tokenizer_find(tokenizer, "abc", 3) == 4 && rapt_tokenizer_find(tokenizer, "x", 1) == -1);
}

static void check_stream(void) {
  rapt_tokenizer *tokenizer = open_tokenizer(json, sizeof json - 1, RAPT_OK);
  const rapt_text_view stop = {"ca", 2};
  rapt_text_stream *stream;
  rapt_text_view piece;
  int stopped = 9;
  CHECK(rapt_text_stream_open(tokenizer, &stop, 1, 0, &stream, message, sizeof message) == RAPT_OK);
  rapt_tokenizer_free(tokenizer); /* the stream keeps what it needs */
  CHECK(rapt_text_stream_feed(stream, 4, &piece, &stopped, message, sizeof message) == RAPT_OK);
  CHECK(piece.size == 2 && memcmp(piece.data, "ab", 2) == 0 && stopped == 0);
  CHECK(rapt_text_stream_feed(stream, 99, &piece, &stopped, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_text_stream_feed(stream, 0, &piece, &stopped, message, sizeof message) == RAPT_OK);
  CHECK(piece.size == 0 && stopped == 1);
  CHECK(rapt_text_stream_finish(stream, &piece, message, sizeof message) == RAPT_OK && piece.size == 0);
  rapt_text_stream_free(stream);
  rapt_text_stream_free(NULL);
}

static void check_sampler(void) {
  rapt_sampler_options options = {sizeof options};
  rapt_sampler *sampler, *copy;
  float logits[100] = {0};
  int32_t id, other, step;
  double nats;
  CHECK(rapt_sampler_open(NULL, &sampler, message, sizeof message) == RAPT_OK);
  logits[7] = 1;
  CHECK(rapt_sampler_sample(sampler, logits, 100, &id, message, sizeof message) == RAPT_OK && id == 7);
  other = 8;
  CHECK(rapt_sampler_top_needed(sampler) == 1 && rapt_sampler_top_needed(NULL) == 0);
  CHECK(rapt_sampler_sample_top(sampler, &other, logits + 7, 1, 100, &id, message, sizeof message) == RAPT_OK);
  CHECK(id == 8);
  CHECK(rapt_sampler_sample_top(sampler, &other, logits, 0, 100, &id, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_sampler_sample_top(sampler, NULL, logits, 1, 100, &id, message, sizeof message) == RAPT_INVALID);
  rapt_sampler_free(sampler);
  options.temperature = 1;
  options.seed = 5;
  CHECK(rapt_sampler_open(&options, &sampler, message, sizeof message) == RAPT_OK);
  for (step = 0; step < 3; ++step)
    CHECK(rapt_sampler_sample(sampler, logits, 100, &id, message, sizeof message) == RAPT_OK);
  CHECK(rapt_sampler_copy(sampler, &copy, message, sizeof message) == RAPT_OK);
  CHECK(rapt_sampler_sample(sampler, logits, 100, &id, message, sizeof message) == RAPT_OK);
  CHECK(rapt_sampler_sample(copy, logits, 100, &other, message, sizeof message) == RAPT_OK && id == other);
  CHECK(rapt_sampler_accept(sampler, &id, 1, message, sizeof message) == RAPT_OK);
  logits[3] = NAN;
  CHECK(rapt_sampler_sample(sampler, logits, 100, &id, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "the logit of token 3 is not a number") == 0);
  rapt_sampler_free(sampler);
  rapt_sampler_free(copy);
  options.top_p = 1.5;
  CHECK(rapt_sampler_open(&options, &sampler, message, sizeof message) == RAPT_INVALID && sampler == NULL);
  logits[3] = 0;
  CHECK(rapt_negative_log_likelihood(logits, 2, 0, &nats, message, sizeof message) == RAPT_OK);
  CHECK(fabs(nats - log(2.0)) < 1e-12);
}

static void check_sequences(void) {
  static const char text[] = "{\"bad_words_ids\": [[2, 3]], \"sequence_bias\": [[[1], 1.5]]}";
  static const int32_t past[2] = {1, 2};
  rapt_token_rules rules = {sizeof rules};
  rapt_biased_sequence sequences[2];
  int32_t ids[3];
  size_t count = 9, id_count = 9;
  float logits[4] = {1, 2, 3, 4};
  CHECK(rapt_rules_read(text, sizeof text - 1, &rules, NULL, 0, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 0 && rules.sequence_count == 0);
  rules.size -= 2 * sizeof(size_t);
  CHECK(rapt_rules_read(text, sizeof text - 1, &rules, NULL, 0, &count, message, sizeof message) == RAPT_UNSUPPORTED);
  rules.size = sizeof rules;
  CHECK(rapt_rules_read_sequences(text, sizeof text - 1, NULL, 0, &count, NULL, 0, &id_count, message,
                                  sizeof message) == RAPT_OK);
  CHECK(count == 2 && id_count == 3);
  CHECK(rapt_rules_read_sequences(text, sizeof text - 1, sequences, 1, &count, ids, 3, &id_count, message,
                                  sizeof message) == RAPT_FULL);
  CHECK(rapt_rules_read_sequences(text, sizeof text - 1, sequences, 2, &count, ids, 2, &id_count, message,
                                  sizeof message) == RAPT_FULL);
  CHECK(rapt_rules_read_sequences(text, sizeof text - 1, sequences, 2, &count, ids, 3, &id_count, message,
                                  sizeof message) == RAPT_OK);
  CHECK(rapt_rules_read_sequences("{", 1, sequences, 2, &count, ids, 3, &id_count, message, sizeof message) ==
        RAPT_BAD_FILE);
  CHECK(rapt_rules_read_sequences(text, 1, sequences, 2, NULL, ids, 3, &id_count, message, sizeof message) ==
        RAPT_INVALID);
  CHECK(sequences[0].bias == -INFINITY && sequences[0].ids.count == 2 && sequences[0].ids.data[1] == 3);
  CHECK(sequences[1].bias == 1.5 && sequences[1].ids.count == 1 && sequences[1].ids.data[0] == 1);
  rules.sequence_count = 2;
  CHECK(rapt_rules_apply(&rules, past, 2, 2, logits, 4, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "rapt_token_rules.sequences is NULL") == 0);
  rules.sequences = sequences;
  CHECK(rapt_rules_apply(&rules, past, 2, 2, logits, 4, message, sizeof message) == RAPT_OK);
  CHECK(logits[0] == 1 && logits[1] == 3.5f && logits[2] == 3 && logits[3] == -INFINITY);
  sequences[0].ids.count = 0;
  CHECK(rapt_rules_apply(&rules, past, 2, 2, logits, 4, message, sizeof message) == RAPT_INVALID);
}

static void check_rules(void) {
  static const char text[] =
      "{\"no_repeat_ngram_size\": 2, \"min_length\": 5, \"forced_bos_token_id\": 3, "
      "\"suppress_tokens\": [1, 0], \"begin_suppress_tokens\": [2], \"renormalize_logits\": true}";
  static const int32_t past[4] = {2, 3, 1, 2}, end = 3;
  rapt_token_rules rules = {sizeof rules};
  int32_t ids[4];
  size_t count = 9;
  float logits[4] = {1, 2, 3, 4};
  rapt_beam_options options = {sizeof options};
  rapt_beams *beams;
  const rapt_beam_step *steps;
  CHECK(rapt_rules_read(text, sizeof text - 1, &rules, NULL, 0, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 4 && rules.first.count == 0 && rules.no_repeat_ngram == 2);
  CHECK(rapt_rules_read(text, sizeof text - 1, &rules, ids, 3, &count, message, sizeof message) == RAPT_FULL);
  CHECK(rapt_rules_read(text, sizeof text - 1, &rules, ids, 4, &count, message, sizeof message) == RAPT_OK);
  CHECK(rules.no_repeat_ngram == 2 && rules.min_length == 5 && rules.renormalizes == 1 && rules.last.count == 0);
  CHECK(rules.first.count == 1 && rules.first.data[0] == 3 && rules.banned.count == 2 && rules.banned.data[0] == 0);
  CHECK(rules.banned.data[1] == 1 && rules.banned_first.count == 1 && rules.banned_first.data[0] == 2);
  CHECK(rapt_rules_read("{", 1, &rules, ids, 4, &count, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(rapt_rules_read(text, 1, NULL, ids, 4, &count, message, sizeof message) == RAPT_INVALID);

  /* No text has 2, 3 twice; 0 and 1 never come; nothing but 3 comes first. */
  CHECK(rapt_rules_apply(&rules, past, 2, 3, logits, 4, message, sizeof message) == RAPT_OK);
  CHECK(logits[0] == -INFINITY && logits[1] == -INFINITY && logits[2] == -INFINITY && logits[3] == 4);
  logits[2] = 3;
  CHECK(rapt_rules_apply(&rules, past, 4, 4, logits, 4, message, sizeof message) == RAPT_OK);
  CHECK(logits[2] == -INFINITY && logits[3] == 0);
  CHECK(rapt_rules_apply(&rules, past, 2, 4, logits, 4, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "the rules leave no token") == 0);
  CHECK(rapt_rules_apply(&rules, past, 4, 3, logits, 4, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_rules_apply(&rules, NULL, 0, 3, logits, 4, message, sizeof message) == RAPT_INVALID);
  rules.ends.count = 1;
  CHECK(rapt_rules_apply(&rules, past, 2, 3, logits, 4, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "rapt_token_rules.ends has no ids") == 0);
  rules.ends.data = &end;

  options.max_new_tokens = 2;
  CHECK(rapt_beams_open(&options, past, 1, &beams, message, sizeof message) == RAPT_OK);
  CHECK(rapt_beams_set_rules(beams, &rules, message, sizeof message) == RAPT_OK);
  logits[0] = 9, logits[2] = 2, logits[3] = 1;
  CHECK(rapt_beams_advance(beams, logits, 1, 4, &steps, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 1 && steps[0].token == 3);
  CHECK(rapt_beams_set_rules(beams, &rules, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "the beam search has begun") == 0);
  CHECK(rapt_beams_set_rules(NULL, &rules, message, sizeof message) == RAPT_INVALID);
  rapt_beams_free(beams);
}

static void check_config(void) {
  static const char text[] =
      "{\"do_sample\": true, \"temperature\": 0.5, \"eos_token_id\": [1, 2], \"max_new_tokens\": 9}";
  rapt_generation_config read = {sizeof read};
  int32_t ids[4];
  size_t count;
  CHECK(rapt_generation_config_read(text, sizeof text - 1, &read, ids, 4, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 1 && ids[1] == 2 && read.sampler.temperature == 0.5 && read.sampler.top_k == 50);
  CHECK(read.max_new_tokens == 9 && read.sampler.size == sizeof read.sampler);
  CHECK(rapt_generation_config_read("{\"num_beams\": 2}", 16, &read, ids, 4, &count, message, sizeof message) ==
        RAPT_OK);
  CHECK(read.beams == 2 && read.returns == 1 && read.length_penalty == 1 && read.early_stopping == RAPT_STOP_ESTIMATE);
  CHECK(rapt_generation_config_read("{\"num_beams\": 0}", 16, &read, ids, 4, &count, message, sizeof message) ==
        RAPT_BAD_FILE);
  CHECK(rapt_generation_config_read(text, 3, &read, ids, 4, &count, message, sizeof message) == RAPT_BAD_FILE);

  static const char stops[] = "{\"max_length\": 20, \"stop_strings\": [\"END\", \"\\n\"]}";
  char stop[3];
  CHECK(rapt_generation_config_read(stops, sizeof stops - 1, &read, ids, 4, &count, message, sizeof message) ==
        RAPT_OK);
  CHECK(read.max_length == 20 && read.max_new_tokens == 0);
  CHECK(rapt_generation_config_stop(stops, sizeof stops - 1, 0, stop, 3, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 3 && memcmp(stop, "END", 3) == 0);
  CHECK(rapt_generation_config_stop(stops, sizeof stops - 1, 0, stop, 2, &count, message, sizeof message) == RAPT_FULL);
  CHECK(rapt_generation_config_stop(stops, sizeof stops - 1, 1, stop, 3, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 1 && stop[0] == '\n');
  CHECK(rapt_generation_config_stop(stops, sizeof stops - 1, 2, stop, 3, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 0);
  CHECK(rapt_generation_config_stop(stops, 3, 0, stop, 3, &count, message, sizeof message) == RAPT_BAD_FILE);
}

static void check_beams(void) {
  static const float first[] = {0, 1, 2}, second[] = {0, 0, 9, 9, 0, 0};
  const int32_t end = 0;
  rapt_beam_options options = {sizeof options, 2, 2, 2, NULL, RAPT_STOP_EARLY, &end, 1, 0, 0};
  rapt_beams *beams = NULL;
  const rapt_beam_step *steps;
  int32_t ids[2];
  size_t count;
  double score;
  int ended;
  CHECK(rapt_beams_open(&options, &end, 1, &beams, message, sizeof message) == RAPT_OK);
  CHECK(rapt_beams_found(beams) == 0);
  CHECK(rapt_beams_advance(beams, first, 2, 3, &steps, &count, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_beams_advance(beams, first, 1, 3, &steps, &count, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && steps[0].parent == 0 && steps[0].token == 2 && steps[1].token == 1);
  CHECK(rapt_beams_advance(beams, second, 2, 3, &steps, &count, message, sizeof message) == RAPT_OK && count == 0);
  CHECK(rapt_beams_found(beams) == 2);
  CHECK(rapt_beams_result(beams, 0, ids, 2, &count, &score, &ended, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 2 && ids[1] == 2 && score < 0 && !ended);
  CHECK(rapt_beams_result(beams, 1, ids, 2, &count, NULL, &ended, message, sizeof message) == RAPT_OK);
  CHECK(count == 2 && ids[0] == 1 && ids[1] == 0 && ended);
  CHECK(rapt_beams_result(beams, 1, ids, 1, &count, NULL, NULL, message, sizeof message) == RAPT_FULL);
  CHECK(rapt_beams_result(beams, 2, ids, 2, &count, NULL, NULL, message, sizeof message) == RAPT_INVALID);
  rapt_beams_free(beams);
  options.early_stopping = 3;
  CHECK(rapt_beams_open(&options, &end, 1, &beams, message, sizeof message) == RAPT_INVALID && beams == NULL);
}

/* Opens tokenizers of its own, whose pattern is compiled and matched, and uses the shared one. */
static void *encode_often(void *tokenizer) {
  static const char split[] =
      "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?i:c)|\\\\p{L}(?!b)\"}, "
      "\"behavior\": \"Isolated\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, "
      "\"ab\": 3}, \"merges\": [\"a b\"]}}";
  int32_t ids[8];
  size_t count, round, wrong = 0;
  char own[100];
  for (round = 0; round < 200; ++round) {
    rapt_tokenizer_files files = {sizeof files};
    rapt_tokenizer *mine;
    files.tokenizer_json.data = split;
    files.tokenizer_json.size = sizeof split - 1;
    if (rapt_tokenizer_encode(tokenizer, "abcab", 5, NULL, ids, 8, &count, own, sizeof own) != RAPT_OK || count != 2)
      ++wrong;
    if (rapt_tokenizer_open(&files, &mine, own, sizeof own) != RAPT_OK) {
      ++wrong;
      continue;
    }
    if (rapt_tokenizer_encode(mine, "abcab", 5, NULL, ids, 8, &count, own, sizeof own) != RAPT_OK || count != 5)
      ++wrong;
    rapt_tokenizer_free(mine);
  }
  return wrong ? tokenizer : NULL;
}

static void check_threads(rapt_tokenizer *tokenizer) {
  pthread_t threads[4];
  void *wrong;
  int index;
  for (index = 0; index < 4; ++index)
    CHECK(pthread_create(&threads[index], NULL, encode_often, tokenizer) == 0);
  for (index = 0; index < 4; ++index)
    CHECK(pthread_join(threads[index], &wrong) == 0 && wrong == NULL);
}

/* Red with a little blue, green; blue, white. */
static const unsigned char picture[] = {
    137, 80, 78, 71,  13,  10,  26,  10, 0, 0,   0,   13,  73, 72, 68, 82,  0,   0,  0,   2,   0,   0,   0,   2,   8, 2,
    0,   0,  0,  253, 212, 154, 115, 0,  0, 0,   19,  73,  68, 65, 84, 120, 218, 99, 248, 207, 96,  204, 240, 159, 1, 8,
    254, 3,  1,  0,   34,  31,  6,   46, 5, 107, 122, 205, 0,  0,  0,  0,   73,  69, 78,  68,  174, 66,  96,  130};

static void check_images(void) {
  static const char plain[] = "{\"do_resize\": false}", resized[] = "{\"size\": {\"height\": 1, \"width\": 3}}";
  static const float expected[] = {1, -1, -1, 1, -1, 1, -1, 1, -0.6f, -1, 1, 1};
  rapt_image_processor *processor;
  int64_t shape[3];
  float values[12];
  int index;
  CHECK(rapt_image_processor_open("{", 1, &processor, message, sizeof message) == RAPT_BAD_FILE && !processor);
  CHECK(rapt_image_processor_open("{\"do_pad\": true}", 16, &processor, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(strstr(message, "preprocessor_config.json: do_pad is true, which could change the numbers") != NULL);
  CHECK(rapt_image_processor_open(NULL, 0, &processor, message, sizeof message) == RAPT_INVALID);
  rapt_image_processor_free(NULL);

  CHECK(rapt_image_processor_open(resized, sizeof resized - 1, &processor, message, sizeof message) == RAPT_OK);
  CHECK(rapt_image_processor_run(processor, picture, sizeof picture, NULL, 0, shape, message, sizeof message) ==
        RAPT_OK);
  CHECK(shape[0] == 3 && shape[1] == 1 && shape[2] == 3);
  rapt_image_processor_free(processor);

  CHECK(rapt_image_processor_open(plain, sizeof plain - 1, &processor, message, sizeof message) == RAPT_OK);
  CHECK(rapt_image_processor_run(processor, picture, sizeof picture, values, 12, shape, message, sizeof message) ==
        RAPT_OK);
  CHECK(shape[0] == 3 && shape[1] == 2 && shape[2] == 2);
  for (index = 0; index < 12; ++index)
    CHECK(fabs(values[index] - expected[index]) < 1e-6);
  CHECK(rapt_image_processor_run(processor, picture, sizeof picture, values, 11, shape, message, sizeof message) ==
        RAPT_FULL);
  CHECK(strcmp(message, "the result has 12 numbers, but the buffer holds 11") == 0);
  CHECK(rapt_image_processor_run(processor, picture, 50, values, 12, shape, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(rapt_image_processor_run(processor, "GIF89a", 6, values, 12, shape, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(strstr(message, "is neither a JPEG, a PNG nor a WebP image") != NULL);
  CHECK(rapt_image_processor_run(processor, NULL, 0, values, 12, shape, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(strcmp(message, "the image file is empty") == 0);
  CHECK(rapt_image_processor_run(processor, picture, 1, values, 12, NULL, message, sizeof message) == RAPT_INVALID);
  rapt_image_processor_free(processor);
}

/* A second of 8 kHz, one byte a sample: a wave of 16 samples. */
static const unsigned char *make_wav(size_t *size) {
  static const unsigned char header[] = {
      'R', 'I', 'F',  'F',  0x64, 0x1F, 0,    0,    'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16,  0,   0,    0,    1, 0,
      1,   0,   0x40, 0x1F, 0,    0,    0x40, 0x1F, 0,   0,   1,   0,   8,   0,   'd', 'a', 't', 'a', 0x40, 0x1F, 0, 0};
  static unsigned char file[sizeof header + 8000];
  int index;
  memcpy(file, header, sizeof header);
  for (index = 0; index < 8000; ++index)
    file[sizeof header + index] = index % 16 < 8 ? 192 : 64;
  *size = sizeof file;
  return file;
}

static const char extractor[] =
    "{\"feature_extractor_type\": \"WhisperFeatureExtractor\", \"feature_size\": 4, \"chunk_length\": 1}";

static void check_audio_processor(void) {
  rapt_audio_processor *processor;
  rapt_audio_info info = {0};
  CHECK(rapt_audio_processor_open("{", 1, &processor, message, sizeof message) == RAPT_BAD_FILE && !processor);
  CHECK(rapt_audio_processor_open("{}", 2, &processor, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(strstr(message, "preprocessor_config.json: feature_extractor_type is absent") != NULL);
  CHECK(rapt_audio_processor_open(NULL, 0, &processor, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_audio_processor_open("{}", 2, NULL, message, sizeof message) == RAPT_INVALID);
  rapt_audio_processor_free(NULL);

  CHECK(rapt_audio_processor_open(extractor, sizeof extractor - 1, &processor, message, sizeof message) == RAPT_OK);
  CHECK(rapt_audio_processor_get_info(processor, &info) == RAPT_INVALID);
  info.size = sizeof info;
  CHECK(rapt_audio_processor_get_info(processor, &info) == RAPT_OK && info.size == sizeof info);
  CHECK(info.sampling_rate == 16000 && info.bins == 4 && info.hop == 160 && info.window_frames == 100);
  memset(&info, 0, sizeof info);
  info.size = offsetof(rapt_audio_info, bins);
  CHECK(rapt_audio_processor_get_info(processor, &info) == RAPT_OK && info.sampling_rate == 16000 && info.bins == 0);
  CHECK(rapt_audio_processor_get_info(NULL, &info) == RAPT_INVALID);
  CHECK(rapt_audio_processor_get_info(processor, NULL) == RAPT_INVALID);
  rapt_audio_processor_free(processor);
}

static void check_audio(void) {
  static float values[404];
  rapt_audio_processor *processor;
  rapt_audio *audio;
  const float *samples;
  int64_t shape[2];
  size_t size, count;
  const unsigned char *file = make_wav(&size);
  float wrong = (float)NAN;
  CHECK(rapt_audio_processor_open(extractor, sizeof extractor - 1, &processor, message, sizeof message) == RAPT_OK);
  CHECK(rapt_audio_decode(processor, "GIF89a", 6, &audio, message, sizeof message) == RAPT_BAD_FILE && !audio);
  CHECK(strstr(message, "the sound file cannot be decoded: Format not ") == message);
  CHECK(rapt_audio_decode(processor, NULL, 0, &audio, message, sizeof message) == RAPT_BAD_FILE);
  CHECK(strcmp(message, "the sound file is empty") == 0);
  CHECK(rapt_audio_decode(processor, NULL, 1, &audio, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_audio_decode(NULL, file, size, &audio, message, sizeof message) == RAPT_INVALID);
  rapt_audio_free(NULL);
  CHECK(rapt_audio_samples(NULL, &count) == NULL && count == 0);

  CHECK(rapt_audio_decode(processor, file, size, &audio, message, sizeof message) == RAPT_OK);
  samples = rapt_audio_samples(audio, &count);
  CHECK(count == 16000 && rapt_audio_samples(audio, NULL) == samples);
  CHECK(samples[8007] > 0.4f && samples[8007 + 16] < -0.4f);
  CHECK(rapt_audio_processor_run(processor, samples, count, NULL, 0, shape, message, sizeof message) == RAPT_OK);
  CHECK(shape[0] == 4 && shape[1] == 100);
  CHECK(rapt_audio_processor_run(processor, samples, count, values, 399, shape, message, sizeof message) == RAPT_FULL);
  CHECK(strcmp(message, "the result has 400 numbers, but the buffer holds 399") == 0 && values[0] == 0);
  values[400] = 7;
  CHECK(rapt_audio_processor_run(processor, samples, count, values, 401, shape, message, sizeof message) == RAPT_OK);
  CHECK(values[50] > 0.5f && values[350] > -1 && values[50] > values[350] && values[400] == 7);
  CHECK(rapt_audio_processor_run(processor, NULL, 0, values, 400, shape, message, sizeof message) == RAPT_OK);
  CHECK(values[0] == -1.5f && values[399] == -1.5f);
  CHECK(rapt_audio_processor_run(processor, &wrong, 1, values, 400, shape, message, sizeof message) == RAPT_INVALID);
  CHECK(strcmp(message, "sample 0 is not finite") == 0);
  CHECK(rapt_audio_processor_run(processor, samples, 1, values, 400, NULL, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_audio_processor_run(processor, NULL, 1, values, 400, shape, message, sizeof message) == RAPT_INVALID);
  CHECK(rapt_audio_processor_run(processor, samples, SIZE_MAX, NULL, 0, shape, message, sizeof message) ==
        RAPT_INVALID);
  rapt_audio_free(audio);
  rapt_audio_processor_free(processor);
}

int main(void) {
  rapt_tokenizer *tokenizer = open_tokenizer(json, sizeof json - 1, RAPT_OK);
  CHECK(strcmp(rapt_text_version(), "") != 0);
  check_open();
  check_future_struct();
  check_encode(tokenizer);
  check_encode_pair(tokenizer);
  check_spans(tokenizer);
  check_chat(tokenizer);
  check_decode(tokenizer);
  check_stream();
  check_sampler();
  check_config();
  check_sequences();
  check_rules();
  check_beams();
  check_images();
  check_audio_processor();
  check_audio();
  check_threads(tokenizer);
  rapt_tokenizer_free(tokenizer);
  return failures;
}
