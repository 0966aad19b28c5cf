#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::run {
namespace {

constexpr int64_t outputElements = 16 << 20; // of an output that is held at a time
constexpr size_t rowsAtATime = 64;

int64_t lengthOf(std::span<const TextRow> rows) {
  size_t length = 0;
  for (const TextRow &row : rows)
    length = std::max(length, row.ids.size());
  return int64_t(length);
}

} // namespace

std::span<const float> RowOutput::row(size_t row) const {
  const size_t each = shape[0] ? data.size() / size_t(shape[0]) : 0;
  return {data.data() + row * each, each};
}

std::span<const float> RowOutput::token(size_t row, size_t token) const {
  const size_t each = shape.size() > 2 ? size_t(shape[2]) : 1;
  return this->row(row).subspan(token * each, each);
}

Outcome encodeRow(const Model &model, const Text &text, TextRow &row) {
  auto options = sized<rapt_encode_options>();
  options.embedding_rows = model.info.vocabulary;
  options.most_ids = uint64_t(1) << 24;
  const rapt_text_view second = row.second ? text::viewOf(*row.second) : rapt_text_view{};
  RAPT_RETURN_IF_ERROR(text.tokenizer.encodePair(row.text, second, row.ids, row.types, &options));
  row.spans.resize(row.ids.size());
  return text.tokenizer.spans(row.text, second, row.spans, &options);
}

Expected<std::vector<std::string>> tensorsOf(const Model &model, std::string_view wanted) {
  size_t bytes = 0;
  const char *text = rapt_module_manifest(model.module.get(), &bytes);
  RAPT_ASSIGN_OR_RETURN(json::Value manifest, withContext("the manifest of " + std::string(model.info.name),
                                                          json::parse(std::string_view(text, bytes))));
  std::vector<std::string> names;
  const json::Value *entries = manifest.find("entries");
  for (const json::Value &entry : entries && entries->asArray() ? *entries->asArray() : json::Array()) {
    const json::Value *name = entry.find("name"), *buffers = entry.find("buffers");
    if (!name || !name->asString() || *name->asString() != wanted || !buffers || !buffers->asArray())
      continue;
    for (const json::Value &buffer : *buffers->asArray())
      if (const json::Value *own = buffer.find("name"); own && own->asString())
        names.push_back(*own->asString());
  }
  return names;
}

size_t rowsTogether(std::span<const TextRow> rows, int64_t columns) {
  size_t longest = 0, count = 0;
  for (const TextRow &row : rows.first(std::min(rows.size(), rowsAtATime))) {
    longest = std::max(longest, row.ids.size());
    if (count && int64_t((count + 1) * longest) > outputElements / std::max<int64_t>(columns, 1))
      break;
    ++count;
  }
  return count;
}

Outcome runRows(const Model &model, const std::vector<std::string> &tensors, std::span<const TextRow> rows,
                const std::vector<std::string> &names, std::vector<RowOutput> &outputs, const char *entry) {
  const std::vector<int64_t> shape = {int64_t(rows.size()), lengthOf(rows)};
  const size_t elements = size_t(shape[0] * shape[1]);
  std::vector<int32_t> ids(elements), types(elements);
  std::vector<int64_t> mask(elements);
  for (size_t r = 0; r < rows.size(); ++r) {
    const size_t at = r * size_t(shape[1]);
    std::copy(rows[r].ids.begin(), rows[r].ids.end(), ids.begin() + ptrdiff_t(at));
    std::copy(rows[r].types.begin(), rows[r].types.end(), types.begin() + ptrdiff_t(at));
    std::fill_n(mask.begin() + ptrdiff_t(at), rows[r].ids.size(), 1);
  }
  std::vector<const char *> given = {"input_ids", "attention_mask"};
  std::vector<rapt_tensor> all = {tensorOf(shape, ids.data()), tensorOf(shape, mask.data())};
  if (std::find(tensors.begin(), tensors.end(), "token_type_ids") != tensors.end()) {
    given.push_back("token_type_ids");
    all.push_back(tensorOf(shape, types.data()));
  }
  return runTensors(model, std::move(given), std::move(all), names, outputs, entry);
}

Outcome runTensors(const Model &model, std::vector<const char *> given, std::vector<rapt_tensor> all,
                   const std::vector<std::string> &names, std::vector<RowOutput> &outputs, const char *entry) {
  const size_t inputs = all.size();
  outputs.assign(names.size(), {});
  for (size_t i = 0; i < names.size(); ++i) {
    int64_t extents[9];
    int32_t rank = 0;
    RAPT_RETURN_IF_ERROR(Outcome::of([&](char *text, size_t size) {
      return rapt_run_shape(model.context.get(), entry, inputs, given.data(), all.data(), names[i].c_str(), extents,
                            &rank, text, size);
    }));
    outputs[i].shape.assign(extents, extents + rank);
    uint64_t count = 1;
    for (int64_t extent : outputs[i].shape)
      if (__builtin_mul_overflow(count, uint64_t(extent), &count) || count > uint64_t(PTRDIFF_MAX) / sizeof(float))
        return {RAPT_NOMEM, names[i] + " is larger than any memory"};
    if (!hasRoom(count * sizeof(float)))
      return {RAPT_NOMEM, "no memory for " + names[i] + ", " + inUnits(count * sizeof(float))};
    outputs[i].data.resize(count);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    given.push_back(names[i].c_str());
    all.push_back(tensorOf(outputs[i].shape, outputs[i].data.data()));
  }
  Interrupts interrupts(model.context.get());
  return Outcome::of([&](char *text, size_t size) {
    return rapt_run(model.context.get(), entry, all.size(), given.data(), all.data(), text, size);
  });
}

} // namespace rapt::run
