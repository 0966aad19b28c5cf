//===- ObjectCache.h - Objects of earlier compilations in a folder --------------------*- C++ -*-===//
//
// An entry is a file named by its key, with the key and a checksum of its bytes before them.
// It appears when it is whole, and any number of processes may use the folder. Whoever
// may write to it can change the code that compilations make: a folder or an entry of
// another user, or one that others may write to, is never used.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace rapt::driver {

class ObjectCache {
public:
  /// Bytes of all entries, behind which those go that were used least recently; and of the largest object that is kept.
  static constexpr uint64_t kMostBytes = uint64_t(1) << 30, kMostObjectBytes = uint64_t(64) << 20;

  /// Called at most once, with one line on what is wrong with the folder or an entry.
  using Warn = std::function<void(const std::string &)>;

  /// `folder` is made at the first use, for its user alone; empty: there is no cache.
  ObjectCache(std::string folder, Warn warn, uint64_t mostBytes = kMostBytes);
  ~ObjectCache();
  ObjectCache(const ObjectCache &) = delete;
  ObjectCache &operator=(const ObjectCache &) = delete;

  bool isOn() const { return !path.empty(); }
  /// The object of a key, which is 64 hexadecimal digits. None where there is none that may be used. From any thread.
  std::optional<std::string> find(const std::string &key);
  /// Keeps an object, unless it is too large. It replaces an entry that find() did not take. From any thread.
  void store(const std::string &key, llvm::StringRef object);
  /// The file of an entry.
  std::string pathOf(const std::string &key) const;

private:
  bool open();
  void stopUsing(const std::string &why);
  void warnOf(const std::string &what);

  std::string path;
  Warn warn;
  const uint64_t mostBytes;
  int folder = -1; ///< a descriptor, so that nothing else can take the folder's place behind its check
  std::once_flag isOpened;
  std::atomic<bool> isUsed = false, hasWarned = false;
};

/// Whether a key is in a share of one in `oneIn` that `seed` draws; every key is where `oneIn` is 1.
bool isDrawn(const std::string &key, uint64_t oneIn, uint64_t seed);

} // namespace rapt::driver
