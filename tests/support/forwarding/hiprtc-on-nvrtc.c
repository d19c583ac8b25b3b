/*
 * libhiprtc over libnvrtc: both have the same calls, statuses and options; what is loaded is CUDA's cubin. NVRTC's calls are
 * declared here, because its header is not everywhere where the library is.
 */
#include <stddef.h>

#define HIPRTC __attribute__((visibility("default")))

typedef struct Program *Program;
typedef const char *const *Texts;

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(Program *program, const char *source, const char *name, int headers, Texts texts, Texts names);
int nvrtcCompileProgram(Program program, int count, Texts options);
int nvrtcGetProgramLogSize(Program program, size_t *bytes);
int nvrtcGetProgramLog(Program program, char *log);
int nvrtcGetCUBINSize(Program program, size_t *bytes);
int nvrtcGetCUBIN(Program program, char *code);
int nvrtcDestroyProgram(Program *program);
const char *nvrtcGetErrorString(int status);

HIPRTC int hiprtcVersion(int *major, int *minor) { return nvrtcVersion(major, minor); }
HIPRTC int hiprtcCreateProgram(Program *program, const char *source, const char *name, int headers, Texts texts,
                               Texts names) {
  return nvrtcCreateProgram(program, source, name, headers, texts, names);
}
HIPRTC int hiprtcCompileProgram(Program program, int count, Texts options) {
  return nvrtcCompileProgram(program, count, options);
}
HIPRTC int hiprtcGetProgramLogSize(Program program, size_t *bytes) { return nvrtcGetProgramLogSize(program, bytes); }
HIPRTC int hiprtcGetProgramLog(Program program, char *log) { return nvrtcGetProgramLog(program, log); }
HIPRTC int hiprtcGetCodeSize(Program program, size_t *bytes) { return nvrtcGetCUBINSize(program, bytes); }
HIPRTC int hiprtcGetCode(Program program, char *code) { return nvrtcGetCUBIN(program, code); }
HIPRTC int hiprtcDestroyProgram(Program *program) { return nvrtcDestroyProgram(program); }
HIPRTC const char *hiprtcGetErrorString(int status) { return nvrtcGetErrorString(status); }
