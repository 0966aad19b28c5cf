//===- Metaspace.h - SentencePiece's visible blank -------------------------===//
#pragma once
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/PreTokenizer.h"

namespace rapt {

/// Where a blank is put before text that starts without one.
enum class PrependScheme { Always, First, Never };

struct MetaspaceOptions {
  std::string replacement; ///< One character, U+2581 by default.
  PrependScheme prepend = PrependScheme::Always;
  bool split = true;
};

/// The members that the pre-tokenizer and the decoder share, with `add_prefix_space` of older files.
Expected<MetaspaceOptions> readMetaspaceOptions(JsonFields &fields, const std::string &where);

Status readMetaspace(JsonFields &fields, const std::string &where, PreTokenizerList &list);

} // namespace rapt
