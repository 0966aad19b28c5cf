//===- ChatTemplate.h - Messages to a model's prompt -----------------------===//
//
// Renders the Jinja template of a model directory as Hugging Face does; what of
// Jinja is not there is refused by name. The result keeps apart what the template
// wrote and what came from the messages: only the former may be read as special
// tokens.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

namespace chat {
struct Syntax;
}

/// A stretch of the prompt from one source.
struct ChatPiece {
  std::string text;
  bool fromUser = false; ///< From a message, a tool or a document: never special tokens.
};

/// Immutable after it is made.
class ChatTemplate {
public:
  /// Errors: a construct that is not supported, or no Jinja at all, with the line.
  static Expected<ChatTemplate> parse(std::string_view source);

  /// `context`: an object with the template's variables: "messages" (a list of {"role", "content"}),
  /// "add_generation_prompt", "bos_token", ... Strings of messages, tools and documents, but roles and types, are the
  /// user's. `now` is what strftime_now tells. Errors: as the template raises, what Python would refuse, more than
  /// 10 million steps, 4 million characters or 128 MiB of values.
  Expected<std::vector<ChatPiece>> render(const json::Value &context, std::time_t now) const;

private:
  explicit ChatTemplate(std::shared_ptr<const chat::Syntax> syntax) : syntax(std::move(syntax)) {}
  std::shared_ptr<const chat::Syntax> syntax;
};

/// The template of a model directory, from the content of its files (empty where there is none): chat_template.jinja,
/// else the chat_template of tokenizer_config.json, a string or several of a name, of which it is "default", or
/// "tool_use" for a chat with tools. Nothing where there is none. Errors: a chat_template of another form, no
/// "default".
Expected<std::optional<std::string>> findChatTemplate(std::string_view jinja, std::string_view tokenizerConfig,
                                                      bool hasTools = false);

/// Whether some of it comes from the messages.
bool showsMessages(const std::vector<ChatPiece> &pieces);

/// The prompt that the template of the files makes of one message of the user; nothing where there is no template, or
/// one that leaves out what messages say.
Expected<std::vector<ChatPiece>> renderMessage(std::string_view message, std::string_view jinja,
                                               std::string_view tokenizerConfig);

/// The variables of a chat: messages, add_generation_prompt, and the special tokens that tokenizer_config.json names.
Expected<json::Value> chatContext(json::Array messages, bool addGenerationPrompt, std::string_view tokenizerConfig);

/// The fault that keeps a directory's template from writing the prompt of one message, or of one with a tool, as a
/// line; nothing where it writes both, there is none, or it says itself that it takes no tools.
std::optional<std::string> findChatProblem(std::string_view jinja, std::string_view tokenizerConfig);

} // namespace rapt
