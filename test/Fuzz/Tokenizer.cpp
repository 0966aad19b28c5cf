// Tokenizers: the files of a model's folder, then a text that is encoded and decoded again.
//
// Parts of an input, with 0xFF between them: tokenizer.json, tokenizer_config.json, special_tokens_map.json,
// added_tokens.json, vocab.json, merges.txt, vocab.txt, the text.
#include "lib/Tokenizer/Tokenizer.h"
#include "test/Fuzz/Fuzz.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::fuzz;

namespace {

/// Bytes of the character that a byte begins, 0 where it begins none.
size_t lengthOf(unsigned char lead) {
  if (lead < 0x80)
    return 1;
  if (lead < 0xC2 || lead > 0xF4)
    return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = lengthOf(static_cast<unsigned char>(text[i]));
    if (!length || length > text.size() - i)
      return false;
    for (size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80)
        return false;
    i += length;
  }
  return true;
}

void decodeAll(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
  for (bool skips : {true, false}) {
    auto text = tokenizer.decode(ids, skips);
    if (!text)
      requireMessage(text.error());
    else
      require(isUtf8(*text), "decoded text is UTF-8");
  }
  Decoding decoding = tokenizer.startDecoding();
  std::string stream;
  for (int32_t id : ids)
    if (Status status = tokenizer.decodeNext(decoding, id, true, stream); !status) {
      requireMessage(status.error());
      return;
    }
  require(isUtf8(stream), "text decoded token by token is UTF-8");
}

void checkIds(const Tokenizer &tokenizer, const Encoding &encoding, size_t textBytes) {
  require(encoding.types.size() == encoding.ids.size() || encoding.types.empty(), "each id has a type");
  for (int32_t id : encoding.ids)
    require(id >= 0 && id < tokenizer.vocabularySize(), "ids are of the vocabulary");
  for (const TokenSpan &span : encoding.spans)
    require(span.bytes.begin <= span.bytes.end && span.bytes.end <= textBytes, "spans lie in the text");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto parts = split(data, size, 8);
  TokenizerFiles files{parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]};
  auto tokenizer = Tokenizer::create(files);
  if (!tokenizer) {
    requireMessage(tokenizer.error());
    return 0;
  }
  const std::string &text = parts[7];
  for (bool parses : {true, false}) {
    EncodeOptions options;
    options.parseSpecialTokens = options.addSpecialTokens = parses;
    options.wantSpans = parses;
    auto encoding = (*tokenizer)->encodeTyped(text, options);
    if (!encoding) {
      requireMessage(encoding.error());
      continue;
    }
    checkIds(**tokenizer, *encoding, text.size());
    decodeAll(**tokenizer, encoding->ids);
  }
  std::string_view first = std::string_view(text).substr(0, text.size() / 2);
  if (auto pair = (*tokenizer)->encodePair(first, text); !pair)
    requireMessage(pair.error());
  (*tokenizer)->tokenId(first);
  std::vector<int32_t> every; // ids from the file, not from a text
  for (int32_t id = 0; id < std::min((*tokenizer)->vocabularySize(), 300); ++id) {
    (*tokenizer)->isSpecial(id);
    if ((*tokenizer)->tokenBytes(id))
      every.push_back(id);
  }
  decodeAll(**tokenizer, every);
  return 0;
}
