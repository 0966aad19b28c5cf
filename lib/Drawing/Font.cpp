#include "lib/Drawing/Font.h"
#include "lib/Drawing/FontFile.h"
#include "lib/Drawing/Label.h"
#include <ft2build.h>
#include FT_FREETYPE_H

namespace rapt::drawing {
namespace {

/// The step to the next glyph, in pixels: FreeType counts in 64ths.
ptrdiff_t advanceOf(FT_Face face) { return (face->glyph->advance.x + 32) >> 6; }

void darken(Picture &picture, ptrdiff_t x, ptrdiff_t y, uint8_t ink) {
  if (x < 0 || y < 0 || size_t(x) >= picture.width || size_t(y) >= picture.height)
    return;
  uint8_t *pixel = &picture.pixels[(size_t(y) * picture.width + size_t(x)) * 3];
  for (int part = 0; part < 3; ++part)
    pixel[part] = uint8_t(pixel[part] * (255 - ink) / 255);
}

} // namespace

void Font::Free::operator()(FT_LibraryRec_ *library) const { FT_Done_FreeType(library); }
void Font::Free::operator()(FT_FaceRec_ *face) const { FT_Done_Face(face); }

Expected<Font> Font::open(size_t pixels) {
  Font font;
  font.size = pixels;
  FT_Library library = nullptr;
  FT_Error error = FT_Init_FreeType(&library);
  font.library.reset(library);
  FT_Face face = nullptr;
  if (!error)
    error = FT_New_Memory_Face(library, rapt_font_file, FT_Long(rapt_font_file_size), 0, &face);
  font.face.reset(face);
  if (!error)
    error = FT_Set_Pixel_Sizes(face, 0, FT_UInt(pixels));
  if (error)
    return Error{"FreeType does not open the font: error " + std::to_string(error)};
  return font;
}

/// Whether the character's glyph is in the face's slot, rendered as the outline says: hints would shift letters.
bool Font::load(char32_t character) {
  return !FT_Load_Char(face.get(), character, FT_LOAD_RENDER | FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP);
}

size_t Font::widthOf(std::string_view text) {
  ptrdiff_t width = 0;
  while (!text.empty())
    if (load(takeCharacter(text)))
      width += advanceOf(face.get());
  return size_t(width);
}

void Font::write(Picture &picture, size_t x, size_t y, std::string_view text, Direction direction) {
  const bool isUp = direction == Direction::Up;
  for (ptrdiff_t pen = 0; !text.empty();) {
    if (!load(takeCharacter(text)))
      continue;
    const FT_GlyphSlot glyph = face->glyph;
    const FT_Bitmap &bitmap = glyph->bitmap;
    for (unsigned row = 0; row < bitmap.rows; ++row)
      for (unsigned column = 0; column < bitmap.width; ++column) {
        const ptrdiff_t along = pen + glyph->bitmap_left + ptrdiff_t(column);
        const ptrdiff_t below = ptrdiff_t(row) - glyph->bitmap_top;
        darken(picture, ptrdiff_t(x) + (isUp ? below : along), ptrdiff_t(y) + (isUp ? -along : below),
               bitmap.buffer[ptrdiff_t(row) * bitmap.pitch + ptrdiff_t(column)]);
      }
    pen += advanceOf(face.get());
  }
}

} // namespace rapt::drawing
