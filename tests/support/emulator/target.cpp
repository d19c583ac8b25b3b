#include "target.h"

#include <cstdlib>

namespace emulator {
namespace {

constexpr Target kTargets[] = {
    {"gfx1030", "__gfx1030__", 32, 2},
    {"gfx1100", "__gfx1100__", 32, 2},
    {"gfx1201", "__gfx1201__", 32, 2},
    {"gfx90a:sramecc+:xnack-", "__gfx90a__", 64, 2},
    {"gfx942:sramecc+:xnack-", "__gfx942__", 64, 304},
};

}  // namespace

const Target* findTarget(const std::string& name) {
  const std::string plain = name.substr(0, name.find(':'));
  for (const Target& target : kTargets) {
    const std::string other = target.name;
    if (other.substr(0, other.find(':')) == plain) return &target;
  }
  return nullptr;
}

const Target& currentTarget() {
  const char* const wanted = getenv("EMULATOR_TARGET");
  const Target* const found = findTarget(wanted ? wanted : "gfx1100");
  return found ? *found : kTargets[1];
}

}  // namespace emulator
