#include "tiny.h"
#include <rapt/rapt.h>
#include <stdio.h>

static int describe(rapt_status status, rapt_module *module, const char *message) {
  rapt_module_info info = {sizeof info};
  if (status == RAPT_OK)
    status = rapt_module_get_info(module, &info);
  if (status != RAPT_OK) {
    printf("%s: %s\n", rapt_status_name(status), message);
    return 1;
  }
  printf("%s: %s, %d layers, vocabulary of %d\n", info.name, info.family, (int)info.layers, (int)info.vocabulary);
  rapt_module_release(module);
  return 0;
}

int main(void) {
  rapt_module *module = NULL;
  char message[512];
  rapt_status linked = rapt_module_from_artifact(&tiny_module, NULL, &module, message, sizeof message);
  if (describe(linked, module, message))
    return 1;
  return describe(rapt_module_open(LOADED, NULL, &module, message, sizeof message), module, message);
}
