//===- Download.cpp - Recognizing what is not the file it should be ---------===//
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cctype>
#include <sys/stat.h>

using namespace rapt;

static bool startsWithTag(std::string_view head, std::string_view tag) {
  return head.size() >= tag.size() && std::equal(tag.begin(), tag.end(), head.begin(), [](char expected, char c) {
           return expected == char(std::tolower(static_cast<unsigned char>(c)));
         });
}

std::string huggingface::describeForeignContent(std::string_view head) {
  if (head.starts_with("version https://git-lfs.github.com/spec/")) {
    std::string size;
    if (size_t at = head.find("\nsize "); at != head.npos)
      size = " to a file of " + json::printable(head.substr(at + 6, head.find('\n', at + 6) - at - 6), 40) + " bytes";
    return "this is a Git LFS pointer" + size + ", not the file itself: run `git lfs pull`, or download it again";
  }
  // A PyTorch checkpoint is a zip archive, or a pickle of protocol 2 to 5. A safetensors header as long as these bytes
  // would say has zeros there.
  bool longHeader = head.size() >= 8 && head.substr(4, 4) == std::string_view("\0\0\0\0", 4);
  bool zip = head.starts_with("PK\x03\x04");
  bool pickle = head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if ((zip || pickle) && !longHeader)
    return "this is a PyTorch pickle, which can run code when it is read and is refused: convert it with "
           "`model.save_pretrained(DIR, safe_serialization=True)`";
  size_t begin = head.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (begin < head.size() && std::isspace(static_cast<unsigned char>(head[begin])))
    ++begin;
  if (startsWithTag(head.substr(begin), "<!doctype html") || startsWithTag(head.substr(begin), "<html"))
    return "this is an HTML page, not the file itself (a login or error page?): download it again";
  return "";
}

Expected<std::string> huggingface::readDownloaded(const std::string &path, uint64_t most) {
  RAPT_ASSIGN_OR_RETURN(std::string text, readFile(path, most));
  if (std::string foreign = describeForeignContent(std::string_view(text).substr(0, 512)); !foreign.empty())
    return Error{shownPath(path) + ": " + foreign};
  return text;
}

Expected<json::Value> huggingface::readDownloadedJson(const std::string &path, uint64_t most) {
  RAPT_ASSIGN_OR_RETURN(std::string text, readDownloaded(path, most));
  RAPT_ASSIGN_OR_RETURN(json::Value value, withContext(shownPath(path), json::parse(text, {.allowsInfinity = true})));
  return value;
}

bool huggingface::entryExists(const std::string &path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}
