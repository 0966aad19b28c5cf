//===- Machine.cpp - CPUs by LLVM's names --------------------------------------------===//
#include "lib/Host/Machine.h"
#include "lib/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include <set>
#include <tuple>

using namespace rapt;
using namespace rapt::host;

namespace {

const llvm::Target *findTarget(const std::string &triple, std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
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

bool isArm(const std::string &triple) { return llvm::Triple(triple).getArch() == llvm::Triple::aarch64; }

bool isHost(const std::string &triple) {
  return llvm::Triple(triple).getArch() == llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}

/// Whether generated code may use a feature: arithmetic on scalars and vectors. LLVM's other names are of tuning, or of
/// what only operating systems and special programs use; virtual machines often hide these, and code that asked for
/// them would not run there.
bool isUsable(const std::string &triple, llvm::StringRef name) {
  constexpr llvm::StringLiteral ofArm[] = {"bf16",     "complxnum", "dotprod", "fp-armv8", "fp16fml",
                                           "fullfp16", "i8mm",      "neon",    "rdm"};
  constexpr llvm::StringLiteral ofX86[] = {"bmi",  "bmi2",  "cmov", "cx8",   "f16c",   "fma",
                                           "gfni", "lzcnt", "mmx",  "movbe", "popcnt", "x87"};
  if (isArm(triple))
    return llvm::is_contained(ofArm, name);
  return llvm::is_contained(ofX86, name) || name.starts_with("sse") || name.starts_with("ssse") ||
         name.starts_with("avx") || name.starts_with("amx-");
}

/// "near names: a, b; " of at most four known names, nearest first: those that `name` begins, and those at most a third
/// of its letters away. Empty if there are none.
/// `alone` is a name that `known` does not list.
template <typename Entries>
std::string nearNames(llvm::StringRef name, const Entries &known, llvm::StringRef alone = "") {
  llvm::SmallVector<std::pair<unsigned, llvm::StringRef>> found;
  unsigned farthest = std::max<size_t>(name.size() / 3, 1);
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &entry : known)
    names.push_back(entry.Key);
  if (!alone.empty())
    names.push_back(alone);
  for (llvm::StringRef other : names) {
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

Expected<std::string> host::findTriple(llvm::StringRef name) {
  llvm::Triple triple(name.empty() ? llvm::sys::getProcessTriple() : llvm::Triple::normalize(name));
  auto arch = triple.getArch();
  if ((arch != llvm::Triple::x86_64 && arch != llvm::Triple::aarch64) || !triple.isOSLinux())
    return Error{invalidValue(name, "--mtriple", "x86_64-linux-gnu or aarch64-linux-gnu")};
  return llvm::Triple(llvm::Triple::getArchTypeName(arch), "unknown", "linux", "gnu").str();
}

std::vector<std::string> host::listCpus(llvm::StringRef triple) {
  std::vector<std::string> names;
  if (auto info = subtarget(triple.str(), "", ""))
    for (const llvm::SubtargetSubTypeKV &entry : info->getAllProcessorDescriptions())
      names.push_back(entry.Key);
  return names;
}

/// Why a triple has no CPU of this name.
static Error unknownCpu(const std::string &triple, llvm::StringRef name, const llvm::MCSubtargetInfo &known) {
  std::string message = "unknown CPU '" + name.str() + "'";
  for (const char *other : {"x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"})
    if (auto info = subtarget(other, "", ""); other != triple && info && info->isCPUStringValid(name))
      return Error{message + " of " + llvm::Triple(triple).getArchName().str() + "; it is one of " +
                   llvm::Triple(other).getArchName().str() + ", and one library is for one architecture, --mtriple's"};
  // LLVM calls AMD's Zen 4 znver4.
  const std::string meant = name.starts_with_insensitive("zen") ? "znver" + name.drop_front(3).str() : name.str();
  return Error{message + "; " + nearNames(meant, known.getAllProcessorDescriptions(), "native") +
               "--mcpu=help lists those that are known"};
}

std::string Machine::arch() const { return llvm::Triple(triple).getArchName().str(); }
std::string Machine::baseline() const { return isArm(triple) ? "generic" : "x86-64"; }
std::string Machine::tuning() const { return name == "native" ? baseline() : name; }
uint64_t Machine::pageBytes() const { return isArm(triple) ? 65536 : 4096; }

Expected<Machine> Machine::make(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef attributes) {
  Machine result{triple.str(), cpu.str(), {}};
  auto base = subtarget(result.triple, "", "");
  if (!base)
    return Error{"no code generator for " + result.triple + " in this LLVM"};
  llvm::SubtargetFeatures wanted;
  if (cpu == "native" && !isHost(result.triple))
    return Error{"--mcpu=native is this machine, which is no " + result.arch() + "; name a CPU, such as " +
                 result.baseline()};
  if (cpu == "native") {
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      wanted.AddFeature(feature.first(), feature.second);
  } else if (!base->isCPUStringValid(cpu)) {
    return unknownCpu(result.triple, cpu, *base);
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
    if (part.starts_with("+") && !isUsable(result.triple, name))
      return Error{"--mattr: generated code has no use for '" + part.str() + "'"};
    wanted.AddFeature(name, part.starts_with("+"));
  }
  auto info = subtarget(result.triple, result.tuning(), wanted.getString());
  std::set<std::string> features;
  for (const llvm::SubtargetFeatureKV &feature : info->getEnabledProcessorFeatures())
    if (isUsable(result.triple, feature.Key))
      features.insert(feature.Key);
  result.features.assign(features.begin(), features.end());
  // Without fma LLVM calls libm for each multiply-add; matmuls of integers are instructions of AVX2.
  std::string missing;
  for (const char *needed : {"avx2", "fma"})
    if (!isArm(result.triple) && !features.count(needed))
      missing += (missing.empty() ? "" : ", ") + std::string(needed);
  if (!missing.empty())
    return Error{"--mcpu: '" + result.name + "' lacks " + missing +
                 ", which matmuls and polynomials are made of; --mcpu=x86-64-v3 is the least that code can be made "
                 "for"};
  return result;
}

Expected<std::vector<Machine>> Machine::makeAll(llvm::StringRef triple, const std::vector<std::string> &cpus,
                                                llvm::StringRef attributes) {
  std::vector<std::string> names = cpus;
  if (names.empty())
    names.push_back(isHost(triple.str()) ? "native" : isArm(triple.str()) ? "generic" : "x86-64-v3");
  std::vector<Machine> machines;
  for (const std::string &name : names) {
    RAPT_ASSIGN_OR_RETURN(Machine made, make(triple, name, attributes));
    for (const Machine &other : machines)
      if (other.features == made.features)
        return Error{"--mcpu: '" + name + "' has the same features as '" + other.name +
                     "': one of the two would never be taken"};
    machines.push_back(std::move(made));
  }
  auto rank = [](const Machine &machine) {
    return std::tuple(-machine.vectorBytes(), -int64_t(machine.features.size()), llvm::StringRef(machine.name));
  };
  llvm::sort(machines, [&](const Machine &a, const Machine &b) { return rank(a) < rank(b); });
  return machines;
}

bool Machine::has(llvm::StringRef feature) const { return llvm::is_contained(features, feature); }

std::string Machine::featureString() const {
  std::string text;
  for (const std::string &feature : features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

int64_t Machine::vectorBytes() const {
  if (isArm(triple))
    return 16;
  return has("avx512f") ? 64 : has("avx") ? 32 : 16;
}
