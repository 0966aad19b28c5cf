#include "lib/Generation/CommandLine/Conversation/Messages.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"

namespace rapt::run {
namespace {

constexpr uint64_t mostBytes = uint64_t(64) << 20;
constexpr std::string_view form = R"(expected {"messages": [{"role": ..., "content": ...}, ...]})";

/// A message with no other members: what this program would not write back is not read.
Expected<Message> messageOf(const json::Value &value) {
  const json::Value *role = value.find("role"), *content = value.find("content");
  const json::Object *object = value.asObject();
  if (!object || object->size() != 2 || !role || !role->isString() || !content || !content->isString())
    return Error{"expected an object with the texts \"role\" and \"content\" and nothing else"};
  return Message{*role->asString(), *content->asString()};
}

} // namespace

Expected<std::vector<Message>> parseMessages(std::string_view text) {
  RAPT_ASSIGN_OR_RETURN(json::Value value, json::parse(text));
  const json::Value *member = value.find("messages");
  const json::Array *list = member ? member->asArray() : nullptr;
  if (!list)
    return Error{"is no conversation: " + std::string(form)};
  std::vector<Message> messages;
  for (const json::Value &one : *list) {
    const std::string place = "message " + std::to_string(messages.size() + 1) + ": ";
    Expected<Message> message = messageOf(one);
    if (!message)
      return Error{place + message.error().message};
    const bool followsUser = !messages.empty() && messages.back().role == "user";
    const bool mayBeSystem = messages.empty() && message->role == "system";
    if (!mayBeSystem && message->role != (followsUser ? "assistant" : "user"))
      return Error{place + "the role is " + json::printable(message->role) + "; expected " +
                   (followsUser        ? "assistant"
                    : messages.empty() ? "system or user"
                                       : "user")};
    messages.push_back(std::move(*message));
  }
  if (!messages.empty() && messages.back().role == "user")
    return Error{"message " + std::to_string(messages.size()) + " has no answer"};
  return messages;
}

Expected<std::vector<Message>> readMessages(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(std::string text, readFile(path, mostBytes));
  return withContext(shownPath(path), parseMessages(text));
}

Status writeMessages(const std::string &path, const std::vector<Message> &messages) {
  json::Array list;
  for (const Message &one : messages)
    list.emplace_back(json::Object{{"role", json::Value(one.role)}, {"content", json::Value(one.content)}});
  const std::string text = json::write(json::Value(json::Object{{"messages", json::Value(std::move(list))}}), 2) + "\n";
  RAPT_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::create(path));
  RAPT_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

} // namespace rapt::run
