//===- Metadata.cpp - Keys and values of a GGUF file --------------------------===//
#include "lib/Formats/GGUF/Metadata.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <charconv>
#include <cmath>
#include <iterator>

using namespace rapt;
using namespace rapt::gguf;

std::string_view gguf::nameOf(ValueType type) {
  static constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                               "bool", "string", "array", "u64", "i64", "f64"};
  return size_t(type) < std::size(names) ? names[size_t(type)] : "";
}

size_t Value::size() const {
  if (const Integers *list = asIntegers())
    return list->size();
  if (const Numbers *list = asNumbers())
    return list->size();
  const Texts *list = asTexts();
  return list ? list->size() : 1;
}

std::string Value::describeType() const { return (isArray() ? "array of " : "") + std::string(nameOf(element)); }

const Value *Metadata::find(std::string_view key) const {
  auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

Error Metadata::fail(std::string_view key, const std::string &what) const {
  return Error{shownPath(path) + ": key \"" + json::printable(key) + "\": " + what};
}

Error Metadata::wrongType(std::string_view key, const Value &value, const char *wanted) const {
  if (value.asUnsigned())
    return fail(key, std::to_string(*value.asUnsigned()) + " is more than 2^63 - 1");
  return fail(key, "its value is of type " + value.describeType() + ", but must be " + wanted);
}

Expected<std::optional<int64_t>> Metadata::integer(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<int64_t>();
  if (!value->asInteger() || value->type() == ValueType::Bool)
    return wrongType(key, *value, "an integer");
  return std::optional(*value->asInteger());
}

double gguf::shortestDecimal(float number) {
  char text[64];
  const char *end = std::to_chars(text, text + sizeof text, number).ptr;
  double found = number;
  std::from_chars(text, end, found);
  return found;
}

Expected<std::optional<double>> Metadata::number(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<double>();
  if (value->asNumber() && !std::isfinite(*value->asNumber()))
    return fail(key, "its value is not finite");
  if (value->asNumber())
    return std::optional(value->type() == ValueType::Float32 ? shortestDecimal(float(*value->asNumber()))
                                                             : *value->asNumber());
  if (!value->asInteger() || value->type() == ValueType::Bool)
    return wrongType(key, *value, "a number");
  return std::optional(double(*value->asInteger()));
}

Expected<std::optional<bool>> Metadata::boolean(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<bool>();
  const int64_t *given = value->asInteger();
  if (!given)
    return wrongType(key, *value, "a boolean");
  if (*given != 0 && *given != 1)
    return fail(key, "its value is " + std::to_string(*given) + ", but must be a boolean");
  return std::optional(*given == 1);
}

Expected<std::optional<std::string>> Metadata::text(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<std::string>();
  if (!value->asText())
    return wrongType(key, *value, "a string");
  return std::optional(*value->asText());
}

/// A list without elements may be of any type.
static bool isEmptyArray(const Value &value) { return value.isArray() && value.size() == 0; }

Expected<std::optional<Value::Integers>> Metadata::integers(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<Value::Integers>();
  if (isEmptyArray(*value))
    return std::optional(Value::Integers());
  if (!value->asIntegers())
    return wrongType(key, *value, "an array of integers");
  return std::optional(*value->asIntegers());
}

Expected<std::optional<Value::Numbers>> Metadata::numbers(std::string_view key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<Value::Numbers>();
  if (isEmptyArray(*value))
    return std::optional(Value::Numbers());
  if (value->asNumbers())
    return std::optional(*value->asNumbers());
  if (!value->asIntegers() || value->type() == ValueType::Bool)
    return wrongType(key, *value, "an array of numbers");
  return std::optional(Value::Numbers(value->asIntegers()->begin(), value->asIntegers()->end()));
}

Expected<const Value::Texts *> Metadata::texts(std::string_view key) const {
  static const Value::Texts none;
  const Value *value = find(key);
  if (!value)
    return static_cast<const Value::Texts *>(nullptr);
  if (isEmptyArray(*value))
    return &none;
  if (!value->asTexts())
    return wrongType(key, *value, "an array of strings");
  return value->asTexts();
}

Expected<std::optional<Value::Integers>> Metadata::integersOfLayers(std::string_view key, size_t layers) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<Value::Integers>();
  if (value->asInteger())
    return std::optional(Value::Integers(layers, *value->asInteger()));
  if (!value->asIntegers())
    return wrongType(key, *value, "an integer, or an array of one for each layer");
  if (value->size() != layers)
    return fail(key, "an array of " + std::to_string(value->size()) + " for " + std::to_string(layers) + " layers");
  return std::optional(*value->asIntegers());
}
