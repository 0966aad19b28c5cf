#include "lib/Support/Units.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rapt {

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

std::string rapt::counted(uint64_t number, const std::string &what) {
  return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

std::string inUnits(uint64_t bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  char text[32];
  snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string inTime(double seconds) {
  constexpr double most = 99 * 3600;
  const bool isNumber = seconds == seconds;
  const auto whole = long(std::lround(std::clamp(isNumber ? seconds : most, 0.0, most)));
  const long hours = whole / 3600, minutes = whole / 60 % 60;
  if (whole >= long(most))
    return std::to_string(hours) + " h";
  if (hours > 0)
    return std::to_string(hours) + " h " + std::to_string(minutes) + " min";
  return (minutes > 0 ? std::to_string(minutes) + " min " : "") + std::to_string(whole % 60) + " s";
}

} // namespace rapt
