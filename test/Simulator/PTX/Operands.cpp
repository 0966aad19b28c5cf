//===- Operands.cpp - Numbers and special registers of PTX text ------------===//
#include "test/Simulator/PTX/Operands.h"
#include <bit>
#include <charconv>
using namespace rapt::ptx;

namespace {

std::optional<uint64_t> parseDigits(std::string_view digits, int base) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

struct SpecialName {
  std::string_view name;
  Special special;
};

constexpr SpecialName specialNames[] = {{"%tid.x", Special::TidX},
                                        {"%tid.y", Special::TidY},
                                        {"%tid.z", Special::TidZ},
                                        {"%ntid.x", Special::NtidX},
                                        {"%ntid.y", Special::NtidY},
                                        {"%ntid.z", Special::NtidZ},
                                        {"%ctaid.x", Special::CtaidX},
                                        {"%ctaid.y", Special::CtaidY},
                                        {"%ctaid.z", Special::CtaidZ},
                                        {"%nctaid.x", Special::NctaidX},
                                        {"%nctaid.y", Special::NctaidY},
                                        {"%nctaid.z", Special::NctaidZ},
                                        {"%laneid", Special::LaneId},
                                        {"%warpid", Special::WarpId},
                                        {"%nwarpid", Special::NwarpId},
                                        {"%lanemask_eq", Special::LanemaskEq},
                                        {"%lanemask_lt", Special::LanemaskLt},
                                        {"%lanemask_le", Special::LanemaskLe},
                                        {"%lanemask_gt", Special::LanemaskGt},
                                        {"%lanemask_ge", Special::LanemaskGe},
                                        {"%dynamic_smem_size", Special::DynamicSharedSize},
                                        {"%total_smem_size", Special::TotalSharedSize},
                                        {"%clock", Special::Clock},
                                        {"%clock64", Special::Clock64},
                                        {"%globaltimer", Special::GlobalTimer},
                                        {"%smid", Special::SmId},
                                        {"%nsmid", Special::NsmId},
                                        {"%cluster_ctarank", Special::ClusterCtaRank},
                                        {"%cluster_nctarank", Special::ClusterCtaCount}};

} // namespace

std::optional<uint64_t> rapt::ptx::parseInteger(std::string_view text) {
  while (text.ends_with("U") || text.ends_with("u"))
    text.remove_suffix(1);
  if (text.starts_with("0x") || text.starts_with("0X"))
    return parseDigits(text.substr(2), 16);
  if (text.starts_with("0b") || text.starts_with("0B"))
    return parseDigits(text.substr(2), 2);
  return parseDigits(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

bool rapt::ptx::parseLiteral(std::string_view text, bool isNegative, Operand &operand) {
  std::string_view prefix = text.substr(0, 2);
  if (prefix == "0f" || prefix == "0F" || prefix == "0d" || prefix == "0D") {
    bool isDouble = prefix[1] == 'd' || prefix[1] == 'D';
    std::optional<uint64_t> bits = parseDigits(text.substr(2), 16);
    if (!bits || text.size() != (isDouble ? 18u : 10u))
      return false;
    operand.kind = isDouble ? Operand::Kind::Float64 : Operand::Kind::Float32;
    operand.value = isNegative ? *bits ^ (isDouble ? uint64_t(1) << 63 : uint64_t(1) << 31) : *bits;
    return true;
  }
  if (std::optional<uint64_t> value = parseInteger(text)) {
    operand.kind = Operand::Kind::Integer;
    operand.value = isNegative ? 0 - *value : *value;
    return true;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  operand.kind = Operand::Kind::Float64;
  operand.value = std::bit_cast<uint64_t>(isNegative ? -value : value);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Special> rapt::ptx::parseSpecial(std::string_view name) {
  for (const SpecialName &entry : specialNames)
    if (entry.name == name)
      return entry.special;
  return std::nullopt;
}
