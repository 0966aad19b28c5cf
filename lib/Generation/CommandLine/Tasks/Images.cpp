// --image: what a model says about image files.
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/MapFiles.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Json.h"
#include "lib/Support/Npy.h"
#include <algorithm>

namespace rapt::run {
namespace {

class ImageRun final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome checkOutputs() const;
  Outcome runBatch(const ImageBatch &batch);
  Outcome drawAttention(const ImageBatch &batch, const std::vector<RowOutput> &outputs, size_t index);
  Outcome printResult(std::span<const float> logits);
  Status writeOutputs(const std::vector<RowOutput> &outputs) const;
  bool classifies() const { return std::string_view(model.info.task) == "image-classification"; }

  Labels labels;
  ImageReader reader;
  std::vector<std::string> names; ///< of outputs; the logits first where the model classifies
  AttentionMaps maps;
  size_t printed = 0, drawn = 0;
};

Outcome ImageRun::checkOutputs() const {
  if (!classifies() && options.outputs.empty() && options.attention.empty())
    return {RAPT_INVALID, std::string(model.info.name) + ": " + model.info.task +
                              " has no labels: say where its tensors go, --output last_hidden_state=FILE.npy"};
  return {};
}

Outcome ImageRun::prepare() {
  RAPT_RETURN_IF_ERROR(checkOutputs());
  RAPT_RETURN_IF_ERROR(reader.open(model));
  RAPT_RETURN_IF_ERROR(openLabels(model, labels));
  if (classifies())
    names.push_back("logits");
  for (const auto &[name, file] : options.outputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  RAPT_RETURN_IF_ERROR(AttentionMaps::open(options, model, maps));
  maps.request(names);
  RAPT_RETURN_IF_ERROR(makeContext(options, 0, model));
  note(std::string(model.info.name) + ": " + model.info.task + ", " + grouped(options.images.size()) +
       (options.images.size() == 1 ? " image" : " images"));
  return {};
}

/// Prints what the model says about the next image.
Outcome ImageRun::printResult(std::span<const float> logits) {
  json::Array list = bestLabels(options, labels, logits);
  std::string lines = options.images.size() > 1 ? json::printable(options.images[printed++]) + "\n" : std::string();
  lines += labelLines(list);
  return sink.add(json::Value(std::move(list)), lines);
}

Status ImageRun::writeOutputs(const std::vector<RowOutput> &outputs) const {
  for (const auto &[name, file] : options.outputs) {
    const RowOutput &output = outputs[size_t(std::find(names.begin(), names.end(), name) - names.begin())];
    RAPT_RETURN_IF_ERROR(writeNpy(file, NpyType::F32, output.shape, std::as_bytes(std::span(output.data))));
  }
  return {};
}

/// Images of several have their number in the files' names.
Outcome ImageRun::drawAttention(const ImageBatch &batch, const std::vector<RowOutput> &outputs, size_t index) {
  std::vector<std::string> labels;
  const size_t values = batch.values.size() / size_t(batch.shape[0]);
  PatchedImage image({batch.values.data() + index * values, values}, batch.shape.data() + 1);
  RAPT_RETURN_IF_ERROR(maps.patchAxis(image, labels));
  const std::string before = options.images.size() > 1 ? mapPrefix(mapOfImage, drawn++) : "";
  for (const std::string &name : maps.names()) {
    const RowOutput &output = outputs[size_t(std::find(names.begin(), names.end(), name) - names.begin())];
    RAPT_RETURN_IF_ERROR(maps.write(before, name, output, index, labels, labels, &image));
  }
  return {};
}

Outcome ImageRun::runBatch(const ImageBatch &batch) {
  std::vector<RowOutput> outputs;
  std::vector<rapt_tensor> tensors = {tensorOf(batch.shape, const_cast<float *>(batch.values.data()))};
  RAPT_RETURN_IF_ERROR(runTensors(model, {"pixel_values"}, std::move(tensors), names, outputs));
  for (size_t i = 0; i < size_t(batch.shape[0]); ++i) {
    if (classifies())
      RAPT_RETURN_IF_ERROR(printResult(outputs[0].row(i)));
    if (maps.isWanted())
      RAPT_RETURN_IF_ERROR(drawAttention(batch, outputs, i));
  }
  return outcomeOf(writeOutputs(outputs));
}

Outcome ImageRun::run() {
  ImageBatch batch;
  for (const std::string &path : options.images) {
    int64_t shape[3];
    std::vector<float> values;
    RAPT_RETURN_IF_ERROR(reader.read(path, shape, values));
    const bool isWhole = !options.outputs.empty(); // a file holds all images
    const bool isFull = !isWhole && maps.isWanted() && batch.shape[0] > 0;
    if (isFull || !batch.takes(shape, isWhole ? 0 : values.size())) {
      if (isWhole)
        return {RAPT_INVALID, json::printable(path) + ": becomes " + std::to_string(shape[2]) + " x " +
                                  std::to_string(shape[1]) + " pixels, an image before it " +
                                  std::to_string(batch.shape[3]) + " x " + std::to_string(batch.shape[2]) +
                                  ": the images of one --output have one size"};
      RAPT_RETURN_IF_ERROR(runBatch(batch));
      batch = {};
    }
    batch.add(shape, values);
  }
  return runBatch(batch);
}

Status ImageRun::finish() { return sink.endTask(model.info.task); }

} // namespace

std::unique_ptr<Job> makeImages(const Options &options, Model model) {
  return std::make_unique<ImageRun>(options, std::move(model));
}

} // namespace rapt::run
