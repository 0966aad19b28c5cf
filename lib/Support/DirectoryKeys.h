//===- DirectoryKeys.h - The keys of a model directory's files ------------------===//
//
// One table of the files beside config.json's sizes that change ids, text, vectors
// or numbers, with what comes before what. Readers know which keys are harmless from
// here, raptc reports keys that are not here, and docs/generated/DirectoryKeys.md and
// the tests follow from it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace rapt {

/// The section of an artifact with the feature_extractor of a model that reads sounds beside images.
inline constexpr const char *extractorFile = "feature_extractor.json";

struct DirectoryKey {
  enum class Use {
    Obeyed,
    Reported, ///< The original obeys it, Rapt does not: raptc or rapt-run says so.
    Harmless, ///< No id, text, vector or number depends on it.
  };
  std::string_view file, name;
  Use use;
  std::string_view rule; ///< Empty for harmless keys.
};

/// All rows, those of one file together.
std::span<const DirectoryKey> directoryKeys();

/// The row of a key; null where the table has none.
const DirectoryKey *findDirectoryKey(std::string_view file, std::string_view name);

/// Names of the harmless keys of a file.
std::vector<std::string_view> harmlessKeys(std::string_view file);

/// Whether the table says that the key is harmless.
inline bool isHarmlessKey(std::string_view file, std::string_view name) {
  const DirectoryKey *key = findDirectoryKey(file, name);
  return key && key->use == DirectoryKey::Use::Harmless;
}

} // namespace rapt
