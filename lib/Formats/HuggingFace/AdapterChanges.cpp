//===- AdapterChanges.cpp - Tensors with the changes of adapters -------------===//
#include "lib/Artifact/Conversion.h"
#include "lib/Formats/HuggingFace/Adapter.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static std::vector<float> transposed(const std::vector<float> &matrix, int64_t rows, int64_t columns) {
  std::vector<float> result(matrix.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[size_t(j * rows + i)] = matrix[size_t(i * columns + j)];
  return result;
}

void huggingface::transpose(LowRankChange &change) {
  std::vector<float> left = transposed(change.right, change.rank, change.columns);
  change.right = transposed(change.left, change.rows, change.rank);
  change.left = std::move(left);
  std::swap(change.rows, change.columns);
}

Status huggingface::orientChanges(std::vector<LowRankChange> &changes, const std::string &tensor,
                                  const std::vector<int64_t> &shape, bool isConv1D, bool asStored) {
  for (LowRankChange &change : changes) {
    if (isConv1D && !change.isAsStored)
      transpose(change);
    if (shape != std::vector{change.rows, change.columns})
      return Error{change.origin + " do not fit \"" + json::printable(tensor) + "\" " + shownShape(shape) +
                   ": the adapter is of another base model"};
    if (isConv1D && !asStored)
      transpose(change);
    change.isAsStored = asStored;
  }
  return {};
}

LowRankChange huggingface::joinChanges(std::vector<LowRankChange> changes) {
  if (changes.size() == 1)
    return std::move(changes.front());
  LowRankChange sum{changes.front().rows, changes.front().columns};
  for (const LowRankChange &change : changes) {
    sum.rank += change.rank;
    sum.right.insert(sum.right.end(), change.right.begin(), change.right.end());
  }
  for (int64_t row = 0; row < sum.rows; ++row)
    for (const LowRankChange &change : changes)
      sum.left.insert(sum.left.end(), change.left.begin() + row * change.rank,
                      change.left.begin() + (row + 1) * change.rank);
  return sum;
}

namespace {

class ChangedReader : public artifact::TensorReader {
public:
  ChangedReader(std::unique_ptr<TensorReader> base, std::shared_ptr<const LowRankChanges> changes)
      : base(std::move(base)), changes(std::move(changes)) {}

  const artifact::TensorInfo *find(std::string_view name) const override { return base->find(name); }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    RAPT_RETURN_IF_ERROR(base->read(name, byteOffset, out));
    auto changed = changes->find(name);
    if (changed == changes->end())
      return {};
    const DType type = base->find(name)->dtype;
    const uint64_t size = artifact::sizeOf(type);
    int64_t element = int64_t(byteOffset / size);
    const int64_t columns = changed->second.front().columns;
    // A piece of a row at a time, in buffers that stay in L1.
    std::array<float, 1024> numbers;
    while (!out.empty()) {
      const int64_t row = element / columns, column = element % columns,
                    count = std::min({int64_t(out.size() / size), columns - column, int64_t(numbers.size())});
      std::byte *wide = reinterpret_cast<std::byte *>(numbers.data());
      artifact::convert(out.data(), type, wide, DType::F32, count);
      for (const LowRankChange &change : changed->second)
        add(change, row, column, std::span(numbers).first(count));
      if (!artifact::convert(wide, DType::F32, out.data(), type, count))
        return Error{"tensor \"" + json::printable(name) + "\": the adapters' changes make numbers that " +
                     artifact::nameOf(type) + " cannot hold"};
      out = out.subspan(size_t(count) * size);
      element += count;
    }
    return {};
  }

private:
  static void add(const LowRankChange &change, int64_t row, int64_t column, std::span<float> numbers) {
    std::array<float, 1024> sums{};
    for (int64_t k = 0; k < change.rank; ++k) {
      const float factor = change.left[row * change.rank + k];
      const float *right = change.right.data() + k * change.columns + column;
      for (size_t i = 0; i < numbers.size(); ++i)
        sums[i] += factor * right[i];
    }
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] += sums[i];
  }

  std::unique_ptr<TensorReader> base;
  std::shared_ptr<const LowRankChanges> changes;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::withChanges(std::unique_ptr<artifact::TensorReader> base,
                                                                 std::shared_ptr<const LowRankChanges> changes) {
  return std::make_unique<ChangedReader>(std::move(base), std::move(changes));
}
