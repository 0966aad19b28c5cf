//===- TextStream.cpp ------------------------------------------------------===//
#include "lib/Generation/TextStream.h"
#include "lib/Support/Words.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt {

Expected<TextStream> TextStream::create(const Tokenizer &tokenizer, std::vector<std::string> stopStrings,
                                        bool skipSpecialTokens) {
  for (const std::string &stop : stopStrings) {
    if (stop.empty())
      return Error{"a stop string is empty"};
    if (auto offset = unicode::findInvalid(stop))
      return Error{"the stop string '" + json::printable(stop) + "' is not valid UTF-8 at byte " +
                   std::to_string(*offset)};
  }
  return TextStream(tokenizer, std::move(stopStrings), skipSpecialTokens);
}

/// Takes from `held` all that cannot be part of a stop string any more.
std::string TextStream::release() {
  size_t first = std::string::npos;
  for (const std::string &stop : stops)
    first = std::min(first, held.find(stop));
  if (first != std::string::npos) {
    isStopped = true;
    std::string text = held.substr(0, first);
    held.clear();
    return text;
  }
  size_t keep = 0;
  for (const std::string &stop : stops)
    keep = std::max(keep, lengthOfBeginning(stop, held));
  std::string text = held.substr(0, held.size() - keep);
  held.erase(0, text.size());
  return text;
}

Expected<std::string> TextStream::feed(int32_t id) {
  if (isStopped)
    return std::string();
  RAPT_RETURN_IF_ERROR(tokenizer->decodeNext(decoding, id, skip, held));
  return release();
}

std::string TextStream::finish() {
  if (isStopped)
    return {};
  decoding.finish(held);
  std::string text = release() + held;
  held.clear();
  return text;
}

} // namespace rapt
