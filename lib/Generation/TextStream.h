//===- TextStream.h - Text as it is generated ------------------------------===//
#pragma once
#include "lib/Tokenizer/Tokenizer.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Turns the tokens of one sequence into text that never changes afterwards. Held back are at most the 3 bytes of an
/// unfinished character and what may become a stop string.
class TextStream {
public:
  /// `tokenizer` outlives this. Errors: an empty stop string, or one that is not valid UTF-8.
  static Expected<TextStream> create(const Tokenizer &tokenizer, std::vector<std::string> stopStrings,
                                     bool skipSpecialTokens = true);

  /// The text that `id` makes certain; may be empty. Once a stop string is complete the text before it has been given
  /// and nothing more comes. Errors: an id without a token.
  Expected<std::string> feed(int32_t id);

  /// The text that was held back, when no more tokens come.
  std::string finish();

  /// A stop string was reached.
  bool stopped() const { return isStopped; }

private:
  TextStream(const Tokenizer &tokenizer, std::vector<std::string> stopStrings, bool skipSpecialTokens)
      : tokenizer(&tokenizer), decoding(tokenizer.startDecoding()), stops(std::move(stopStrings)),
        skip(skipSpecialTokens) {}
  std::string release();

  const Tokenizer *tokenizer;
  Decoding decoding;
  std::vector<std::string> stops;
  std::string held;
  bool skip, isStopped = false;
};

} // namespace rapt
