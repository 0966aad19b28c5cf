//===- Base64.h - Bytes as text (RFC 4648) ---------------------------------===//
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace rapt {

std::string encodeBase64(std::string_view bytes);
/// Nothing for characters of no base64, or a length that is no multiple of four.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace rapt
