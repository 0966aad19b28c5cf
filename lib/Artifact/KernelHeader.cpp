//===- KernelHeader.cpp - The C header of a bare kernel ----------------------------===//
#include "lib/Artifact/KernelHeader.h"
#include <algorithm>
#include <cctype>

namespace rapt::artifact {

namespace {

std::string cType(const std::string &dtype) {
  if (dtype == "f32")
    return "float";
  if (dtype == "i32" || dtype == "i64")
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

std::string declare(const json::Value &entry, const Manifest &m) {
  std::string name = text(entry, "name"), parameters, notes, dims;
  for (const json::Value &buffer : *entry.find("buffers")->asArray()) {
    std::string kind = text(buffer, "kind");
    if (kind != "input" && kind != "output" && kind != "cache")
      continue;
    parameters += (kind == "input" ? ", const " : ", ") + cType(text(buffer, "dtype")) + " *" + text(buffer, "name");
    notes += " *   " + text(buffer, "name") + shapeText(buffer) + ": " + kind + "\n";
  }
  for (const json::Value &dim : *entry.find("dims")->asArray())
    dims += (dims.empty() ? "" : ", ") + *dim.asString();
  std::string features;
  for (const std::string &feature : m.features)
    for (const char *tested : {"avx", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"})
      if (feature == tested)
        features += " && __builtin_cpu_supports(\"" + feature + "\")";
  return "/* Dense, row-major:\n" + notes + " * dims: {" + dims + "}. scratch: " + name +
         "_scratch(dims, env->workers) bytes, aligned to 64.\n * Returns 0, or what env->parallel_for returned. */\n" +
         "int32_t " + name + "(const rapt_env *env" + parameters + ", const int64_t *dims, void *scratch);\n" +
         "int64_t " + name + "_scratch(const int64_t *dims, int64_t workers);\n\n" +
         "/* Whether this machine has the instructions that the kernel uses. */\nstatic inline int " + name +
         "_supported(void) {\n#if defined(__x86_64__) && defined(__GNUC__)\n  return 1" + features +
         ";\n#else\n  return 1;\n#endif\n}\n\n";
}

} // namespace

std::string writeKernelHeader(const Manifest &manifest) {
  std::string guard = "RAPT_KERNEL_" + manifest.name + "_H";
  std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string body;
  for (const json::Value &entry : manifest.entries)
    body += declare(entry, manifest);
  return "/* Made by raptc. The object needs no library; a program without a thread pool gives an env whose "
         "parallel_for\n"
         " * calls body(closure, 0, count, 0). */\n#ifndef " +
         guard + "\n#define " + guard +
         "\n#include <rapt/artifact.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + body +
         "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace rapt::artifact
