//===- ImageGrids.h - Positions of tokens in grids over images ------------===//
//
// M-RoPE (Wang et al. 2024): a token has three positions for rotary embedding, of time, row and column. Those of a text
// are equal. The vectors of an image are a grid whose tokens have the time of the first one, and rows and columns from
// there on; the text behind goes on one behind the largest of them. Everything else, as the cache and masks, counts
// tokens. A sequence keeps its images, by which the positions of each token are known wherever a step begins.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/CallerStruct.h"
#include <algorithm>

struct rapt_context;

namespace rapt::runtime {

struct Sequence;

inline constexpr int64_t mostImages = 1024; ///< of a sequence
inline constexpr int64_t gridAxes = 3;      ///< time, row and column

/// An image of a sequence.
struct ImageGrid {
  int32_t begin, rows, columns; ///< its first token, and the extents of the grid
  int32_t position;             ///< of the first token, in all axes

  int64_t end() const { return begin + int64_t(rows) * columns; }
  /// The position of token `end()`.
  int64_t next() const { return position + std::max(rows, columns); }
};

/// The images of a sequence, in the order of their tokens. Where tokens of an image see one another, each run of image
/// tokens is one, of one row.
struct SequenceImages {
  ImageGrid *list; ///< [mostImages]; of contexts that keep none nothing
  int64_t count;   ///< how many there are
  int64_t next;    ///< how many there are with those that begin in a running step
};
inline constexpr size_t imageListBytes = mostImages * sizeof(ImageGrid);

/// Finds the images that begin in chunk `i`, which the sequence keeps if the step succeeds. Image tokens must fill each
/// of their grids, that of an image which earlier tokens began first.
rapt_status placeImages(const rapt_context &context, Sequence &sequence, const StructArray<rapt_chunk> &chunks,
                        size_t i, const Report &report);

/// Fails where a sequence has no room for another image in chunk `i`.
rapt_status checkRoom(const SequenceImages &images, size_t i, const Report &report);

/// Appends an image that begins with token `begin`; its position follows from the others.
void addImage(SequenceImages &images, int64_t begin, int64_t rows, int64_t columns);

/// Forgets the images that begin behind the first `length` tokens.
void forgetImages(SequenceImages &images, int64_t length);

/// Fills [count, gridAxes] with the positions of `count` tokens from token `first` on.
void fillRotaryPositions(const SequenceImages &images, int64_t first, int64_t count, int32_t *to);

} // namespace rapt::runtime
