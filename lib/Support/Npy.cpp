#include "lib/Support/Npy.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

namespace rapt {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint64_t mostHeader = 64 << 10;
constexpr size_t mostRank = 32;

struct TypeName {
  NpyType type;
  size_t bytes;
  const char *name, *description;
};
constexpr TypeName types[] = {{NpyType::F32, 4, "f32", "<f4"},   {NpyType::F64, 8, "f64", "<f8"},
                              {NpyType::I32, 4, "i32", "<i4"},   {NpyType::I64, 8, "i64", "<i8"},
                              {NpyType::Bool, 1, "bool", "|b1"}, {NpyType::F16, 2, "f16", "<f2"},
                              {NpyType::U16, 2, "u16", "<u2"},   {NpyType::I8, 1, "i8", "|i1"}};

const TypeName &entry(NpyType type) { return types[size_t(type)]; }

Error wrong(const std::string &path, const std::string &what) { return Error{shownPath(path) + ": " + what}; }

/// The text after `'key':` in the header's dictionary, without leading spaces; empty when there is none.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos)
    return {};
  header.remove_prefix(at + key.size() + 2);
  size_t start = header.find_first_not_of(" :");
  return start == std::string_view::npos ? std::string_view() : header.substr(start);
}

/// Parses "(2, 3)", "(2,)" or "()". False when it is no tuple of sizes.
bool readShape(std::string_view text, std::vector<int64_t> &shape) {
  size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    return false;
  text = text.substr(1, end - 1);
  while (!text.empty()) {
    size_t start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos)
      break;
    int64_t size = 0;
    auto [next, error] = std::from_chars(text.data() + start, text.data() + text.size(), size);
    if (error != std::errc() || size < 0 || shape.size() == mostRank)
      return false;
    shape.push_back(size);
    text.remove_prefix(size_t(next - text.data()));
  }
  return true;
}

/// The header's dictionary, and where the data begins.
Expected<std::pair<std::string, uint64_t>> readHeader(const InputFile &file) {
  unsigned char start[12] = {};
  RAPT_ASSIGN_OR_RETURN(auto got, file.readSome(0, std::as_writable_bytes(std::span(start))));
  if (got < 10 || memcmp(start, magic.data(), magic.size()))
    return wrong(file.path(), "not a .npy file");
  bool shortLength = start[6] == 1;
  uint64_t begin = shortLength ? 10 : 12, length = start[8] | start[9] << 8;
  if (!shortLength)
    length |= uint64_t(start[10]) << 16 | uint64_t(start[11]) << 24;
  if (start[6] < 1 || start[6] > 3 || length > mostHeader)
    return wrong(file.path(), "version " + std::to_string(start[6]) + " with a header of " + std::to_string(length) +
                                  " bytes is not understood");
  std::string header(length, '\0');
  RAPT_RETURN_IF_ERROR(file.read(begin, std::as_writable_bytes(std::span(header))));
  return std::pair(std::move(header), begin + length);
}

Expected<NpyType> readType(const InputFile &file, std::string_view header) {
  std::string_view description = valueOf(header, "descr");
  for (const TypeName &t : types)
    if (description.substr(0, 5) == "'" + std::string(t.description) + "'")
      return t.type;
  return wrong(file.path(), "its element type is not little-endian f16, f32, f64, u16, i8, i32, i64 or bool");
}

} // namespace

size_t sizeOf(NpyType type) { return entry(type).bytes; }
bool isFloat(NpyType type) { return type == NpyType::F16 || type == NpyType::F32 || type == NpyType::F64; }
bool isInteger(NpyType type) { return !isFloat(type) && type != NpyType::U16; }
const char *nameOf(NpyType type) { return entry(type).name; }

Expected<NpyTensor> readNpy(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(auto file, InputFile::open(path));
  RAPT_ASSIGN_OR_RETURN(auto header, readHeader(*file));
  RAPT_ASSIGN_OR_RETURN(auto type, readType(*file, header.first));
  NpyTensor tensor;
  tensor.type = type;
  if (valueOf(header.first, "fortran_order").substr(0, 5) != "False")
    return wrong(path, "is in Fortran order; save it in C order (numpy.ascontiguousarray)");
  if (!readShape(valueOf(header.first, "shape"), tensor.shape))
    return wrong(path, "has no shape that is understood");
  uint64_t expected = sizeOf(type), present = file->size() - header.second;
  for (int64_t size : tensor.shape)
    if (__builtin_mul_overflow(expected, uint64_t(size), &expected))
      return wrong(path, "its shape has more elements than a file can hold");
  if (expected != present)
    return wrong(path,
                 "holds " + std::to_string(present) + " bytes of data; its shape needs " + std::to_string(expected));
  tensor.data.resize(expected);
  RAPT_RETURN_IF_ERROR(file->read(header.second, tensor.data));
  return tensor;
}

Status writeNpy(const std::string &path, NpyType type, std::span<const int64_t> shape,
                std::span<const std::byte> data) {
  std::string header = "{'descr': '" + std::string(entry(type).description) + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : shape)
    header += std::to_string(size) + (shape.size() == 1 ? "," : &size == &shape.back() ? "" : ", ");
  header += "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' '); // data starts aligned
  header.back() = '\n';
  std::string start(magic);
  start += {'\1', '\0', char(header.size() & 255), char(header.size() >> 8)};
  start += header;
  RAPT_ASSIGN_OR_RETURN(auto file, OutputFile::create(path));
  RAPT_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(start))));
  RAPT_RETURN_IF_ERROR(file->write(data));
  return file->commit();
}

} // namespace rapt
