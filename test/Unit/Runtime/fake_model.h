/* The header that would come with the compiled model of fake_artifact.c. */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H
#include "rapt/artifact.h"
#ifdef __cplusplus
extern "C" {
#endif
extern const rapt_artifact fake_module;
#ifdef __cplusplus
}
#endif
#endif
