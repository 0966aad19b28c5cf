#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Support/Json.h"
#include "lib/Support/Npy.h"
#include "lib/Support/Png.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <sys/stat.h>

namespace rapt::run {
namespace {

constexpr size_t cell = 24;            // of the SVG, in its units
constexpr size_t pictureSide = 512;    // of the PNG, in pixels, where a cell is smaller than 16
constexpr size_t mostCharacters = 200; // of a token on an axis

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : json::printable(text, mostCharacters))
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

/// 0 is black, 1 is white.
uint8_t grey(float weight) { return uint8_t(std::lround(std::clamp(weight, 0.0f, 1.0f) * 255)); }

size_t longest(const std::vector<std::string> &labels) {
  size_t most = 1;
  for (const std::string &label : labels)
    most = std::max(most, label.size());
  return std::min(most, mostCharacters);
}

std::string drawing(const std::string &title, const std::vector<std::string> &queries,
                    const std::vector<std::string> &keys, std::span<const float> weights) {
  const size_t left = longest(queries) * 9 + 12, top = longest(keys) * 9 + 36;
  const size_t width = left + keys.size() * cell + 12, height = top + queries.size() * cell + 12;
  auto number = [](size_t n) { return std::to_string(n); };
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
                    number(height) + "\" font-family=\"monospace\" font-size=\"14\">\n<title>" + escaped(title) +
                    "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"6\" y=\"18\">" +
                    escaped(title) + "</text>\n";
  for (size_t k = 0; k < keys.size(); ++k) {
    const std::string at = number(left + k * cell + 17) + " " + number(top - 6);
    svg += "<text transform=\"translate(" + at + ") rotate(-90)\">" + escaped(keys[k]) + "</text>\n";
  }
  for (size_t q = 0; q < queries.size(); ++q) {
    svg += "<text x=\"" + number(left - 6) + "\" y=\"" + number(top + q * cell + 17) + "\" text-anchor=\"end\">" +
           escaped(queries[q]) + "</text>\n";
    for (size_t k = 0; k < keys.size(); ++k) {
      const float weight = weights[q * keys.size() + k];
      const std::string shade = number(grey(weight));
      char shown[32];
      snprintf(shown, sizeof shown, "%.4f", weight);
      svg += "<rect x=\"" + number(left + k * cell) + "\" y=\"" + number(top + q * cell) + "\" width=\"" +
             number(cell) + "\" height=\"" + number(cell) + "\" fill=\"rgb(" + shade + "," + shade + "," + shade +
             ")\"><title>" + shown + "</title></rect>\n";
    }
  }
  return svg + "</svg>\n";
}

Status writeText(const std::string &path, const std::string &content) {
  Expected<std::unique_ptr<OutputFile>> out = OutputFile::create(path);
  if (!out)
    return out.error();
  if (Status status = (*out)->write(std::as_bytes(std::span(content))); !status)
    return status;
  return (*out)->commit();
}

Status writePicture(const std::string &path, size_t rows, size_t columns, std::span<const float> weights) {
  const size_t side = std::clamp<size_t>(pictureSide / std::max<size_t>({rows, columns, 1}), 1, 16);
  std::vector<uint8_t> pixels(rows * side * columns * side);
  for (size_t y = 0; y < rows * side; ++y)
    for (size_t x = 0; x < columns * side; ++x)
      pixels[y * columns * side + x] = grey(weights[y / side * columns + x / side]);
  return writePng(path, uint32_t(columns * side), uint32_t(rows * side), pixels);
}

} // namespace

Expected<AttentionChoice> AttentionChoice::of(const Model &model) {
  size_t bytes = 0;
  const char *text = rapt_module_manifest(model.module.get(), &bytes);
  Expected<json::Value> manifest = json::parse(std::string_view(text, bytes));
  if (!manifest)
    return Error{"the manifest of " + std::string(model.info.name) + ": " + manifest.error().message};
  AttentionChoice choice;
  const json::Value *facts = manifest->find("model");
  for (auto [key, numbers] :
       {std::pair("attention_layers", &choice.layers), std::pair("attention_heads", &choice.heads)})
    if (const json::Value *list = facts ? facts->find(key) : nullptr; list && list->asArray())
      for (const json::Value &number : *list->asArray())
        numbers->push_back(number.asInteger().value_or(0));
  return choice;
}

Outcome checkAttention(const Model &model, const std::vector<std::string> &tensors, const std::string &name) {
  if (std::find(tensors.begin(), tensors.end(), name) != tensors.end())
    return {};
  return {RAPT_UNSUPPORTED, std::string(model.info.name) + " does not give its attention weights: compile it with " +
                                "raptc --attention-weights, or --attention-weights=LAYERS/HEADS for some of them"};
}

Outcome axisOf(const rapt_tokenizer *tokenizer, const Ids &ids, std::vector<std::string> &labels) {
  for (int32_t id : ids) {
    std::string &label = labels.emplace_back(std::to_string(id));
    if (tokenizer)
      if (Outcome outcome = decode(tokenizer, {id}, label, RAPT_DECODE_KEEP_SPECIAL); !outcome)
        return outcome;
  }
  return {};
}

Status writeAttentionMaps(const std::string &folder, const std::string &name, const AttentionChoice &choice,
                          const RowOutput &output, size_t row, const std::vector<std::string> &queries,
                          const std::vector<std::string> &keys) {
  if (mkdir(folder.c_str(), 0777) && errno != EEXIST)
    return Error{shownPath(folder) + ": cannot be made: " + strerror(errno)};
  const size_t layers = size_t(output.shape[2]), heads = size_t(output.shape[3]), positions = size_t(output.shape[4]);
  std::span<const float> all = output.row(row);
  for (size_t layer = 0; layer < layers; ++layer)
    for (size_t head = 0; head < heads; ++head) {
      std::vector<float> weights;
      for (size_t q = 0; q < queries.size(); ++q) {
        std::span<const float> line = all.subspan(((q * layers + layer) * heads + head) * positions, keys.size());
        weights.insert(weights.end(), line.begin(), line.end());
      }
      const std::string of = "layer" + std::to_string(choice.layers.empty() ? int64_t(layer) : choice.layers[layer]) +
                             "-head" + std::to_string(choice.heads.empty() ? int64_t(head) : choice.heads[head]);
      const std::string path = folder + "/" + name + "-" + of;
      const int64_t shape[] = {int64_t(queries.size()), int64_t(keys.size())};
      if (Status status = writeNpy(path + ".npy", NpyType::F32, shape, std::as_bytes(std::span(weights))); !status)
        return status;
      if (Status status = writeText(path + ".svg", drawing(name + " " + of, queries, keys, weights)); !status)
        return status;
      if (Status status = writePicture(path + ".png", queries.size(), keys.size(), weights); !status)
        return status;
    }
  return {};
}

/// Names of the attention outputs of all entries.
static Expected<std::vector<std::string>> attentionOutputs(const Model &model) {
  size_t bytes = 0;
  const char *text = rapt_module_manifest(model.module.get(), &bytes);
  Expected<json::Value> manifest = json::parse(std::string_view(text, bytes));
  if (!manifest)
    return Error{"the manifest of " + std::string(model.info.name) + ": " + manifest.error().message};
  std::vector<std::string> names;
  const json::Value *entries = manifest->find("entries");
  for (const json::Value &entry : entries && entries->asArray() ? *entries->asArray() : json::Array()) {
    const json::Value *buffers = entry.find("buffers");
    for (const json::Value &buffer : buffers && buffers->asArray() ? *buffers->asArray() : json::Array())
      if (const json::Value *name = buffer.find("name");
          name && name->asString() && name->asString()->ends_with("attentions"))
        names.push_back(*name->asString());
  }
  return names;
}

Outcome prepareAttention(const Options &options, const Model &model) {
  if (options.attention.empty())
    return {};
  Expected<std::vector<std::string>> names = attentionOutputs(model);
  if (!names)
    return {RAPT_BAD_FILE, names.error().message};
  return checkAttention(model, *names, names->empty() ? "attentions" : names->front());
}

Outcome drawGeneration(const Options &options, const Model &model, const Text &text, const Prompt &prompt,
                       const Ids &made) {
  Expected<std::vector<std::string>> names = attentionOutputs(model);
  Expected<AttentionChoice> choice = AttentionChoice::of(model);
  if (!names || !choice)
    return {RAPT_BAD_FILE, (!names ? names.error() : choice.error()).message};
  Ids read = prompt.ids;
  read.insert(read.end(), made.begin(), made.end());
  if (model.hasEncoder() && !made.empty())
    read.pop_back(); // each line is that of the token that came of it
  const std::vector<int64_t> readShape = {1, int64_t(read.size())}, sourceShape = {1, int64_t(prompt.source.size())};
  Ids sourceIds = prompt.source, readIds = read;
  std::vector<const char *> given = {model.hasEncoder() ? "decoder_input_ids" : "input_ids"};
  std::vector<rapt_tensor> inputs = {tensorOf(readShape, readIds.data())};
  if (model.hasEncoder()) {
    given.push_back("input_ids");
    inputs.push_back(tensorOf(sourceShape, sourceIds.data()));
  }
  std::vector<RowOutput> outputs;
  std::vector<std::string> wanted = *names;
  wanted.push_back("logits");
  if (Outcome outcome = runTensors(model, given, inputs, wanted, outputs); !outcome)
    return outcome;
  std::vector<std::string> source, target, chosen;
  Outcome outcome = axisOf(text.tokenizer.get(), prompt.source, source);
  for (auto [ids, labels] : {std::pair<const Ids *, std::vector<std::string> *>(&read, &target), {&made, &chosen}})
    if (outcome)
      outcome = axisOf(text.writer, *ids, *labels);
  if (!outcome)
    return outcome;
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string &name = (*names)[i];
    const bool isCross = name == "cross_attentions", isSource = name == "encoder_attentions";
    Status status = writeAttentionMaps(options.attention, name, *choice, outputs[i], 0,
                                       isCross    ? (made.empty() ? target : chosen)
                                       : isSource ? source
                                                  : target,
                                       isCross || isSource ? source : target);
    if (!status)
      return {RAPT_IO, status.error().message};
  }
  return {};
}

} // namespace rapt::run
