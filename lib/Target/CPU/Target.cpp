//===- Target.cpp - CPUs by LLVM's names --------------------------------------------===//
#include "lib/Target/CPU/Emit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include <set>

using namespace rapt;
using namespace rapt::cpu;

namespace {

const llvm::Target *findTarget(const std::string &triple, std::string &error) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)initialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string &triple, llvm::StringRef cpu,
                                                 llvm::StringRef features) {
  std::string error;
  const llvm::Target *target = findTarget(triple, error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target ? target->createMCSubtargetInfo(llvm::Triple(triple), cpu, features) : nullptr);
}

std::string hostTriple() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  return llvm::Triple(triple.getArchName(), "unknown", "linux", "gnu").str();
}

/// Prefixes of feature names that tune code without adding instructions.
bool isTuning(llvm::StringRef name) {
  for (llvm::StringRef prefix :
       {"fast-",        "slow-",       "prefer-",  "tuning-",      "false-deps-", "idivl-", "idivq-",
        "branchfusion", "macrofusion", "sbb-dep-", "allow-light-", "no-bypass-",  "lea-",   "pad-short-",
        "vzeroupper",   "faster-",     "inc-dec-", "64bit",        "avoid-",      "ermsb",  "fsrm",
        "use-glm",      "use-slm",     "harden-",  "lvi-",         "retpoline",   "seses",  "soft-float",
        "nopl",         "16bit",       "32bit",    "branch-hint",  "dest-"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

/// "near names: a, b; " of at most four known names, nearest first: those that `name` begins, and those at most a third
/// of its letters away. Empty if there are none.
template <typename Entries> std::string nearNames(llvm::StringRef name, const Entries &known) {
  llvm::SmallVector<std::pair<unsigned, llvm::StringRef>> found;
  unsigned farthest = std::max<size_t>(name.size() / 3, 1);
  for (const auto &entry : known) {
    llvm::StringRef other = entry.Key;
    unsigned distance = other.edit_distance_insensitive(name, /*AllowReplacements=*/true, farthest);
    if (name.size() > 2 && other.starts_with_insensitive(name))
      distance = std::min(distance, farthest);
    if (distance <= farthest)
      found.push_back({distance, other});
  }
  llvm::sort(found);
  if (found.size() > 4)
    found.truncate(4);
  std::string text;
  for (const auto &[distance, other] : found)
    text += (text.empty() ? "near names: " : ", ") + other.str();
  return text.empty() ? text : text + "; ";
}

} // namespace

std::vector<std::string> cpu::listCpus() {
  std::vector<std::string> names;
  if (auto info = subtarget(hostTriple(), "", ""))
    for (const llvm::SubtargetSubTypeKV &entry : info->getAllProcessorDescriptions())
      names.push_back(entry.Key);
  return names;
}

Expected<Target> Target::make(llvm::StringRef cpu, llvm::StringRef attributes) {
  Target result;
  result.triple = hostTriple();
  auto base = subtarget(result.triple, "", "");
  if (!base)
    return Error{"no code generator for " + result.triple + " in this LLVM"};
  llvm::SubtargetFeatures wanted;
  result.cpu = cpu.str();
  if (cpu == "native") {
    result.cpu = llvm::Triple(result.triple).getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      wanted.AddFeature(feature.first(), feature.second);
  } else if (!base->isCPUStringValid(cpu)) {
    return Error{"unknown CPU '" + cpu.str() + "'; " + nearNames(cpu, base->getAllProcessorDescriptions()) +
                 "--mcpu=help lists those that are known"};
  }
  llvm::SmallVector<llvm::StringRef> parts;
  attributes.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    if (!part.starts_with("+") && !part.starts_with("-"))
      return Error{"--mattr: '" + part.str() + "' has no sign; write +NAME or -NAME"};
    llvm::StringRef name = part.drop_front();
    if (llvm::none_of(base->getAllProcessorFeatures(), [&](const auto &feature) { return feature.Key == name; }))
      return Error{"unknown CPU feature '" + part.str() + "' in --mattr; " +
                   nearNames(name, base->getAllProcessorFeatures()) + "LLVM's names of " + result.triple +
                   " are known"};
    wanted.AddFeature(name, part.starts_with("+"));
  }
  auto info = subtarget(result.triple, result.cpu, wanted.getString());
  std::set<std::string> features;
  for (const llvm::SubtargetFeatureKV &feature : info->getEnabledProcessorFeatures())
    if (!isTuning(feature.Key))
      features.insert(feature.Key);
  result.features.assign(features.begin(), features.end());
  return result;
}

TargetInfo Target::info() const {
  TargetInfo info;
  auto has = [&](const char *name) { return std::find(features.begin(), features.end(), name) != features.end(); };
  if (llvm::Triple(triple).getArch() == llvm::Triple::aarch64) {
    info.vectorBytes = 16;
    info.vectorRegisters = 32;
  } else if (has("avx512f")) {
    info.vectorBytes = 64;
    info.vectorRegisters = 32;
  } else {
    info.vectorBytes = has("avx") ? 32 : 16;
    info.vectorRegisters = 16;
  }
  info.byteDot = info.vectorBytes == 64 ? has("avx512vnni") : info.vectorBytes == 32 && has("avxvnni");
  return info;
}
