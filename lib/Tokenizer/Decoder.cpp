//===- Decoder.cpp ---------------------------------------------------------===//
#include "lib/Tokenizer/Decoder.h"
#include "lib/Tokenizer/ByteAlphabet.h"
#include "lib/Tokenizer/Metaspace.h"
#include "lib/Tokenizer/Pattern.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordPieceDecoder.h"
#include <algorithm>
#include <charconv>

namespace rapt {

static constexpr std::string_view kReplacement = "\uFFFD";
// Real files have four.
static constexpr size_t kMostStages = 32;
// Replacements of real files shorten the text.
static constexpr size_t kMostGrowth = 64;

void Decoding::pass(size_t stage, std::string_view token, std::string &text) {
  if (stage == decoder->stages.size())
    text.append(token);
  else
    decoder->stages[stage]->push(token, memory[stage], [&](std::string_view part) { pass(stage + 1, part, text); });
}

void Decoding::push(std::string_view token, bool isAdded, std::string &text) {
  if (!isAdded || decoder->stages.empty())
    return pass(0, token, text);
  decoder->stages[0]->pushAdded(token, memory[0], [&](std::string_view part) { pass(1, part, text); });
}

std::string Decoder::bytesOf(std::string_view token) const {
  std::string bytes(token);
  for (const auto &stage : stages)
    stage->expose(bytes);
  return bytes;
}

void Decoding::finish(std::string &text) {
  for (size_t stage = 0; stage < memory.size(); ++stage) {
    decoder->stages[stage]->finish(memory[stage], [&](std::string_view part) { pass(stage + 1, part, text); });
    memory[stage] = {};
  }
}

namespace {

/// Tokens become bytes, bytes become text; at most the 3 bytes of an unfinished character are held.
class ByteLevelStage final : public DecodeStage {
public:
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    bytealphabet::read(token, memory.held);
    release(memory, sink);
  }
  /// Hugging Face's tokenizers 0.23 take its characters for bytes too, and show those that are no text as broken.
  void pushAdded(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    std::string bytes;
    bytealphabet::read(token, bytes);
    memory.held.append(unicode::findInvalid(bytes) ? token : bytes);
    release(memory, sink);
  }
  void finish(DecodeMemory &memory, TextSink sink) const override {
    if (!memory.held.empty())
      sink(kReplacement);
  }
  void expose(std::string &token) const override {
    std::string bytes;
    bytealphabet::read(token, bytes);
    token = std::move(bytes);
  }

private:
  static void release(DecodeMemory &memory, TextSink sink) {
    std::string text;
    std::string_view rest = memory.held;
    for (size_t length; !rest.empty(); rest.remove_prefix(length)) {
      unicode::Front front = unicode::classifyFront(rest, length);
      if (front == unicode::Front::Incomplete)
        break;
      text.append(front == unicode::Front::Valid ? rest.substr(0, length) : kReplacement);
    }
    memory.held.erase(0, memory.held.size() - rest.size());
    if (!text.empty())
      sink(text);
  }
};

/// Tokens <0x00>..<0xFF> are bytes. Complete characters leave at once; every other byte becomes one U+FFFD.
class ByteFallbackStage final : public DecodeStage {
public:
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    int byte = byteOf(token);
    if (byte < 0) {
      finish(memory, sink);
      memory.held.clear();
      return sink(token);
    }
    memory.held += static_cast<char>(byte);
    size_t length;
    while (!memory.held.empty()) {
      unicode::Front front = unicode::classifyFront(memory.held, length);
      if (front == unicode::Front::Incomplete)
        return;
      std::string text = memory.held.substr(0, length);
      memory.held.erase(0, length);
      for (size_t times = front == unicode::Front::Valid ? 0 : length; times > 0; --times)
        sink(kReplacement);
      if (front == unicode::Front::Valid)
        sink(text);
    }
  }
  void finish(DecodeMemory &memory, TextSink sink) const override {
    for (size_t index = 0; index < memory.held.size(); ++index)
      sink(kReplacement);
  }
  void expose(std::string &token) const override {
    if (int byte = byteOf(token); byte >= 0)
      token.assign(1, static_cast<char>(byte));
  }

private:
  static int byteOf(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
      return -1;
    unsigned byte = 0;
    auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    return error == std::errc() && end == token.data() + 5 ? int(byte) : -1;
  }
};

class ReplaceStage final : public DecodeStage {
public:
  ReplaceStage(Pattern pattern, std::string content) : pattern(std::move(pattern)), content(std::move(content)) {}
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    std::string text(token);
    expose(text);
    sink(text);
  }
  void expose(std::string &token) const override {
    // A regular expression at its limits fails; the token stays as it is then.
    if (Expected<std::string> replaced = pattern.replace(token, content))
      token = std::move(*replaced);
  }

private:
  Pattern pattern;
  std::string content;
};

class MetaspaceStage final : public DecodeStage {
public:
  explicit MetaspaceStage(MetaspaceOptions given) : options(std::move(given)), mark(options.replacement) {}
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    bool drop = memory.count++ == 0 && options.prepend != PrependScheme::Never;
    sink(*mark.replace(token, drop ? "" : " "));
  }
  void expose(std::string &token) const override { token = *mark.replace(token, " "); }

private:
  MetaspaceOptions options;
  Pattern mark;
};

struct StripOptions {
  std::string content; // one character
  size_t start = 0, stop = 0;
};

/// Strips each token's ends.
class StripTokenStage final : public DecodeStage {
public:
  explicit StripTokenStage(StripOptions options) : options(std::move(options)) {}
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    for (size_t times = 0; times < options.start && token.starts_with(options.content); ++times)
      token.remove_prefix(options.content.size());
    for (size_t times = 0; times < options.stop && token.ends_with(options.content); ++times)
      token.remove_suffix(options.content.size());
    sink(token);
  }

private:
  StripOptions options;
};

/// Strips the ends of the whole text, which arrives in parts: what may be its end is held back.
class StripTextStage final : public DecodeStage {
public:
  explicit StripTextStage(StripOptions options) : options(std::move(options)) {}
  void push(std::string_view part, DecodeMemory &memory, TextSink sink) const override {
    // count: how many characters were stripped at the start; options.start when the start is over.
    while (memory.count < options.start && part.starts_with(options.content)) {
      part.remove_prefix(options.content.size());
      ++memory.count;
    }
    if (part.empty())
      return;
    memory.count = options.start;
    memory.held.append(part);
    size_t keep = memory.held.size();
    for (size_t times = 0; times < options.stop; ++times) {
      if (!std::string_view(memory.held).substr(0, keep).ends_with(options.content))
        break;
      keep -= options.content.size();
    }
    std::string text = memory.held.substr(0, keep);
    memory.held.erase(0, keep);
    sink(text);
  }

private:
  StripOptions options;
};

/// A missing decoder: tokens are joined by blanks.
class JoinStage final : public DecodeStage {
public:
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    if (memory.count++ > 0)
      sink(" ");
    sink(token);
  }
};

} // namespace

static bool isOneCharacter(std::string_view text) {
  return !text.empty() && unicode::lengthOf(static_cast<unsigned char>(text[0])) == text.size();
}

namespace {
/// The stages that are read already.
struct Reading {
  bool fused = false; ///< They join the tokens, so that parts arrive at the next and not tokens.
  size_t growth = 1;  ///< How many times as long they can make a text.
};
} // namespace

static Status readInto(const json::Value &value, const std::string &where, Reading &before, Decoder &decoder);

static Status readSequence(JsonFields &fields, const std::string &where, Reading &before, Decoder &decoder) {
  const json::Array *parts = fields.value("decoders").asArray();
  if (!parts)
    return Error{where + ".decoders: is not a list"};
  for (size_t index = 0; index < parts->size(); ++index)
    RAPT_RETURN_IF_ERROR(
        readInto((*parts)[index], where + ".decoders[" + std::to_string(index) + "]", before, decoder));
  return {};
}

static size_t growthOf(const std::string &literal, const std::string &content) {
  return literal.empty() ? 1 : std::max<size_t>((content.size() + literal.size() - 1) / literal.size(), 1);
}

static Status readReplace(JsonFields &fields, const std::string &where, Reading &before, Decoder &decoder) {
  RAPT_ASSIGN_OR_RETURN(Pattern pattern, Pattern::fromJson(fields.value("pattern"), where + ".pattern"));
  const std::string *literal = pattern.asLiteral();
  if (before.fused && !(literal && isOneCharacter(*literal)))
    return Error{where + ": a Replace of more than one character after a Fuse is not supported"};
  std::string content = fields.string("content", "");
  before.growth *= literal ? growthOf(*literal, content) : content.size() + 1; // a match of "" at each byte
  if (before.growth > kMostGrowth)
    return Error{where + ": the replacements up to here can make a text " + std::to_string(before.growth) +
                 " times as long; the limit is " + std::to_string(kMostGrowth)};
  decoder.stages.push_back(std::make_unique<ReplaceStage>(std::move(pattern), std::move(content)));
  return {};
}

static Status readStrip(JsonFields &fields, const std::string &where, bool fused, Decoder &decoder) {
  StripOptions options;
  options.content = fields.string("content", " ");
  int64_t start = fields.integer("start", 0), stop = fields.integer("stop", 0);
  if (!isOneCharacter(options.content) || start < 0 || stop < 0 || start > 64 || stop > 64)
    return Error{where + ": strips '" + json::printable(options.content) + "' " + std::to_string(start) + " and " +
                 std::to_string(stop) + " times; it must be one character and at most 64 times"};
  options.start = size_t(start), options.stop = size_t(stop);
  if (fused)
    decoder.stages.push_back(std::make_unique<StripTextStage>(std::move(options)));
  else
    decoder.stages.push_back(std::make_unique<StripTokenStage>(std::move(options)));
  return {};
}

static Status readTokenStage(JsonFields &fields, const std::string &type, const std::string &where, Reading &before,
                             Decoder &decoder) {
  if (before.fused)
    return Error{where + ": a " + type + " decoder after a Fuse or ByteLevel is not supported"};
  if (type == "ByteLevel") {
    decoder.stages.push_back(std::make_unique<ByteLevelStage>());
    before.fused = true;
  } else if (type == "ByteFallback") {
    decoder.stages.push_back(std::make_unique<ByteFallbackStage>());
  } else if (type == "WordPiece") {
    decoder.stages.push_back(readWordPieceStage(fields));
  } else {
    RAPT_ASSIGN_OR_RETURN(MetaspaceOptions options, readMetaspaceOptions(fields, where));
    decoder.stages.push_back(std::make_unique<MetaspaceStage>(std::move(options)));
  }
  return {};
}

static Status readInto(const json::Value &value, const std::string &where, Reading &before, Decoder &decoder) {
  JsonFields fields(value, where);
  std::string type = fields.string("type", "");
  Status status;
  if (type == "Sequence")
    status = readSequence(fields, where, before, decoder);
  else if (type == "Fuse")
    before.fused = true;
  else if (type == "ByteLevel" || type == "ByteFallback" || type == "Metaspace" || type == "WordPiece")
    status = readTokenStage(fields, type, where, before, decoder);
  else if (type == "Replace")
    status = readReplace(fields, where, before, decoder);
  else if (type == "Strip")
    status = readStrip(fields, where, before.fused, decoder);
  else
    return Error{
        where + ": the decoder '" + json::printable(type) +
        "' is not supported (ByteLevel, ByteFallback, Metaspace, WordPiece, Replace, Strip, Fuse and Sequence are); "
        "use token ids instead of text"};
  if (decoder.stages.size() > kMostStages)
    return Error{where + ": is decoder number " + std::to_string(decoder.stages.size()) + "; the limit is " +
                 std::to_string(kMostStages)};
  RAPT_RETURN_IF_ERROR(status);
  return fields.finish({"add_prefix_space", "trim_offsets", "use_regex"});
}

Expected<Decoder> readDecoder(const json::Value &value, const std::string &where) {
  Decoder decoder;
  if (value.isNull()) {
    decoder.stages.push_back(std::make_unique<JoinStage>());
    return decoder;
  }
  Reading before;
  RAPT_RETURN_IF_ERROR(readInto(value, where, before, decoder));
  return decoder;
}

Decoder makeByteLevelDecoder() {
  Decoder decoder;
  decoder.stages.push_back(std::make_unique<ByteLevelStage>());
  return decoder;
}

} // namespace rapt
