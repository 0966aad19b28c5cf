//===- ByteTokenizer.h - The tokenizer of byt5 -----------------------------------===//
#pragma once
#include <cstdint>
#include <string>

namespace rapt::huggingface {

/// The tokenizer.json of transformers' ByT5Tokenizer, which publishes none: a token for each byte, with ids behind
/// those of <pad>, </s> and <unk>, and `extraIds` tokens of masked spans behind them. A text ends with </s>.
std::string makeByteTokenizer(int64_t extraIds);

} // namespace rapt::huggingface
