//===- ParameterScope.h - The weights of a part of a model --------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ParameterSet.h"
#include <array>

namespace rapt::importing {

/// Names weights of a part of a model, as Scope reads them: the symbol of weight NAME is `symbols` + NAME,
/// its tensor is `tensors` + NAME, in each layer of the stack where there is one.
struct ParameterScope {
  ParameterSet &parameters;
  std::string tensors; ///< "h.{layer}."
  std::string symbols = {};
  std::optional<Stack> stack = {};
  /// The checkpoint's names of gain and bias of norms.
  std::array<std::string, 2> norm = {"weight", "bias"};

  void add(const std::string &name, std::vector<int64_t> shape, huggingface::Init init) const;
  void add(const std::string &symbol, const std::string &tensor, std::vector<int64_t> shape,
           huggingface::Init init) const;

  /// PART.weight [out, in] and, where there is one, PART.bias [out], as torch.nn.Linear has them.
  void dense(const std::string &part, int64_t out, int64_t in, bool hasBias = true) const;
};

} // namespace rapt::importing
