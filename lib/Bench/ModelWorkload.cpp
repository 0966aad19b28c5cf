// Workloads of a compiled model: prefill, decode, entries on rows and on images.
#include "lib/Bench/ProfileReport.h"
#include "lib/Bench/Workload.h"
#include "lib/Runtime/InfoFacts.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <random>

namespace rapt::bench {
namespace {

Outcome wrong(const std::string &message) { return {RAPT_INVALID, message}; }

/// The cost of the ops that ran: their matmuls, and bytes of weights and KV cache.
WorkloadCost sumCosts(const std::vector<OpTime> &rows, double weightsOfModel) {
  WorkloadCost cost;
  double most = 0, weights = 0, cache = 0;
  for (const OpTime &row : rows) {
    cost.flops += row.flops;
    weights += row.weightBytes;
    cache += row.cacheBytes;
    if (row.flops > most)
      most = row.flops, cost.dtype = row.dtype;
  }
  cost.bytes = weights + cache;
  cost.span = std::min(weights, weightsOfModel) + cache;
  return cost;
}

/// A context of its own, and the cost of a run from its profile.
class ModelWorkload : public Workload {
public:
  Outcome makeContext(const Module &module, const Pool &pool, int64_t cacheTokens, const std::string &adapter) {
    auto options = sized<rapt_context_options>();
    options.adapter = adapter.empty() ? nullptr : adapter.c_str();
    options.cache_tokens = cacheTokens;
    options.pool = pool.get();
    weightsOfModel = double(module.info().weights_file_bytes);
    isOnGpu = *module.info().target_gpu;
    return Context::make(module, options, context);
  }
  Outcome measureCost(WorkloadCost &cost) override {
    Outcome outcome = prepare();
    if (outcome)
      outcome = Outcome::of([&](char *text, size_t size) { return rapt_profile_start(context.get(), text, size); });
    if (outcome)
      outcome = run();
    std::vector<OpTime> rows;
    if (outcome)
      outcome = readProfile(context.get(), rows);
    cost = sumCosts(rows, weightsOfModel);
    rapt_profile_stop(context.get(), nullptr, 0);
    return outcome;
  }

protected:
  Context context;

private:
  double weightsOfModel = 0;
};

/// None of them is `image`, which stands for a vector.
std::vector<int32_t> someTokens(int64_t count, int64_t vocabulary, int64_t image = -1) {
  std::mt19937 random(1);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    const auto id = int32_t(random() % uint64_t(std::max<int64_t>(vocabulary, 1)));
    tokens.push_back(id == image ? (id ? 0 : 1) : id);
  }
  return tokens;
}

/// The source that an encoder reads: words, silence as features of sound, or a gray image.
struct SomeSource {
  std::vector<int32_t> tokens;
  std::vector<float> features;

  SomeSource() = default;
  SomeSource(int64_t positions, const rapt_module_info &info) {
    if (info.image_height)
      features.resize(size_t(info.image_channels * info.image_height * info.image_width));
    else if (info.feature_frames)
      features.resize(size_t(info.feature_channels * info.feature_frames));
    else
      tokens = someTokens(positions, info.source_vocabulary ? info.source_vocabulary : info.vocabulary);
  }
  bool empty() const { return tokens.empty() && features.empty(); }
  rapt_source of(const Sequence &sequence) const {
    auto source = sized<rapt_source>();
    source.sequence = sequence.get();
    source.tokens = tokens.empty() ? nullptr : tokens.data();
    source.count = int64_t(tokens.size());
    source.features = features.empty() ? nullptr : features.data();
    source.feature_bytes = features.size() * sizeof(float);
    return source;
  }
};

/// Prefills a prompt in each of several new sequences, or decodes one token in each. On a GPU a run ends when the host
/// has the most likely token, which is the next one, as for an application that samples greedily.
class StepWorkload : public ModelWorkload {
public:
  /// `steps` 0: prompts of `past` tokens; else steps after them. `source` 0: a model without an encoder.
  StepWorkload(int64_t rows, int64_t past, int64_t steps, int64_t source, const rapt_module_info &info)
      : rows(rows), steps(steps), source(source ? SomeSource(source, info) : SomeSource()),
        prompt(someTokens(past, info.vocabulary, runtime::factsOf(info).imageId())) {}

  Outcome prepare() override {
    if (steps && done > 0 && done < steps)
      return {};
    sequences.clear();
    done = 0;
    for (int64_t row = 0; row < rows; ++row) {
      Sequence sequence;
      RAPT_RETURN_IF_ERROR(Sequence::make(context, sequence));
      if (!source.empty()) {
        const rapt_source given = source.of(sequence);
        RAPT_RETURN_IF_ERROR(
            Outcome::of([&](char *text, size_t size) { return rapt_encode(context.get(), &given, 1, text, size); }));
      }
      sequences.push_back(std::move(sequence));
    }
    return steps ? feed(prompt) : Outcome{};
  }
  Outcome run() override {
    ++done;
    if (steps && isOnGpu)
      return feedChosen();
    return steps ? feed({prompt[size_t(done) % prompt.size()]}) : feed(prompt);
  }

private:
  Outcome feed(const std::vector<int32_t> &tokens) {
    std::vector<rapt_chunk> chunks;
    for (Sequence &sequence : sequences)
      chunks.push_back(sequence.chunk(tokens));
    return step(chunks);
  }
  Outcome feedChosen() {
    std::vector<std::vector<int32_t>> tokens;
    for (int32_t id : chosen)
      tokens.push_back({id});
    std::vector<rapt_chunk> chunks;
    for (size_t row = 0; row < sequences.size(); ++row)
      chunks.push_back(sequences[row].chunk(tokens[row]));
    return step(chunks);
  }
  Outcome step(std::vector<rapt_chunk> &chunks) {
    if (!isOnGpu)
      return context.step(chunks);
    chosen.resize(chunks.size());
    logits.resize(chunks.size());
    std::vector<rapt_top> tops;
    for (size_t row = 0; row < chunks.size(); ++row)
      tops.push_back({sizeof(rapt_top), 1, 0, &chosen[row], &logits[row]});
    return context.step(chunks, tops);
  }

  int64_t rows, steps, done = 0;
  SomeSource source;
  std::vector<int32_t> prompt;
  std::vector<int32_t> chosen; ///< on a GPU, for each sequence
  std::vector<float> logits;
  std::vector<Sequence> sequences; ///< behind the context, so that they go first
};

/// The encoder of a model that also generates.
class EncodeWorkload : public ModelWorkload {
public:
  EncodeWorkload(int64_t rows, int64_t count, const rapt_module_info &info) : rows(rows), source(count, info) {}
  Outcome prepare() override {
    sequences.clear();
    for (int64_t row = 0; row < rows; ++row) {
      Sequence sequence;
      RAPT_RETURN_IF_ERROR(Sequence::make(context, sequence));
      sequences.push_back(std::move(sequence));
    }
    return {};
  }
  Outcome run() override {
    std::vector<rapt_source> sources;
    for (Sequence &sequence : sequences)
      sources.push_back(source.of(sequence));
    return Outcome::of([&](char *text, size_t size) {
      return rapt_encode(context.get(), sources.data(), sources.size(), text, size);
    });
  }

private:
  int64_t rows;
  SomeSource source;
  std::vector<Sequence> sequences;
};

/// Runs an entry on tensors, with all inputs and outputs.
class ForwardWorkload : public ModelWorkload {
public:
  Outcome make(const json::Value &entry, int64_t rows, int64_t size) {
    for (const json::Value &buffer : *entry.find("buffers")->asArray()) {
      const std::string kind = *buffer.find("kind")->asString(), name = *buffer.find("name")->asString();
      if (kind == "input" && name != nameOf(EntryRole::RowBegin))
        addInput(buffer, name, rows, size);
    }
    for (const json::Value &buffer : *entry.find("buffers")->asArray())
      if (*buffer.find("kind")->asString() == "output")
        RAPT_RETURN_IF_ERROR(addOutput(*buffer.find("name")->asString()));
    return {};
  }
  Outcome run() override {
    return Outcome::of([&](char *text, size_t length) {
      return rapt_run(context.get(), "forward", all.size(), names.data(), all.data(), text, length);
    });
  }

private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<char> data;
  };

  /// Rows of packed tokens become [rows, size]; other dims beside the first are the image's.
  void addInput(const json::Value &buffer, const std::string &name, int64_t rows, int64_t size) {
    auto tensor = std::make_unique<Tensor>();
    tensor->name = name;
    const bool isInteger = *buffer.find("dtype")->asString() != "f32";
    int64_t count = 1;
    for (const json::Value &extent : *buffer.find("shape")->asArray()) {
      const std::string *dim = extent.asString();
      if (dim && *dim == nameOf(EntryDim::Tokens))
        tensor->shape.insert(tensor->shape.end(), {rows, size});
      else
        tensor->shape.push_back(dim ? (*dim == nameOf(EntryDim::Rows) ? rows : size) : *extent.asInteger());
    }
    for (int64_t extent : tensor->shape)
      count *= extent;
    std::mt19937 random(1);
    const json::Value *limit = buffer.find("limit");
    const uint64_t most = limit ? uint64_t(*limit->asInteger()) : 1;
    tensor->data.resize(size_t(count) * (isInteger ? 8 : 4));
    for (int64_t i = 0; i < count; ++i)
      if (isInteger)
        reinterpret_cast<int64_t *>(tensor->data.data())[i] = int64_t(random() % most);
      else
        reinterpret_cast<float *>(tensor->data.data())[i] = float(random() % 2048) / 1024 - 1;
    add(std::move(tensor), isInteger ? RAPT_DTYPE_INT : RAPT_DTYPE_FLOAT, isInteger ? 64 : 32);
  }
  Outcome addOutput(const std::string &name) {
    auto tensor = std::make_unique<Tensor>();
    int64_t shape[9];
    int32_t rank = 0;
    RAPT_RETURN_IF_ERROR(Outcome::of([&](char *text, size_t length) {
      return rapt_run_shape(context.get(), "forward", all.size(), names.data(), all.data(), name.c_str(), shape, &rank,
                            text, length);
    }));
    tensor->name = name;
    tensor->shape.assign(shape, shape + rank);
    size_t bytes = sizeof(float);
    for (int64_t extent : tensor->shape)
      bytes *= size_t(extent);
    tensor->data.resize(bytes);
    outputs.push_back(std::move(tensor));
    names.push_back(outputs.back()->name.c_str());
    all.push_back(describe(*outputs.back(), RAPT_DTYPE_FLOAT, 32));
    return {};
  }
  void add(std::unique_ptr<Tensor> tensor, uint8_t code, uint8_t bits) {
    inputs.push_back(std::move(tensor));
    names.push_back(inputs.back()->name.c_str());
    all.push_back(describe(*inputs.back(), code, bits));
  }
  static rapt_tensor describe(Tensor &tensor, uint8_t code, uint8_t bits) {
    auto described = sized<rapt_tensor>();
    described.data = tensor.data.data();
    described.device_type = RAPT_DEVICE_CPU;
    described.dtype_code = code;
    described.dtype_bits = bits;
    described.dtype_lanes = 1;
    described.rank = int32_t(tensor.shape.size());
    described.shape = tensor.shape.data();
    return described;
  }

  std::vector<std::unique_ptr<Tensor>> inputs, outputs;
  std::vector<const char *> names;
  std::vector<rapt_tensor> all;
};

/// Makes the workloads of one model.
class Maker {
public:
  Maker(const Options &options, const Module &module, const Pool &pool, Workloads &workloads)
      : options(options), module(module), pool(pool), workloads(workloads), info(module.info()) {}

  Outcome make() {
    size_t bytes = 0;
    const char *text = rapt_module_manifest(module.get(), &bytes);
    auto parsed = json::parse({text, bytes});
    if (!parsed || !parsed->find("entries") || !parsed->find("entries")->asArray())
      return wrong(options.library + ": its manifest has no entries");
    for (const json::Value &entry : *parsed->find("entries")->asArray()) {
      const std::string *name = entry.find("name") ? entry.find("name")->asString() : nullptr;
      hasStep |= name && *name == stepEntry;
      hasEncoder |= name && *name == encodeEntry;
      if (name && *name == "forward")
        forward = entry;
    }
    RAPT_RETURN_IF_ERROR(check());
    return hasStep ? makeGenerating() : makeForward();
  }

private:
  Outcome check() const {
    const std::string model = options.library + ": " + info.family + " " + info.task;
    if (!hasStep && forward.isNull())
      return wrong(model + " has neither an entry step nor forward");
    if (!options.shapes.empty())
      return wrong(model + " is no kernel: --shape does not apply");
    if (hasStep && !options.imageSizes.empty())
      return wrong(model + (info.image_height ? " reads images, always of one size" : " takes no images") +
                   ": --image-size does not apply");
    if ((!hasStep || hasEncoder) && !options.prefill.empty())
      return wrong(model + " reads no prompts: --prefill does not apply, --tokens or --image-size does");
    if (!hasStep && !options.decode.empty())
      return wrong(model + " does not generate: --decode does not apply");
    if (hasStep && !hasEncoder && !options.tokens.empty())
      return wrong(model + " has no encoder: --tokens does not apply, --prefill does");
    if (info.feature_frames && !options.tokens.empty())
      return wrong(model + " reads sound, always as long: --tokens does not apply");
    if (info.image_height && !options.tokens.empty())
      return wrong(model + " reads images, always of one size: --tokens does not apply");
    if (!hasStep && readsImages() && !options.tokens.empty())
      return wrong(model + " reads no tokens: --tokens does not apply, --image-size does");
    if (!hasStep && !readsImages() && !options.imageSizes.empty())
      return wrong(model + " takes no images: --image-size does not apply");
    return {};
  }

  bool readsImages() const {
    return forward.isObject() && json::write(forward).find(nameOf(EntryRole::PixelValues)) != std::string::npos;
  }

  /// Pixels of the largest image that the code was compiled for.
  int64_t largestImage() const {
    const json::Value *dims = forward.find("dims"), *bounds = forward.find("bounds");
    for (size_t i = 0; dims && bounds && i < dims->asArray()->size() && i < bounds->asArray()->size(); ++i)
      if (*(*dims->asArray())[i].asString() == "height")
        return (*(*bounds->asArray())[i].asArray())[1].asInteger().value_or(224);
    return 224;
  }

  /// The requested lengths; by default those of `usual` for which the model has positions.
  std::vector<int64_t> lengths(const std::vector<int64_t> &asked, std::vector<int64_t> usual) const {
    if (!asked.empty())
      return asked;
    const int64_t most = info.max_positions > 0 ? info.max_positions : INT64_MAX;
    std::erase_if(usual, [&](int64_t length) { return length >= most; });
    return usual.empty() ? std::vector<int64_t>{std::max<int64_t>(most / 2, 1)} : usual;
  }
  int64_t inBlocks(int64_t tokens) const {
    const int64_t block = std::max<int64_t>(info.cache_block, 1);
    return (tokens + block - 1) / block * block;
  }
  static std::string rowsText(int64_t rows) { return rows > 1 ? " x " + std::to_string(rows) : ""; }

  template <typename W>
  Outcome add(std::unique_ptr<W> workload, std::string name, std::string unit, double amount, int64_t cacheTokens) {
    workload->name = std::move(name);
    workload->unit = std::move(unit);
    workload->amount = amount;
    RAPT_RETURN_IF_ERROR(workload->makeContext(module, pool, cacheTokens, options.adapter));
    workloads.push_back(std::move(workload));
    return {};
  }

  Outcome makeGenerating() {
    const int64_t rows = options.batch;
    const int64_t made = runtime::factsOf(info).longestSource(0);
    const std::vector<int64_t> read = made         ? std::vector<int64_t>{made}
                                      : hasEncoder ? lengths(options.tokens, {128})
                                                   : lengths(options.prefill, {128, 512});
    const bool hasCache = info.cache_block > 0;
    auto cacheOf = [&](int64_t tokens) { return hasCache ? rows * inBlocks(tokens) : 0; };
    const bool asksForPrompts = !options.prefill.empty() || !options.tokens.empty() || options.decode.empty();
    for (int64_t count : asksForPrompts ? read : std::vector<int64_t>()) {
      const std::string name = (hasEncoder ? "encode " : "prefill ") + std::to_string(count) + rowsText(rows);
      const double tokens = double(rows * count);
      if (hasEncoder)
        RAPT_RETURN_IF_ERROR(
            add(std::make_unique<EncodeWorkload>(rows, count, info), name, "tokens", tokens, cacheOf(count)));
      else
        RAPT_RETURN_IF_ERROR(
            add(std::make_unique<StepWorkload>(rows, count, 0, 0, info), name, "tokens", tokens, cacheOf(count)));
    }
    std::vector<int64_t> decode = options.decode;
    const int64_t past = options.past > 0 ? options.past : hasEncoder ? 1 : read[0];
    if (decode.empty() && !asksForSomething())
      decode = {std::clamp<int64_t>(info.max_positions - past, 1, 64)};
    for (int64_t steps : decode) {
      const int64_t source = hasEncoder ? read[0] : 0;
      std::string name = "decode " + std::to_string(steps) + " after " + std::to_string(past);
      if (hasEncoder)
        name += ", source of " + std::to_string(source);
      RAPT_RETURN_IF_ERROR(add(std::make_unique<StepWorkload>(rows, past, steps, source, info), name + rowsText(rows),
                               "tokens", double(rows), cacheOf(past + steps) + (source ? cacheOf(source) : 0)));
    }
    return {};
  }
  bool asksForSomething() const {
    return !options.prefill.empty() || !options.tokens.empty() || !options.decode.empty();
  }

  Outcome makeForward() {
    const bool images = readsImages();
    std::vector<int64_t> sizes = images ? options.imageSizes : lengths(options.tokens, {128});
    if (sizes.empty())
      sizes = {std::min<int64_t>(224, largestImage())};
    for (int64_t size : sizes) {
      auto workload = std::make_unique<ForwardWorkload>();
      ForwardWorkload &made = *workload;
      std::string name =
          images ? "image " + std::to_string(size) + " x " + std::to_string(size) : "tokens " + std::to_string(size);
      RAPT_RETURN_IF_ERROR(add(std::move(workload), name + rowsText(options.batch), images ? "images" : "tokens",
                               double(images ? options.batch : options.batch * size), 0));
      RAPT_RETURN_IF_ERROR(made.make(forward, options.batch, size));
    }
    return {};
  }

  const Options &options;
  const Module &module;
  const Pool &pool;
  Workloads &workloads;
  rapt_module_info info;
  json::Value forward;
  bool hasStep = false, hasEncoder = false;
};

} // namespace

Outcome makeModelWorkloads(const Options &options, const Module &module, const Pool &pool, Workloads &workloads) {
  return Maker(options, module, pool, workloads).make();
}

} // namespace rapt::bench
