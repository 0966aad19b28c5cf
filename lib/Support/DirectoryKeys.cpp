#include "lib/Support/DirectoryKeys.h"
#include <algorithm>
#include <iterator>

namespace rapt {

static constexpr DirectoryKey keys[] = {
#define RAPT_DIRECTORY_KEY(FILE, NAME, USE, RULE) {FILE, NAME, DirectoryKey::Use::USE, RULE},
#include "lib/Support/DirectoryKeys.def"
};

std::span<const DirectoryKey> directoryKeys() { return keys; }

const DirectoryKey *findDirectoryKey(std::string_view file, std::string_view name) {
  auto found = std::find_if(std::begin(keys), std::end(keys),
                            [&](const DirectoryKey &key) { return key.file == file && key.name == name; });
  return found == std::end(keys) ? nullptr : found;
}

std::vector<std::string_view> harmlessKeys(std::string_view file) {
  std::vector<std::string_view> names;
  for (const DirectoryKey &key : keys)
    if (key.file == file && key.use == DirectoryKey::Use::Harmless)
      names.push_back(key.name);
  return names;
}

} // namespace rapt
