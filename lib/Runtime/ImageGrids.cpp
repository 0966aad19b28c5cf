#include "lib/Runtime/ImageGrids.h"
#include "lib/Runtime/Context.h"

namespace rapt::runtime {
namespace {

using ll = long long;

/// Rows and columns of the images that begin in a chunk.
struct Grids {
  const int32_t *extents;
  size_t count;
};

rapt_status readGrids(const StructArray<rapt_chunk> &chunks, size_t i, int64_t most, Grids &grids,
                      const Report &report) {
  constexpr size_t each = 2 * sizeof(int32_t);
  const size_t bytes = chunks.get(i, &rapt_chunk::image_grid_bytes);
  grids = {chunks.get(i, &rapt_chunk::image_grids), bytes / each};
  if (bytes % each || (bytes && (!grids.extents || !isAligned(grids.extents))))
    return report.fail(RAPT_INVALID, "chunk %zu has %zu bytes of grids at %p; i32 [images, 2] are needed", i, bytes,
                       static_cast<const void *>(grids.extents));
  for (size_t image = 0; image < grids.count; ++image) {
    const int64_t rows = grids.extents[2 * image], columns = grids.extents[2 * image + 1];
    if (rows < 1 || columns < 1 || rows * columns > most)
      return report.fail(RAPT_INVALID,
                         "chunk %zu: the grid of image %zu has %lld rows and %lld columns, not 1 to %lld vectors", i,
                         image, ll(rows), ll(columns), ll(most));
  }
  return RAPT_OK;
}

} // namespace

rapt_status checkRoom(const SequenceImages &images, size_t i, const Report &report) {
  return images.next < mostImages
             ? RAPT_OK
             : report.fail(RAPT_TOO_LONG, "chunk %zu: its sequence would have more than %lld images", i,
                           ll(mostImages));
}

void addImage(SequenceImages &images, int64_t begin, int64_t rows, int64_t columns) {
  int64_t position = begin;
  if (images.next) {
    const ImageGrid &last = images.list[images.next - 1];
    position = last.next() + begin - last.end();
  }
  images.list[images.next++] = {int32_t(begin), int32_t(rows), int32_t(columns), int32_t(position)};
}

rapt_status placeImages(const rapt_context &c, Sequence &s, const StructArray<rapt_chunk> &chunks, size_t i,
                        const Report &report) {
  const rapt_chunk &k = chunks[i];
  const int32_t image = c.module->manifest->imageId();
  Grids grids;
  if (rapt_status status = readGrids(chunks, i, c.limits.positions, grids, report))
    return status;
  s.images.next = s.images.count;
  int64_t end = s.images.next ? s.images.list[s.images.next - 1].end() : 0; // of the last image
  size_t begun = 0;
  bool hasImages = false;
  for (int64_t t = 0; t < k.count; ++t) {
    const int64_t token = s.length + t;
    const bool isImage = k.tokens[t] == image;
    hasImages |= isImage;
    if (token < end && !isImage)
      return report.fail(RAPT_INVALID,
                         "chunk %zu: token %lld is %d, but %lld more vectors of an image belong ahead of it: each has "
                         "a token %d",
                         i, ll(t), k.tokens[t], ll(end - token), image);
    if (token < end || !isImage)
      continue;
    if (begun == grids.count)
      return report.fail(RAPT_INVALID,
                         "chunk %zu: token %lld begins an image, but image_grids has those of %zu images: give rows "
                         "and columns of each",
                         i, ll(t), grids.count);
    if (rapt_status status = checkRoom(s.images, i, report))
      return status;
    addImage(s.images, token, grids.extents[2 * begun], grids.extents[2 * begun + 1]);
    ++begun;
    end = s.images.list[s.images.next - 1].end();
  }
  // A chunk of text may be given the grids of its prompt.
  if (begun == grids.count || !hasImages)
    return RAPT_OK;
  return report.fail(RAPT_INVALID, "chunk %zu: image_grids has those of %zu images, but %zu begin in it", i,
                     grids.count, begun);
}

void forgetImages(SequenceImages &images, int64_t length) {
  while (images.count && images.list[images.count - 1].begin >= length)
    --images.count;
}

void fillRotaryPositions(const SequenceImages &images, int64_t first, int64_t count, int32_t *to) {
  int64_t image = images.next;
  while (image && images.list[image - 1].begin > first)
    --image;
  for (int64_t token = first; token < first + count; ++token, to += gridAxes) {
    while (image < images.next && images.list[image].begin <= token)
      ++image;
    if (!image) {
      std::fill_n(to, gridAxes, int32_t(token));
      continue;
    }
    const ImageGrid &last = images.list[image - 1];
    const int64_t within = token - last.begin;
    if (token >= last.end()) {
      std::fill_n(to, gridAxes, int32_t(last.next() + token - last.end()));
      continue;
    }
    to[0] = last.position;
    to[1] = int32_t(last.position + within / last.columns);
    to[2] = int32_t(last.position + within % last.columns);
  }
}

} // namespace rapt::runtime
