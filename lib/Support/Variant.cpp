#include "lib/Support/Variant.h"
#include <algorithm>
#include <string_view>

namespace rapt {

/// The features that all variants need, without those that every processor of the architecture has.
static std::string commonFeatures(const std::vector<Variant> &variants) {
  constexpr std::string_view always[] = {"64bit", "cmov", "cx8",   "fxsr", "mmx",     "sse",
                                         "sse2",  "x87",  "crc32", "neon", "fp-armv8"};
  std::string common;
  for (const std::string &feature : variants.front().features) {
    const bool everywhere = std::all_of(variants.begin(), variants.end(), [&](const Variant &variant) {
      return std::find(variant.features.begin(), variant.features.end(), feature) != variant.features.end();
    });
    if (everywhere && std::find(std::begin(always), std::end(always), feature) == std::end(always))
      common += (common.empty() ? "" : ", ") + feature;
  }
  return common;
}

std::string targetLine(const std::string &arch, const std::vector<Variant> &variants,
                       const std::optional<std::string> &here, bool everyFeature) {
  std::string line = "target: " + arch;
  std::vector<std::string> names; // variants for several GPUs share a CPU
  for (const Variant &variant : variants)
    if (std::find(names.begin(), names.end(), variant.name) == names.end())
      names.push_back(variant.name);
  for (const std::string &name : names)
    line += ", " + name + (names.size() > 1 && name == here ? " (this machine's)" : "");
  const std::string needed = commonFeatures(variants), widest = arch == "x86_64" ? "x86-64-v3" : "generic";
  if (needed.empty())
    return line;
  const bool isWidest =
      std::any_of(variants.begin(), variants.end(), [&](const Variant &v) { return v.name == widest; });
  const bool isCompiler = !here, isOfThisCpu = isCompiler && names == std::vector<std::string>{"native"};
  const std::string count = std::to_string(std::count(needed.begin(), needed.end(), ',') + 1);
  if (isOfThisCpu && !everyFeature)
    line += ": compiled for this CPU";
  else
    line += ": runs only on CPUs with " + (everyFeature ? needed : count + " features (-v lists them)");
  if (isWidest)
    return line;
  return line + (isCompiler ? "; add --mcpu=" + widest + " to run on" : "; compile with --mcpu=" + widest + " for") +
         (arch == "x86_64" ? " any x86-64 CPU with AVX2" : " any AArch64 CPU");
}

} // namespace rapt
