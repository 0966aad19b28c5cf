// --input and --output: tensors in .npy files through rapt_run, or through the reference evaluator.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Support/Npy.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace rapt::run {
namespace {

constexpr int64_t rowsTogether = 8; // whose keys and values are held at a time

rapt_tensor describe(void *data, NpyType type, const std::vector<int64_t> &shape) {
  auto tensor = sized<rapt_tensor>();
  tensor.data = data;
  tensor.device_type = RAPT_DEVICE_CPU;
  tensor.dtype_code = type == NpyType::F32 || type == NpyType::F64 ? RAPT_DTYPE_FLOAT
                      : type == NpyType::Bool                      ? RAPT_DTYPE_UINT
                                                                   : RAPT_DTYPE_INT;
  tensor.dtype_bits = uint8_t(8 * sizeOf(type));
  tensor.dtype_lanes = 1;
  tensor.rank = int32_t(shape.size());
  tensor.shape = shape.data();
  return tensor;
}

struct Tensors {
  std::vector<NpyTensor> inputs;
  std::vector<const char *> names;
  std::vector<rapt_tensor> all;
  std::vector<int64_t> logitsShape;
  std::vector<std::byte> logits;
};

Status readInputs(const Options &options, Tensors &tensors) {
  for (auto &[name, path] : options.inputs) {
    auto tensor = readNpy(path);
    if (!tensor)
      return Error{name + ": " + tensor.error().message};
    tensors.inputs.push_back(std::move(*tensor));
  }
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    NpyTensor &tensor = tensors.inputs[i];
    tensors.names.push_back(options.inputs[i].first.c_str());
    tensors.all.push_back(describe(tensor.data.data(), tensor.type, tensor.shape));
    if (options.inputs[i].first == "input_ids")
      tensors.logitsShape = tensor.shape;
  }
  return {};
}

/// Room for logits, [batch, length, vocabulary].
Status addLogits(const Options &options, const rapt_module_info &info, Tensors &tensors) {
  if (options.outputs.size() != 1 || options.outputs[0].first != "logits")
    return Error{"forward has one output, logits; not " + options.outputs.back().first};
  if (tensors.logitsShape.size() != 2)
    return Error{"input_ids is missing or not of the shape [batch, length]"};
  tensors.logitsShape.push_back(info.vocabulary);
  uint64_t bytes = sizeof(float);
  for (int64_t size : tensors.logitsShape)
    if (__builtin_mul_overflow(bytes, uint64_t(size), &bytes) || bytes > uint64_t(PTRDIFF_MAX))
      return Error{"the logits are larger than any memory"};
  tensors.logits.resize(bytes);
  tensors.names.push_back("logits");
  tensors.all.push_back(describe(tensors.logits.data(), NpyType::F32, tensors.logitsShape));
  return {};
}

} // namespace

int runForward(const Options &options) {
  Model model;
  Tensors tensors;
  if (Outcome outcome = openModule(options, model); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  Status status = readInputs(options, tensors);
  if (status)
    status = addLogits(options, model.info, tensors);
  if (!status)
    return fail(status.error().message);
  const int64_t rows = std::clamp<int64_t>(tensors.logitsShape[0], 1, rowsTogether);
  const int64_t length = std::clamp<int64_t>(tensors.logitsShape[1], 1, model.info.max_positions);
  const int64_t block = std::max<int64_t>(model.info.cache_block, 1);
  int64_t capacity = options.context.value_or(rows * ((length + block - 1) / block) * block);
  if (Outcome outcome = makeContext(options, capacity, model); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  Interrupts interrupts(model.context.get());
  Outcome outcome = Outcome::of([&](char *text, size_t size) {
    return rapt_run(model.context.get(), "forward", tensors.all.size(), tensors.names.data(), tensors.all.data(), text,
                    size);
  });
  if (outcome.status == RAPT_CANCELLED)
    return Interrupts::caught();
  if (!outcome)
    return fail(outcome.message, Failure(outcome).code);
  status = writeNpy(options.outputs[0].second, NpyType::F32, tensors.logitsShape, tensors.logits);
  return status ? 0 : fail(status.error().message);
}

int runReference(const Options &options, const char *self) {
  char path[PATH_MAX] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string tool = length > 0 ? std::string(path, size_t(length)) : self;
  tool = tool.substr(0, tool.rfind('/') + 1) + "rapt-reference";
  std::vector<std::string> arguments = {tool, options.reference};
  for (auto &[name, file] : options.inputs)
    arguments.push_back("--input=" + name + "=" + file);
  for (auto &[name, file] : options.outputs)
    arguments.push_back("--output=" + name + "=" + file);
  if (!options.weights.empty())
    arguments.push_back("--weights=" + options.weights);
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(tool.c_str(), argv.data());
  return fail(tool + ": cannot be run: " + strerror(errno));
}

} // namespace rapt::run
