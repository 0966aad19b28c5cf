/* Preloaded: the FAIL_AT-th call that touches files fails with an errno of its kind (FAIL_HOW=error), moves half of its
 * bytes (short) or is where the process is killed (kill). COUNT_FILE holds the number of calls so far, of all
 * processes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long *count, fail_at;
static char how;

__attribute__((constructor)) static void begin(void) {
  int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("COUNT_FILE"), O_RDWR | O_CLOEXEC);
  long place = syscall(SYS_mmap, NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, (long)file, 0L);
  syscall(SYS_close, file);
  fail_at = atol(getenv("FAIL_AT"));
  how = getenv("FAIL_HOW")[0];
  if (place != -1)
    count = (long *)place;
}

/* Whether this call is the one; then what FAIL_HOW says happens, but for a short transfer. */
static int is_it(int error) {
  if (!count || __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST) != fail_at)
    return 0;
  if (how == 'k')
    kill(getpid(), SIGKILL);
  if (how == 's')
    return 0;
  errno = error;
  return 1;
}

/* As is_it; a short transfer moves half of the bytes. */
static int is_transfer(int error, size_t *bytes) {
  long before = count ? *count : 0;
  if (is_it(error))
    return 1;
  if (how == 's' && before == fail_at && *bytes > 1)
    *bytes /= 2;
  return 0;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  return is_it(flags & O_ACCMODE ? ENOSPC : EMFILE) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE                                                                                                           \
  mode_t mode = 0;                                                                                                     \
  if (flags & (O_CREAT | O_TMPFILE)) {                                                                                 \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode = va_arg(rest, mode_t);                                                                                       \
    va_end(rest);                                                                                                      \
  }

int open(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }
ssize_t write(int file, const void *from, size_t bytes) {
  if (file > 2 && is_transfer(ENOSPC, &bytes))
    return -1;
  return syscall(SYS_write, file, from, bytes);
}
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) {
  return is_transfer(ENOSPC, &bytes) ? -1 : syscall(SYS_pwrite64, file, from, bytes, at);
}
ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at) { return pwrite(file, from, bytes, at); }
ssize_t pread(int file, void *to, size_t bytes, off_t at) {
  return is_transfer(EIO, &bytes) ? -1 : syscall(SYS_pread64, file, to, bytes, at);
}
ssize_t pread64(int file, void *to, size_t bytes, off64_t at) { return pread(file, to, bytes, at); }
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (file >= 0 && is_it(ENOMEM))
    return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, bytes, (long)protection, (long)flags, (long)file, offset);
}
void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off64_t offset) {
  return mmap(at, bytes, protection, flags, file, offset);
}

/* The others: their name, parameters, how they are called and the errno. */
#define CALL(NAME, PARAMETERS, ERROR, ...)                                                                             \
  int NAME PARAMETERS { return is_it(ERROR) ? -1 : (int)syscall(__VA_ARGS__); }
CALL(rename, (const char *from, const char *to), EIO, SYS_rename, from, to)
CALL(linkat, (int f, const char *from, int t, const char *to, int flags), EIO, SYS_linkat, f, from, t, to, flags)
CALL(fsync, (int file), EIO, SYS_fsync, file)
CALL(fdatasync, (int file), EIO, SYS_fdatasync, file)
CALL(ftruncate, (int file, off_t bytes), ENOSPC, SYS_ftruncate, file, bytes)
CALL(ftruncate64, (int file, off64_t bytes), ENOSPC, SYS_ftruncate, file, bytes)
CALL(fallocate, (int file, int mode, off_t at, off_t bytes), ENOSPC, SYS_fallocate, file, mode, at, bytes)
CALL(fallocate64, (int file, int mode, off64_t at, off64_t bytes), ENOSPC, SYS_fallocate, file, mode, at, bytes)
CALL(memfd_create, (const char *name, unsigned flags), EMFILE, SYS_memfd_create, name, flags)

int posix_fallocate(int file, off_t at, off_t bytes) {
  return is_it(ENOSPC) ? ENOSPC : syscall(SYS_fallocate, file, 0, at, bytes) ? errno : 0;
}
int posix_fallocate64(int file, off64_t at, off64_t bytes) { return posix_fallocate(file, at, bytes); }
int mkostemp(char *name, int flags) {
  int (*next)(char *, int) = (int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp");
  return is_it(ENOSPC) ? -1 : next(name, flags);
}
