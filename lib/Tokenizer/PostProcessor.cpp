//===- PostProcessor.cpp ---------------------------------------------------===//
//
// Processors only put ids around texts and set types, so that a chain of them is
// worked out when the file is read: on lists of parts in place of ids.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/PostProcessor.h"
#include "lib/Tokenizer/JsonFields.h"
#include <algorithm>

namespace rapt {

// A template of real files has at most seven parts; its special tokens have one id each.
static constexpr size_t kMostParts = 256;

using Kind = FramePart::Kind;
using Parts = std::vector<FramePart>;

namespace {
/// The parts that one text and two texts have become so far. A template joins two texts into one list.
struct State {
  std::vector<Parts> single, pair;
};

class Reader {
public:
  Reader(TokenTest isToken, State &state) : isToken(isToken), state(state) {}
  Status read(const json::Value &value, const std::string &where);

private:
  Expected<int32_t> readId(const json::Value &value, const std::string &where);
  Expected<int32_t> readNamedId(const json::Value &value, const std::string &where);
  Status readSpecial(const json::Value &item, int32_t type, const json::Value &table, const std::string &where,
                     Parts &parts);
  Expected<Parts> readParts(const json::Array &items, const json::Value &table, const std::string &where);
  Status readTemplate(JsonFields &fields, const std::string &where);
  Status readClassifier(JsonFields &fields, bool isRoberta, const std::string &where);
  Status readSequence(JsonFields &fields, const std::string &where);

  TokenTest isToken;
  State &state;
};
} // namespace

static size_t countOf(const Parts &parts, Kind kind) {
  return size_t(std::count_if(parts.begin(), parts.end(), [&](const FramePart &part) { return part.kind == kind; }));
}

Expected<int32_t> Reader::readId(const json::Value &value, const std::string &where) {
  std::optional<int64_t> id = value.asInteger();
  if (!id || *id < 0 || *id > INT32_MAX || !isToken(int32_t(*id)))
    return Error{where + ": the id " + (id ? std::to_string(*id) : "of a special token") +
                 " is no token of the vocabulary"};
  return int32_t(*id);
}

/// Appends the ids that `table` gives for one {"id": name, "type_id": type} of a template.
Status Reader::readSpecial(const json::Value &item, int32_t type, const json::Value &table, const std::string &where,
                           Parts &parts) {
  const json::Value *name = item.find("id");
  const json::Value *entry = name && name->isString() ? table.find(*name->asString()) : nullptr;
  const json::Value *list = entry ? entry->find("ids") : nullptr;
  if (!list || !list->isArray())
    return Error{where + ": a special token of the template has no ids in special_tokens"};
  for (const json::Value &value : *list->asArray()) {
    RAPT_ASSIGN_OR_RETURN(int32_t id, readId(value, where));
    if (parts.size() == kMostParts)
      return Error{where + ": the template has more than " + std::to_string(kMostParts) + " parts"};
    parts.push_back({Kind::Special, id, type});
  }
  return {};
}

Expected<Parts> Reader::readParts(const json::Array &items, const json::Value &table, const std::string &where) {
  Parts parts;
  if (items.size() > kMostParts)
    return Error{where + ": the template has " + std::to_string(items.size()) + " parts; the limit is " +
                 std::to_string(kMostParts)};
  for (const json::Value &item : items) {
    const json::Value *special = item.find("SpecialToken"), *sequence = item.find("Sequence");
    const json::Value *part = special ? special : sequence, *name = part ? part->find("id") : nullptr;
    const json::Value *typeValue = part ? part->find("type_id") : nullptr;
    int64_t type = typeValue ? typeValue->asInteger().value_or(-1) : 0;
    if (type < 0 || type > INT32_MAX)
      return Error{where + ": the type_id of a part is not a type"};
    if (special) {
      RAPT_RETURN_IF_ERROR(readSpecial(*special, int32_t(type), table, where, parts));
      continue;
    }
    std::string_view text = name && name->isString() ? std::string_view(*name->asString()) : std::string_view();
    if (text != "A" && text != "B")
      return Error{where + ": a part of the template is neither a special token nor the sequence A or B"};
    parts.push_back({text == "A" ? Kind::First : Kind::Second, -1, int32_t(type)});
  }
  return parts;
}

/// Puts what the texts have become into their parts of a template, which also sets all of its types.
static Parts fill(const Parts &parts, const std::vector<Parts> &texts) {
  Parts filled;
  for (const FramePart &part : parts) {
    if (part.kind == Kind::Special) {
      filled.push_back(part);
      continue;
    }
    for (FramePart inner : texts[part.kind == Kind::Second]) {
      inner.type = part.type;
      filled.push_back(inner);
    }
  }
  return filled;
}

Status Reader::readTemplate(JsonFields &fields, const std::string &where) {
  const json::Array *single = fields.value("single").asArray(), *pair = fields.value("pair").asArray();
  if (!single)
    return Error{where + ".single: is not a list"};
  const json::Value &table = fields.value("special_tokens");
  if (const json::Object *entries = table.asObject(); entries && entries->size() > kMostParts)
    return Error{where + ".special_tokens: has " + std::to_string(entries->size()) + " entries; the limit is " +
                 std::to_string(kMostParts)};
  RAPT_ASSIGN_OR_RETURN(Parts one, readParts(*single, table, where + ".single"));
  if (countOf(one, Kind::First) != 1 || countOf(one, Kind::Second) != 0)
    return Error{where + ".single: the template must hold the sequence A once, and no other"};
  RAPT_ASSIGN_OR_RETURN(Parts two, pair ? readParts(*pair, table, where + ".pair") : Parts());
  state.single = {fill(one, state.single)};
  bool joins = countOf(two, Kind::First) == 1 && countOf(two, Kind::Second) == 1 && state.pair.size() == 2;
  state.pair = joins ? std::vector<Parts>{fill(two, state.pair)} : std::vector<Parts>();
  return {};
}

/// The id of ["[CLS]", 101].
Expected<int32_t> Reader::readNamedId(const json::Value &value, const std::string &where) {
  const json::Array *pair = value.asArray();
  if (!pair || pair->size() != 2)
    return Error{where + ": is not a pair of a token and its id"};
  return readId((*pair)[1], where);
}

/// BERT: cls A sep, B sep with types 0 and 1. RoBERTa: cls A sep, sep B sep, and all types are 0.
Status Reader::readClassifier(JsonFields &fields, bool isRoberta, const std::string &where) {
  RAPT_ASSIGN_OR_RETURN(int32_t cls, readNamedId(fields.value("cls"), where + ".cls"));
  RAPT_ASSIGN_OR_RETURN(int32_t sep, readNamedId(fields.value("sep"), where + ".sep"));
  auto frame = [&](std::vector<Parts> &texts) {
    for (size_t index = 0; index < texts.size(); ++index) {
      Parts &parts = texts[index];
      for (FramePart &part : parts)
        part.type = isRoberta ? 0 : part.type;
      int32_t type = index == 0 || isRoberta ? 0 : 1;
      if (index == 0 || isRoberta)
        parts.insert(parts.begin(), {Kind::Special, index == 0 ? cls : sep, type});
      parts.push_back({Kind::Special, sep, type});
    }
  };
  frame(state.single);
  frame(state.pair);
  return {};
}

Status Reader::readSequence(JsonFields &fields, const std::string &where) {
  const json::Array *processors = fields.value("processors").asArray();
  if (!processors)
    return Error{where + ".processors: is not a list"};
  for (size_t index = 0; index < processors->size(); ++index) {
    std::string place = where + ".processors[" + std::to_string(index) + "]";
    RAPT_RETURN_IF_ERROR(read((*processors)[index], place));
    size_t parts = 0;
    for (const Parts &text : state.single)
      parts += text.size();
    if (parts > kMostParts)
      return Error{place + ": the processors put more than " + std::to_string(kMostParts) + " tokens around a text"};
  }
  return {};
}

Status Reader::read(const json::Value &value, const std::string &where) {
  JsonFields fields(value, where);
  std::string type = fields.string("type", "");
  Status status;
  if (type == "TemplateProcessing")
    status = readTemplate(fields, where);
  else if (type == "BertProcessing" || type == "RobertaProcessing")
    status = readClassifier(fields, type == "RobertaProcessing", where);
  else if (type == "Sequence")
    status = readSequence(fields, where);
  else if (type != "ByteLevel")
    return Error{
        where + ": the post-processor '" + json::printable(type) +
        "' is not supported (TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence are); "
        "pass token ids instead of text"};
  RAPT_RETURN_IF_ERROR(status);
  // These move character offsets, which nobody asks for here.
  return fields.finish({"trim_offsets", "add_prefix_space", "use_regex"});
}

Expected<Framing> readPostProcessor(const json::Value &value, TokenTest isToken, const std::string &where) {
  Framing framing;
  if (value.isNull())
    return framing;
  State state = {{framing.single}, {{framing.pair[0]}, {framing.pair[1]}}};
  RAPT_RETURN_IF_ERROR(Reader(isToken, state).read(value, where));
  framing.single = std::move(state.single[0]);
  framing.pair.clear();
  for (const Parts &parts : state.pair)
    framing.pair.insert(framing.pair.end(), parts.begin(), parts.end());
  return framing;
}

} // namespace rapt
