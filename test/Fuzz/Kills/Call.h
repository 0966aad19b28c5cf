//===- Call.h - System calls that change files -----------------------------------------------===//
#pragma once
#include <cstdint>

namespace kills {

/// The name of a system call that may change the file system, null for any other. Calls for descriptors 0 to 2 count as
/// others: a command's messages are no files.
const char *changeOf(uint64_t number, const uint64_t *arguments);

} // namespace kills
