//===- Words.h - Lists of words in one text --------------------------------===//
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

} // namespace rapt
