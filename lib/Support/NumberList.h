//===- NumberList.h - "0,2-5" ---------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Numbers from 0 to 65535 and ranges of them, ascending: "0,2-5". "all" and an empty text give none. No value where
/// the text is no such list.
std::optional<std::vector<int64_t>> parseNumberList(std::string_view text);

/// The text of ascending numbers.
std::string showNumberList(std::span<const int64_t> numbers);

} // namespace rapt
