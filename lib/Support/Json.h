//===- Json.h - Strict, bounded JSON ---------------------------------------===//
//
// One wrapper around the JSON library for everything that reads JSON from
// outside (config.json, safetensors headers, tokenizer.json, manifests). It
// bounds nesting, refuses duplicate keys, NaN/Infinity literals and trailing
// garbage, accepts a UTF-8 byte-order mark, and keeps integers exact.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt::json {

class Value;
using Array = std::vector<Value>;
/// Members in file order.
using Object = std::vector<std::pair<std::string, Value>>;

enum class Kind { Null, Bool, Integer, Unsigned, Float, String, Array, Object };

/// An immutable JSON value; copies share storage.
class Value {
public:
  Value() = default; // null
  explicit Value(bool);
  explicit Value(int number) : Value(int64_t(number)) {}
  explicit Value(int64_t);
  explicit Value(uint64_t); ///< Kind::Unsigned only above INT64_MAX, else Integer.
  explicit Value(double);
  explicit Value(std::string);
  explicit Value(const char *text) : Value(std::string(text)) {}
  explicit Value(Array);
  explicit Value(Object);

  Kind kind() const { return type; }
  bool isNull() const { return type == Kind::Null; }
  bool isString() const { return type == Kind::String; }
  bool isArray() const { return type == Kind::Array; }
  bool isObject() const { return type == Kind::Object; }
  /// Exact integers; also a float whose value is integral and below 2^53.
  std::optional<int64_t> asInteger() const;
  /// As asInteger, for values from 0 to 2^64 - 1.
  std::optional<uint64_t> asUnsigned() const;
  std::optional<double> asNumber() const;
  std::optional<bool> asBool() const;
  const std::string *asString() const;
  const Array *asArray() const;
  const Object *asObject() const;
  /// Member of an object, or null when absent or when this is no object. Linear in the number of members.
  const Value *find(std::string_view key) const;

private:
  Kind type = Kind::Null;
  union {
    bool boolean;
    int64_t integer;
    uint64_t natural;
    double real = 0;
  };
  std::shared_ptr<const void> heap; // string, array or object
};

/// Replaces the member of that key, or appends one.
void setMember(Object &members, std::string_view key, Value value);

struct Limits {
  unsigned depth = 64;
  size_t bytes = size_t(1) << 30;
  /// Python's json writes Infinity, which is no JSON: it is read as the string "\u221e", -Infinity as "-\u221e".
  bool allowsInfinity = false;
};

/// Parses one document. The error says where (line, column and byte) and what; callers put the file's name before it.
Expected<Value> parse(std::string_view text, Limits limits = {});

/// A text is wrong from `byte` on.
struct Fault {
  enum Kind { Syntax, Depth, KeyTwice } kind = Syntax; ///< of the others the text is JSON, but none of ours
  size_t byte = 0;
  std::string reason;
};
/// As `parse` of a text that is not too long, for callers that tell the fault in words of their own, and memory that is
/// short as std::bad_alloc. Sets `value` or `fault`.
bool parse(std::string_view text, unsigned depth, Value &value, Fault &fault);

/// The value of a member called `name`, of a type and within limits, or an error that names it.
Expected<int64_t> integerOf(const Value &value, std::string_view name, int64_t least, int64_t most);
/// A text without NUL.
Expected<std::string> textOf(const Value &value, std::string_view name);
Expected<const Array *> listOf(const Value &value, std::string_view name);

/// Compact text of `value`, keys in order, numbers round-trip exact. `indent` > 0 pretty-prints. NaN and
/// infinities become null, bytes that are not UTF-8 become U+FFFD.
std::string write(const Value &value, unsigned indent = 0);

/// Whether JSON can hold the text as it is.
bool isUtf8(std::string_view text);

/// `text` with control characters, escapes and invalid UTF-8 shown as \xNN and the middle of long text cut, for
/// messages.
std::string printable(std::string_view text, size_t most = 200);

/// A number as people write it: 5000, 0.25, 1e-05.
std::string shownNumber(double number);

} // namespace rapt::json
