// DejaVu Sans as a part of the program, so that it draws the same text wherever it runs.
#include "lib/Drawing/FontFile.h"

const unsigned char rapt_font_file[] = {
#embed RAPT_FONT
};
const size_t rapt_font_file_size = sizeof rapt_font_file;
