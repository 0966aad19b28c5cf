//===- Findings.cpp - Faults of a kernel that hardware does not tell --------===//
#include "test/Simulator/PTX/Findings.h"
using namespace rapt::ptx;

std::string_view rapt::ptx::nameOf(FindingKind kind) {
  constexpr std::string_view names[] = {
      "uninitialized register", "uninitialized memory", "out of bounds", "misaligned", "race",
      "missing wait",           "missing fence",        "deadlock",      "divergence", "misuse"};
  return names[size_t(kind)];
}

void Findings::add(FindingKind kind, uint32_t line, const std::string &text) {
  auto [entry, isNew] = index.try_emplace({kind, line}, list.size());
  if (isNew)
    list.push_back({kind, line, text});
  else
    ++list[entry->second].count;
}
