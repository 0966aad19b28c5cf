#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <ctime>
#include <sys/stat.h>
#include <unistd.h>

namespace rapt::run {
namespace {

constexpr uint64_t mostPrompt = uint64_t(1) << 30;
constexpr uint64_t mostIds = uint64_t(1) << 24; // far above any cache; keeps a huge prompt from being cut for nothing

/// The files in the module's sections.
SideFiles sideFiles(const Model &model) {
  return [&](const char *name) {
    rapt_text_view view{};
    view.data = static_cast<const char *>(rapt_module_section(model.module.get(), name, &view.size));
    return view;
  };
}

Outcome openFiles(const rapt_tokenizer_files &files, Owned<rapt_tokenizer> &tokenizer) {
  rapt_tokenizer *opened = nullptr;
  Outcome outcome =
      Outcome::of([&](char *message, size_t size) { return rapt_tokenizer_open(&files, &opened, message, size); });
  tokenizer.reset(opened);
  return outcome;
}

Outcome openReader(const Model &model, bool needed, Text &text) {
  if (Outcome outcome = openTokenizer(sideFiles(model), text.tokenizer); !outcome || text.tokenizer || !needed)
    return outcome;
  return {RAPT_UNSUPPORTED, std::string(model.info.name) +
                                (model.hasImageSource() ? " was compiled without a tokenizer, which writes its texts"
                                                        : " was compiled without a tokenizer: give ids with --tokens")};
}

/// Chooses the tokenizer of what the model writes.
Outcome openWriter(const Model &model, bool needed, Text &text) {
  if (!model.info.source_vocabulary) {
    text.writer = text.tokenizer.get();
    return {};
  }
  auto files = sized<rapt_tokenizer_files>();
  const SideFiles content = sideFiles(model);
  files.tokenizer_json = content("target_tokenizer.json");
  files.tokenizer_config = content("target_tokenizer_config.json");
  if (!files.tokenizer_json.data)
    return needed ? Outcome{RAPT_UNSUPPORTED, std::string(model.info.name) +
                                                  " was compiled without target_tokenizer.json, and its targets have a "
                                                  "vocabulary of their own: give ids with --tokens"}
                  : Outcome{};
  Outcome outcome = openFiles(files, text.target);
  if (!outcome)
    outcome.message.insert(0, "target_"); // the reader knows the files by their usual names
  text.writer = text.target.get();
  return outcome;
}

Outcome openGenerationConfig(const Model &model, Text &text) {
  rapt_text_view json = sideFiles(model)("generation_config.json");
  if (!json.data)
    return {};
  int32_t ends[256];
  size_t count = 0;
  RAPT_RETURN_IF_ERROR(Outcome::of([&](char *message, size_t size) {
    return rapt_generation_config_read(json.data, json.size, &text.config, ends, std::size(ends), &count, message,
                                       size);
  }));
  text.ends.insert(ends, ends + count);
  auto readRules = [&](char *message, size_t size) {
    return rapt_rules_read(json.data, json.size, &text.rules, text.ruleIds.data(), text.ruleIds.size(), &count, message,
                           size);
  };
  Outcome outcome = Outcome::of(readRules);
  if (outcome.status == RAPT_FULL || (outcome && count > 0)) {
    text.ruleIds.resize(count);
    outcome = Outcome::of(readRules);
  }
  RAPT_RETURN_IF_ERROR(outcome);
  size_t ids = 0;
  auto readSequences = [&](char *message, size_t size) {
    return rapt_rules_read_sequences(json.data, json.size, text.sequences.data(), text.sequences.size(), &count,
                                     text.sequenceIds.data(), text.sequenceIds.size(), &ids, message, size);
  };
  RAPT_RETURN_IF_ERROR(Outcome::of(readSequences));
  if (count > 0) {
    text.sequences.resize(count);
    text.sequenceIds.resize(ids);
    outcome = Outcome::of(readSequences);
    text.rules.sequences = text.sequences.data();
    text.rules.sequence_count = text.sequences.size();
    RAPT_RETURN_IF_ERROR(outcome);
  }
  for (size_t index = 0;; ++index) {
    std::string stop;
    size_t bytes = 0;
    auto read = [&](char *message, size_t size) {
      return rapt_generation_config_stop(json.data, json.size, index, stop.data(), stop.size(), &bytes, message, size);
    };
    if (outcome = Outcome::of(read); outcome.status == RAPT_FULL) {
      stop.resize(bytes);
      outcome = Outcome::of(read);
    }
    if (!outcome || stop.empty())
      return outcome;
    text.stops.push_back(std::move(stop));
  }
}

} // namespace

Outcome openTokenizer(const SideFiles &content, Owned<rapt_tokenizer> &tokenizer) {
  auto files = sized<rapt_tokenizer_files>();
  files.tokenizer_json = content("tokenizer.json");
  files.tokenizer_config = content("tokenizer_config.json");
  files.special_tokens_map = content("special_tokens_map.json");
  files.added_tokens = content("added_tokens.json");
  files.vocab_json = content("vocab.json");
  files.merges_txt = content("merges.txt");
  files.vocab_txt = content("vocab.txt");
  if (!files.tokenizer_json.data && !files.vocab_json.data && !files.vocab_txt.data)
    return {};
  return openFiles(files, tokenizer);
}

Outcome openText(const Model &model, bool needed, Text &text) {
  text.config.sampler.size = sizeof text.config.sampler;
  text.config.beams = text.config.returns = 1;
  text.config.length_penalty = 1;
  RAPT_RETURN_IF_ERROR(openReader(model, needed, text));
  RAPT_RETURN_IF_ERROR(openWriter(model, needed, text));
  RAPT_RETURN_IF_ERROR(openGenerationConfig(model, text));
  text.ends.insert(model.info.eos, model.info.eos + model.info.eos_count);
  text.vocabulary = model.info.vocabulary;
  text.imageToken = int32_t(model.info.image_token);
  if (text.writer) {
    text.vocabulary = std::min<int64_t>(text.vocabulary, rapt_tokenizer_vocabulary(text.writer));
    if (int32_t end = rapt_tokenizer_role(text.writer, RAPT_TOKEN_END); end >= 0)
      text.ends.insert(end);
  }
  return {};
}

/// Ids below `vocabulary` of `call(options, ids, capacity, count, message, size)`, whose text has `bytes` bytes.
template <typename Call> static Outcome collectIds(int64_t vocabulary, size_t bytes, Ids &ids, Call call) {
  auto options = sized<rapt_encode_options>();
  options.embedding_rows = vocabulary;
  options.most_ids = mostIds;
  size_t count = 0;
  ids.resize(bytes + 8);
  auto fill = [&](char *message, size_t size) { return call(&options, ids.data(), ids.size(), &count, message, size); };
  Outcome outcome = Outcome::of(fill);
  if (outcome.status == RAPT_FULL) {
    ids.resize(count);
    outcome = Outcome::of(fill);
  }
  ids.resize(outcome ? count : 0);
  return outcome;
}

Outcome encode(const Model &model, const Text &text, const std::string &content, Ids &ids) {
  return collectIds(model.readVocabulary(), content.size(), ids, [&](auto... rest) {
    return rapt_tokenizer_encode(text.tokenizer.get(), content.data(), content.size(), rest...);
  });
}

Outcome encodePlain(const Model &model, const Text &text, const std::string &content, Ids &ids) {
  return collectIds(model.readVocabulary(), content.size(), ids, [&](const rapt_encode_options *given, auto... rest) {
    rapt_encode_options options = *given;
    options.flags |= RAPT_ENCODE_BARE | RAPT_ENCODE_PLAIN;
    return rapt_tokenizer_encode(text.writer, content.data(), content.size(), &options, rest...);
  });
}

/// The chat template of the files; null where there is none.
static Outcome openTemplate(const SideFiles &content, Owned<rapt_chat> &chat) {
  rapt_chat *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_chat_open(content("chat_template.jinja"), content("tokenizer_config.json"), &opened, message, size);
  });
  chat.reset(opened);
  return outcome;
}

bool hasChatTemplate(const Model &model) {
  Owned<rapt_chat> chat;
  return !openTemplate(sideFiles(model), chat) || chat;
}

Outcome openChat(const Model &model, Owned<rapt_chat> &chat) {
  Outcome outcome = openTemplate(sideFiles(model), chat);
  if (outcome && !chat)
    return {RAPT_UNSUPPORTED, std::string(model.info.name) + " has no chat template: leave out --chat"};
  return outcome;
}

/// See encodeMessages below; the embedding has `vocabulary` rows.
static Outcome encodeMessages(int64_t vocabulary, const rapt_tokenizer *tokenizer, const rapt_chat &chat,
                              std::span<const Message> messages, size_t images, int64_t now, Ids &ids) {
  auto view = [](std::string_view bytes) { return rapt_text_view{bytes.data(), bytes.size()}; };
  std::vector<rapt_chat_message> views;
  size_t bytes = 256;
  for (const Message &one : messages) {
    views.push_back({view(one.role), view(one.content)});
    bytes += one.content.size();
  }
  std::vector<size_t> counts(views.size());
  counts.back() = images;
  return collectIds(vocabulary, bytes, ids, [&](auto... rest) {
    return rapt_chat_encode_images(&chat, tokenizer, views.data(), counts.data(), views.size(), now, rest...);
  });
}

Outcome encodeMessages(const Model &model, const Text &text, const rapt_chat &chat, std::span<const Message> messages,
                       size_t images, int64_t now, Ids &ids) {
  return encodeMessages(model.readVocabulary(), text.tokenizer.get(), chat, messages, images, now, ids);
}

Outcome encodeChat(const Model &model, const Text &text, const std::string *system, const std::string &content,
                   size_t images, Ids &ids) {
  Owned<rapt_chat> chat;
  RAPT_RETURN_IF_ERROR(openChat(model, chat));
  std::vector<Message> messages;
  if (system)
    messages.push_back({"system", *system});
  messages.push_back({"user", content});
  return encodeMessages(model, text, *chat, messages, images, int64_t(time(nullptr)), ids);
}

int64_t countChatTokens(const SideFiles &content, int64_t vocabulary, std::string_view message) {
  Owned<rapt_chat> chat;
  Owned<rapt_tokenizer> tokenizer;
  Ids ids;
  const Message one{"user", std::string(message)};
  const bool isEncoded = openTemplate(content, chat) && chat && openTokenizer(content, tokenizer) && tokenizer &&
                         encodeMessages(vocabulary, tokenizer.get(), *chat, {&one, 1}, 0, int64_t(time(nullptr)), ids);
  return isEncoded ? int64_t(ids.size()) : 0;
}

Outcome decode(const rapt_tokenizer *tokenizer, const Ids &ids, std::string &content, uint32_t flags) {
  size_t bytes = 0;
  auto call = [&](char *message, size_t size) {
    return rapt_tokenizer_decode(tokenizer, ids.data(), ids.size(), flags, content.data(), content.size(), &bytes,
                                 message, size);
  };
  content.resize(ids.size() * 8 + 8);
  Outcome outcome = Outcome::of(call);
  if (outcome.status == RAPT_FULL) {
    content.resize(bytes);
    outcome = Outcome::of(call);
  }
  content.resize(outcome ? bytes : 0);
  return outcome;
}

Outcome checkIds(const Model &model, const Ids &ids) {
  const int64_t vocabulary = model.readVocabulary();
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocabulary)
      return {RAPT_INVALID, "--tokens: token " + std::to_string(i) + " is " + std::to_string(ids[i]) +
                                "; the model's vocabulary is 0 to " + std::to_string(vocabulary - 1)};
  return {};
}

Expected<std::string> readPrompt(const std::string &path) {
  return path == "-" ? readStream(STDIN_FILENO, "standard input", mostPrompt) : readFileOrFifo(path, mostPrompt);
}

Expected<std::string> readPromptFile(const Options &options) {
  if (options.standardInput)
    return *options.standardInput;
  return readPrompt(*options.promptFile);
}

std::vector<std::string> linesOf(const std::string &content) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < content.size();) {
    size_t end = std::min(content.find('\n', begin), content.size());
    size_t last = end > begin && content[end - 1] == '\r' ? end - 1 : end;
    lines.push_back(content.substr(begin, last - begin));
    begin = end + 1;
  }
  return lines;
}

Status takeStandardInput(Options &options) {
  struct stat input;
  if (options.hasWork() || options.info || options.help || options.version || options.library.empty())
    return {};
  options.converses = options.chat && isatty(STDIN_FILENO);
  if (options.converses || fstat(STDIN_FILENO, &input) ||
      !(S_ISREG(input.st_mode) || S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode)))
    return {};
  RAPT_ASSIGN_OR_RETURN(std::string text, readPrompt("-"));
  if (text.empty())
    return {};
  options.promptFile = "-";
  options.standardInput = std::move(text);
  return {};
}

} // namespace rapt::run
