//===- FontFile.h - The bytes of the font that is built in ---------------------===//
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
extern const unsigned char rapt_font_file[];
extern const size_t rapt_font_file_size;
#ifdef __cplusplus
}
#endif
