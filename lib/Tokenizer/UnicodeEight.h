//===- UnicodeEight.h - Categories as Unicode 8.0 has them ------------------===//
//
// Hugging Face's tokenizers take punctuation, marks and controls of BERT from a
// table of Unicode 8.0 (crate unicode_categories 0.1). A later version would cut
// text that they leave whole, so these three do not follow utf8proc.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace rapt::unicode::eight {

bool isPunctuation(char32_t character);    ///< Pc, Pd, Pe, Pf, Pi, Po, Ps
bool isNonspacingMark(char32_t character); ///< Mn
bool isControl(char32_t character);        ///< Cc, Cf, Co

} // namespace rapt::unicode::eight
