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
    text.writer = text.tokenizer;
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
  Outcome outcome = Tokenizer::open(files, text.writer);
  if (!outcome)
    outcome.message.insert(0, "target_"); // the reader knows the files by their usual names
  return outcome;
}

/// Reads the rules of generation_config.json.
Outcome readRules(std::string_view json, Text &text) {
  RAPT_RETURN_IF_ERROR(text::collect(
      text.ruleIds, [&](auto... rest) { return rapt_rules_read(json.data(), json.size(), &text.rules, rest...); }));
  size_t count = 0, ids = 0;
  auto readSequences = [&](char *message, size_t size) {
    return rapt_rules_read_sequences(json.data(), json.size(), text.sequences.data(), text.sequences.size(), &count,
                                     text.sequenceIds.data(), text.sequenceIds.size(), &ids, message, size);
  };
  RAPT_RETURN_IF_ERROR(Outcome::of(readSequences));
  if (count == 0)
    return {};
  text.sequences.resize(count);
  text.sequenceIds.resize(ids);
  Outcome outcome = Outcome::of(readSequences);
  text.rules.sequences = text.sequences.data();
  text.rules.sequence_count = text.sequences.size();
  return outcome;
}

Outcome openGenerationConfig(const Model &model, Text &text) {
  const rapt_text_view file = sideFiles(model)("generation_config.json");
  if (!file.data)
    return {};
  text::GenerationSettings settings;
  RAPT_RETURN_IF_ERROR(text::GenerationSettings::read(text::viewOf(file), settings));
  text.config = settings.config;
  text.ends.insert(settings.ends.begin(), settings.ends.end());
  text.stops = std::move(settings.stops);
  return readRules(text::viewOf(file), text);
}

} // namespace

Outcome openTokenizer(const SideFiles &content, Tokenizer &tokenizer) {
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
  return Tokenizer::open(files, tokenizer);
}

Outcome openText(const Model &model, bool needed, Text &text) {
  RAPT_RETURN_IF_ERROR(openReader(model, needed, text));
  RAPT_RETURN_IF_ERROR(openWriter(model, needed, text));
  RAPT_RETURN_IF_ERROR(openGenerationConfig(model, text));
  text.ends.insert(model.info.eos, model.info.eos + model.info.eos_count);
  text.vocabulary = model.info.vocabulary;
  for (int32_t id : {model.facts.imageId(), model.facts.audioId()})
    if (id >= 0)
      text.placeholders.push_back(id);
  if (text.writer) {
    text.vocabulary = std::min<int64_t>(text.vocabulary, text.writer.vocabulary());
    if (int32_t end = text.writer.role(RAPT_TOKEN_END); end >= 0)
      text.ends.insert(end);
  }
  return {};
}

/// Ids are below `vocabulary`. `flags`: RAPT_ENCODE_...
static rapt_encode_options encodeOptions(int64_t vocabulary, uint32_t flags = 0) {
  auto options = sized<rapt_encode_options>();
  options.embedding_rows = vocabulary;
  options.most_ids = mostIds;
  options.flags = flags;
  return options;
}

Outcome encode(const Model &model, const Text &text, const std::string &content, Ids &ids) {
  const rapt_encode_options options = encodeOptions(model.readVocabulary());
  return text.tokenizer.encode(content, ids, &options);
}

Outcome encodePlain(const Model &model, const Text &text, const std::string &content, Ids &ids) {
  const rapt_encode_options options = encodeOptions(model.readVocabulary(), RAPT_ENCODE_BARE | RAPT_ENCODE_PLAIN);
  return text.writer.encode(content, ids, &options);
}

/// The chat template of the files; empty where there is none.
static Outcome openTemplate(const SideFiles &content, text::ChatTemplate &chat) {
  return text::ChatTemplate::open(content("chat_template.jinja"), content("tokenizer_config.json"), chat);
}

bool hasChatTemplate(const Model &model) {
  text::ChatTemplate chat;
  return !openTemplate(sideFiles(model), chat) || chat;
}

Outcome openChat(const Model &model, text::ChatTemplate &chat) {
  Outcome outcome = openTemplate(sideFiles(model), chat);
  if (outcome && !chat)
    return {RAPT_UNSUPPORTED, std::string(model.info.name) + " has no chat template: leave out --chat"};
  return outcome;
}

/// See encodeMessages below; the embedding has `vocabulary` rows.
static Outcome encodeMessages(int64_t vocabulary, const Tokenizer &tokenizer, const text::ChatTemplate &chat,
                              const std::vector<Message> &messages, MediaCounts media, int64_t now, Ids &ids) {
  const rapt_encode_options options = encodeOptions(vocabulary);
  std::vector<size_t> images(messages.size()), sounds(messages.size());
  images.back() = media.images, sounds.back() = media.sounds;
  return chat.encode(tokenizer, messages, now, ids, &options, images, sounds);
}

Outcome encodeMessages(const Model &model, const Text &text, const text::ChatTemplate &chat,
                       const std::vector<Message> &messages, MediaCounts media, int64_t now, Ids &ids) {
  return encodeMessages(model.readVocabulary(), text.tokenizer, chat, messages, media, now, ids);
}

Outcome encodeChat(const Model &model, const Text &text, const std::string *system, const std::string &content,
                   MediaCounts media, Ids &ids) {
  text::ChatTemplate chat;
  RAPT_RETURN_IF_ERROR(openChat(model, chat));
  std::vector<Message> messages;
  if (system)
    messages.push_back({"system", *system});
  messages.push_back({"user", content});
  return encodeMessages(model, text, chat, messages, media, int64_t(time(nullptr)), ids);
}

int64_t countChatTokens(const SideFiles &content, int64_t vocabulary, std::string_view message) {
  text::ChatTemplate chat;
  Tokenizer tokenizer;
  Ids ids;
  const Message one{"user", std::string(message)};
  const bool isEncoded = openTemplate(content, chat) && chat && openTokenizer(content, tokenizer) && tokenizer &&
                         encodeMessages(vocabulary, tokenizer, chat, {one}, {}, int64_t(time(nullptr)), ids);
  return isEncoded ? int64_t(ids.size()) : 0;
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

std::string withoutLastNewline(std::string text) {
  if (text.ends_with('\n'))
    text.resize(text.size() - (text.ends_with("\r\n") ? 2 : 1));
  return text;
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
