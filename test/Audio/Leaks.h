//===- Leaks.h - Memory that libsndfile loses --------------------------------===//
//
// libsndfile 1.2 loses 6 kB of a damaged Vorbis file that it refuses. One file of a
// program includes this; leaks of the checkout's own code stay findings.
//
//===----------------------------------------------------------------------===//
#pragma once

/// LeakSanitizer asks for it.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:libsndfile.so\nleak:libvorbis\nleak:libogg.so\nleak:libFLAC.so\nleak:libopus.so\nleak:libmpg123.so\n";
}
