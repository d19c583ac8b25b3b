// A loaded code object and its kernels.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "card.h"
#include "gpu-block.h"
#include "status.h"

namespace emulator {

class LoadedModule;

struct Function {
  LoadedModule* module;
  const Kernel* kernel;
  std::string name;
};

// Shared by its handle and by every launch that is still queued.
class LoadedModule : public std::enable_shared_from_this<LoadedModule> {
 public:
  // Reads a code object; the status says why there is none.
  static Status load(const void* image, std::shared_ptr<LoadedModule>& result);
  ~LoadedModule();

  Card& card = emulator::card();  // where it was loaded
  const Module* module = nullptr;
  std::mutex running;  // its static shared memory holds one block at a time
  // Null for an unknown name.
  Function* function(const std::string& name);

 private:
  void* library_ = nullptr;
  int file_ = -1;
  std::map<std::string, std::unique_ptr<Function>> functions_;
};

}  // namespace emulator
