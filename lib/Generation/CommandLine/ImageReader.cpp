#include "lib/Generation/CommandLine/ImageReader.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"

namespace rapt::run {

Outcome ImageReader::open(const Model &model) {
  size_t bytes = 0;
  const void *json = rapt_module_section(model.module.get(), "preprocessor_config.json", &bytes);
  if (!json)
    return {RAPT_UNSUPPORTED, std::string(model.info.name) +
                                  " was compiled without a preprocessor_config.json, which says how images are resized "
                                  "and normalized: give pixels with --input pixel_values=FILE.npy"};
  rapt_image_processor *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_image_processor_open(static_cast<const char *>(json), bytes, &opened, message, size);
  });
  processor.reset(opened);
  return outcome;
}

Outcome ImageReader::read(const std::string &path, int64_t (&shape)[3], std::vector<float> &values) const {
  constexpr uint64_t mostFileBytes = uint64_t(1) << 28;
  Expected<std::string> file = readFile(path, mostFileBytes);
  if (!file)
    return {RAPT_IO, file.error().message};
  auto call = [&](char *message, size_t size) {
    return rapt_image_processor_run(processor.get(), file->data(), file->size(), values.data(), values.size(), shape,
                                    message, size);
  };
  values.resize(3 * 224 * 224); // of most models
  Outcome outcome = Outcome::of(call);
  const auto count = [&] { return size_t(shape[0] * shape[1] * shape[2]); };
  if (outcome.status == RAPT_FULL) {
    values.resize(count());
    outcome = Outcome::of(call);
  }
  if (!outcome)
    return {outcome.status, json::printable(path) + ": " + outcome.message};
  values.resize(count());
  return {};
}

} // namespace rapt::run
