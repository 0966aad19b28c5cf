//===- Fixtures.h - Image files and what Pillow makes of them --------------===//
#pragma once
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "test/Unit/Folders.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace rapt::test {

/// The content of a file of test/Image/data, or of the folder that the environment names.
inline std::string readFixture(const std::string &name) {
  const char *folder = getenv("RAPT_IMAGE_DATA");
  Expected<std::string> content =
      readFile((folder ? std::string(folder) : inSource("/test/Image/data")) + "/" + name, 1 << 26);
  EXPECT_TRUE(bool(content)) << content.error().message;
  return content ? *content : std::string();
}

/// The cases of one kind in expected.json.
inline json::Array readCases(const std::string &kind) {
  Expected<json::Value> root = json::parse(readFixture("expected.json"));
  EXPECT_TRUE(bool(root));
  return root && root->find(kind) ? *root->find(kind)->asArray() : json::Array();
}

inline int64_t number(const json::Value &entry, const char *key) { return *entry.find(key)->asInteger(); }
inline const std::string &text(const json::Value &entry, const char *key) { return *entry.find(key)->asString(); }

/// FNV-1a of 64 bits in hexadecimal digits.
inline std::string hashOf(const void *data, size_t bytes) {
  uint64_t value = 0xCBF29CE484222325;
  for (size_t i = 0; i < bytes; ++i)
    value = (value ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001B3;
  char digits[17];
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)value);
  return digits;
}

} // namespace rapt::test
