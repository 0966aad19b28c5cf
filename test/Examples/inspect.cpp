// A C++ application: what a model is, through rapt.hpp. It uses the C++ library and exceptions of its own.
#include "rapt/rapt.hpp"
#include <iostream>
#include <stdexcept>

static rapt::Module openOrThrow(const char *path) {
  rapt::Module module;
  auto options = rapt::sized<rapt_module_options>();
  options.flags = RAPT_INSPECT;
  if (rapt::Outcome outcome = rapt::Module::open(path, module, &options); !outcome)
    throw std::runtime_error(outcome.message);
  return module;
}

int main(int argc, char **argv) {
  try {
    rapt::Module module = openOrThrow(argc > 1 ? argv[1] : "");
    rapt_module_info info = module.info();
    std::cout << info.name << ": " << info.vocabulary << " tokens, " << info.positions << " positions\n";
  } catch (const std::exception &e) {
    std::cout << "caught " << e.what() << "\n";
  }
}
