//===- ObjectCache.cpp - Objects of earlier compilations in a folder -------------------------===//
#include "lib/Driver/ObjectCache.h"
#include "lib/Support/TemporaryFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

namespace {

/// The bytes before an object.
struct Header {
  char magic[8];
  uint64_t bytes; ///< of the object
  char key[64];
  uint8_t checksum[32];
};
static_assert(sizeof(Header) == 112);
constexpr char kMagic[] = "raptobj1"; // the last digit is the version of the format

Header headerOf(const std::string &key, llvm::StringRef object) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.bytes = object.size();
  std::memcpy(header.key, key.data(), std::min(key.size(), sizeof header.key));
  const auto checksum = llvm::SHA256::hash(llvm::arrayRefFromStringRef(object));
  std::memcpy(header.checksum, checksum.data(), sizeof header.checksum);
  return header;
}

/// pruneCache() takes no other files for entries.
std::string nameOf(const std::string &key) { return "llvmcache-" + key; }

/// Why a file or folder that is open may not be used, or empty.
std::string distrust(const struct stat &status) {
  if (status.st_uid != geteuid())
    return "belongs to another user";
  return status.st_mode & (S_IWGRP | S_IWOTH) ? "may be written by other users" : "";
}

/// The object of an entry that is open; else why it is not taken.
std::string readEntry(int file, const std::string &key, std::string &object) {
  struct stat status;
  if (fstat(file, &status) != 0)
    return std::string("cannot be read: ") + std::strerror(errno);
  if (!S_ISREG(status.st_mode))
    return "is no regular file";
  if (std::string why = distrust(status); !why.empty())
    return why;
  const uint64_t bytes = uint64_t(status.st_size);
  if (bytes < sizeof(Header) || bytes - sizeof(Header) > ObjectCache::kMostObjectBytes)
    return "is damaged: it has " + std::to_string(bytes) + " bytes";
  // Volatile: read, not mapped, as another process may cut the file.
  auto read = llvm::MemoryBuffer::getOpenFile(file, "", bytes, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!read)
    return "cannot be read: " + read.getError().message();
  object = (*read)->getBuffer().drop_front(sizeof(Header)).str();
  const Header expected = headerOf(key, object);
  return std::memcmp((*read)->getBufferStart(), &expected, sizeof expected) == 0
             ? ""
             : "is damaged: its checksum is another";
}

} // namespace

ObjectCache::ObjectCache(std::string folder, Warn warn, uint64_t mostBytes)
    : path(std::move(folder)), warn(std::move(warn)), mostBytes(mostBytes) {}

ObjectCache::~ObjectCache() {
  if (folder >= 0)
    close(folder);
}

std::string ObjectCache::pathOf(const std::string &key) const { return path + "/" + nameOf(key); }

void ObjectCache::warnOf(const std::string &what) {
  if (!hasWarned.exchange(true))
    warn("the object cache " + what);
}

void ObjectCache::stopUsing(const std::string &why) {
  isUsed = false;
  warnOf(path + " " + why + "; it is not used");
}

bool ObjectCache::open() {
  std::call_once(isOpened, [&] {
    namespace fs = llvm::sys::fs;
    if (std::error_code error = fs::create_directories(path, /*IgnoreExisting=*/true, fs::perms::owner_all))
      return stopUsing("cannot be made: " + error.message());
    folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (folder < 0 || fstat(folder, &status) != 0)
      return stopUsing(std::string("cannot be opened: ") + std::strerror(errno));
    if (std::string why = distrust(status); !why.empty())
      return stopUsing(why);
    isUsed = true;
  });
  return isUsed;
}

std::optional<std::string> ObjectCache::find(const std::string &key) {
  if (!isOn() || !open())
    return std::nullopt;
  const int file = openat(folder, nameOf(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT)
    return std::nullopt;
  std::string object, why;
  if (file < 0)
    why = errno == ELOOP ? "is a symbolic link" : std::string("cannot be opened: ") + std::strerror(errno);
  else
    why = readEntry(file, key, object);
  if (why.empty()) { // it is the one used last; where that cannot be noted, it only goes earlier
    const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    futimens(file, times);
  }
  if (file >= 0)
    close(file);
  if (why.empty())
    return object;
  warnOf("entry " + pathOf(key) + " " + why + "; the object is made again");
  return std::nullopt;
}

void ObjectCache::store(const std::string &key, llvm::StringRef object) {
  if (object.size() > kMostObjectBytes || !isOn() || !open())
    return;
  const std::string opened = "/proc/self/fd/" + std::to_string(folder);
  const Header header = headerOf(key, object);
  auto write = [&](int descriptor) {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false, /*unbuffered=*/true);
    stream << llvm::StringRef(reinterpret_cast<const char *>(&header), sizeof header) << object;
    const std::error_code error = stream.error();
    stream.clear_error(); // else it ends the process
    errno = error.value();
    return !error;
  };
  auto file = TemporaryFile::create(opened, 0600);
  if (!file || !write(file->descriptor()) ||
      /* the bytes are not synced: what a crash loses, the checksum tells */ !file->publish(opened + "/" + nameOf(key)))
    return stopUsing(std::string("cannot be written: ") + std::strerror(errno));
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0); // at each new entry: the scan takes a fraction of what generating one does
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 0;
  policy.MaxSizeBytes = mostBytes;
  llvm::pruneCache(opened, policy);
}

bool driver::isDrawn(const std::string &key, uint64_t oneIn, uint64_t seed) {
  return oneIn > 0 && llvm::xxh3_64bits(key + ":" + std::to_string(seed)) % oneIn == 0;
}
