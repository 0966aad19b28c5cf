#include "lib/Runtime/Cpu.h"
#include "lib/Runtime/Device.h"
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace rapt::runtime {

#if defined(__x86_64__)

namespace {

enum Register : uint8_t { A, B, C, D };

/// State that the operating system must save for a feature to be usable (bits of XCR0).
enum State : uint32_t { None = 0, Ymm = 6, Zmm = 0xE6, Tile = 0x60000, Extended = 0x80000 };

struct FeatureBit {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  uint32_t state;
};

// Intel SDM vol. 2A "CPUID" and AMD APM vol. 3 appendix E; names as in llvm::sys::getHostCPUFeatures.
constexpr uint32_t ext1 = 0x80000001, ext8 = 0x80000008;
constexpr FeatureBit table[] = {
    {"x87", 1, 0, D, 0, None},
    {"cx8", 1, 0, D, 8, None},
    {"cmov", 1, 0, D, 15, None},
    {"nopl", 1, 0, D, 15, None}, // has no bit of its own, and came with the same processors
    {"mmx", 1, 0, D, 23, None},
    {"fxsr", 1, 0, D, 24, None},
    {"sse", 1, 0, D, 25, None},
    {"sse2", 1, 0, D, 26, None},
    {"sse3", 1, 0, C, 0, None},
    {"pclmul", 1, 0, C, 1, None},
    {"ssse3", 1, 0, C, 9, None},
    {"fma", 1, 0, C, 12, Ymm},
    {"cx16", 1, 0, C, 13, None},
    {"sse4.1", 1, 0, C, 19, None},
    {"sse4.2", 1, 0, C, 20, None},
    {"crc32", 1, 0, C, 20, None},
    {"movbe", 1, 0, C, 22, None},
    {"popcnt", 1, 0, C, 23, None},
    {"aes", 1, 0, C, 25, None},
    {"xsave", 1, 0, C, 27, None}, // OSXSAVE: enabled, not only present
    {"avx", 1, 0, C, 28, Ymm},
    {"f16c", 1, 0, C, 29, Ymm},
    {"rdrnd", 1, 0, C, 30, None},
    {"sahf", ext1, 0, C, 0, None},
    {"lzcnt", ext1, 0, C, 5, None},
    {"sse4a", ext1, 0, C, 6, None},
    {"prfchw", ext1, 0, C, 8, None},
    {"xop", ext1, 0, C, 11, Ymm},
    {"lwp", ext1, 0, C, 15, None},
    {"fma4", ext1, 0, C, 16, Ymm},
    {"tbm", ext1, 0, C, 21, None},
    {"mwaitx", ext1, 0, C, 29, None},
    {"64bit", ext1, 0, D, 29, None},
    {"clzero", ext8, 0, B, 0, None},
    {"rdpru", ext8, 0, B, 4, None},
    {"wbnoinvd", ext8, 0, B, 9, None},
    {"fsgsbase", 7, 0, B, 0, None},
    {"sgx", 7, 0, B, 2, None},
    {"bmi", 7, 0, B, 3, None},
    {"avx2", 7, 0, B, 5, Ymm},
    {"bmi2", 7, 0, B, 8, None},
    {"invpcid", 7, 0, B, 10, None},
    {"rtm", 7, 0, B, 11, None},
    {"avx512f", 7, 0, B, 16, Zmm},
    {"avx512dq", 7, 0, B, 17, Zmm},
    {"rdseed", 7, 0, B, 18, None},
    {"adx", 7, 0, B, 19, None},
    {"avx512ifma", 7, 0, B, 21, Zmm},
    {"clflushopt", 7, 0, B, 23, None},
    {"clwb", 7, 0, B, 24, None},
    {"avx512cd", 7, 0, B, 28, Zmm},
    {"sha", 7, 0, B, 29, None},
    {"avx512bw", 7, 0, B, 30, Zmm},
    {"avx512vl", 7, 0, B, 31, Zmm},
    {"avx512vbmi", 7, 0, C, 1, Zmm},
    {"pku", 7, 0, C, 4, None},
    {"waitpkg", 7, 0, C, 5, None},
    {"avx512vbmi2", 7, 0, C, 6, Zmm},
    {"shstk", 7, 0, C, 7, None},
    {"gfni", 7, 0, C, 8, None},
    {"vaes", 7, 0, C, 9, Ymm},
    {"vpclmulqdq", 7, 0, C, 10, Ymm},
    {"avx512vnni", 7, 0, C, 11, Zmm},
    {"avx512bitalg", 7, 0, C, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, C, 14, Zmm},
    {"rdpid", 7, 0, C, 22, None},
    {"kl", 7, 0, C, 23, None},
    {"cldemote", 7, 0, C, 25, None},
    {"movdiri", 7, 0, C, 27, None},
    {"movdir64b", 7, 0, C, 28, None},
    {"enqcmd", 7, 0, C, 29, None},
    {"uintr", 7, 0, D, 5, None},
    {"avx512vp2intersect", 7, 0, D, 8, Zmm},
    {"serialize", 7, 0, D, 14, None},
    {"tsxldtrk", 7, 0, D, 16, None},
    {"pconfig", 7, 0, D, 18, None},
    {"amx-bf16", 7, 0, D, 22, Tile},
    {"avx512fp16", 7, 0, D, 23, Zmm},
    {"amx-tile", 7, 0, D, 24, Tile},
    {"amx-int8", 7, 0, D, 25, Tile},
    {"sha512", 7, 1, A, 0, Ymm},
    {"sm3", 7, 1, A, 1, Ymm},
    {"sm4", 7, 1, A, 2, Ymm},
    {"raoint", 7, 1, A, 3, None},
    {"avxvnni", 7, 1, A, 4, Ymm},
    {"avx512bf16", 7, 1, A, 5, Zmm},
    {"cmpccxadd", 7, 1, A, 7, None},
    {"amx-fp16", 7, 1, A, 21, Tile},
    {"hreset", 7, 1, A, 22, None},
    {"avxifma", 7, 1, A, 23, Ymm},
    {"movrs", 7, 1, A, 31, None},
    {"avxvnniint8", 7, 1, D, 4, Ymm},
    {"avxneconvert", 7, 1, D, 5, Ymm},
    {"amx-complex", 7, 1, D, 8, Tile},
    {"avxvnniint16", 7, 1, D, 10, Ymm},
    {"prefetchi", 7, 1, D, 14, None},
    {"usermsr", 7, 1, D, 15, None},
    {"egpr", 7, 1, D, 21, Extended},
    {"push2pop2", 7, 1, D, 21, Extended},
    {"ppx", 7, 1, D, 21, Extended},
    {"ndd", 7, 1, D, 21, Extended},
    {"ccmp", 7, 1, D, 21, Extended},
    {"nf", 7, 1, D, 21, Extended},
    {"cf", 7, 1, D, 21, Extended},
    {"zu", 7, 1, D, 21, Extended},
    {"xsaveopt", 13, 1, A, 0, None},
    {"xsavec", 13, 1, A, 1, None},
    {"xsaves", 13, 1, A, 3, None},
    {"ptwrite", 0x14, 0, B, 4, None},
    {"widekl", 0x19, 0, B, 2, None},
    {"amx-fp8", 0x1E, 1, A, 4, Tile},
    {"amx-tf32", 0x1E, 1, A, 6, Tile},
    {"amx-avx512", 0x1E, 1, A, 7, Tile | Zmm},
    {"amx-movrs", 0x1E, 1, A, 8, Tile},
};

// Beginnings of LLVM's names for what is fast, not for what exists: any processor runs such code.
constexpr const char *tuning[] = {"64bit-mode", "allow-light-", "branch", "ermsb",       "false-deps-", "fast",
                                  "fsrm",       "idiv",         "lea-",   "macrofusion", "no-bypass-",  "pad-short-",
                                  "prefer-",    "sbb-dep-",     "slow-",  "tuning-",     "use-",        "vzeroupper"};

/// The register of a leaf, 0 where the processor has no such leaf.
uint32_t cpuid(uint32_t leaf, uint32_t subleaf, Register reg) {
  uint32_t r[4];
  if (__get_cpuid_max(leaf & 0x80000000, nullptr) < leaf)
    return 0;
  __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  if (leaf == 7 && subleaf > 0) { // leaf 7 says how many of them there are
    uint32_t zero[4];
    __cpuid_count(7, 0, zero[0], zero[1], zero[2], zero[3]);
    if (zero[0] < subleaf)
      return 0;
  }
  return r[reg];
}

uint32_t enabledState() {
  if (!(cpuid(1, 0, C) >> 27 & 1)) // OSXSAVE
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool requestTileState() {
  constexpr int requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace

const char *hostArch() { return "x86_64"; }

FeatureState feature(const char *name) {
  auto stateOf = [](bool present, uint32_t state) {
    return present && (enabledState() & state) == state ? FeatureState::Present : FeatureState::Missing;
  };
  for (const FeatureBit &f : table)
    if (strcmp(f.name, name) == 0)
      return stateOf(cpuid(f.leaf, f.subleaf, f.reg) >> f.bit & 1, f.state);
  if (strncmp(name, "avx10.", 6) == 0 && name[6] >= '1' && name[6] <= '9') // a version, "avx10.2" or "avx10.2-512"
    return stateOf((cpuid(7, 1, D) >> 19 & 1) && (cpuid(0x24, 0, B) & 0xFF) >= uint32_t(name[6] - '0'), Zmm);
  for (const char *prefix : tuning)
    if (strncmp(name, prefix, strlen(prefix)) == 0)
      return FeatureState::Present;
  return FeatureState::Unknown;
}

DefaultFloatingPoint::DefaultFloatingPoint() : saved(_mm_getcsr()) {
  if ((saved & 0xFFC0) != 0x1F80) // all but the sticky flags
    _mm_setcsr(0x1F80);
}
DefaultFloatingPoint::~DefaultFloatingPoint() {
  if (_mm_getcsr() != uint32_t(saved))
    _mm_setcsr(uint32_t(saved));
}

#else

#if defined(__aarch64__)
namespace {

struct FeatureBits {
  const char *name;
  unsigned long word, bits; ///< getauxval's argument, and what must be set
};

// Names as LLVM has them; bits as in Linux's Documentation/arch/arm64/elf_hwcaps.rst. The kernel tells what it and the
// processor both support.
constexpr FeatureBits table[] = {
    {"fp-armv8", AT_HWCAP, HWCAP_FP},      {"neon", AT_HWCAP, HWCAP_ASIMD},
    {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},     {"fullfp16", AT_HWCAP, HWCAP_FPHP | HWCAP_ASIMDHP},
    {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM}, {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
    {"complxnum", AT_HWCAP, HWCAP_FCMA},   {"bf16", AT_HWCAP2, HWCAP2_BF16},
    {"i8mm", AT_HWCAP2, HWCAP2_I8MM}};

} // namespace

const char *hostArch() { return "aarch64"; }
FeatureState feature(const char *name) {
  for (const FeatureBits &f : table)
    if (strcmp(f.name, name) == 0)
      return (getauxval(f.word) & f.bits) == f.bits ? FeatureState::Present : FeatureState::Missing;
  return FeatureState::Unknown;
}
DefaultFloatingPoint::DefaultFloatingPoint() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
}
DefaultFloatingPoint::~DefaultFloatingPoint() { __asm__ volatile("msr fpcr, %0" : : "r"(saved)); }
#else
#error "Rapt's runtime knows x86-64 and AArch64"
#endif
static bool requestTileState() { return false; }

#endif

namespace {

/// A line in a buffer of fixed size; text beyond its end is cut.
class Line {
public:
  void add(const char *part) {
    while (*part && used + 1 < sizeof text)
      text[used++] = *part++;
    text[used] = 0;
  }
  char text[1024] = "";

private:
  size_t used = 0;
};

bool runsOn(const ManifestVariant &variant, const Device &device) {
  for (const ManifestImage &image : variant.images) {
    GpuArch arch;
    if (GpuArch::parse(image.arch.c_str(), arch) && arch.runsOn(device.architecture(), image.isMachineCode))
      return true;
  }
  return false;
}

/// Whether this machine runs the variant; `line` tells what it lacks.
bool canRun(const ManifestVariant &variant, Line &line) {
  bool tiles = false, good = true;
  auto lacks = [&](const char *what, const char *why) {
    if (good) {
      line.add(line.text[0] ? "; for " : "for ");
      line.add(variant.name.c_str());
    }
    line.add(good ? " it lacks " : ", ");
    line.add(what);
    line.add(why);
    good = false;
  };
  for (const std::string &name : variant.features) {
    tiles |= name.compare(0, 4, "amx-") == 0;
    FeatureState state = feature(name.c_str());
    if (state != FeatureState::Present)
      lacks(name.c_str(), state == FeatureState::Missing ? "" : " (which this runtime does not know)");
  }
  if (good && tiles && !requestTileState())
    lacks("amx-tile", " (which the kernel refuses this process)");
  return good;
}

} // namespace

rapt_status chooseVariant(const Manifest &manifest, const char *file, const char *wanted, const Device *device,
                          int &chosen, const Report &report) {
  if (manifest.arch != hostArch())
    return report.fail(RAPT_CPU, "%s: made for %s, this machine is %s", file, manifest.arch.c_str(), hostArch());
  Line lacks, names, gpus;
  bool known = !wanted;
  for (size_t i = 0; i < manifest.variants.size(); ++i) {
    const ManifestVariant &variant = manifest.variants[i];
    names.add(i ? ", " : "");
    names.add(variant.name.c_str());
    if (wanted && variant.name != wanted && variant.cpu != wanted)
      continue;
    known = true;
    if (device && !runsOn(variant, *device)) {
      gpus.add(gpus.text[0] ? ", " : "");
      gpus.add(variant.gpus.c_str());
      continue;
    }
    if (!canRun(variant, lacks))
      continue;
    chosen = int(i);
    return RAPT_OK;
  }
  if (!known)
    return report.fail(RAPT_INVALID, "%s: has no variant %s; it has %s", file, wanted, names.text);
  if (!lacks.text[0] && gpus.text[0])
    return device->refuse(file, gpus.text, report);
  return report.fail(RAPT_CPU, "%s: this machine cannot run it%s: %s; compile the model with --mcpu=%s", file,
                     wanted ? " as asked" : "", lacks.text,
                     strcmp(hostArch(), "x86_64") == 0 ? "x86-64-v3" : "generic");
}

} // namespace rapt::runtime
