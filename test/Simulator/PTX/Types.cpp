//===- Types.cpp - Names and sizes of PTX types -----------------------------===//
#include "test/Simulator/PTX/Types.h"
using namespace rapt::ptx;

namespace {

struct TypeFacts {
  std::string_view name;
  unsigned size;
  bool isSigned, isFloat;
};

/// In the order of `Type`.
constexpr TypeFacts facts[] = {
    {"", 0, false, false},      {"pred", 0, false, false}, {"b8", 1, false, false},    {"b16", 2, false, false},
    {"b32", 4, false, false},   {"b64", 8, false, false},  {"b128", 16, false, false}, {"u8", 1, false, false},
    {"u16", 2, false, false},   {"u32", 4, false, false},  {"u64", 8, false, false},   {"s8", 1, true, false},
    {"s16", 2, true, false},    {"s32", 4, true, false},   {"s64", 8, true, false},    {"f16", 2, false, true},
    {"f16x2", 4, false, true},  {"bf16", 2, false, true},  {"bf16x2", 4, false, true}, {"tf32", 4, false, true},
    {"f32", 4, false, true},    {"f64", 8, false, true},   {"e4m3", 1, false, true},   {"e5m2", 1, false, true},
    {"e4m3x2", 2, false, true}, {"e5m2x2", 2, false, true}};

} // namespace

std::optional<Type> rapt::ptx::parseType(std::string_view suffix) {
  for (size_t type = 1; type < std::size(facts); ++type)
    if (facts[type].name == suffix)
      return Type(type);
  return std::nullopt;
}

std::string_view rapt::ptx::nameOf(Type type) { return facts[size_t(type)].name; }
unsigned rapt::ptx::sizeOf(Type type) { return facts[size_t(type)].size; }
bool rapt::ptx::isSigned(Type type) { return facts[size_t(type)].isSigned; }
bool rapt::ptx::isFloat(Type type) { return facts[size_t(type)].isFloat; }

std::string_view rapt::ptx::nameOf(Space space) {
  constexpr std::string_view names[] = {"generic", "global", "shared", "local", "param", "const"};
  return names[size_t(space)];
}
