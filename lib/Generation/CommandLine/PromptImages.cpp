#include "lib/Generation/CommandLine/PromptImages.h"
#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <optional>

namespace rapt::run {

Outcome PromptImages::read(const Options &options, Model &model) {
  if (options.images.empty())
    return {};
  ImageReader reader;
  RAPT_RETURN_IF_ERROR(reader.open(model));
  RAPT_RETURN_IF_ERROR(makeContext(options, model.inBlocks(1), model));
  for (const std::string &path : options.images) {
    int64_t shape[3];
    std::vector<float> values;
    RAPT_RETURN_IF_ERROR(reader.read(path, shape, values));
    std::vector<RowOutput> outputs;
    const std::vector<int64_t> extents = {1, shape[0], shape[1], shape[2]};
    Outcome outcome = runTensors(model, {"pixel_values"}, {tensorOf(extents, values.data())}, {"image_embeddings"},
                                 outputs, "encode_image");
    if (!outcome)
      return {outcome.status, json::printable(path) + ": " + outcome.message};
    counts.push_back(size_t(outputs[0].shape[1]));
    if (const int64_t cell = model.facts.imageCell)
      grids.insert(grids.end(), {int32_t(shape[1] / cell), int32_t(shape[2] / cell)});
    vectors.insert(vectors.end(), outputs[0].data.begin(), outputs[0].data.end());
  }
  const Expected<std::vector<std::string>> tensors = tensorsOf(model, "step");
  if (!tensors)
    return {RAPT_BAD_FILE, tensors.error().message};
  if (std::find(tensors->begin(), tensors->end(), nameOf(EntryRole::SeenEnd)) != tensors->end()) {
    // Tokens of an image see one another, and are in one part of a step, which has so many tokens else.
    constexpr size_t usual = 512;
    const size_t most = *std::max_element(counts.begin(), counts.end());
    model.stepTokens = std::min(int64_t(std::max(most, usual)), model.info.max_tokens);
  }
  model.profiler.finish();
  model.context = {};
  return {};
}

Outcome PromptImages::place(const Model &model, const Text &text, Prompt &prompt) const {
  const int32_t image = model.facts.imageId();
  if (image < 0)
    return {};
  const auto tokens = size_t(std::count(prompt.ids.begin(), prompt.ids.end(), image));
  if (tokens != counts.size()) {
    std::string name = "token " + std::to_string(image);
    if (text.tokenizer)
      RAPT_RETURN_IF_ERROR(text.tokenizer.decode({image}, name, RAPT_DECODE_KEEP_SPECIAL));
    return {RAPT_INVALID, "the prompt has " + std::to_string(tokens) + " times " + json::printable(name) + " for " +
                              counted(counts.size(), "image") + ": each image needs one, where it belongs"};
  }
  Ids ids;
  size_t next = 0;
  auto mark = [&](const std::optional<int64_t> &id) {
    if (id)
      ids.push_back(int32_t(*id));
  };
  for (int32_t id : prompt.ids) {
    if (id == image)
      mark(model.facts.imageBegin);
    ids.insert(ids.end(), id == image ? counts[next++] : 1, id);
    if (id == image)
      mark(model.facts.imageEnd);
  }
  prompt.ids = std::move(ids);
  prompt.embeddings = vectors;
  prompt.grids = grids;
  return {};
}

} // namespace rapt::run
