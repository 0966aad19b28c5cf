//===- BlockWriter.cpp - Bytes of a parameter of blocks -----------------------===//
#include "lib/Artifact/BlockWriter.h"
#include <algorithm>
#include <cstring>

namespace rapt::artifact {

BlockWriter::BlockWriter(const Parameter &parameter, const TensorReader &reader)
    : parameter(&parameter), reader(&reader), format(parameter.quantization.blocks),
      isPanels(parameter.layout.kind == Layout::Panels), width(isPanels ? panelWidth : 1) {}

Expected<BlockWriter> BlockWriter::create(const Parameter &parameter, const TensorReader &reader) {
  BlockWriter writer(parameter, reader);
  RAPT_RETURN_IF_ERROR(withContext("parameter '" + parameter.name + "'", writer.check()));
  return writer;
}

std::string BlockWriter::nameOf(int64_t layer, int64_t source) const {
  return sourceName(parameter->sources[size_t(source)], parameter->layerNumber(layer));
}

Status BlockWriter::check() {
  const Shape &shape = parameter->shape;
  if (shape.size() != 2 || std::min(shape[0], shape[1]) < 1 || parameter->layers < 1)
    return Error{"blocks of " + textOf(shape) + ", which is no matrix"};
  const int64_t depth = shape[isPanels ? 0 : 1];
  count = shape[isPanels ? 1 : 0];
  if (depth % format->block != 0)
    return Error{"rows of " + std::to_string(depth) + " are no whole blocks of " + std::to_string(format->block)};
  const PackedExtents extents = packedExtents(*parameter);
  blocks = depth / format->block;
  group = isPanels && parameter->layout.columnGroup > 0 ? parameter->layout.columnGroup : count;
  padded = isPanels ? padToPanel(group) : group;
  if (extents.bytes > (uint64_t(1) << 50) || parameter->layout.rowGroup % BlockFormat::unit != 0)
    return Error{"no layout of blocks"};
  RAPT_RETURN_IF_ERROR(findLines());
  for (int64_t layer = 0; layer < parameter->layers; ++layer)
    for (size_t i = 0; i < parameter->sources.size(); ++i) {
      const std::string name = nameOf(layer, int64_t(i));
      const TensorInfo *info = reader->find(name);
      if (!info)
        return Error{"tensor '" + name + "' is missing"};
      if (info->shape != parameter->sources[i].shape || !info->blocks || info->blocks->format != format)
        return Error{"tensor '" + name + "' is no " + textOf(parameter->sources[i].shape) + " in blocks of " +
                     std::string(format->inFile)};
    }
  return {};
}

/// The tensor's element `index` of a source's line.
int64_t BlockWriter::elementAt(const SourceView &view, int64_t line, int64_t index) const {
  return isPanels ? view.elementAt(index, line) : view.elementAt(line, index);
}

/// Whether each line of a source is a run of whole blocks.
bool BlockWriter::isAlongBlocks(const SourceView &view) const {
  const int64_t depth = blocks * format->block, own = isPanels ? view.getColumns() : view.getRows();
  const StridedDim &along = isPanels ? view.rows() : view.columns();
  if (view.isStrided() && (along.size() != 1 || along[0].stride != 1))
    return false;
  for (int64_t line = 0; line < own; ++line) {
    const int64_t first = elementAt(view, line, 0);
    if (first % format->block != 0)
      return false;
    for (int64_t i = 1; i < depth && !view.isStrided(); ++i)
      if (elementAt(view, line, i) != first + i)
        return false;
  }
  return true;
}

Status BlockWriter::findLines() {
  const size_t dim = isPanels ? 1 : 0; // of the lines
  int64_t end = 0;
  for (const Source &source : parameter->sources) {
    RAPT_ASSIGN_OR_RETURN(SourceView view, withContext("source '" + source.name + "'", SourceView::create(source)));
    const bool isJoined = parameter->sources.size() > 1;
    const Shape &own = view.getShape();
    if (own.size() != 2 || own[1 - dim] != parameter->shape[1 - dim] || source.shape.empty() ||
        source.shape.back() % own[1 - dim] != 0 || (isJoined && parameter->join.dim != int64_t(dim)) ||
        !isAlongBlocks(view))
      return Error{"source '" + source.name + "' gives " + textOf(own) + ", not along its blocks"};
    end += own[dim];
    joined.push_back({std::move(view), end});
  }
  if (end != count)
    return Error{"its sources have " + std::to_string(end) + " lines of blocks, expected " + std::to_string(count)};
  return {};
}

std::optional<int64_t> BlockWriter::numberAt(int64_t place) const {
  const int64_t inGroup = place % padded, number = place / padded * group + inGroup;
  return inGroup < group && number < count ? std::optional(number) : std::nullopt;
}

BlockWriter::Line BlockWriter::findLine(int64_t number) const {
  const auto it = std::ranges::upper_bound(joined, number, {}, &Lines::end);
  const int64_t begin = it == joined.begin() ? 0 : std::prev(it)->end;
  return {it - joined.begin(), elementAt(it->view, number - begin, 0) / format->block};
}

/// The stored blocks of some places' lines, one line after another; nothing of padding.
Status BlockWriter::readLines(int64_t layer, int64_t first, int64_t places, int64_t firstBlock, int64_t someBlocks,
                              std::byte *stored) const {
  for (int64_t i = 0, run; i < places; i += run) {
    run = 1;
    const std::optional<int64_t> number = numberAt(first + i);
    if (!number)
      continue;
    const Line line = findLine(*number);
    const std::string name = nameOf(layer, line.source);
    const uint64_t bytes = reader->find(name)->blocks->bytes;
    // Whole lines that follow one another are read at once.
    for (; someBlocks == blocks && i + run < places; ++run) {
      const std::optional<int64_t> nextNumber = numberAt(first + i + run);
      if (!nextNumber)
        break;
      if (const Line next = findLine(*nextNumber);
          next.source != line.source || next.block != line.block + run * blocks)
        break;
    }
    RAPT_RETURN_IF_ERROR(
        reader->readBlocks(name, uint64_t(line.block + firstBlock) * bytes,
                           {stored + uint64_t(i * someBlocks) * bytes, size_t(uint64_t(run * someBlocks) * bytes)}));
  }
  return {};
}

Status BlockWriter::write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch) const {
  const BlockLayout layout(*format, width);
  const auto blockBytes = uint64_t(layout.blockBytes());
  const BlockSource &source = *reader->find(nameOf(layer, 0))->blocks;
  const uint64_t end = begin + target.size();
  std::byte *whole = scratch.reserve(Scratch::Converted, blockBytes);
  // Rows are short: as many as a few pages hold are read at once.
  const int64_t mostPanels = std::max<int64_t>(1, (64 << 10) / (width * blocks * int64_t(source.bytes)));
  CodeBlock block;
  // Blocks of the layout are numbered by panel, and in it along the depth.
  const auto last = int64_t((end + blockBytes - 1) / blockBytes);
  for (auto number = int64_t(begin / blockBytes); number < last;) {
    const int64_t panel = number / blocks, first = number % blocks, each = std::min(blocks - first, last - number);
    const int64_t panels = each < blocks ? 1 : std::clamp<int64_t>((last - number) / blocks, 1, mostPanels);
    std::byte *stored = scratch.reserve(Scratch::Raw, uint64_t(panels * width * each) * source.bytes);
    RAPT_RETURN_IF_ERROR(readLines(layer, panel * width, panels * width, first, each, stored));
    for (int64_t i = 0; i < panels * each; ++i, ++number) {
      const uint64_t from = uint64_t(number) * blockBytes, to = from + blockBytes;
      const bool isInside = from >= begin && to <= end;
      std::byte *out = isInside ? target.data() + (from - begin) : whole;
      for (int64_t column = 0; column < width; ++column) {
        const int64_t place = i / each * width + column;
        if (numberAt(panel * width + place))
          source.read(stored + uint64_t(place * each + i % each) * source.bytes, block);
        else
          block = {};
        writeBlock(layout, block, column, out);
      }
      if (!isInside) {
        const uint64_t start = std::max(from, begin), stop = std::min(to, end);
        std::memcpy(target.data() + (start - begin), whole + (start - from), stop - start);
      }
    }
  }
  return {};
}

} // namespace rapt::artifact
