#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Drawing/HeatMap.h"
#include "lib/Drawing/Label.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/MapFiles.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Support/Json.h"
#include "lib/Support/Npy.h"
#include "lib/Support/NumberList.h"
#include <algorithm>

namespace rapt::run {
namespace {

Status writeBytes(const std::string &path, const std::string &content) {
  RAPT_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> out, OutputFile::create(path));
  RAPT_RETURN_IF_ERROR(out->write(std::as_bytes(std::span(content))));
  return out->commit();
}

std::vector<int64_t> integers(const json::Value *list) {
  std::vector<int64_t> numbers;
  for (const json::Value &number : list && list->asArray() ? *list->asArray() : json::Array())
    numbers.push_back(number.asInteger().value_or(0));
  return numbers;
}

bool has(const std::vector<int64_t> &numbers, int64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

} // namespace

PatchedImage::PatchedImage(std::span<const float> values, const int64_t *shape)
    : pixels{size_t(shape[1]), size_t(shape[2]), std::vector<float>(size_t(shape[1] * shape[2]))} {
  for (size_t i = 0; i < values.size(); ++i)
    pixels.pixels[i % pixels.pixels.size()] += values[i] / float(shape[0]);
  const auto [least, most] = std::minmax_element(pixels.pixels.begin(), pixels.pixels.end());
  const float low = *least, range = *most - low;
  for (float &pixel : pixels.pixels)
    pixel = range > 0 ? (pixel - low) / range : 0.5f;
}

/// One map's axes; the pictures of all its layers and heads share them.
struct AttentionMaps::Job {
  std::string path, name;
  drawing::Axes axes;
  std::optional<drawing::Raster> raster;         ///< none where the map is too large
  std::vector<drawing::CaptionedMap> heads = {}; ///< of the layer
};

/// Takes over a buffer of an entry that has weights. `output` has the layers and heads that were chosen, if any were.
void AttentionMaps::readBuffer(const json::Value &buffer, Output output) {
  const json::Value *name = buffer.find("name"), *shape = buffer.find("shape");
  if (!name || !name->asString() || !name->asString()->ends_with(mapOutput) || !shape || !shape->asArray() ||
      shape->asArray()->size() < 4)
    return;
  output.name = *name->asString();
  for (const Output &other : outputs) // of another entry of the same program
    if (other.name == output.name)
      return;
  const json::Array &extents = *shape->asArray();
  for (auto [list, place] : {std::pair(&output.layers, 3), std::pair(&output.heads, 2)})
    for (int64_t i = 0, n = extents[extents.size() - size_t(place)].asInteger().value_or(0); int64_t(list->size()) < n;
         ++i)
      list->push_back(i);
  if (const std::string *rows = extents[0].asString(); rows && *rows == "rows" && extents.size() == 4)
    output.isOfRows = true;
  if (const std::string *tokens = extents[1].asString(); tokens && extents.size() == 5)
    output.tokens = *tokens;
  outputs.push_back(std::move(output));
}

Status AttentionMaps::read(const Model &from) {
  size_t bytes = 0;
  const char *text = rapt_module_manifest(from.module.get(), &bytes);
  RAPT_ASSIGN_OR_RETURN(json::Value manifest,
                        withContext("the manifest of " + model, json::parse(std::string_view(text, bytes))));
  const json::Value *facts = manifest.find("model"), *entries = manifest.find("entries");
  const Output chosen{{},
                      integers(facts ? facts->find("attention_layers") : nullptr),
                      integers(facts ? facts->find("attention_heads") : nullptr),
                      {}};
  for (const json::Value &entry : entries && entries->asArray() ? *entries->asArray() : json::Array()) {
    const json::Value *buffers = entry.find("buffers");
    for (const json::Value &buffer : buffers && buffers->asArray() ? *buffers->asArray() : json::Array())
      readBuffer(buffer, chosen);
  }
  return {};
}

Outcome AttentionMaps::check(const char *what, const std::vector<int64_t> &asked,
                             std::vector<int64_t> Output::*field) const {
  for (int64_t number : asked) {
    std::string there;
    bool isThere = false;
    for (const Output &output : outputs) {
      isThere = isThere || has(output.*field, number);
      there += (there.empty() ? "" : ", ") + output.name + " with " + showNumberList(output.*field);
    }
    if (!isThere)
      return {RAPT_INVALID, std::string("--attention-") + what + ": " + std::to_string(number) + " is asked for; the " +
                                what + " that " + model + " gives are those of " + there};
  }
  return {};
}

Outcome AttentionMaps::open(const Options &options, const Model &model, AttentionMaps &maps) {
  if (options.attention.empty())
    return {};
  maps.folder = options.attention;
  maps.layers = options.attentionLayers;
  maps.heads = options.attentionHeads;
  maps.model = model.info.name;
  if (Status status = maps.read(model); !status)
    return {RAPT_BAD_FILE, status.error().message};
  if (maps.outputs.empty())
    return {RAPT_UNSUPPORTED, maps.model + " does not give its attention weights: compile it with " +
                                  "raptc --attention-weights, or --attention-weights=LAYERS/HEADS for some of them"};
  RAPT_RETURN_IF_ERROR(maps.check("layers", maps.layers, &Output::layers));
  return maps.check("heads", maps.heads, &Output::heads);
}

bool AttentionMaps::isOfRows(const std::string &name) const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Output &output) { return output.name == name && output.isOfRows; });
}

std::vector<std::string> AttentionMaps::names() const {
  std::vector<std::string> result;
  for (const Output &output : outputs)
    result.push_back(output.name);
  return result;
}

void AttentionMaps::request(std::vector<std::string> &wanted) const {
  for (const Output &output : outputs)
    if (std::find(wanted.begin(), wanted.end(), output.name) == wanted.end())
      wanted.push_back(output.name);
}

void AttentionMaps::noteOnce(const std::string &message) {
  if (std::find(told.begin(), told.end(), message) != told.end())
    return;
  note(message);
  told.push_back(message);
}

Status AttentionMaps::draw(Job &job, const std::string &title, std::span<const float> weights) {
  const std::string size = job.name + ": " + std::to_string(job.axes.rows.size()) + " x " +
                           std::to_string(job.axes.columns.size()) + " tokens ";
  const std::string svg = drawing::drawSvg(job.axes, title, weights);
  if (svg.empty())
    noteOnce(size + "are more than the " + grouped(drawing::mostSvgCells) + " cells of an .svg, which is not written");
  else
    RAPT_RETURN_IF_ERROR(writeBytes(job.path + ".svg", svg));
  if (!job.raster)
    return {};
  if (!job.raster->hasText())
    noteOnce(size + "leave cells of " + std::to_string(job.raster->cell()) +
             " pixels in a .png: too small for the tokens' text");
  RAPT_ASSIGN_OR_RETURN(
      std::string png, withContext(shownPath(job.path) + ".png", drawing::encodePng(job.raster->draw(title, weights))));
  return writeBytes(job.path + ".png", png);
}

/// The image once for each query, with the mean of the heads over it.
Expected<drawing::Picture> AttentionMaps::drawWords(const Job &job, const std::string &title,
                                                    const PatchedImage &image) {
  std::vector<drawing::CaptionedMap> words;
  const size_t keys = job.axes.columns.size();
  for (size_t word = 0; word < job.axes.rows.size(); ++word) {
    drawing::CaptionedMap &map = words.emplace_back(drawing::label(job.axes.rows[word]), std::vector<float>(keys));
    for (const drawing::CaptionedMap &head : job.heads)
      for (size_t i = 0; i < keys; ++i)
        map.weights[i] += head.weights[word * keys + i] / float(job.heads.size());
  }
  return drawing::drawOverlays(title, image.pixels, image.gridHeight, image.gridWidth, words);
}

/// The overview of a layer's heads, and the image with the mean of them.
Status AttentionMaps::drawLayer(Job &job, const std::string &title, const PatchedImage *image) {
  const size_t queries = job.axes.rows.size(), keys = job.axes.columns.size();
  auto write = [&](std::string_view end, const Expected<drawing::Picture> &picture) -> Status {
    if (!picture) {
      noteOnce(job.name + ": no " + std::string(end) + ": " + picture.error().message);
      return {};
    }
    Expected<std::string> png = drawing::encodePng(*picture);
    return png ? writeBytes(job.path + std::string(end), *png) : Status(png.error());
  };
  if (job.heads.size() > 1)
    RAPT_RETURN_IF_ERROR(write(mapSheet, drawing::drawSheet(title, queries, keys, job.heads)));
  if (!image || job.heads.empty())
    return {};
  if (image->gridHeight)
    return write(mapOverlay, drawWords(job, title, *image));
  std::vector<float> mean(keys - 1);
  for (const drawing::CaptionedMap &head : job.heads)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += head.weights[1 + i] / float(job.heads.size());
  return write(mapOverlay, drawing::drawOverlay(title + ", cls", image->pixels, image->patchHeight, image->patchWidth,
                                                image->pixels.width / image->patchWidth, mean));
}

/// The title of a picture: "attentions layer0-head0".
static std::string titleOf(std::string map, const std::string &name) {
  map[map.find(name) + name.size()] = ' ';
  return map;
}

Outcome AttentionMaps::write(const std::string &prefix, const std::string &name, const RowOutput &output, size_t row,
                             const std::vector<std::string> &queries, const std::vector<std::string> &keys,
                             const PatchedImage *image) {
  const auto own = std::find_if(outputs.begin(), outputs.end(), [&](const Output &o) { return o.name == name; });
  const size_t layerCount = own->layers.size(), headCount = own->heads.size(), positions = size_t(output.shape.back());
  if (queries.empty() || keys.empty())
    return {RAPT_INVALID, name + ": there are no tokens whose attention could be drawn"};
  if (Status status = hasFolder ? Status() : prepareMapFolder(folder); !status)
    return {RAPT_IO, status.error().message};
  hasFolder = true;
  Job job{.path = {}, .name = name, .axes = {queries, keys}, .raster = {}};
  Expected<drawing::Raster> raster = drawing::Raster::make(job.axes, prefix + name + " layer00000-head00000");
  if (raster)
    job.raster = std::move(*raster);
  else
    noteOnce(name + ": no .png: " + raster.error().message);
  for (size_t layer = 0; layer < layerCount; ++layer) {
    job.heads.clear();
    for (size_t head = 0; head < headCount; ++head) {
      if ((!layers.empty() && !has(layers, own->layers[layer])) || (!heads.empty() && !has(heads, own->heads[head])))
        continue;
      std::vector<float> weights;
      for (size_t q = 0; q < queries.size(); ++q) {
        std::span<const float> line =
            output.row(row).subspan(((q * layerCount + layer) * headCount + head) * positions, keys.size());
        weights.insert(weights.end(), line.begin(), line.end());
      }
      const std::string map = prefix + mapOfHead(name, own->layers[layer], own->heads[head]);
      job.path = folder + "/" + map;
      const int64_t shape[] = {int64_t(queries.size()), int64_t(keys.size())};
      Status status = writeNpy(job.path + ".npy", NpyType::F32, shape, std::as_bytes(std::span(weights)));
      if (status)
        status = draw(job, titleOf(map, name), weights);
      if (!status)
        return {RAPT_IO, status.error().message};
      job.heads.push_back({"head " + std::to_string(own->heads[head]), std::move(weights)});
    }
    const std::string map = prefix + mapOfLayer(name, own->layers[layer]);
    job.path = folder + "/" + map;
    if (Status status = drawLayer(job, titleOf(map, name), image); !status)
      return {RAPT_IO, status.error().message};
  }
  return {};
}

Outcome AttentionMaps::patchAxis(PatchedImage &image, std::vector<std::string> &labels) const {
  long long high = 0, wide = 0, learned = 0;
  const std::string &tokens = outputs.front().tokens;
  if (sscanf(tokens.c_str(), "height/%lld*width/%lld+%lld", &high, &wide, &learned) != 3 || high < 1 || wide < 1 ||
      learned != 1)
    return {RAPT_BAD_FILE, "the manifest of " + model + " has images of \"" + json::printable(tokens) +
                               "\" tokens, which are not patches after a class token"};
  labels.emplace_back("cls");
  image.patchHeight = size_t(high), image.patchWidth = size_t(wide);
  for (size_t y = 0; y < image.pixels.height / image.patchHeight; ++y)
    for (size_t x = 0; x < image.pixels.width / image.patchWidth; ++x)
      labels.push_back(std::to_string(y) + "," + std::to_string(x));
  return {};
}

/// The image that is the source of a prompt, and the names of its positions by line and column.
static PatchedImage sourceImage(const rapt_module_info &info, const Prompt &prompt, std::vector<std::string> &labels) {
  const int64_t shape[] = {info.image_channels, info.image_height, info.image_width};
  PatchedImage image(prompt.pixels, shape);
  image.gridHeight = size_t(info.grid_height), image.gridWidth = size_t(info.grid_width);
  for (size_t y = 0; y < image.gridHeight; ++y)
    for (size_t x = 0; x < image.gridWidth; ++x)
      labels.push_back(std::to_string(y) + "," + std::to_string(x));
  return image;
}

Outcome drawGeneration(AttentionMaps &maps, const Model &model, const Text &text, const Prompt &prompt,
                       const Ids &made) {
  Ids read = prompt.ids, sourceIds = prompt.source;
  read.insert(read.end(), made.begin(), made.end());
  if (model.hasEncoder() && !made.empty())
    read.pop_back(); // each line is that of the token that came of it
  const rapt_module_info &info = model.info;
  const std::vector<int64_t> readShape = {1, int64_t(read.size())}, sourceShape = {1, int64_t(sourceIds.size())},
                             imageShape = {1, info.image_channels, info.image_height, info.image_width};
  std::vector<const char *> given = {model.hasEncoder() ? "decoder_input_ids" : "input_ids"};
  std::vector<rapt_tensor> inputs = {tensorOf(readShape, read.data())};
  if (model.hasImageSource()) {
    given.push_back("pixel_values");
    inputs.push_back(tensorOf(imageShape, const_cast<float *>(prompt.pixels.data())));
  } else if (model.hasEncoder()) {
    given.push_back("input_ids");
    inputs.push_back(tensorOf(sourceShape, sourceIds.data()));
  }
  std::vector<RowOutput> outputs;
  const std::vector<std::string> names = maps.names();
  std::vector<std::string> wanted = names;
  wanted.push_back("logits");
  RAPT_RETURN_IF_ERROR(runTensors(model, given, inputs, wanted, outputs));
  std::vector<std::string> source, target, chosen;
  std::optional<PatchedImage> image;
  if (model.hasImageSource())
    image = sourceImage(info, prompt, source);
  RAPT_RETURN_IF_ERROR(piecesOf(text.tokenizer, prompt.source, source));
  for (auto [ids, labels] : {std::pair<const Ids *, std::vector<std::string> *>(&read, &target), {&made, &chosen}})
    RAPT_RETURN_IF_ERROR(piecesOf(text.writer, *ids, *labels));
  for (size_t i = 0; i < names.size(); ++i) {
    const bool isCross = names[i] == "cross_attentions", isSource = names[i] == "encoder_attentions";
    const std::vector<std::string> &queries = isSource ? source : isCross && !made.empty() ? chosen : target;
    RAPT_RETURN_IF_ERROR(maps.write("", names[i], outputs[i], 0, queries, isCross || isSource ? source : target,
                                    isCross && image ? &*image : nullptr));
  }
  return {};
}

} // namespace rapt::run
