//===- Font.h - Text in pixels ------------------------------------------------===//
//
// DejaVu Sans, which is built in, by FreeType. One glyph a character, from left to
// right: scripts that join or turn around are shown letter by letter.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Drawing/Picture.h"
#include <memory>
#include <string_view>

struct FT_FaceRec_;
struct FT_LibraryRec_;

namespace rapt::drawing {

enum class Direction { Right, Up };

class Font {
public:
  /// The font in a size of `pixels` an em. An error is FreeType's, by number.
  static Expected<Font> open(size_t pixels);

  /// Pixels from the start of a text, which is valid UTF-8, to its end.
  size_t widthOf(std::string_view text);
  /// Writes text black on what is there. It begins at (x, y), a point of the line on which letters stand; what lies
  /// outside of the picture is left out. A character that the font does not have is its box.
  void write(Picture &picture, size_t x, size_t y, std::string_view text, Direction direction);
  size_t pixels() const { return size; }

private:
  struct Free {
    void operator()(FT_LibraryRec_ *library) const;
    void operator()(FT_FaceRec_ *face) const;
  };

  Font() = default;
  bool load(char32_t character);

  std::unique_ptr<FT_LibraryRec_, Free> library;
  std::unique_ptr<FT_FaceRec_, Free> face; // before the library goes
  size_t size = 0;
};

} // namespace rapt::drawing
