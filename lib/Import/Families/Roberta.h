//===- Roberta.h - Parts of roberta and relatives ----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/EncoderSpec.h"

namespace rapt::importing {

/// The names of roberta's heads.
void setRobertaHeads(EncoderSpec &spec);

} // namespace rapt::importing
