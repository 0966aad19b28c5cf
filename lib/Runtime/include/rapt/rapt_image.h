/*===- rapt_image.h - Images for compiled models -----------------------------===*\
|*
|* C99. Turns JPEG, PNG and WebP files into the pixel_values of a vision transformer.
|* A part of librapt_text; rapt_text.h has the rules for memory and results.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_IMAGE_H
#define RAPT_RAPT_IMAGE_H
#include "rapt_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How image files become the pixel_values of a model. Immutable: any number of threads may use one at once. */
typedef struct rapt_image_processor rapt_image_processor;

/** Reads the content of preprocessor_config.json. BAD_FILE: not JSON, or of a kind that is not supported; the message
 * names the member and its value. */
RAPT_TEXT_API rapt_status rapt_image_processor_open(const char *json, size_t json_size, rapt_image_processor **result,
                                                    char *message, size_t message_size);
/** NULL is allowed. */
RAPT_TEXT_API void rapt_image_processor_free(rapt_image_processor *processor);

/** Decodes the content of a JPEG, PNG or WebP file, turns it upright, resizes, crops, rescales and normalizes it, with
 * the numbers that Hugging Face's processors make with Pillow. `values` receives f32 [channels, height, width], whose
 * extents are written to `shape` (never NULL). BAD_FILE: neither JPEG, PNG nor WebP, animated, damaged, or with more
 * than 65,535 pixels on a side or 2^26 in all, which is reported before anything is decoded. */
RAPT_TEXT_API rapt_status rapt_image_processor_run(const rapt_image_processor *processor, const void *file,
                                                   size_t file_size, float *values, size_t capacity, int64_t shape[3],
                                                   char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* RAPT_RAPT_IMAGE_H */
