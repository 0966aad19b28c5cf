//===- Json.cpp - Parsing: the library's event parser builds our tree -------===//
//
// nlohmann's SAX parser keeps its own stack on the heap, so nesting cannot
// exhaust the thread's stack; the handler below stops it at the depth limit,
// which also bounds the recursion of everything that later walks the tree.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace rapt;
using namespace rapt::json;

//===----------------------------------------------------------------------===//
// Value
//===----------------------------------------------------------------------===//

Value::Value(bool value) : type(Kind::Bool) { boolean = value; }
Value::Value(int64_t value) : type(Kind::Integer) { integer = value; }
Value::Value(uint64_t value) {
  if (value <= uint64_t(INT64_MAX)) {
    type = Kind::Integer;
    integer = int64_t(value);
  } else {
    type = Kind::Unsigned;
    natural = value;
  }
}
Value::Value(double value) : type(Kind::Float) { real = value; }
Value::Value(std::string value) : type(Kind::String), heap(std::make_shared<const std::string>(std::move(value))) {}
Value::Value(Array value) : type(Kind::Array), heap(std::make_shared<const Array>(std::move(value))) {}
Value::Value(Object value) : type(Kind::Object), heap(std::make_shared<const Object>(std::move(value))) {}

std::optional<int64_t> Value::asInteger() const {
  if (type == Kind::Integer)
    return integer;
  constexpr double exactBelow = 9007199254740992.0; // 2^53
  if (type == Kind::Float && std::fabs(real) < exactBelow && real == std::trunc(real))
    return int64_t(real);
  return std::nullopt;
}

std::optional<double> Value::asNumber() const {
  if (type == Kind::Integer)
    return double(integer);
  if (type == Kind::Unsigned)
    return double(natural);
  if (type == Kind::Float)
    return real;
  return std::nullopt;
}

std::optional<bool> Value::asBool() const { return type == Kind::Bool ? std::optional(boolean) : std::nullopt; }
std::optional<uint64_t> Value::asUnsigned() const {
  if (type == Kind::Unsigned)
    return natural;
  if (std::optional<int64_t> value = asInteger(); value && *value >= 0)
    return uint64_t(*value);
  return std::nullopt;
}

const std::string *Value::asString() const {
  return type == Kind::String ? static_cast<const std::string *>(heap.get()) : nullptr;
}
const Array *Value::asArray() const { return type == Kind::Array ? static_cast<const Array *>(heap.get()) : nullptr; }
const Object *Value::asObject() const {
  return type == Kind::Object ? static_cast<const Object *>(heap.get()) : nullptr;
}

const Value *Value::find(std::string_view key) const {
  if (const Object *object = asObject())
    for (const auto &[name, value] : *object)
      if (name == key)
        return &value;
  return nullptr;
}

void json::setMember(Object &members, std::string_view key, Value value) {
  auto found = std::find_if(members.begin(), members.end(), [&](const auto &member) { return member.first == key; });
  if (found == members.end())
    members.emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// Walks the text and tells the handler how far the parser has read.
struct TextIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;
  const char *at;
  const char **reached;
  const char &operator*() const { return *at; }
  TextIterator &operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const TextIterator &other) const { return at == other.at; }
  bool operator!=(const TextIterator &other) const { return at != other.at; }
};

/// The first key that an object holds twice.
const std::string *findDuplicate(const Object &object) {
  std::vector<const std::string *> keys;
  keys.reserve(object.size());
  for (const auto &member : object)
    keys.push_back(&member.first);
  std::sort(keys.begin(), keys.end(), [](auto *a, auto *b) { return *a < *b; });
  auto at = std::adjacent_find(keys.begin(), keys.end(), [](auto *a, auto *b) { return *a == *b; });
  return at == keys.end() ? nullptr : *at;
}

class TreeBuilder {
public:
  using Exception = nlohmann::detail::exception;
  explicit TreeBuilder(unsigned depthLimit) : depthLimit(depthLimit) {}

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value(value)); }
  bool number_integer(int64_t value) { return add(Value(value)); }
  bool number_unsigned(uint64_t value) { return add(Value(value)); }
  bool number_float(double value, const std::string &) { return add(Value(value)); }
  bool string(std::string &value) { return add(Value(std::move(value))); }
  bool binary(nlohmann::json::binary_t &) { return false; } // JSON text has none
  bool start_object(size_t) { return open(/*isObject=*/true); }
  bool start_array(size_t) { return open(/*isObject=*/false); }
  bool key(std::string &value) {
    stack.back().key = std::move(value);
    return true;
  }
  bool end_object() {
    if (const std::string *twice = findDuplicate(stack.back().members)) {
      kind = Fault::KeyTwice;
      message = "the key \"" + printable(*twice) + "\" occurs twice in one object";
      return false;
    }
    Value value(std::move(stack.back().members));
    stack.pop_back();
    return add(std::move(value));
  }
  bool end_array() {
    Value value(std::move(stack.back().elements));
    stack.pop_back();
    return add(std::move(value));
  }
  bool parse_error(size_t position, const std::string &lastToken, const Exception &error) {
    failedAt = position;
    std::string_view what = error.what();
    if (error.id == 406)
      message = "the number " + printable(lastToken, 40) + " is beyond the range of a double";
    else if (size_t dash = what.rfind("; last read: "); dash != what.npos)
      message = describe(what.substr(0, dash), lastToken);
    else
      message = describe(what, lastToken);
    return false;
  }

  Value root;
  Fault::Kind kind = Fault::Syntax;
  std::string message;
  std::optional<size_t> failedAt;

private:
  struct Frame {
    bool isObject;
    std::string key;
    Object members;
    Array elements;
  };

  bool open(bool isObject) {
    if (stack.size() >= depthLimit) {
      kind = Fault::Depth;
      message = "nested more than " + std::to_string(depthLimit) + " levels deep";
      return false;
    }
    stack.push_back({isObject, {}, {}, {}});
    return true;
  }

  bool add(Value value) {
    if (stack.empty())
      root = std::move(value);
    else if (stack.back().isObject)
      stack.back().members.emplace_back(std::move(stack.back().key), std::move(value));
    else
      stack.back().elements.push_back(std::move(value));
    return true;
  }

  /// The reason alone out of "[id] parse error at line 1, column 2: syntax error while parsing value - reason".
  static std::string describe(std::string_view what, const std::string &lastToken) {
    size_t dash = what.find(" - ");
    std::string reason(dash == what.npos ? what : what.substr(dash + 3));
    std::string text = printable(reason);
    // The library's last token begins where the last good one ended.
    bool literal = reason.starts_with("invalid literal") || reason.starts_with("invalid number");
    if (literal && (lastToken.ends_with('N') || lastToken.ends_with('I')))
      return text + " (NaN and Infinity are not JSON)";
    if (!lastToken.empty() && lastToken.front() != '\0')
      text += ", read '" + printable(lastToken, 40) + "'";
    return text;
  }

  unsigned depthLimit;
  std::vector<Frame> stack;
};

} // namespace

/// "line 3, column 7 (byte 45)" of a byte from 0 on; columns count characters.
static std::string placeOf(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const size_t begin = before.rfind('\n') + 1; // 0 where there is none
  auto begins = [](char c) { return (uint8_t(c) & 0xC0) != 0x80; };
  return "line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1) + ", column " +
         std::to_string(std::count_if(before.begin() + std::ptrdiff_t(begin), before.end(), begins) + 1) + " (byte " +
         std::to_string(byte) + ")";
}

bool json::parse(std::string_view text, unsigned depth, Value &value, Fault &fault) {
  size_t markBytes = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
  // The library takes a NUL for the end of the input, which would hide what comes after it.
  if (size_t nul = text.find('\0'); nul != text.npos) {
    fault = {Fault::Syntax, nul, "a NUL byte"};
    return false;
  }
  text.remove_prefix(markBytes);
  TreeBuilder builder(depth);
  const char *reached = text.data();
  TextIterator begin{text.data(), &reached}, end{text.data() + text.size(), &reached};
  if (nlohmann::json::sax_parse(begin, end, &builder)) {
    value = std::move(builder.root);
    return true;
  }
  // The parser counts the byte it failed on; without a position of its own the handler refused what was just read.
  size_t position = builder.failedAt ? *builder.failedAt - (*builder.failedAt > 0) : size_t(reached - text.data());
  fault = {builder.kind, position + markBytes, std::move(builder.message)};
  return false;
}

/// The text with strings in place of Infinity and -Infinity outside of strings, at the same bytes.
static std::string withInfinity(std::string_view text) {
  constexpr std::string_view name = "Infinity", string = "\"\\u221e\"", negative = "\"-\\u221e\"";
  static_assert(name.size() == string.size() && name.size() + 1 == negative.size());
  std::string all(text);
  bool isQuoted = false;
  for (size_t at = 0; at < all.size(); ++at) {
    if (isQuoted && all[at] == '\\')
      ++at;
    else if (all[at] == '"')
      isQuoted = !isQuoted;
    else if (!isQuoted && all.compare(at, name.size(), name) == 0) {
      const bool isNegative = at > 0 && all[at - 1] == '-';
      const std::string_view by = isNegative ? negative : string;
      all.replace(at - isNegative, by.size(), by);
      at += name.size() - 1;
    }
  }
  return all;
}

Expected<Value> json::parse(std::string_view text, Limits limits) {
  if (text.size() > limits.bytes)
    return Error{"JSON of " + std::to_string(text.size()) + " bytes, more than the " + std::to_string(limits.bytes) +
                 " allowed"};
  try {
    Value value;
    Fault fault;
    const std::string own = limits.allowsInfinity ? withInfinity(text) : std::string();
    if (parse(limits.allowsInfinity ? own : text, limits.depth, value, fault))
      return value;
    return Error{"invalid JSON at " + placeOf(text, fault.byte) + ": " + fault.reason};
  } catch (const std::bad_alloc &) {
    return Error{"not enough memory to read " + std::to_string(text.size()) + " bytes of JSON"};
  }
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

static std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

Expected<int64_t> json::integerOf(const Value &value, std::string_view name, int64_t least, int64_t most) {
  const std::optional<int64_t> number = value.kind() == Kind::Integer ? value.asInteger() : std::nullopt;
  if (number && *number >= least && *number <= most)
    return *number;
  const bool isShown = !value.isNull() && !value.isArray() && !value.isObject();
  const std::string *text = value.asString();
  const std::string shown = text ? *text : isShown ? write(value) : "";
  return Error{quoted(name) + " is " + (shown.empty() ? "no number" : shown.substr(0, 40)) + ", not an integer from " +
               std::to_string(least) + " to " + std::to_string(most)};
}

Expected<std::string> json::textOf(const Value &value, std::string_view name) {
  const std::string *text = value.asString();
  if (!text || text->find('\0') != text->npos)
    return Error{quoted(name) + " is no text"};
  return *text;
}

Expected<const Array *> json::listOf(const Value &value, std::string_view name) {
  const Array *list = value.asArray();
  if (!list)
    return Error{quoted(name) + " is no list"};
  return list;
}
