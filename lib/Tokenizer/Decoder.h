//===- Decoder.h - From tokens back to text, a token at a time -------------===//
//
// Decoding is a chain of stages. Each holds back only what later tokens may still
// change, so the same chain decodes a whole list and a stream, and streaming
// gives the same text by construction.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

using TextSink = FunctionRef<void(std::string_view)>;

/// The memory of one stage between tokens.
struct DecodeMemory {
  std::string held;
  size_t count = 0;
};

class DecodeStage {
public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string_view token, DecodeMemory &memory, TextSink sink) const = 0;
  /// An added token: what is no text otherwise is meant as it is written.
  virtual void pushAdded(std::string_view token, DecodeMemory &memory, TextSink sink) const {
    push(token, memory, sink);
  }
  virtual void finish(DecodeMemory &memory, TextSink sink) const {}
  /// Turns a token into the bytes it stands for, regardless of its neighbors.
  virtual void expose(std::string &token) const {}
};

/// The stages of a tokenizer; immutable and shared.
struct Decoder {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  /// The bytes of a token of the model: possibly a part of a character.
  std::string bytesOf(std::string_view token) const;
};

/// One decoding in progress. The decoder outlives it.
class Decoding {
public:
  explicit Decoding(const Decoder &decoder) : decoder(&decoder), memory(decoder.stages.size()) {}
  /// Appends to `text` what is certain after `token`.
  void push(std::string_view token, bool isAdded, std::string &text);
  /// Appends what was held back. Afterwards the decoding is as new.
  void finish(std::string &text);

private:
  void pass(size_t stage, std::string_view token, std::string &text);
  const Decoder *decoder;
  std::vector<DecodeMemory> memory;
};

/// From the "decoder" member of tokenizer.json; null joins tokens with blanks, as Hugging Face's tokenizers do. Kinds
/// that are not supported, and orders that cannot stream (a Replace of several characters behind a Fuse), are refused
/// by name.
Expected<Decoder> readDecoder(const json::Value &value, const std::string &where);

/// ByteLevel alone, for directories without tokenizer.json.
Decoder makeByteLevelDecoder();

} // namespace rapt
