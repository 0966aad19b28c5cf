//===- TensorNames.cpp - Tensors of a GGUF file by a directory's names ----===//
#include "lib/Import/Families/GGUF/TensorNames.h"
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <functional>
#include <numeric>

using namespace rapt;
using namespace rapt::importing;
using huggingface::StoredTensor;

namespace {

/// "blk.3.attn_q.weight" is layer "3", part "attn_q" and end ".weight"; of one expert's "blk.3.ffn_up.7.weight" the
/// part is "ffn_up.{}" and the expert "7"; of "enc.blk.3.attn_q.weight", of one of two stacks, the part is
/// "enc.attn_q".
struct FileName {
  std::string layer, part, expert, end;

  explicit FileName(std::string_view name) {
    const size_t stack = name.starts_with("enc.") || name.starts_with("dec.") ? 4 : 0, number = stack + block.size();
    std::string whole;
    if (name.substr(stack).starts_with(block))
      if (const size_t dot = name.find('.', number); dot != name.npos && isNumber(name.substr(number, dot - number))) {
        layer = name.substr(number, dot - number);
        whole = std::string(name.substr(0, stack)) + std::string(name.substr(dot + 1));
        name = whole;
      }
    if (const size_t dot = name.rfind('.'); dot != name.npos && !isNumber(name.substr(dot + 1))) {
      end = name.substr(dot);
      name.remove_suffix(end.size());
    }
    part = name;
    if (const size_t dot = name.rfind('.'); dot != name.npos && isNumber(name.substr(dot + 1))) {
      expert = name.substr(dot + 1);
      part = std::string(name.substr(0, dot)) + ".{}";
    }
  }

  static constexpr std::string_view block = "blk.";

  /// The name of a part of a layer.
  static std::string of(std::string_view layer, std::string_view part) {
    const size_t stack = part.starts_with("enc.") || part.starts_with("dec.") ? 4 : 0;
    return std::string(part.substr(0, stack)) + std::string(block) + std::string(layer) + "." +
           std::string(part.substr(stack));
  }

  static bool isNumber(std::string_view text) {
    return !text.empty() && text.size() < 8 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  }
};

constexpr std::string_view ofExpert = "{}", ofLayer = "{layer}";

std::string with(std::string_view mark, std::string_view name, const std::string &number) {
  std::string text(name);
  if (const size_t at = text.find(mark); at != text.npos)
    text.replace(at, mark.size(), number);
  return text;
}

/// The number that the mark stands for in the pattern, empty without one; nothing where the name is another.
std::optional<std::string> matched(std::string_view mark, std::string_view pattern, std::string_view name) {
  const size_t at = pattern.find(mark);
  if (at == pattern.npos)
    return pattern == name ? std::optional(std::string()) : std::nullopt;
  const std::string_view behind = pattern.substr(at + mark.size());
  if (name.size() < at + behind.size() || name.substr(0, at) != pattern.substr(0, at) || !name.ends_with(behind))
    return std::nullopt;
  const std::string_view number = name.substr(at, name.size() - at - behind.size());
  return FileName::isNumber(number) ? std::optional(std::string(number)) : std::nullopt;
}

/// Linear layers behind the pooling, of any architecture.
constexpr Rename linearLayers[] = {{"dense_2", "2_Dense.linear"}, {"dense_3", "3_Dense.linear"}};

/// An earlier list comes before later ones.
std::vector<std::span<const Rename>> listsOf(const Architecture &architecture) {
  std::vector<std::span<const Rename>> lists(architecture.tensors.begin(), architecture.tensors.end());
  lists.emplace_back(linearLayers);
  return lists;
}

/// The file's name of a directory's tensor; empty: the architecture has none.
std::string nameInFile(const Architecture &architecture, std::string_view name) {
  std::string layer;
  if (!architecture.layer.empty() && name.starts_with(architecture.layer)) {
    name.remove_prefix(architecture.layer.size());
    layer = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), name.find('.') + 1));
  }
  const size_t dot = std::min(name.rfind('.'), name.size());
  const std::string_view stem = name.substr(0, dot);
  const std::string end(name.substr(dot));
  for (std::span<const Rename> list : listsOf(architecture))
    for (const Rename &rename : list)
      for (std::string_view own : words(rename.own)) {
        if (own.find(ofLayer) != own.npos) {
          if (std::optional<std::string> number = matched(ofLayer, own, stem))
            return FileName::of(*number, rename.file) + end;
        } else if (std::optional<std::string> number = matched(ofExpert, own, stem)) {
          const std::string part = with(ofExpert, rename.file, *number) + end;
          return layer.empty() ? part : FileName::of(layer, part);
        }
      }
  return "";
}

const Rename *findRename(const Architecture &architecture, const FileName &name) {
  for (const std::string &file : {name.part + name.end, name.part})
    for (std::span<const Rename> list : listsOf(architecture))
      for (const Rename &rename : list)
        if (rename.file == file)
          return &rename;
  return nullptr;
}

class Naming {
public:
  Naming(const Architecture &architecture, const Translation &t)
      : architecture(architecture), file(t.file()), sizes(t.sizes()) {}

  Expected<huggingface::TensorTable> run(const Translation &t) {
    for (const auto &[name, tensor] : file.tensors())
      if (!t.isTaken(name))
        add(tensor);
    if (!failure)
      return failure.error();
    return huggingface::TensorTable::of(file.path(), std::move(tensors), [&architecture = architecture](auto name) {
      return nameInFile(architecture, name);
    });
  }

private:
  void add(const gguf::Tensor &tensor) {
    const FileName name(tensor.name);
    const Rename *rename = findRename(architecture, name);
    if (!name.layer.empty() && std::stoll(name.layer) >= sizes.layers && std::stoll(name.layer) < sizes.allLayers)
      return; // of one that predicts further tokens
    if (!rename)
      return keep(tensor, gguf::wholeTensor(tensor, tensor.name));
    std::vector<std::string> own;
    for (std::string_view word : words(rename->own)) {
      const bool isWhole = name.layer.empty() || word.find(ofLayer) != word.npos;
      const std::string stem = isWhole ? "" : std::string(architecture.layer) + name.layer + ".";
      own.push_back(with(
          ofExpert, stem + with(ofLayer, word, name.layer) + (rename->arrangement == Arrangement::Bare ? "" : name.end),
          name.expert.empty() ? std::string(ofExpert) : name.expert));
    }
    StoredTensor whole = gguf::wholeTensor(tensor, own.front());
    if (architecture.normsHoldOne && name.part.ends_with("norm") && name.part != "ssm_norm" && name.end == ".weight")
      whole.made = huggingface::Made::OnePlus;
    arrange(tensor, *rename, std::move(whole), own);
  }

  void arrange(const gguf::Tensor &tensor, const Rename &rename, StoredTensor whole,
               const std::vector<std::string> &own) {
    switch (rename.arrangement) {
    case Arrangement::Same:
    case Arrangement::Bare:
      return keep(tensor, std::move(whole));
    case Arrangement::QueryPairs:
      return keep(tensor, inPairs(std::move(whole), sizes.heads));
    case Arrangement::KeyPairs:
      return keep(tensor, inPairs(std::move(whole), sizes.keyHeads));
    case Arrangement::Groups:
      return keep(tensor, inGroups(std::move(whole)));
    case Arrangement::Packed:
      return split(tensor, whole, own, /*arePairs=*/false);
    case Arrangement::PackedPairs:
      return split(tensor, whole, own, /*arePairs=*/true);
    case Arrangement::Experts:
    case Arrangement::ExpertHalves:
      return splitExperts(tensor, whole, own);
    case Arrangement::Row:
      if (whole.shape.size() == 1) // newer files have the matrix
        whole.shape.insert(whole.shape.begin(), 1);
      return keep(tensor, std::move(whole));
    case Arrangement::Decays:
    case Arrangement::Flat:
      if (whole.blocks)
        return fail(tensor, "a vector of type " + whole.dtype + "; vectors of F32, F16 and BF16 are read");
      if (rename.arrangement == Arrangement::Decays)
        whole.made = huggingface::Made::NegativeExponential;
      whole.shape = {std::accumulate(whole.shape.begin(), whole.shape.end(), int64_t(1), std::multiplies())};
      return keep(tensor, std::move(whole));
    case Arrangement::Taps:
      if (whole.shape.size() == 2) // of a bias there is one
        whole.shape.insert(whole.shape.begin() + 1, 1);
      return keep(tensor, std::move(whole));
    }
  }

  // A tensor of another number of rows stays as it is: its shape is refused where it is asked for.
  StoredTensor inPairs(StoredTensor tensor, int64_t heads) {
    if (!tensor.shape.empty() && tensor.shape.front() == heads * sizes.channels) {
      gguf::Rows &rows = ofPairs[heads];
      tensor.rows = rows ? rows : rows = gguf::rowsOfPairs(heads, sizes.channels);
    }
    return tensor;
  }

  StoredTensor inGroups(StoredTensor tensor) {
    if (!tensor.shape.empty() && tensor.shape.front() == (sizes.heads + 2 * sizes.keyHeads) * sizes.channels) {
      ofGroups = ofGroups ? ofGroups : gguf::rowsOfGroups(sizes.heads, sizes.keyHeads, sizes.channels);
      tensor.rows = ofGroups;
    }
    return tensor;
  }

  void split(const gguf::Tensor &tensor, const StoredTensor &whole, const std::vector<std::string> &own,
             bool arePairs) {
    const int64_t queries = sizes.heads * sizes.channels, keys = sizes.keyHeads * sizes.channels;
    if (whole.shape.empty() || whole.shape.front() != queries + 2 * keys)
      return fail(tensor, huggingface::shownShape(whole.shape) + " does not have the " +
                              std::to_string(queries + 2 * keys) + " rows of queries, keys and values");
    StoredTensor q = gguf::someRows(whole, own[0], 0, queries), k = gguf::someRows(whole, own[1], queries, keys);
    keep(tensor, arePairs ? inPairs(std::move(q), sizes.heads) : std::move(q));
    keep(tensor, arePairs ? inPairs(std::move(k), sizes.keyHeads) : std::move(k));
    keep(tensor, gguf::someRows(whole, own[2], queries + keys, keys));
  }

  void splitExperts(const gguf::Tensor &tensor, const StoredTensor &whole, const std::vector<std::string> &own) {
    const auto parts = int64_t(own.size());
    if (whole.blocks && whole.shape.size() < 3)
      return fail(tensor, huggingface::shownShape(whole.shape) + " has a vector of type " + whole.dtype +
                              " for each; vectors of F32, F16 and BF16 are read");
    if (whole.shape.size() < 2 || whole.shape[0] > mostExperts || whole.shape[1] % parts != 0)
      return fail(tensor, huggingface::shownShape(whole.shape) + " is not of experts");
    for (int64_t expert = 0; expert < whole.shape[0]; ++expert) {
      const StoredTensor one = gguf::oneOf(whole, "", expert);
      const int64_t rows = one.shape[0] / parts;
      for (int64_t part = 0; part < parts; ++part)
        keep(tensor, gguf::someRows(one, with(ofExpert, own[size_t(part)], std::to_string(expert)), part * rows, rows));
    }
  }

  void keep(const gguf::Tensor &tensor, StoredTensor stored) {
    auto [at, isNew] = origins.try_emplace(stored.name, tensor.name);
    if (!isNew)
      return fail(tensor, "it is \"" + json::printable(stored.name) + "\" of a Hugging Face directory, as tensor \"" +
                              json::printable(at->second) + "\" is");
    tensors.push_back(std::move(stored));
  }

  void fail(const gguf::Tensor &tensor, const std::string &what) {
    if (failure)
      failure = Error{shownPath(tensor.file->path()) + ": tensor \"" + json::printable(tensor.name) + "\": " + what};
  }

  const Architecture &architecture;
  const gguf::File &file;
  const DecoderSizes &sizes;
  std::map<int64_t, gguf::Rows> ofPairs; ///< by the number of heads
  gguf::Rows ofGroups;
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string, std::less<>> origins; ///< the file's names by the others
  Status failure;
};

} // namespace

Expected<huggingface::TensorTable> importing::nameTensors(const Architecture &architecture, const Translation &t) {
  return Naming(architecture, t).run(t);
}
