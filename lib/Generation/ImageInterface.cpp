//===- ImageInterface.cpp - rapt_image_processor_... -----------------------===//
#include "lib/Generation/TextInterface.h"
#include "lib/Image/Preprocess.h"
#include "rapt/rapt_image.h"

using namespace rapt;
using namespace rapt::text;

struct rapt_image_processor {
  image::Preprocessing how;
};

rapt_status rapt_image_processor_open(const char *json, size_t json_size, rapt_image_processor **result, char *message,
                                      size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !result)
      return invalid("rapt_image_processor_open: json or result is NULL");
    *result = nullptr;
    Expected<image::Preprocessing> how = image::readPreprocessing({json, json_size});
    if (!how)
      return {RAPT_BAD_FILE, how.error().message};
    *result = new rapt_image_processor{*how};
    return {};
  });
}

void rapt_image_processor_free(rapt_image_processor *processor) { delete processor; }

rapt_status rapt_image_processor_run(const rapt_image_processor *processor, const void *file, size_t file_size,
                                     float *values, size_t capacity, int64_t shape[3], char *message,
                                     size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!processor || !shape || (!file && file_size > 0))
      return invalid("rapt_image_processor_run: processor, file or shape is NULL");
    Expected<image::PixelValues> pixels =
        image::preprocess({static_cast<const char *>(file), file_size}, processor->how);
    if (!pixels)
      return {RAPT_BAD_FILE, pixels.error().message};
    shape[0] = pixels->channels, shape[1] = pixels->height, shape[2] = pixels->width;
    size_t count = 0;
    return give(pixels->values.data(), pixels->values.size(), values, capacity, &count, "numbers");
  });
}
