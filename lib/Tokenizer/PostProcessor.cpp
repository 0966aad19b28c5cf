//===- PostProcessor.cpp ---------------------------------------------------===//
#include "lib/Tokenizer/PostProcessor.h"
#include "lib/Tokenizer/JsonFields.h"

namespace rapt {

static Status appendId(const json::Value &value, TokenTest isToken, const std::string &where,
                       std::vector<int32_t> &ids) {
  std::optional<int64_t> id = value.asInteger();
  if (!id || *id < 0 || *id > INT32_MAX || !isToken(int32_t(*id)))
    return Error{where + ": the id " + (id ? std::to_string(*id) : "of a special token") +
                 " is no token of the vocabulary"};
  ids.push_back(int32_t(*id));
  return {};
}

/// Appends the ids that `special_tokens` gives for one {"SpecialToken": {"id": name}} of a template.
static Status appendSpecial(const json::Value &item, const json::Value &table, TokenTest isToken,
                            const std::string &where, std::vector<int32_t> &ids) {
  const json::Value *name = item.find("id");
  const json::Value *entry = name && name->isString() ? table.find(*name->asString()) : nullptr;
  const json::Value *list = entry ? entry->find("ids") : nullptr;
  if (!list || !list->isArray())
    return Error{where + ": a special token of the template has no ids in special_tokens"};
  for (const json::Value &id : *list->asArray())
    if (Status status = appendId(id, isToken, where, ids); !status)
      return status;
  return {};
}

static Expected<Frame> readTemplate(JsonFields &fields, TokenTest isToken, const std::string &where) {
  const json::Array *single = fields.value("single").asArray();
  if (!single)
    return Error{where + ".single: is not a list"};
  const json::Value &table = fields.value("special_tokens");
  Frame frame;
  bool seenText = false;
  for (const json::Value &item : *single) {
    if (const json::Value *special = item.find("SpecialToken")) {
      Status status =
          appendSpecial(*special, table, isToken, where + ".single", seenText ? frame.suffix : frame.prefix);
      if (!status)
        return status.error();
      continue;
    }
    const json::Value *sequence = item.find("Sequence");
    const json::Value *name = sequence ? sequence->find("id") : nullptr;
    if (!name || !name->isString() || *name->asString() != "A" || seenText)
      return Error{where + ".single: the template must hold special tokens and the sequence A once"};
    seenText = true;
  }
  if (!seenText)
    return Error{where + ".single: the template leaves the text out"};
  return frame;
}

/// BertProcessing and RobertaProcessing: cls text sep, each given as ["[CLS]", 101].
static Expected<Frame> readClassifierFrame(JsonFields &fields, TokenTest isToken, const std::string &where) {
  Frame frame;
  auto append = [&](std::string_view key, std::vector<int32_t> &ids) -> Status {
    const json::Array *pair = fields.value(key).asArray();
    if (!pair || pair->size() != 2)
      return Error{where + "." + std::string(key) + ": is not a pair of a token and its id"};
    return appendId((*pair)[1], isToken, where + "." + std::string(key), ids);
  };
  if (Status status = append("cls", frame.prefix); !status)
    return status.error();
  if (Status status = append("sep", frame.suffix); !status)
    return status.error();
  return frame;
}

/// Each processor frames what the one before it made.
static Expected<Frame> readSequence(JsonFields &fields, TokenTest isToken, const std::string &where) {
  const json::Array *processors = fields.value("processors").asArray();
  if (!processors)
    return Error{where + ".processors: is not a list"};
  Frame whole;
  for (size_t index = 0; index < processors->size(); ++index) {
    Expected<Frame> outer =
        readPostProcessor((*processors)[index], isToken, where + ".processors[" + std::to_string(index) + "]");
    if (!outer)
      return outer;
    whole.prefix.insert(whole.prefix.begin(), outer->prefix.begin(), outer->prefix.end());
    whole.suffix.insert(whole.suffix.end(), outer->suffix.begin(), outer->suffix.end());
  }
  return whole;
}

Expected<Frame> readPostProcessor(const json::Value &value, TokenTest isToken, const std::string &where) {
  if (value.isNull())
    return Frame{};
  JsonFields fields(value, where);
  std::string type = fields.string("type", "");
  Expected<Frame> frame = Frame{};
  if (type == "TemplateProcessing")
    frame = readTemplate(fields, isToken, where);
  else if (type == "BertProcessing" || type == "RobertaProcessing")
    frame = readClassifierFrame(fields, isToken, where);
  else if (type == "Sequence")
    frame = readSequence(fields, isToken, where);
  else if (type != "ByteLevel")
    return Error{
        where + ": the post-processor '" + json::printable(type) +
        "' is not supported (TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence are); "
        "pass token ids instead of text"};
  if (!frame)
    return frame;
  // A template for pairs and what moves character offsets do not touch the ids of a single text.
  if (Status status = fields.finish({"pair", "trim_offsets", "add_prefix_space", "use_regex"}); !status)
    return status.error();
  return frame;
}

} // namespace rapt
