//===- TemporaryFolder.h - A folder of a test's own --------------------------===//
#pragma once
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

namespace rapt::test {

/// An empty folder, which goes with the object. The program ends where there can be none.
struct TemporaryFolder {
  TemporaryFolder() : path((std::filesystem::temp_directory_path() / "rapt-test-XXXXXX").string()) {
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// How many files and folders are directly in it.
  size_t entries() const {
    return size_t(std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
  }

  std::string path;
};

} // namespace rapt::test
