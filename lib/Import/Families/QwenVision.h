//===- QwenVision.h - Text parts of qwen3_vl and what they share with qwen3_5 ---*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/RotaryFrequencies.h"
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

extern const DecoderFamily qwen3VL, qwen3VLMoe;

/// Keys of a rotation whose frequencies are of time, row and column where texts have images; `sections` are how many
/// each axis has without the key.
RotaryKeys imageRotary(const DecoderSource &source, const std::array<int64_t, 3> &sections);

} // namespace rapt::importing
