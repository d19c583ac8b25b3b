// The calls of libhipblaslt that rocmforge binds: every object, shape, leading dimension and type is checked, and products are
// computed with real numbers on the emulated streams.
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>

#define BLAS_CALL extern "C" __attribute__((visibility("default"))) int

// Of the emulated driver: queues `work` with a copy of its arguments, also into a graph that a capture builds; gives its status.
extern "C" int emulatorSubmit(const char* call, void* stream, void (*work)(const void*), const void* arguments, size_t bytes,
                              void (*ended)(const void*));
// Whether a range lies in one live allocation of the device.
extern "C" int emulatorHolds(const void* address, size_t bytes);

namespace {

enum BlasStatus { kSuccess = 0, kInvalidValue = 3, kNotSupported = 7 };
enum DataType { kFloats = 0, kHalves = 2, kBfloats = 14 };
constexpr int kComputeFloats = 2, kPlain = 111, kTransposed = 112;

enum class Kind { handle, operation, layout, preference };

struct Object {
  const Kind kind;
};
struct Handle : Object {
  Handle() : Object{Kind::handle} {}
};
struct Operation : Object {
  Operation() : Object{Kind::operation} {}
  int transposeFirst = kPlain, transposeSecond = kPlain;
};
struct Layout : Object {
  Layout() : Object{Kind::layout} {}
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  // Of the last element's end from the first's beginning.
  size_t bytes() const { return ((columns - 1) * leading + rows) * (type == kFloats ? 4 : 2); }
};
struct Preference : Object {
  Preference() : Object{Kind::preference} {}
  uint64_t workspace = 0;
};

std::mutex mutex;
std::set<Object*>& objects() {
  static auto* const all = new std::set<Object*>;
  return *all;
}

int add(void** place, Object* object) {
  std::lock_guard lock(mutex);
  objects().insert(object);
  *place = object;
  return kSuccess;
}

template <class T>
T* as(void* address, Kind kind) {
  std::lock_guard lock(mutex);
  auto* const object = static_cast<Object*>(address);
  return objects().count(object) && object->kind == kind ? static_cast<T*>(object) : nullptr;
}
Operation* operationOf(void* address) { return as<Operation>(address, Kind::operation); }
Layout* layoutOf(void* address) { return as<Layout>(address, Kind::layout); }

template <class T>
int destroy(void* address, Kind kind) {
  T* const object = as<T>(address, kind);
  if (!object) return kInvalidValue;
  std::lock_guard lock(mutex);
  objects().erase(object);
  delete object;
  return kSuccess;
}

// What an algorithm was chosen for: one that is used for something else is refused.
struct Algorithm {
  uint32_t rows, columns, depth, mark;
  uint64_t workspace;
};
constexpr uint32_t kMark = 0x616c676f;

// out[i, j] = factor * sum over l of first[l, i] second[l, j] + addend[i, j], column by column; without an addend it is null.
struct Product {
  const void *first, *second;
  const float* addend;
  void* out;
  uint64_t rows, columns, depth;
  int64_t leadingFirst, leadingSecond, leadingOut;
  float factor;
  int type, outType;
  uint8_t* workspace;
  size_t workspaceBytes;
};

float numberAt(const void* numbers, uint64_t index, int type) {
  if (type == kFloats) return static_cast<const float*>(numbers)[index];
  const uint16_t bits = static_cast<const uint16_t*>(numbers)[index];
  if (type == kBfloats) {
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
  _Float16 half;
  memcpy(&half, &bits, 2);
  return static_cast<float>(half);
}

void compute(const void* arguments) {
  const Product& of = *static_cast<const Product*>(arguments);
  // What lies in the workspace is lost, and nothing may be read from it.
  constexpr size_t kPoisoned = 4096;
  memset(of.workspace, 0xff, of.workspaceBytes < kPoisoned ? of.workspaceBytes : kPoisoned);
  for (uint64_t j = 0; j < of.columns; j++) {
    for (uint64_t i = 0; i < of.rows; i++) {
      double sum = 0;
      for (uint64_t l = 0; l < of.depth; l++) {
        const double first = numberAt(of.first, i * of.leadingFirst + l, of.type);
        sum += first * numberAt(of.second, j * of.leadingSecond + l, of.type);
      }
      const uint64_t at = j * of.leadingOut + i;
      const double value = of.factor * sum + (of.addend ? of.addend[at] : 0);
      if (of.outType == kFloats) static_cast<float*>(of.out)[at] = static_cast<float>(value);
      else static_cast<_Float16*>(of.out)[at] = static_cast<_Float16>(value);
    }
  }
}

// Whether the layouts are those of the kinds of products that there are: numbers of one type, the first transposed, to floats, or halves
// to halves.
bool fits(const Operation* operation, const Layout* a, const Layout* b, const Layout* c, const Layout* d) {
  if (!operation || !a || !b || !c || !d) return false;
  if (operation->transposeFirst != kTransposed || operation->transposeSecond != kPlain) return false;
  const bool halves = a->type == kHalves && d->type == kHalves;
  if (b->type != a->type || c->type != d->type || !(d->type == kFloats || halves)) return false;
  const bool shapes = a->rows == b->rows && d->rows == a->columns && d->columns == b->columns;
  return shapes && c->rows == d->rows && c->columns == d->columns && c->leading == d->leading;
}

}  // namespace

BLAS_CALL hipblasLtCreate(void** handle) { return add(handle, new Handle); }
BLAS_CALL hipblasLtDestroy(void* handle) { return destroy<Handle>(handle, Kind::handle); }

BLAS_CALL hipblasLtMatmulDescCreate(void** operation, int compute, int scale) {
  return compute == kComputeFloats && scale == kFloats ? add(operation, new Operation) : kNotSupported;
}
BLAS_CALL hipblasLtMatmulDescSetAttribute(void* address, int attribute, const int* value, size_t bytes) {
  Operation* const operation = operationOf(address);
  if (!operation || bytes != 4 || attribute < 0 || attribute > 1) return kInvalidValue;
  if (*value != kPlain && *value != kTransposed) return kInvalidValue;
  (attribute == 0 ? operation->transposeFirst : operation->transposeSecond) = *value;
  return kSuccess;
}
BLAS_CALL hipblasLtMatmulDescDestroy(void* operation) { return destroy<Operation>(operation, Kind::operation); }

BLAS_CALL hipblasLtMatrixLayoutCreate(void** place, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (type != kFloats && type != kHalves && type != kBfloats) return kNotSupported;
  if (rows == 0 || columns == 0 || leading < static_cast<int64_t>(rows)) return kInvalidValue;
  auto* const layout = new Layout;
  layout->type = type;
  layout->rows = rows;
  layout->columns = columns;
  layout->leading = leading;
  return add(place, layout);
}
BLAS_CALL hipblasLtMatrixLayoutDestroy(void* layout) { return destroy<Layout>(layout, Kind::layout); }

BLAS_CALL hipblasLtMatmulPreferenceCreate(void** preference) { return add(preference, new Preference); }
BLAS_CALL hipblasLtMatmulPreferenceSetAttribute(void* address, int attribute, const uint64_t* value, size_t bytes) {
  auto* const preference = as<Preference>(address, Kind::preference);
  constexpr int kMostWorkspace = 1;
  if (!preference || attribute != kMostWorkspace || bytes != 8) return kInvalidValue;
  preference->workspace = *value;
  return kSuccess;
}
BLAS_CALL hipblasLtMatmulPreferenceDestroy(void* preference) {
  return destroy<Preference>(preference, Kind::preference);
}

// A result begins with the algorithm, 16 bytes of its own and 8 for its workspace.
BLAS_CALL hipblasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c, void* d,
                                          void* preference, int wanted, void* results, int* found) {
  *found = 0;
  const auto* const limits = as<Preference>(preference, Kind::preference);
  const Layout *first = layoutOf(a), *second = layoutOf(b), *out = layoutOf(d);
  if (!as<Handle>(handle, Kind::handle) || !limits || wanted < 1) return kInvalidValue;
  if (!fits(operationOf(operation), first, second, layoutOf(c), out)) return kNotSupported;
  const Algorithm algorithm{static_cast<uint32_t>(out->rows), static_cast<uint32_t>(out->columns),
                            static_cast<uint32_t>(first->rows), kMark, limits->workspace};
  memcpy(results, &algorithm, sizeof algorithm);
  *found = 1;
  return kSuccess;
}

BLAS_CALL hipblasLtMatmul(void* handle, void* operation, const float* alpha, const void* first, void* a, const void* second,
                          void* b, const float* beta, const void* addend, void* c, void* out, void* d,
                          const void* chosen, void* workspace, size_t workspaceBytes, void* stream) {
  const Layout *x = layoutOf(a), *y = layoutOf(b), *z = layoutOf(d);
  if (!as<Handle>(handle, Kind::handle)) return kInvalidValue;
  const bool adds = *beta == 1 && addend != out && z->type == kFloats, plain = *beta == 0 && addend == out;
  if (!fits(operationOf(operation), x, y, layoutOf(c), z) || !(adds || plain)) return kNotSupported;
  Algorithm algorithm;
  memcpy(&algorithm, chosen, sizeof algorithm);
  if (algorithm.mark != kMark || algorithm.rows != z->rows || algorithm.columns != z->columns ||
      algorithm.depth != x->rows || algorithm.workspace > workspaceBytes) {
    return kInvalidValue;
  }
  const bool held = emulatorHolds(first, x->bytes()) && emulatorHolds(second, y->bytes()) && emulatorHolds(out, z->bytes()) &&
                    emulatorHolds(addend, z->bytes()) && emulatorHolds(workspace, workspaceBytes);
  if (!held) return kInvalidValue;
  const Product product{first,
                        second,
                        adds ? static_cast<const float*>(addend) : nullptr,
                        out,
                        z->rows,
                        z->columns,
                        x->rows,
                        x->leading,
                        y->leading,
                        z->leading,
                        *alpha,
                        x->type,
                        z->type,
                        static_cast<uint8_t*>(workspace),
                        workspaceBytes};
  return emulatorSubmit("hipblasLtMatmul", stream, compute, &product, sizeof product, nullptr);
}

// For tests: handles, descriptors and layouts that were not destroyed.
BLAS_CALL emulatorBlasObjects() {
  std::lock_guard lock(mutex);
  return static_cast<int>(objects().size());
}
