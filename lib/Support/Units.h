//===- Units.h - Numbers as people read them --------------------------------===//
#pragma once
#include <cstdint>
#include <string>

namespace rapt {

/// "1,234,567".
std::string grouped(uint64_t number);

/// "1 token", "1,234 tokens".
std::string counted(uint64_t number, const std::string &what);

/// "497.8 MB"; below 1,000 "12 bytes".
std::string inUnits(uint64_t bytes);

/// "42 s", "3 min 20 s", "2 h 5 min"; 99 hours and more as "99 h".
std::string inTime(double seconds);

} // namespace rapt
