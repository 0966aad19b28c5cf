//===- Call.cpp - System calls that change files ---------------------------------------------===//
#include "Call.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Where a call's argument decides whether it changes a file.
enum class When {
  Always,
  Descriptor, ///< argument 0 is a file, not a standard stream
  Flags1,     ///< argument 1 or 2 has the flags of open()
  Flags2,
  Shared, ///< mmap of a file for writing
};

struct Change {
  long number;
  const char *name;
  When when = When::Always;
};

// Architectures differ in which of the older calls they have.
constexpr Change changes[] = {
#ifdef SYS_open
    {SYS_open, "open", When::Flags1},
    {SYS_creat, "creat"},
    {SYS_rename, "rename"},
    {SYS_link, "link"},
    {SYS_symlink, "symlink"},
    {SYS_unlink, "unlink"},
    {SYS_mkdir, "mkdir"},
    {SYS_rmdir, "rmdir"},
    {SYS_chmod, "chmod"},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat"},
#endif
    {SYS_openat, "openat", When::Flags2},
    {SYS_write, "write", When::Descriptor},
    {SYS_writev, "writev", When::Descriptor},
    {SYS_pwrite64, "pwrite64", When::Descriptor},
    {SYS_pwritev, "pwritev", When::Descriptor},
    {SYS_pwritev2, "pwritev2", When::Descriptor},
    {SYS_sendfile, "sendfile", When::Descriptor},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_mmap, "mmap", When::Shared},
    {SYS_msync, "msync"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_fallocate, "fallocate"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_truncate, "truncate"},
    {SYS_renameat2, "renameat2"},
    {SYS_linkat, "linkat"},
    {SYS_symlinkat, "symlinkat"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_fchmod, "fchmod"},
    {SYS_fchmodat, "fchmodat"},
};

bool canChange(When when, const uint64_t *arguments) {
  constexpr uint64_t opening = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  switch (when) {
  case When::Always:
    return true;
  case When::Descriptor:
    return arguments[0] > 2;
  case When::Flags1:
    return arguments[1] & opening;
  case When::Flags2:
    return arguments[2] & opening;
  case When::Shared:
    return (arguments[2] & PROT_WRITE) && (arguments[3] & MAP_SHARED) && !(arguments[3] & MAP_ANONYMOUS);
  }
  return true;
}

} // namespace

const char *kills::changeOf(uint64_t number, const uint64_t *arguments) {
  for (const Change &change : changes)
    if (uint64_t(change.number) == number)
      return canChange(change.when, arguments) ? change.name : nullptr;
  return nullptr;
}
