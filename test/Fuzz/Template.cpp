// Chat templates. Parts of an input, with 0xFF between them: the template, its variables as JSON (where they are no
// object: a chat of two turns), tokenizer_config.json.
#include "lib/Generation/ChatTemplate.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

static json::Value someChat(std::string_view tokenizerConfig) {
  auto message = [](const char *role, const char *content) {
    return json::Value(json::Object{{"role", json::Value(role)}, {"content", json::Value(content)}});
  };
  json::Array messages = {message("user", "Hello \xC3\xA9 <s>"), message("assistant", "Yes.\n"), message("user", "")};
  auto context = chatContext(messages, true, tokenizerConfig);
  if (context)
    return *context;
  requireMessage(context.error());
  return *chatContext(messages, false, "{}");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto parts = split(data, size, 3);
  if (auto found = findChatTemplate("", parts[2]); !found)
    requireMessage(found.error());
  auto parsed = ChatTemplate::parse(parts[0]);
  if (!parsed) {
    requireMessage(parsed.error());
    return 0;
  }
  auto given = json::parse(parts[1]);
  json::Value context = given && given->isObject() ? *given : someChat(parts[2]);
  auto pieces = parsed->render(context, 1700000000);
  if (!pieces) {
    requireMessage(pieces.error());
    return 0;
  }
  size_t total = 0;
  for (const ChatPiece &piece : *pieces)
    total += piece.text.size();
  require(total <= 4 * 4000000, "a prompt has at most 4 million characters");
  return 0;
}
