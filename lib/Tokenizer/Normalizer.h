//===- Normalizer.h - Rewriting text before it is split --------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

class Normalizer {
public:
  virtual ~Normalizer() = default;
  virtual Expected<std::string> apply(std::string text) const = 0;
  /// As apply. `front` becomes the bytes of the result that stand for the first `front` bytes of `text`.
  virtual Expected<std::string> applyWithFront(std::string text, size_t &front) const;
};

/// Most bytes that `size` bytes may become: no real text comes near it, and no file makes a short text fill the memory.
constexpr size_t growthLimit(size_t size) { return (size_t(64) << 20) + size * 32; }
Error growthError(size_t size, size_t limit);

/// In the order in which they apply; empty when the file has null.
using NormalizerList = std::vector<std::unique_ptr<Normalizer>>;

/// From the "normalizer" member of tokenizer.json. Kinds that are not supported are refused by name.
Expected<NormalizerList> readNormalizers(const json::Value &value, const std::string &where);

/// Applies all of them. `front` becomes the bytes of the result that stand for the first `front` bytes of `text`: it is
/// 0 where those were stripped.
Expected<std::string> normalize(const NormalizerList &normalizers, std::string_view text, size_t &front);
Expected<std::string> normalize(const NormalizerList &normalizers, std::string_view text);

} // namespace rapt
