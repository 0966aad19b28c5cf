#include "lib/Generation/CommandLine/PromptVectors.h"
#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/SoundReader.h"
#include "lib/Support/CacheCost.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::run {

/// What stands for vectors in a prompt, and the ids around them.
struct PromptVectors::Kind {
  int32_t id;
  std::optional<int64_t> begin, end;
  const char *name;
  const List &list;
};

/// Appends the vectors that `entry` makes of what is in the file `path`.
Outcome PromptVectors::encode(const Model &model, const char *entry, const char *input, const char *output,
                              const std::string &path, const std::vector<int64_t> &extents, std::vector<float> &values,
                              List &list) {
  std::vector<RowOutput> outputs;
  Outcome outcome = runTensors(model, {input}, {tensorOf(extents, values.data())}, {output}, outputs, entry);
  if (!outcome)
    return {outcome.status, json::printable(path) + ": " + outcome.message};
  list.push_back({size_t(outputs[0].shape[1]), std::move(outputs[0].data)});
  return {};
}

Outcome PromptVectors::readImages(const Options &options, Model &model) {
  if (options.images.empty())
    return {};
  ImageReader reader;
  RAPT_RETURN_IF_ERROR(reader.open(model));
  for (const std::string &path : options.images) {
    int64_t shape[3];
    std::vector<float> values;
    RAPT_RETURN_IF_ERROR(reader.read(path, shape, values));
    RAPT_RETURN_IF_ERROR(encode(model, "encode_image", "pixel_values", "image_embeddings", path,
                                {1, shape[0], shape[1], shape[2]}, values, images));
    if (const int64_t cell = model.facts.imageCell)
      grids.insert(grids.end(), {int32_t(shape[1] / cell), int32_t(shape[2] / cell)});
  }
  return chooseStep(model);
}

Outcome PromptVectors::readSounds(const Options &options, Model &model) {
  if (options.audio.empty())
    return {};
  SoundReader reader;
  RAPT_RETURN_IF_ERROR(reader.open(model));
  for (const std::string &path : options.audio) {
    int64_t shape[2];
    std::vector<float> values;
    RAPT_RETURN_IF_ERROR(reader.read(path, shape, values));
    RAPT_RETURN_IF_ERROR(encode(model, "encode_audio", "input_features", "audio_embeddings", path,
                                {1, shape[0], shape[1]}, values, sounds));
  }
  return {};
}

/// Makes room in a step for an image whose tokens see one another, which is in one part of a step.
Outcome PromptVectors::chooseStep(Model &model) const {
  const Expected<std::vector<std::string>> tensors = tensorsOf(model, "step");
  if (!tensors)
    return {RAPT_BAD_FILE, tensors.error().message};
  if (std::find(tensors->begin(), tensors->end(), nameOf(EntryRole::SeenEnd)) == tensors->end())
    return {};
  size_t most = defaultStepTokens;
  for (const Vectors &vectors : images)
    most = std::max(most, vectors.count);
  model.stepTokens = std::min(int64_t(most), model.info.max_tokens);
  return {};
}

Outcome PromptVectors::read(const Options &options, Model &model) {
  if (options.images.empty() && options.audio.empty())
    return {};
  RAPT_RETURN_IF_ERROR(makeContext(options, model.inBlocks(1), model));
  RAPT_RETURN_IF_ERROR(readImages(options, model));
  RAPT_RETURN_IF_ERROR(readSounds(options, model));
  model.profiler.finish();
  model.context = {};
  return {};
}

/// How often the prompt has a token, which is not as often as it may: "the prompt has 2 times <image>".
static Outcome sayCount(const Text &text, int32_t id, size_t tokens, std::string &said) {
  std::string name = "token " + std::to_string(id);
  if (text.tokenizer)
    RAPT_RETURN_IF_ERROR(text.tokenizer.decode({id}, name, RAPT_DECODE_KEEP_SPECIAL));
  said = "the prompt has " + std::to_string(tokens) + " times " + json::printable(name);
  return {};
}

Outcome PromptVectors::place(const Model &model, const Text &text, Prompt &prompt) const {
  const ModelFacts &facts = model.facts;
  const Kind kinds[] = {{facts.imageId(), facts.imageBegin, facts.imageEnd, "image", images},
                        {facts.audioId(), facts.audioBegin, facts.audioEnd, "sound", sounds}};
  auto count = [&](int32_t id) { return size_t(std::count(prompt.ids.begin(), prompt.ids.end(), id)); };
  std::string said;
  if (const size_t videos = count(facts.videoId())) {
    RAPT_RETURN_IF_ERROR(sayCount(text, facts.videoId(), videos, said));
    return {RAPT_UNSUPPORTED,
            said + ", which stands for a video: videos are not supported; give frames of it as images (--image)"};
  }
  for (const Kind &kind : kinds) {
    const size_t tokens = count(kind.id);
    if (tokens == kind.list.size())
      continue;
    RAPT_RETURN_IF_ERROR(sayCount(text, kind.id, tokens, said));
    return {RAPT_INVALID, said + " for " + counted(kind.list.size(), kind.name) + ": each " + kind.name +
                              " needs one, where it belongs"};
  }
  Ids ids;
  size_t next[std::size(kinds)] = {};
  auto mark = [&](const std::optional<int64_t> &id) {
    if (id)
      ids.push_back(int32_t(*id));
  };
  for (int32_t id : prompt.ids) {
    const Kind *kind = std::find_if(std::begin(kinds), std::end(kinds), [id](const Kind &k) { return k.id == id; });
    if (kind == std::end(kinds)) {
      ids.push_back(id);
      continue;
    }
    const Vectors &vectors = kind->list[next[kind - kinds]++];
    mark(kind->begin);
    ids.insert(ids.end(), vectors.count, id);
    mark(kind->end);
    prompt.embeddings.insert(prompt.embeddings.end(), vectors.numbers.begin(), vectors.numbers.end());
  }
  prompt.ids = std::move(ids);
  prompt.grids = grids;
  return {};
}

} // namespace rapt::run
