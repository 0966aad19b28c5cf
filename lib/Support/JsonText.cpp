//===- JsonText.cpp - Writing JSON, and showing hostile text ----------------===//
#include "lib/Support/Json.h"
#include <charconv>
#include <cmath>

using namespace rapt;
using namespace rapt::json;

namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none. Sets `codePoint`.
size_t decodeUtf8(std::string_view text, uint32_t &codePoint) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  uint8_t lead = byte(0);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
  if (length == 0 || text.size() < length)
    return 0;
  codePoint = length == 1 ? lead : lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
    codePoint = codePoint << 6 | (byte(i) & 0x3F);
  }
  bool overlong = (length == 3 && codePoint < 0x800) || (length == 4 && codePoint < 0x10000);
  bool surrogate = codePoint >= 0xD800 && codePoint < 0xE000;
  return overlong || surrogate || codePoint > 0x10FFFF ? 0 : length;
}

/// Control characters, and the invisible ones that reorder or hide text on a terminal.
bool isUnsafe(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

void appendPrintable(std::string &out, std::string_view text) {
  static const char digits[] = "0123456789abcdef";
  while (!text.empty()) {
    uint32_t codePoint = 0;
    size_t length = decodeUtf8(text, codePoint);
    if (length != 0 && !isUnsafe(codePoint)) {
      out += text.substr(0, length);
    } else {
      length = length == 0 ? 1 : length;
      for (unsigned char byte : text.substr(0, length))
        out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    text.remove_prefix(length);
  }
}

bool isContinuation(char c) { return (uint8_t(c) & 0xC0) == 0x80; }

class Writer {
public:
  explicit Writer(unsigned indent) : indent(indent) {}
  std::string out;

  void value(const Value &v, unsigned level) {
    switch (v.kind()) {
    case Kind::Null:
      out += "null";
      break;
    case Kind::Bool:
      out += *v.asBool() ? "true" : "false";
      break;
    case Kind::Integer:
      out += std::to_string(*v.asInteger());
      break;
    case Kind::Unsigned:
      out += std::to_string(*v.asUnsigned());
      break;
    case Kind::Float:
      number(*v.asNumber());
      break;
    case Kind::String:
      string(*v.asString());
      break;
    case Kind::Array:
      list('[', ']', *v.asArray(), level, [&](const Value &element) { value(element, level + 1); });
      break;
    case Kind::Object:
      list('{', '}', *v.asObject(), level, [&](const auto &member) {
        string(member.first);
        out += indent ? ": " : ":";
        value(member.second, level + 1);
      });
      break;
    }
  }

private:
  template <typename List, typename Each>
  void list(char open, char close, const List &items, unsigned level, Each each) {
    out += open;
    bool first = true;
    for (const auto &item : items) {
      if (!first)
        out += ',';
      first = false;
      newline(level + 1);
      each(item);
    }
    if (!items.empty())
      newline(level);
    out += close;
  }

  void newline(unsigned level) {
    if (indent)
      out.append("\n").append(size_t(indent) * level, ' ');
  }

  void number(double real) {
    if (!std::isfinite(real)) {
      out += "null";
      return;
    }
    char buffer[32];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, real).ptr;
    std::string_view text(buffer, size_t(end - buffer));
    out += text;
    if (text.find_first_of(".e") == text.npos)
      out += ".0"; // read back as a float, not as an integer
  }

  void string(std::string_view text) {
    static const char digits[] = "0123456789abcdef";
    out += '"';
    while (!text.empty()) {
      uint32_t codePoint = 0;
      size_t length = decodeUtf8(text, codePoint);
      char c = text[0];
      if (length == 0)
        out += "\xEF\xBF\xBD";
      else if (c == '"' || c == '\\')
        out += {'\\', c};
      else if (c == '\n')
        out += "\\n";
      else if (uint8_t(c) < 0x20 || c == 0x7F)
        out += {'\\', 'u', '0', '0', digits[uint8_t(c) >> 4], digits[uint8_t(c) & 15]};
      else
        out += text.substr(0, length);
      text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
  }

  unsigned indent;
};

} // namespace

std::string json::write(const Value &value, unsigned indent) {
  Writer writer(indent);
  writer.value(value, 0);
  return std::move(writer.out);
}

bool json::isUtf8(std::string_view text) {
  for (uint32_t codePoint; !text.empty();) {
    const size_t length = decodeUtf8(text, codePoint);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string json::printable(std::string_view text, size_t most) {
  std::string out;
  if (text.size() <= most) {
    appendPrintable(out, text);
    return out;
  }
  size_t head = most / 2, tail = text.size() - most / 2;
  while (head > 0 && isContinuation(text[head]))
    --head;
  while (tail < text.size() && isContinuation(text[tail]))
    ++tail;
  appendPrintable(out, text.substr(0, head));
  out += "...(" + std::to_string(text.size()) + " bytes)...";
  appendPrintable(out, text.substr(tail));
  return out;
}

std::string json::shownNumber(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}
