// NumPy files: round trips, and refusals that name the file.
#include "lib/Support/Npy.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace rapt;

namespace {

std::string path() { return testing::TempDir() + "rapt-npy-test.npy"; }

void put(const std::string &bytes) { std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes; }

std::string file(const std::string &dictionary, size_t dataBytes, char version = 1) {
  std::string start("\x93NUMPY", 6);
  start += {version, '\0', char(dictionary.size() & 255), char(dictionary.size() >> 8)};
  if (version > 1)
    start += {'\0', '\0'};
  return start + dictionary + std::string(dataBytes, 'x');
}

TEST(Npy, RoundTrips) {
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 5}, {1, 2, 3, 4}}) {
    std::vector<int64_t> values(1, 7);
    for (int64_t size : shape)
      values.resize(values.size() * size_t(size), -9);
    ASSERT_TRUE(writeNpy(path(), NpyType::I64, shape, std::as_bytes(std::span(values))));
    auto read = readNpy(path());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->type, NpyType::I64);
    EXPECT_EQ(read->shape, shape);
    ASSERT_EQ(read->data.size(), values.size() * 8);
    EXPECT_TRUE(std::ranges::equal(read->data, std::as_bytes(std::span(values))));
  }
}

TEST(Npy, ReadsWhatNumpyWrites) {
  for (char version : {1, 2, 3}) {
    put(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24, version));
    auto read = readNpy(path());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->type, NpyType::F32);
    EXPECT_EQ(read->shape, (std::vector<int64_t>{2, 3}));
  }
}

TEST(Npy, ReadsNumbersOf16Bits) {
  for (auto [descr, type] : {std::pair("<f2", NpyType::F16), std::pair("<u2", NpyType::U16)}) {
    put(file("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (3,), }", 6));
    auto read = readNpy(path());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->type, type);
    EXPECT_EQ(isFloat(type), type == NpyType::F16);
    EXPECT_FALSE(isInteger(type));
  }
}

TEST(Npy, RefusesAndNamesTheFile) {
  const struct {
    std::string content, part;
  } cases[] = {
      {"", "not a .npy file"},
      {"PK\3\4 a zip of arrays", "not a .npy file"},
      {file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8), "Fortran order"},
      {file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8), "element type"},
      {file("{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", 5), "its shape needs 4"},
      {file("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", 4), "element type"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7),
       "holds 7 bytes of data; its shape needs 8"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9),
       "holds 9 bytes of data; its shape needs 8"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8), "no shape"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8), "no shape"},
      {file("{'descr': '<f4', 'fortran_order': False, }", 8), "no shape"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8), "more elements"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8), "no shape"},
      {file("", 8, 9), "version 9"},
      {std::string("\x93NUMPY\2\0\xff\xff\xff\x7f____", 16), "2147483647"}};
  for (auto &c : cases) {
    put(c.content);
    auto read = readNpy(path());
    ASSERT_FALSE(read) << c.part;
    EXPECT_NE(read.error().message.find(c.part), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find("rapt-npy-test.npy"), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(readNpy("/nonexistent.npy"));
  EXPECT_FALSE(writeNpy("/nonexistent/x.npy", NpyType::F32, {}, {}));
}

TEST(Npy, ChangedBytesNeverCrash) {
  std::string good = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    for (int n = 0; n < 3; ++n)
      bad[random() % bad.size()] = char(random());
    put(bad.substr(0, i % 3 ? bad.size() : random() % bad.size()));
    (void)readNpy(path());
  }
}

} // namespace
