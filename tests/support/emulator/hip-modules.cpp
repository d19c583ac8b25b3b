// Code objects and launches of the emulated libamdhip64.
#include <cstring>

#include "hip-checks.h"
#include "module.h"
#include "target.h"

using namespace emulator;

namespace {

using Handle = std::shared_ptr<LoadedModule>;

// The arguments' values, copied when the launch is queued, as the driver does.
struct Arguments {
  std::vector<uint64_t> words;
  std::vector<void*> pointers;

  Arguments(const Kernel& kernel, void** values) {
    std::vector<size_t> offsets;
    for (uint32_t i = 0; i < kernel.argumentCount; i++) {
      offsets.push_back(words.size());
      words.resize(words.size() + (kernel.arguments[i].size + 7) / 8);
      memcpy(&words[offsets.back()], values[i], kernel.arguments[i].size);
    }
    for (const size_t offset : offsets) pointers.push_back(&words[offset]);
  }
  Arguments(const Arguments&) = delete;
};

// Of the card itself, of a peer that it reaches, or pinned and mapped.
bool reaches(Card& card, const void* address) {
  for (int i = 0; i < cardCount(); i++)
    if (cardAt(i).memory.owns(address)) return i == card.ordinal || card.reaches(i);
  return isMapped(address, 1);
}

// A pointer argument is null, or what it points to can be reached.
bool pointersAreDevice(const Kernel& kernel, const Arguments& arguments) {
  for (uint32_t i = 0; i < kernel.argumentCount; i++) {
    if (!kernel.arguments[i].pointer) continue;
    const void* const pointer = *static_cast<void**>(arguments.pointers[i]);
    if (pointer && !reaches(card(), pointer)) return false;
  }
  return true;
}

}  // namespace

HIP_CALL hipModuleLoadData(void** module, const void* image) {
  if (const Status failed = state().enter("hipModuleLoadData")) return failed;
  Handle loaded;
  if (const Status failed = LoadedModule::load(image, loaded)) return failed;
  auto* const handle = new Handle(std::move(loaded));
  state().add(Kind::module, handle);
  *module = handle;
  return kSuccess;
}

HIP_CALL hipModuleUnload(void* module) {
  const Status failed = state().enter("hipModuleUnload");
  if (!state().remove(Kind::module, module)) return kInvalidHandle;
  delete static_cast<Handle*>(module);
  return failed;
}

HIP_CALL hipModuleGetFunction(void** function, void* module, const char* name) {
  if (const Status failed = state().enter("hipModuleGetFunction")) return failed;
  if (!state().alive(Kind::module, module)) return kInvalidHandle;
  *function = (*static_cast<Handle*>(module))->function(name);
  return *function ? kSuccess : kNotFound;
}

HIP_CALL hipModuleLaunchKernel(void* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                               unsigned blockY, unsigned blockZ, unsigned sharedBytes, void* stream, void** values,
                               void** extra) {
  if (const Status failed = streamCall("hipModuleLaunchKernel", stream)) return failed;
  const Function& function = *static_cast<Function*>(handle);
  if (&function.module->card != &card()) return kInvalidHandle;
  const uint64_t threads = uint64_t{blockX} * blockY * blockZ;
  if (extra || !gridX || !gridY || !gridZ || !threads) return kInvalidValue;
  if (threads > kMaxThreads || threads > function.kernel->maxThreads) return kInvalidConfiguration;
  if (sharedBytes > static_cast<unsigned>(kSharedBytes)) return kLaunchOutOfResources;
  const auto arguments = std::make_shared<Arguments>(*function.kernel, values);
  const LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, currentTarget().waveSize};
  submit(stream, [=, module = function.module->shared_from_this(), name = function.name, kernel = function.kernel] {
    std::lock_guard lock(module->running);
    const Turn turn(card());
    if (const Status asked = state().enter("kernel")) return card().lose(asked, "a test asked kernel " + name + " to fail");
    if (!pointersAreDevice(*kernel, *arguments))
      return card().lose(kIllegalAddress, "kernel " + name + " was given a pointer that is not the device's");
    const std::string error = runKernel(*module->module, *kernel, shape, arguments->pointers.data());
    if (!error.empty()) card().lose(kIllegalAddress, "kernel " + name + ": " + error);
  });
  return kSuccess;
}
