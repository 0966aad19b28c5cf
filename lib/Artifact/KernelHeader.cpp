//===- KernelHeader.cpp - The C header of bare kernels -----------------------------===//
#include "lib/Artifact/KernelHeader.h"
#include "lib/Support/Units.h"
#include <algorithm>
#include <cctype>
#include <rapt/artifact.h>

namespace rapt::artifact {

namespace {

/// The start of every header. rapt_env is that of rapt/artifact.h, which a program may include as well.
constexpr const char *preamble = R"(
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RAPT_ENV
#define RAPT_ENV
/* Part of a kernel's work: the indices [begin, end). worker is below rapt_env.workers, and no two calls that run at
 * the same time share it. */
typedef void (*rapt_task_fn)(void *closure, int64_t begin, int64_t end, int64_t worker);

/* Runs body over each index of [0, count) once, in any order and grouping, and returns when all are done. A result
 * other than 0 ends the kernel, which returns it. */
typedef int32_t (*rapt_parallel_for_fn)(void *user, rapt_task_fn body, void *closure, int64_t count);

/* Starts the thread blocks of a kernel of GPU code without waiting, in the order of the calls. A result other than 0
 * ends the function, which returns it. */
struct rapt_kernel;
typedef int32_t (*rapt_launch_fn)(void *user, const struct rapt_kernel *kernel, const void *arguments, int64_t blocks);

/* Describes an array of a GPU for copies by hardware, for code for GPUs: 1, or 0 where it has no description. */
struct rapt_boxes;
typedef int32_t (*rapt_tensor_map_fn)(void *user, const struct rapt_boxes *tensor, void *map);

/* The threads that a kernel may use: NULL, or one whose parallel_for is NULL, means the caller's thread alone. Or the
 * GPU that runs it: one of rapt_device_env. */
typedef struct rapt_env {
  void *user; /* handed to the functions */
  rapt_parallel_for_fn parallel_for;
  int64_t workers;       /* >= 1. For a GPU: RAPT_DEVICE_WORKERS */
  rapt_launch_fn launch; /* read by code for GPUs alone, which has no use for parallel_for */
  rapt_tensor_map_fn tensor_map; /* read by code for GPUs alone */
} rapt_env;
#endif
)";

/// The environment of code for GPUs, and the number of its slices of scratch memory, as rapt/artifact.h has it.
constexpr const char *deviceEnvironment = R"(
/* Code for GPUs. The environment is one of librapt_runtime: rapt_device_open of <rapt/rapt_device.h>. */
#ifndef RAPT_DEVICE_WORKERS
#define RAPT_DEVICE_WORKERS 4096
#endif
)";
static_assert(RAPT_DEVICE_WORKERS == 4096);

/// The C code that asks Linux for permission to use AMX tiles in all threads of a process (ARCH_REQ_XCOMP_PERM of
/// XFEATURE_XTILEDATA; the Linux kernel's Documentation/arch/x86/xstate.rst): it fails where CPU or kernel have none.
constexpr const char *tileState = R"(
#ifndef RAPT_TILE_STATE
#define RAPT_TILE_STATE
/* The C library has this function, and no header that declares it. */
int arch_prctl(int code, unsigned long address);
#endif
)";

/// Features of LLVM that __builtin_cpu_supports of GCC 12 and Clang knows by the same names.
constexpr const char *testedFeatures[] = {"sse3",     "ssse3",    "sse4.1",   "sse4.2",     "popcnt",    "avx",
                                          "avx2",     "bmi",      "bmi2",     "fma",        "avx512f",   "avx512bw",
                                          "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16"};

/// A feature of AArch64 as getauxval tells it: the call's argument (AT_HWCAP, AT_HWCAP2) and the bits.
struct HwcapBits {
  const char *feature, *word, *bits;
};
constexpr HwcapBits hwcaps[] = {{"bf16", "26", "0x4000"},      {"complxnum", "16", "0x4000"},
                                {"dotprod", "16", "0x100000"}, {"fp16fml", "16", "0x800000"},
                                {"fullfp16", "16", "0x600"},   {"i8mm", "26", "0x2000"},
                                {"rdm", "16", "0x1000"}};

std::string cType(const std::string &dtype) {
  if (dtype == "f32")
    return "float";
  if (dtype == "i8" || dtype == "i32" || dtype == "i64")
    return "int" + dtype.substr(1) + "_t";
  return "uint16_t"; // bf16 and f16
}

std::string text(const json::Value &object, const char *key) {
  const json::Value *value = object.find(key);
  return value && value->asString() ? *value->asString() : std::string();
}

/// "[queries][8][64]"
std::string shapeText(const json::Value &buffer) {
  std::string result;
  if (const json::Value *shape = buffer.find("shape"); shape && shape->asArray())
    for (const json::Value &extent : *shape->asArray())
      result += "[" + (extent.asString() ? *extent.asString() : json::write(extent)) + "]";
  return result;
}

/// One line for each array, its element type where C has no name for it.
std::string describeBuffer(const json::Value &buffer) {
  std::string dtype = text(buffer, "dtype"), kind = text(buffer, "kind");
  std::string note = kind == "cache" ? "read and written" : kind == "input" ? "read" : "written";
  if (dtype == "bf16" || dtype == "f16")
    note += ", " + dtype;
  if (const json::Value *pages = buffer.find("pages")) {
    std::string lines = " *   " + text(buffer, "name") + "[" + text(buffer, "blocks") + "]: " + note + ", ";
    for (const json::Value &line : *pages->asArray())
      lines += (lines.back() == ' ' ? "" : " *     ") + *line.asString() + "\n";
    return lines;
  }
  const std::string shape = shapeText(buffer);
  return " *   " + text(buffer, "name") + shape + ": " + note +
         (shape.empty() && buffer.find("dtype") ? ", one element" : "") + "\n";
}

std::string describeDims(const json::Value &entry) {
  std::string lines;
  const json::Array &dims = *entry.find("dims")->asArray();
  const json::Value *bounds = entry.find("bounds");
  for (size_t i = 0; i < dims.size(); ++i) {
    lines += " *   dims[" + std::to_string(i) + "]: " + *dims[i].asString();
    if (bounds && bounds->asArray() && i < bounds->asArray()->size()) {
      const json::Array &pair = *(*bounds->asArray())[i].asArray();
      lines += ", " + json::write(pair[0]) + " to " + json::write(pair[1]);
    }
    lines += "\n";
  }
  return lines.empty() ? " * dims may be NULL: every extent is fixed.\n" : " * The extents that vary:\n" + lines;
}

bool hasFeature(const Manifest &m, const std::string &name) {
  const std::vector<std::string> &features = m.variants.front().features;
  return std::find(features.begin(), features.end(), name) != features.end();
}

std::string supported(const std::string &name, const Manifest &m) {
  std::string tests;
  auto add = [&](const std::string &feature, const std::string &test) {
    if (hasFeature(m, feature))
      tests += (tests.empty() ? "" : " &&\n         ") + test;
  };
  const bool isArm = m.arch == "aarch64";
  for (const char *tested : testedFeatures)
    add(tested, std::string("__builtin_cpu_supports(\"") + tested + "\")");
  add("amx-tile", "arch_prctl(0x1023, 18) == 0");
  for (const HwcapBits &tested : hwcaps)
    if (isArm)
      add(tested.feature, std::string("(getauxval(") + tested.word + ") & " + tested.bits + ") == " + tested.bits);
  const char *asks = hasFeature(m, "amx-tile")
                         ? "\n * Asks the system for the state of tiles, which other languages do by the same call."
                         : "";
  return "/* Whether this processor has the instructions that " + name + " was compiled for." + asks +
         " */\nstatic inline int " + name + "_supported(void) {\n#if defined(__" + m.arch + "__)" +
         (isArm ? " && defined(__linux__)" : " && defined(__GNUC__)") + "\n  return " + (tests.empty() ? "1" : tests) +
         ";\n#elif defined(__" + m.arch + "__)\n  return " + (hasFeature(m, "amx-tile") ? "0" : "1") +
         ";\n#else\n  return 0;\n#endif\n}\n";
}

/// Scratch and results of a kernel that the processor runs, and of one that a GPU runs.
std::string threadNotes(const std::string &name) {
  return " * scratch: " + name +
         "_scratch bytes, aligned to 64; calls that run at the same time need one each. Values in arrays (ids, "
         "offsets,\n * lengths) are not checked. Returns 0; -1, having done nothing, where " +
         name + "_scratch gives -1; else what\n * env->parallel_for returned.";
}
std::string deviceNotes(const std::string &name) {
  return " * Arrays and scratch are addresses of the GPU's memory; dims is read here. The work is started, and done "
         "when "
         "the\n * environment's stream is.\n * scratch: " +
         name +
         "_scratch bytes, aligned to 64; environments that run at the same time need one each. Values in\n * arrays "
         "(ids, offsets, lengths) are not checked. Returns 0; -1, having done nothing, where " +
         name +
         "_scratch\n * gives -1, env or its launch is NULL, or its workers are not RAPT_DEVICE_WORKERS; else what "
         "env->launch returned.";
}

std::string declare(const json::Value &entry, const Manifest &m) {
  std::string name = text(entry, "name"), parameters, notes;
  for (const json::Value &buffer : *entry.find("buffers")->asArray()) {
    std::string kind = text(buffer, "kind");
    if (kind == "weights" || kind == "workspace")
      continue;
    std::string type = buffer.find("dtype") ? cType(text(buffer, "dtype")) : "void";
    parameters += (kind == "input" ? ", const " : ", ") + type + " *" + text(buffer, "name");
    notes += describeBuffer(buffer);
  }
  return "\n/* Arrays are row-major and dense, aligned as their elements are. Those written overlap no other.\n" +
         notes + describeDims(entry) + (m.device ? deviceNotes(name) : threadNotes(name)) +
         (hasFeature(m, "amx-tile") ? "\n * Only after " + name + "_supported() has returned 1 in the process." : "") +
         " */\nint32_t " + name + "(const rapt_env *env" + parameters +
         ",\n    const int64_t *dims, void *scratch);\n\n/* Bytes of scratch for these dims and " +
         (m.device ? "RAPT_DEVICE_WORKERS workers" : "env->workers (1 without an env)") +
         "; may be 0. -1: a dim is out of its bounds, workers is\n * below 1, or a size is beyond 64 bits. "
         "*/\nint64_t " +
         name + "_scratch(const int64_t *dims, int64_t workers);\n\n" + supported(name, m);
}

} // namespace

bool isCKeyword(const std::string &name) {
  // C11 and C++20, in which a kernel's header is compiled too.
  static constexpr std::string_view words =
      " "
      "alignas alignof and asm auto bool break case catch char class compl const constexpr continue decltype default "
      "delete do double else enum explicit export extern false float for friend goto if inline int long mutable "
      "namespace new noexcept not nullptr operator or private protected public register requires restrict return "
      "short signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned "
      "using virtual void volatile wchar_t while xor concept co_await co_return co_yield consteval constinit "
      "dynamic_cast const_cast static_cast reinterpret_cast static_assert thread_local ";
  return words.find(" " + name + " ") != words.npos;
}

std::string describeKernels(const Manifest &manifest) {
  std::string lines;
  for (const json::Value &entry : manifest.entries) {
    std::string line = text(entry, "name") + ": kernel", types;
    for (const auto &[kind, verb] :
         {std::pair("input", ", reads "), {"cache", ", reads and writes "}, {"output", ", writes "}}) {
      const char *before = verb;
      for (const json::Value &buffer : *entry.find("buffers")->asArray()) {
        if (text(buffer, "kind") != kind)
          continue;
        line += before + text(buffer, "name") + shapeText(buffer);
        before = ", ";
        if (const std::string type = text(buffer, "dtype"); !type.empty() && types.find(type) == types.npos)
          types += (types.empty() ? "" : ", ") + type;
      }
    }
    lines += line + (types.empty() ? "" : " (" + types + ")") + "\n";
  }
  return lines;
}

namespace {

struct DimBounds {
  std::string name;
  int64_t least, most;
};

std::vector<DimBounds> boundsOf(const json::Value &entry) {
  std::vector<DimBounds> all;
  const json::Array &dims = *entry.find("dims")->asArray(), &bounds = *entry.find("bounds")->asArray();
  for (size_t i = 0; i < dims.size(); ++i) {
    const json::Array &pair = *bounds[i].asArray();
    all.push_back({*dims[i].asString(), pair[0].asInteger().value_or(0), pair[1].asInteger().value_or(0)});
  }
  return all;
}

} // namespace

std::string describeKernelDims(const Manifest &manifest) {
  std::vector<std::string> told;
  std::string line;
  for (const json::Value &entry : manifest.entries)
    for (const DimBounds &dim : boundsOf(entry))
      if (std::find(told.begin(), told.end(), dim.name) == told.end()) {
        told.push_back(dim.name);
        line += (line.empty() ? "limits: " : ", ") + dim.name + " from " + grouped(uint64_t(dim.least)) + " to " +
                grouped(uint64_t(dim.most));
      }
  return line;
}

std::string exampleDims(const Manifest &manifest) {
  std::string sizes;
  for (const DimBounds &dim : boundsOf(manifest.entries.front()))
    sizes +=
        (sizes.empty() ? "" : ",") + dim.name + "=" + std::to_string(std::clamp<int64_t>(128, dim.least, dim.most));
  return sizes;
}

std::string writeKernelHeader(const Manifest &manifest) {
  std::string guard = "RAPT_KERNEL_" + manifest.name + "_H";
  std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string body;
  for (const json::Value &entry : manifest.entries)
    body += declare(entry, manifest);
  // getauxval, which AArch64's test calls.
  const std::string system =
      manifest.arch == "aarch64" ? "\n#if defined(__linux__)\n#include <sys/auxv.h>\n#endif" : "";
  return "/* Made by raptc. The code beside this header needs no library but the C library's memcpy, memmove and "
         "memset. */\n"
         "#ifndef " +
         guard + "\n#define " + guard + system + preamble + (manifest.device ? deviceEnvironment : "") +
         (hasFeature(manifest, "amx-tile") ? tileState : "") + body + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace rapt::artifact
