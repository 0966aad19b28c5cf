//===- InfoFacts.h - The facts about a model, out of rapt_module_info -----------===//
//
// For programs of this repository that use the runtime as applications do.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/ModelFacts.h"
#include "rapt/rapt.h"

namespace rapt::runtime {

inline void readFact(const char *text, fact::Text &fact) { fact = text; }
inline void readFact(int64_t number, fact::Number &fact) { fact = number; }
inline void readFact(int64_t id, fact::Id &fact) { fact = id < 0 ? std::nullopt : std::optional(id); }

/// The facts that `info` has.
inline ModelFacts factsOf(const rapt_module_info &info) {
  ModelFacts facts;
#define RAPT_INFO_FACT(TYPE, MEMBER, KEY, MANIFEST, FIELD, DOC) readFact(info.FIELD, facts.MEMBER);
#define RAPT_INFO_LIST(TYPE, MEMBER, KEY, MANIFEST, FIELD, COUNT, DOC)                                                 \
  facts.MEMBER.assign(info.FIELD, info.FIELD + info.COUNT);
#include "lib/Support/ModelFacts.def"
  return facts;
}

} // namespace rapt::runtime
