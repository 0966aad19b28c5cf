//===- ByteCursor.cpp - Reading a file's header from front to back -------------===//
#include "lib/Formats/GGUF/ByteCursor.h"
#include <algorithm>
#include <bit>

using namespace rapt;
using namespace rapt::gguf;

static_assert(std::endian::native == std::endian::little);
static constexpr uint64_t windowBytes = uint64_t(1) << 20;

ByteCursor::ByteCursor(std::shared_ptr<const InputFile> file, uint64_t most)
    : file(std::move(file)), end(std::min(this->file->size(), most)) {}

Status ByteCursor::read(std::span<std::byte> out) {
  if (out.size() > left())
    return Error{"needs " + std::to_string(out.size()) + " bytes at byte " + std::to_string(position()) + ", " +
                 (end == file->size() ? "the file ends at byte " + std::to_string(end) + " (truncated download?)"
                                      : "a header may have " + std::to_string(end))};
  while (!out.empty()) {
    if (inWindow == window.size()) {
      windowBegin += window.size();
      window.resize(std::min(windowBytes, end - windowBegin));
      inWindow = 0;
      RAPT_RETURN_IF_ERROR(file->read(windowBegin, std::as_writable_bytes(std::span(window))));
    }
    const size_t count = std::min(out.size(), window.size() - inWindow);
    std::memcpy(out.data(), window.data() + inWindow, count);
    inWindow += count;
    out = out.subspan(count);
  }
  return {};
}

Status ByteCursor::read(std::string &text, uint64_t bytes) {
  if (bytes > left())
    return read(std::span(static_cast<std::byte *>(nullptr), bytes)); // says so
  text.resize(bytes);
  return read(std::as_writable_bytes(std::span(text)));
}
