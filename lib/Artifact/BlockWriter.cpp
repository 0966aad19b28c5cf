//===- BlockWriter.cpp - Bytes of a parameter of blocks -----------------------===//
#include "lib/Artifact/BlockWriter.h"
#include <algorithm>
#include <cstring>

namespace rapt::artifact {

BlockWriter::BlockWriter(const Parameter &parameter, const TensorReader &reader)
    : parameter(&parameter), reader(&reader), format(parameter.quantization.blocks),
      width(parameter.layout.kind == Layout::Panels ? panelWidth : 1) {}

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
  const bool isPanels = parameter->layout.kind == Layout::Panels;
  const int64_t depth = shape[isPanels ? 0 : 1], count = shape[isPanels ? 1 : 0];
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

/// Of each line the source and the row there.
Status BlockWriter::findLines() {
  const bool isPanels = parameter->layout.kind == Layout::Panels;
  const int64_t dim = isPanels ? 1 : 0; // of the lines
  for (size_t i = 0; i < parameter->sources.size(); ++i) {
    const Source &source = parameter->sources[i];
    RAPT_ASSIGN_OR_RETURN(SourceView view, withContext("source '" + source.name + "'", SourceView::create(source)));
    const bool isJoined = parameter->sources.size() > 1;
    const Shape &own = view.getShape();
    const int64_t depth = source.shape.empty() ? 0 : source.shape.back();
    if (own.size() != 2 || own[size_t(1 - dim)] != parameter->shape[size_t(1 - dim)] || own[size_t(1 - dim)] != depth ||
        (isJoined && parameter->join.dim != dim))
      return Error{"source '" + source.name + "' gives " + textOf(own) + ", not along its blocks"};
    for (int64_t line = 0; line < own[size_t(dim)]; ++line) {
      const int64_t element = isPanels ? view.elementAt(0, line) : view.elementAt(line, 0);
      if (element % depth != 0)
        return Error{"source '" + source.name + "' does not begin with a block"};
      lines.push_back({int64_t(i), element / depth});
    }
  }
  if (int64_t(lines.size()) != parameter->shape[size_t(dim)])
    return Error{"its sources have " + std::to_string(lines.size()) + " lines of blocks, expected " +
                 std::to_string(parameter->shape[size_t(dim)])};
  return {};
}

BlockWriter::Line BlockWriter::lineAt(int64_t place) const {
  const int64_t inGroup = place % padded, line = place / padded * group + inGroup;
  return inGroup < group && line < int64_t(lines.size()) ? lines[size_t(line)] : Line();
}

/// The stored blocks of some places' lines, one line after another; nothing of padding.
Status BlockWriter::readLines(int64_t layer, int64_t first, int64_t count, int64_t firstBlock, int64_t someBlocks,
                              std::byte *stored) const {
  for (int64_t i = 0, run; i < count; i += run) {
    run = 1;
    const Line line = lineAt(first + i);
    if (line.source < 0)
      continue;
    const std::string name = nameOf(layer, line.source);
    const uint64_t bytes = reader->find(name)->blocks->bytes;
    // Whole lines that follow one another are read at once.
    for (Line next; someBlocks == blocks && i + run < count; ++run)
      if (next = lineAt(first + i + run); next.source != line.source || next.row != line.row + run)
        break;
    RAPT_RETURN_IF_ERROR(
        reader->readBlocks(name, uint64_t(line.row * blocks + firstBlock) * bytes,
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
  CodeBlock block;
  // Blocks of the layout are numbered by panel, and in it along the depth.
  const auto last = int64_t((end + blockBytes - 1) / blockBytes);
  for (auto number = int64_t(begin / blockBytes); number < last;) {
    const int64_t panel = number / blocks, first = number % blocks, count = std::min(blocks - first, last - number);
    std::byte *stored = scratch.reserve(Scratch::Raw, uint64_t(width * count) * source.bytes);
    RAPT_RETURN_IF_ERROR(readLines(layer, panel * width, width, first, count, stored));
    for (int64_t i = 0; i < count; ++i, ++number) {
      const uint64_t from = uint64_t(number) * blockBytes, to = from + blockBytes;
      const bool isInside = from >= begin && to <= end;
      std::byte *out = isInside ? target.data() + (from - begin) : whole;
      for (int64_t column = 0; column < width; ++column) {
        if (lineAt(panel * width + column).source < 0)
          block = {};
        else
          source.read(stored + uint64_t(column * count + i) * source.bytes, block);
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
