#include <rapt/rapt.h>
#include <stdio.h>

int main(void) {
  rapt_module *module = NULL;
  char message[256];
  rapt_status status = rapt_module_open("absent.so", NULL, &module, message, sizeof message);
  printf("Rapt %s: %s: %s\n", rapt_version(), rapt_status_name(status), message);
  return status == RAPT_OK;
}
