//===- Start.cpp - Steps of every tool before main() -----------------------------------------===//
//
// A file that is opened where a standard stream is closed would become that stream: what
// is written to it would go into the file. So each closed one is taken here, in a mode in
// which its use fails as that of a closed one does.
//
//===----------------------------------------------------------------------===//
#include <cerrno>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace {

void takeClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the lowest number that is free
}

} // namespace

// Ahead of the constructors of libraries, which may open files.
[[gnu::section(".preinit_array"), gnu::used]] static void (*const start)() = takeClosedStreams;
