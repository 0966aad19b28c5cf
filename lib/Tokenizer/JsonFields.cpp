//===- JsonFields.cpp ------------------------------------------------------===//
#include "lib/Tokenizer/JsonFields.h"
#include <algorithm>

namespace rapt {

JsonFields::JsonFields(const json::Value &object, std::string where) : object(object), where(std::move(where)) {}

const json::Value *JsonFields::read(std::string_view key) {
  known.push_back(key);
  const json::Value *value = object.find(key);
  return value && !value->isNull() ? value : nullptr;
}

void JsonFields::fail(std::string_view key, std::string_view kind) {
  if (failure.empty())
    failure = where + "." + std::string(key) + ": is not " + std::string(kind);
}

std::optional<std::string> JsonFields::optionalString(std::string_view key) {
  const json::Value *value = read(key);
  if (!value)
    return std::nullopt;
  if (value->isString())
    return *value->asString();
  fail(key, "a string");
  return std::nullopt;
}

std::string JsonFields::string(std::string_view key, std::string_view otherwise) {
  return optionalString(key).value_or(std::string(otherwise));
}

std::optional<bool> JsonFields::optionalBoolean(std::string_view key) {
  const json::Value *value = read(key);
  if (!value)
    return std::nullopt;
  if (!value->asBool())
    fail(key, "true or false");
  return value->asBool();
}

bool JsonFields::boolean(std::string_view key, bool otherwise) { return optionalBoolean(key).value_or(otherwise); }

int64_t JsonFields::integer(std::string_view key, int64_t otherwise) {
  const json::Value *value = read(key);
  if (!value)
    return otherwise;
  if (!value->asInteger())
    fail(key, "an integer");
  return value->asInteger().value_or(otherwise);
}

const json::Value &JsonFields::value(std::string_view key) {
  static const json::Value absent;
  const json::Value *value = read(key);
  return value ? *value : absent;
}

Status JsonFields::finish(std::initializer_list<std::string_view> harmless) const {
  if (!failure.empty())
    return Error{failure};
  const json::Object *members = object.asObject();
  if (!members)
    return Error{where + ": is not an object"};
  auto has = [](const auto &list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const auto &[key, value] : *members)
    if (!value.isNull() && !has(known, key) && !has(harmless, key))
      return Error{where + ": the member '" + json::printable(key) + "' is not understood"};
  return {};
}

} // namespace rapt
