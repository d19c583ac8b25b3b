// The calls of libhiprtc that rocmforge binds: compiles kernel text with this machine's C++ compiler.
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "code-object.h"
#include "target.h"

#define HIPRTC_CALL extern "C" __attribute__((visibility("default"))) int

using namespace emulator;

extern char** environ;

namespace {

enum { kSuccess = 0, kInvalidInput = 3, kInvalidOption = 5, kCompilation = 6 };

struct File {
  std::string name, text;
};

struct Program {
  File source;
  std::vector<File> headers;
  std::string log, code;
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* const parent = getenv("TMPDIR");
    path = std::string(parent ? parent : "/tmp") + "/emulated-hiprtc-XXXXXX";
    if (!mkdtemp(path.data())) abort();
  }
  ~TemporaryFolder() {
    nftw(path.c_str(), [](const char* at, const struct stat*, int, FTW*) { return remove(at); }, 8, FTW_DEPTH | FTW_PHYS);
  }
  std::string path;
};

std::string contentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failed || waitpid(child, &status, 0) != child) return -1;
  return status;
}

void write(const std::string& folder, const File& file) {
  for (size_t slash = file.name.find('/'); slash != std::string::npos; slash = file.name.find('/', slash + 1))
    mkdir((folder + "/" + file.name.substr(0, slash)).c_str(), 0700);
  std::ofstream(folder + "/" + file.name) << file.text;
}

int compile(Program& program, const Target& target, const std::vector<std::string>& defines) {
  const TemporaryFolder folder;
  for (const File& header : program.headers) write(folder.path, header);
  // The file's own name, so that messages name it; beside, not over, a header of that name.
  write(folder.path, {program.source.name + ".cpp", program.source.text});
  const std::string library = folder.path + "/kernel.so", log = folder.path + "/log";
  const char* const compiler = getenv("CXX");
  std::vector<std::string> command = {compiler ? compiler : "g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-Wno-psabi",
                                      "-ffp-contract=off", "-fno-strict-aliasing", "-fvisibility=hidden",
                                      "-I" + folder.path, "-I" EMULATOR_HOME, "-include", "gpu-builtins.h",
                                      std::string("-D") + target.macro + "=1"};
  // Otherwise every half is converted by a call of a function that does it bit by bit.
  if (__builtin_cpu_supports("f16c")) command.push_back("-mf16c");
  command.insert(command.end(), defines.begin(), defines.end());
  command.insert(command.end(), {"-o", library, folder.path + "/" + program.source.name + ".cpp"});
  const int status = run(command, log);
  program.log = status == -1 ? "the C++ compiler cannot be started" : contentsOf(log);
  if (status != 0) return kCompilation;
  const std::string code = contentsOf(library);
  CodeHeader header{};
  memcpy(header.magic, kCodeMagic, sizeof kCodeMagic);
  snprintf(header.target, sizeof header.target, "%s", target.name);
  header.libraryBytes = code.size();
  program.code.assign(reinterpret_cast<const char*>(&header), sizeof header);
  program.code += code;
  return kSuccess;
}

}  // namespace

HIPRTC_CALL hiprtcVersion(int* major, int* minor) {
  *major = 7;
  *minor = 0;
  return kSuccess;
}

HIPRTC_CALL hiprtcCreateProgram(void** program, const char* text, const char* name, int headers, const char** texts,
                                const char** names) {
  if (!text || !name) return kInvalidInput;
  auto* const created = new Program{{name, text}, {}, {}, {}};
  for (int i = 0; i < headers; i++) created->headers.push_back({names[i], texts[i]});
  *program = created;
  return kSuccess;
}

HIPRTC_CALL hiprtcCompileProgram(void* program, int count, const char** options) {
  const std::string wantsTarget = "--offload-arch=";
  const Target* target = &currentTarget();
  std::vector<std::string> defines;
  for (int i = 0; i < count; i++) {
    const std::string option = options[i];
    if (option.rfind(wantsTarget, 0) == 0) target = findTarget(option.substr(wantsTarget.size()));
    if (option.rfind("-D", 0) == 0) defines.push_back(option);
  }
  if (!target) abort();  // as the hipRTC of ROCm 5.2 does for a target that it does not know
  return compile(*static_cast<Program*>(program), *target, defines);
}

HIPRTC_CALL hiprtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->log.size() + 1;
  return kSuccess;
}
HIPRTC_CALL hiprtcGetProgramLog(void* program, char* log) {
  strcpy(log, static_cast<Program*>(program)->log.c_str());
  return kSuccess;
}
HIPRTC_CALL hiprtcGetCodeSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->code.size();
  return kSuccess;
}
HIPRTC_CALL hiprtcGetCode(void* program, char* code) {
  const std::string& whole = static_cast<Program*>(program)->code;
  memcpy(code, whole.data(), whole.size());
  return kSuccess;
}
HIPRTC_CALL hiprtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* hiprtcGetErrorString(int status) {
  return status == kSuccess ? "HIPRTC_SUCCESS" : status == kCompilation ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR";
}
