// --input and --output: tensors in .npy files through rapt_run, or through the reference evaluator.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Tasks.h"
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
  tensor.dtype_code = isFloat(type)                                   ? RAPT_DTYPE_FLOAT
                      : type == NpyType::Bool || type == NpyType::U16 ? RAPT_DTYPE_UINT
                                                                      : RAPT_DTYPE_INT;
  tensor.dtype_bits = uint8_t(8 * sizeOf(type));
  tensor.dtype_lanes = 1;
  tensor.rank = int32_t(shape.size());
  tensor.shape = shape.data();
  return tensor;
}

struct Tensors {
  std::vector<NpyTensor> inputs;
  std::vector<std::vector<int64_t>> shapes;    ///< of the outputs
  std::vector<std::vector<std::byte>> outputs; ///< f32
  std::vector<const char *> names;             ///< inputs, then outputs
  std::vector<rapt_tensor> all;

  void dropOutputs() {
    shapes.clear(), outputs.clear();
    names.resize(inputs.size()), all.resize(inputs.size());
  }
};

Status readInputs(const Options &options, Tensors &tensors) {
  for (auto &[name, path] : options.inputs) {
    RAPT_ASSIGN_OR_RETURN(auto tensor, withContext(name, readNpy(path)));
    tensors.inputs.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    NpyTensor &tensor = tensors.inputs[i];
    tensors.names.push_back(options.inputs[i].first.c_str());
    tensors.all.push_back(describe(tensor.data.data(), tensor.type, tensor.shape));
  }
  return {};
}

/// Buffers for the outputs, of the shapes that they have for these inputs.
Outcome addOutputs(const Options &options, const Model &model, Tensors &tensors) {
  const size_t inputs = tensors.all.size();
  for (auto &[name, path] : options.outputs) {
    int64_t shape[9];
    int32_t rank = 0;
    RAPT_RETURN_IF_ERROR(Outcome::of([&](char *text, size_t size) {
      return rapt_run_shape(model.context.get(), options.entry.c_str(), inputs, tensors.names.data(),
                            tensors.all.data(), name.c_str(), shape, &rank, text, size);
    }));
    tensors.shapes.emplace_back(shape, shape + rank);
    uint64_t bytes = sizeof(float);
    for (int64_t extent : tensors.shapes.back())
      if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) || bytes > uint64_t(PTRDIFF_MAX))
        return {RAPT_NOMEM, name + " is larger than any memory"};
    if (!hasRoom(bytes))
      return {RAPT_NOMEM, "no memory for " + name + ", " + inUnits(bytes)};
    tensors.outputs.emplace_back(bytes);
  }
  for (size_t i = 0; i < options.outputs.size(); ++i) {
    tensors.names.push_back(options.outputs[i].first.c_str());
    tensors.all.push_back(describe(tensors.outputs[i].data(), NpyType::F32, tensors.shapes[i]));
  }
  return {};
}

/// Tokens of cache that a decoder takes for some rows of its input at a time.
int64_t cacheFor(const Options &options, const Model &model, const Tensors &tensors) {
  int64_t rows = 1, each = 0;
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    const std::string &name = options.inputs[i].first;
    const std::vector<int64_t> &shape = tensors.inputs[i].shape;
    const bool isWords = (name == "input_ids" || name == "decoder_input_ids") && shape.size() == 2;
    const bool isImage = name == "pixel_values" && shape.size() == 4 && model.hasImageSource();
    if (!isWords && !isImage && (name != "input_features" || shape.size() != 3))
      continue;
    const int64_t most = std::max<int64_t>(isWords ? model.info.max_positions : model.facts.longestSource(0), 1);
    rows = std::clamp<int64_t>(shape[0], 1, rowsTogether);
    each += model.inBlocks(isWords ? std::clamp<int64_t>(shape[1], 1, most) : most);
  }
  return options.context.value_or(rows * std::max(each, model.inBlocks(1)));
}

/// Runs the entry in a context of its own.
Outcome runEntry(const Options &options, Model &model, Tensors &tensors) {
  const bool hasCache = model.info.cache_block > 0;
  RAPT_RETURN_IF_ERROR(makeContext(options, hasCache ? cacheFor(options, model, tensors) : 0, model));
  RAPT_RETURN_IF_ERROR(addOutputs(options, model, tensors));
  Interrupts interrupts(model.context.get());
  return Outcome::of([&](char *text, size_t size) {
    return rapt_run(model.context.get(), options.entry.c_str(), tensors.all.size(), tensors.names.data(),
                    tensors.all.data(), text, size);
  });
}

/// Runs the entry again with each of the further numbers of threads: the outputs must have the same bits.
Outcome compareThreads(const Options &options, Model &model, Tensors &tensors) {
  if (options.threads.size() < 2)
    return {};
  const std::vector<std::vector<std::byte>> first = std::move(tensors.outputs);
  for (size_t i = 1; i < options.threads.size(); ++i) {
    Options again = options;
    again.threads = {options.threads[i]};
    model.context = Context(); // before its pool
    tensors.dropOutputs();
    RAPT_RETURN_IF_ERROR(runEntry(again, model, tensors));
    for (size_t k = 0; k < first.size(); ++k)
      if (tensors.outputs[k] != first[k])
        return {RAPT_INVALID, options.outputs[k].first + " has other bits with " +
                                  counted(uint64_t(options.threads[i]), "thread") + " than with " +
                                  std::to_string(options.threads[0])};
  }
  return {};
}

class TensorRun final : public Job {
public:
  using Job::Job;
  Outcome prepare() override { return outcomeOf(readInputs(options, tensors)); }
  Outcome run() override {
    RAPT_RETURN_IF_ERROR(runEntry(options, model, tensors));
    return compareThreads(options, model, tensors);
  }
  Status finish() override {
    for (size_t i = 0; i < options.outputs.size(); ++i)
      RAPT_RETURN_IF_ERROR(writeNpy(options.outputs[i].second, NpyType::F32, tensors.shapes[i], tensors.outputs[i]));
    return {};
  }

private:
  Tensors tensors;
};

} // namespace

std::unique_ptr<Job> makeTensors(const Options &options, Model model) {
  return std::make_unique<TensorRun>(options, std::move(model));
}

int runReference(const Options &options, const char *self) {
  char path[PATH_MAX] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string tool = length > 0 ? std::string(path, size_t(length)) : self;
  tool = tool.substr(0, tool.rfind('/') + 1) + "rapt-reference";
  std::vector<std::string> arguments = {tool, options.reference, "--entry=" + options.entry};
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
