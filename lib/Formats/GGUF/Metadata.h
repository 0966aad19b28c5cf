//===- Metadata.h - Keys and values of a GGUF file ----------------------------===//
//
// Writers differ in the width of a number: the same key is a u32 in one file, an i32 or a u64
// in another. Getters take every type that holds the value.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rapt::gguf {

/// The types of values, by their numbers in a file.
enum class ValueType : uint32_t {
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  UInt64,
  Int64,
  Float64,
};

/// "u8", "string"; an empty text for a number that is no type.
std::string_view nameOf(ValueType type);

/// A number, a text, or a list of either.
class Value {
public:
  using Integers = std::vector<int64_t>;
  using Numbers = std::vector<double>;
  using Texts = std::vector<std::string>;
  /// Booleans are 0 and 1, lists of them Integers.
  using Content = std::variant<int64_t, uint64_t, double, std::string, Integers, Numbers, Texts>;

  Value(ValueType type, Content content) : element(type), content(std::move(content)) {}

  /// Of a list: its elements' type.
  ValueType type() const { return element; }
  bool isArray() const { return content.index() >= 4; }
  /// Of a list: its length; else 1.
  size_t size() const;
  /// "u32", "array of string", for messages.
  std::string describeType() const;

  /// Null of values of other kinds.
  const int64_t *asInteger() const { return std::get_if<int64_t>(&content); }
  const uint64_t *asUnsigned() const { return std::get_if<uint64_t>(&content); } ///< above INT64_MAX only
  const double *asNumber() const { return std::get_if<double>(&content); }
  const std::string *asText() const { return std::get_if<std::string>(&content); }
  const Integers *asIntegers() const { return std::get_if<Integers>(&content); }
  const Numbers *asNumbers() const { return std::get_if<Numbers>(&content); }
  const Texts *asTexts() const { return std::get_if<Texts>(&content); }

private:
  ValueType element;
  Content content;
};

/// The number of the shortest decimal text that rounds to an f32.
double shortestDecimal(float number);

/// The values by their keys. Getters give nothing for an absent key; their errors name file, key, and both types.
class Metadata {
public:
  explicit Metadata(std::string path = "") : path(std::move(path)) {}

  /// The file, for messages.
  const std::string &file() const { return path; }
  const std::map<std::string, Value, std::less<>> &values() const { return map; }
  /// False when there is one of that key.
  bool add(std::string key, Value value) { return map.try_emplace(std::move(key), std::move(value)).second; }

  const Value *find(std::string_view key) const;
  Expected<std::optional<int64_t>> integer(std::string_view key) const;
  /// Finite. An integer counts as a number. Of an f32 it is the shortest decimal number that rounds to it, as it was
  /// before it was written.
  Expected<std::optional<double>> number(std::string_view key) const;
  /// The integers 0 and 1 count as booleans.
  Expected<std::optional<bool>> boolean(std::string_view key) const;
  Expected<std::optional<std::string>> text(std::string_view key) const;
  Expected<std::optional<Value::Integers>> integers(std::string_view key) const;
  Expected<std::optional<Value::Numbers>> numbers(std::string_view key) const;
  /// The list itself, null when absent.
  Expected<const Value::Texts *> texts(std::string_view key) const;
  /// One for each layer: a list of as many, or one number for all.
  Expected<std::optional<Value::Integers>> integersOfLayers(std::string_view key, size_t layers) const;

  /// "FILE: KEY: WHAT".
  Error fail(std::string_view key, const std::string &what) const;

private:
  Error wrongType(std::string_view key, const Value &value, const char *wanted) const;
  std::string path;
  std::map<std::string, Value, std::less<>> map;
};

} // namespace rapt::gguf
