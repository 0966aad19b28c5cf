// Models with a tower of texts and one of images: which text fits an image, and the vectors of both.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Json.h"
#include "lib/Support/Npy.h"
#include <cstdio>

namespace rapt::run {
namespace {

/// Vectors of texts or images, [count, width], in the order of the command line.
struct Vectors {
  std::vector<int64_t> shape = {0, 0};
  std::vector<float> data;

  void add(const RowOutput &more) {
    shape[0] += more.shape[0];
    shape[1] = more.shape[1];
    data.insert(data.end(), more.data.begin(), more.data.end());
  }
};

class PairRun final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome checkOutputs() const;
  Outcome readFacts();
  Outcome readTexts();
  Outcome encodeTexts();
  Outcome encodeImages();
  Outcome encodeBatch(const ImageBatch &batch);
  Outcome compare();
  Outcome printResult(const std::string &of, std::span<const float> logits);
  Outcome printVectors(const Vectors &vectors);
  Outcome write(const std::string &name, const std::vector<int64_t> &shape, std::span<const float> numbers) const;

  Text text;
  ImageReader reader;
  Scoring scoring = Scoring::Softmax;
  std::optional<std::pair<size_t, int32_t>> padding; ///< the length of texts, and the token that fills them up
  bool fillsAhead = false;                           ///< in front of them
  std::vector<TextRow> rows;
  Vectors ofTexts, ofImages;
};

Outcome PairRun::checkOutputs() const {
  for (const auto &[output, file] : options.outputs)
    if (output != "text_embeds" && output != "image_embeds" && output != "logits_per_image")
      return {RAPT_INVALID, std::string(model.info.name) + ": " + model.info.task + " has no output " +
                                json::printable(output) + "; it has text_embeds, image_embeds and logits_per_image"};
  return {};
}

/// The section texts.json: how scores are made of logits, and the length that texts are filled up to.
Outcome PairRun::readFacts() {
  size_t bytes = 0;
  const void *content = rapt_module_section(model.module.get(), "texts.json", &bytes);
  Expected<json::Value> facts = json::parse({static_cast<const char *>(content), bytes});
  const json::Value *scores = facts ? facts->find("scores") : nullptr;
  if (!scores || !scores->asString())
    return {RAPT_BAD_FILE,
            std::string(model.info.name) + ": the section texts.json does not tell how texts are scored"};
  scoring = *scores->asString() == "sigmoid" ? Scoring::Sigmoid : Scoring::Softmax;
  const json::Value *length = facts->find("length"), *token = facts->find("padding");
  if (length && token)
    padding = {size_t(length->asInteger().value_or(0)), int32_t(token->asInteger().value_or(0))};
  const json::Value *side = facts->find("padding_side");
  fillsAhead = side && side->asString() && *side->asString() == "left";
  return {};
}

Outcome PairRun::readTexts() {
  std::vector<std::string> texts = options.prompts;
  if (options.promptFile) {
    Expected<std::string> content = readPromptFile(options);
    if (!content)
      return {RAPT_IO, content.error().message};
    for (std::string &line : linesOf(*content))
      texts.push_back(std::move(line));
  }
  if (texts.empty() && options.images.empty())
    return {RAPT_INVALID, "there is no text: a line of the file is one"};
  if (!texts.empty())
    RAPT_RETURN_IF_ERROR(openText(model, /*needed=*/true, text));
  // The tokenizer's token fills texts up, as in transformers; the model's where the tokenizer has none.
  if (const int32_t pad = padding && text.tokenizer ? text.tokenizer.role(RAPT_TOKEN_PADDING) : -1; pad >= 0)
    padding->second = pad;
  for (std::string &own : texts) {
    TextRow &row = rows.emplace_back();
    row.origin = rows.size() - 1;
    row.text = std::move(own);
    RAPT_RETURN_IF_ERROR(encodeRow(model, text, row));
    if (model.info.max_positions && int64_t(row.ids.size()) > model.info.max_positions)
      return {RAPT_TOO_LONG, "text " + std::to_string(rows.size()) + " has " +
                                 counted(uint64_t(row.ids.size()), "token") + "; the model's positions hold " +
                                 std::to_string(model.info.max_positions)};
    if (padding && row.ids.size() < padding->first) {
      row.ids.insert(fillsAhead ? row.ids.begin() : row.ids.end(), padding->first - row.ids.size(), padding->second);
      row.types.resize(row.ids.size());
    }
  }
  return {};
}

Outcome PairRun::prepare() {
  RAPT_RETURN_IF_ERROR(checkOutputs());
  RAPT_RETURN_IF_ERROR(readFacts());
  RAPT_RETURN_IF_ERROR(readTexts());
  if (!options.images.empty())
    RAPT_RETURN_IF_ERROR(reader.open(model));
  RAPT_RETURN_IF_ERROR(makeContext(options, 0, model));
  note(std::string(model.info.name) + ": " + model.info.task + ", " +
       counted(uint64_t(options.images.size()), "image") + ", " + counted(uint64_t(rows.size()), "text"));
  return {};
}

Outcome PairRun::encodeTexts() {
  const std::span<const TextRow> all = rows;
  for (size_t first = 0; first < all.size();) {
    const size_t count = rowsTogether(all.subspan(first), model.info.hidden);
    std::vector<RowOutput> outputs;
    RAPT_RETURN_IF_ERROR(runRows(model, {}, all.subspan(first, count), {"text_embeds"}, outputs, "encode_text"));
    ofTexts.add(outputs[0]);
    first += count;
  }
  return {};
}

Outcome PairRun::encodeBatch(const ImageBatch &batch) {
  if (batch.shape[0] == 0)
    return {};
  std::vector<RowOutput> outputs;
  std::vector<rapt_tensor> tensors = {tensorOf(batch.shape, const_cast<float *>(batch.values.data()))};
  RAPT_RETURN_IF_ERROR(
      runTensors(model, {"pixel_values"}, std::move(tensors), {"image_embeds"}, outputs, "encode_image"));
  ofImages.add(outputs[0]);
  return {};
}

Outcome PairRun::encodeImages() {
  ImageBatch batch;
  for (const std::string &path : options.images) {
    int64_t shape[3];
    std::vector<float> values;
    RAPT_RETURN_IF_ERROR(reader.read(path, shape, values));
    if (!batch.takes(shape, values.size())) {
      RAPT_RETURN_IF_ERROR(encodeBatch(batch));
      batch = {};
    }
    batch.add(shape, values);
  }
  return encodeBatch(batch);
}

Outcome PairRun::write(const std::string &name, const std::vector<int64_t> &shape,
                       std::span<const float> numbers) const {
  for (const auto &[output, file] : options.outputs)
    if (output == name)
      if (Status status = writeNpy(file, NpyType::F32, shape, std::as_bytes(numbers)); !status)
        return {RAPT_IO, status.error().message};
  return {};
}

/// Prints how well the texts fit an image.
Outcome PairRun::printResult(const std::string &of, std::span<const float> logits) {
  std::vector<double> scores = score(logits, scoring);
  json::Array list;
  std::string lines = options.images.size() > 1 ? json::printable(of) + "\n" : std::string();
  for (size_t best : largest(scores, wantedResults(options, SIZE_MAX))) {
    list.emplace_back(json::Object{{"label", json::Value(rows[best].text)}, {"score", json::Value(scores[best])}});
    lines += shownScore(scores[best]) + "\t" + rows[best].text + "\n";
  }
  return sink.add(json::Value(std::move(list)), lines);
}

Outcome PairRun::printVectors(const Vectors &vectors) {
  const size_t width = size_t(vectors.shape[1]);
  for (size_t row = 0; row < size_t(vectors.shape[0]); ++row) {
    json::Array numbers;
    std::string line;
    for (float number : std::span(vectors.data).subspan(row * width, width)) {
      char shown[32];
      snprintf(shown, sizeof shown, "%.6g", double(number));
      line += (line.empty() ? "" : " ") + std::string(shown);
      numbers.emplace_back(double(number));
    }
    RAPT_RETURN_IF_ERROR(sink.add(json::Value(std::move(numbers)), line + "\n", ResultSink::Place::NextLine));
  }
  return {};
}

Outcome PairRun::compare() {
  std::vector<RowOutput> outputs;
  std::vector<rapt_tensor> tensors = {tensorOf(ofImages.shape, ofImages.data.data()),
                                      tensorOf(ofTexts.shape, ofTexts.data.data())};
  RAPT_RETURN_IF_ERROR(
      runTensors(model, {"image_embeds", "text_embeds"}, std::move(tensors), {"logits_per_image"}, outputs, "compare"));
  RAPT_RETURN_IF_ERROR(write("logits_per_image", outputs[0].shape, outputs[0].data));
  for (size_t i = 0; i < options.images.size(); ++i)
    RAPT_RETURN_IF_ERROR(printResult(options.images[i], outputs[0].row(i)));
  return {};
}

Outcome PairRun::run() {
  RAPT_RETURN_IF_ERROR(encodeTexts());
  RAPT_RETURN_IF_ERROR(encodeImages());
  RAPT_RETURN_IF_ERROR(write("text_embeds", ofTexts.shape, ofTexts.data));
  RAPT_RETURN_IF_ERROR(write("image_embeds", ofImages.shape, ofImages.data));
  if (!rows.empty() && !options.images.empty())
    return compare();
  return options.outputs.empty() || options.json ? printVectors(rows.empty() ? ofImages : ofTexts) : Outcome{};
}

Status PairRun::finish() { return sink.endTask(model.info.task); }

} // namespace

std::unique_ptr<Job> makePair(const Options &options, Model model) {
  return std::make_unique<PairRun>(options, std::move(model));
}

} // namespace rapt::run
