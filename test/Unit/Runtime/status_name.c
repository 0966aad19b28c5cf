/* In C a variable of an enumeration may have any number; in C++ reading such a one is undefined. */
#include "rapt/rapt.h"

const char *name_of_number(int number) { return rapt_status_name((rapt_status)number); }
