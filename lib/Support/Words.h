//===- Words.h - Words in a text ----------------------------------------------===//
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

namespace rapt {

/// The words of a list that single spaces separate; views into it.
inline std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Bytes at the end of `text` that may be the beginning of `mark`, which is not empty and of which more may follow.
inline size_t lengthOfBeginning(std::string_view mark, std::string_view text) {
  size_t length = std::min(mark.size() - 1, text.size());
  while (!text.ends_with(mark.substr(0, length)))
    --length;
  return length;
}

} // namespace rapt
