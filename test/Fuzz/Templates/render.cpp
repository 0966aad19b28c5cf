// Renders the chat templates of standard input: a line of JSON for each, {"template": text, "context": object}. A line
// of output for each: {"text": ..., "user": the part of it that came from messages}, or {"error": ...}.
#include "lib/Generation/ChatTemplate.h"
#include <iostream>

using namespace rapt;

static json::Object rendered(const json::Value &request) {
  const json::Value *source = request.find("template"), *context = request.find("context");
  auto failed = [](const std::string &message) { return json::Object{{"error", json::Value(message)}}; };
  if (!source || !source->asString() || !context)
    return failed("no template and context");
  Expected<ChatTemplate> chat = ChatTemplate::parse(*source->asString());
  if (!chat)
    return failed(chat.error().message);
  Expected<std::vector<ChatPiece>> pieces = chat->render(*context, 0);
  if (!pieces)
    return failed(pieces.error().message);
  std::string text, user;
  for (const ChatPiece &piece : *pieces) {
    text += piece.text;
    if (piece.fromUser)
      user += piece.text;
  }
  return {{"text", json::Value(text)}, {"user", json::Value(user)}};
}

int main() {
  setenv("TZ", "UTC", 1);
  for (std::string line; std::getline(std::cin, line);) {
    Expected<json::Value> request = json::parse(line);
    json::Object answer =
        request ? rendered(*request) : json::Object{{"error", json::Value("request: " + request.error().message)}};
    std::cout << json::write(json::Value(std::move(answer))) << '\n';
  }
  return 0;
}
