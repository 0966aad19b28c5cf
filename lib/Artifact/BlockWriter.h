//===- BlockWriter.h - Bytes of a parameter of blocks --------------------------===//
//
// Moves the blocks of a checkpoint's quantized matrices into the panels or rows of a weight file.
// No number changes. Like other writers, any byte range at a time.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/SourceReader.h"
#include <optional>

namespace rapt::artifact {

class BlockWriter {
public:
  /// Checks the parameter and all its source tensors. Errors name parameter, tensor, and what is expected.
  static Expected<BlockWriter> create(const Parameter &parameter, const TensorReader &reader);

  /// Writes the bytes [begin, begin + target.size()) of one layer. Columns that pad a panel are zeros. Safe from
  /// several threads, each with its own scratch.
  Status write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch) const;

private:
  /// Lines of one source after another.
  struct Lines {
    SourceView view;
    int64_t end; ///< of its lines among those of all sources
  };
  /// A line of blocks: that which begins with block `block` of the tensor of source number `source`.
  struct Line {
    int64_t source, block;
  };
  BlockWriter(const Parameter &parameter, const TensorReader &reader);
  Status check();
  Status findLines();
  /// Number of the line at a place of the layout; none: padding.
  std::optional<int64_t> numberAt(int64_t place) const;
  Line findLine(int64_t number) const;
  int64_t elementAt(const SourceView &view, int64_t line, int64_t index) const;
  bool isAlongBlocks(const SourceView &view) const;
  std::string nameOf(int64_t layer, int64_t source) const;
  Status readLines(int64_t layer, int64_t first, int64_t count, int64_t firstBlock, int64_t blocks,
                   std::byte *stored) const;

  const Parameter *parameter;
  const TensorReader *reader;
  const BlockFormat *format;
  bool isPanels;
  int64_t width;             ///< lines that lie side by side: the columns of a panel, or one row
  int64_t blocks;            ///< of a line
  std::vector<Lines> joined; ///< by source
  int64_t count;             ///< of lines without padding
  int64_t group, padded;     ///< lines of a group of columns, without and with padding
};

} // namespace rapt::artifact
