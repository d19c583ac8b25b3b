#include "module.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "code-object.h"
#include "target.h"

namespace emulator {

Status LoadedModule::load(const void* image, std::shared_ptr<LoadedModule>& result) {
  CodeHeader header;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.magic, kCodeMagic, sizeof kCodeMagic) != 0) return kInvalidImage;
  if (findTarget(header.target) != &currentTarget()) return kNoBinaryForGpu;
  auto module = std::make_shared<LoadedModule>();
  // The file stays open while the library is loaded: the loader knows libraries by their paths, and this one names the file.
  module->file_ = memfd_create("kernel", MFD_CLOEXEC);
  const char* const library = static_cast<const char*>(image) + sizeof header;
  if (write(module->file_, library, header.libraryBytes) != static_cast<ssize_t>(header.libraryBytes)) return kOutOfMemory;
  const std::string path = "/proc/self/fd/" + std::to_string(module->file_);
  module->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library_) {
    fprintf(stderr, "emulator: %s\n", dlerror());
    return kInvalidImage;
  }
  module->module = static_cast<const Module*>(dlsym(module->library_, "emulated_module"));
  result = std::move(module);
  return kSuccess;
}

LoadedModule::~LoadedModule() {
  if (library_) dlclose(library_);
  if (file_ >= 0) close(file_);
}

Function* LoadedModule::function(const std::string& name) {
  const auto known = functions_.find(name);
  if (known != functions_.end()) return known->second.get();
  const void* const kernel = dlsym(library_, ("emulated_kernel_" + name).c_str());
  if (!kernel) return nullptr;
  auto function = std::make_unique<Function>(Function{this, static_cast<const Kernel*>(kernel), name});
  return (functions_[name] = std::move(function)).get();
}

}  // namespace emulator
