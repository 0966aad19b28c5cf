//===- HarmlessKeys.cpp - Keys of configs that no result depends on ------------===//
#include "lib/Import/Module/HarmlessKeys.h"

using namespace rapt::importing;

std::vector<std::string_view> harmless::keys(std::initializer_list<Group> groups,
                                             std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> all(own);
  for (Group group : groups)
    all.insert(all.end(), group.begin(), group.end());
  return all;
}
