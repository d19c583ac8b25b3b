/** What the processor and the operating system support, asked before any other kernel is loaded. Compiled for every processor. */
#include "export.h"

#if defined(__x86_64__)

/** The bits of the result, as `../variants.ts` names them. */
constexpr u32 AVX2 = 1;
constexpr u32 AVX512_VNNI = 2;

struct Registers {
  u32 a, b, c, d;
};

static Registers cpuid(u32 leaf, u32 subleaf) {
  Registers r;
  __asm__("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(subleaf));
  return r;
}

/** Which registers the operating system keeps for a thread. */
static u32 keptRegisters() {
  u32 low;
  u32 high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool all(u32 found, u32 wanted) { return (found & wanted) == wanted; }

EXPORT u32 features() {
  if (cpuid(0, 0).a < 7) return 0;
  const u32 first = cpuid(1, 0).c;
  constexpr u32 OSXSAVE = 1u << 27;
  constexpr u32 AVX = 1u << 28;
  constexpr u32 F16C = 1u << 29;
  if (!all(first, OSXSAVE | AVX | F16C) || !all(keptRegisters(), 0x6)) return 0;
  const Registers seventh = cpuid(7, 0);
  u32 found = 0;
  if (all(seventh.b, 1u << 5)) found |= AVX2;
  constexpr u32 F_DQ_BW_VL = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  constexpr u32 VNNI = 1u << 11;
  if (found != 0 && all(seventh.b, F_DQ_BW_VL) && all(seventh.c, VNNI) && all(keptRegisters(), 0xe6)) found |= AVX512_VNNI;
  return found;
}

#elif defined(__aarch64__)

/** The bits of the result, as `../variants.ts` names them. */
constexpr u32 DOTPROD = 1;

#if defined(__linux__)
extern "C" unsigned long getauxval(unsigned long);

EXPORT u32 features() {
  constexpr unsigned long HARDWARE = 16;
  constexpr unsigned long ASIMD_DOTPROD = 1ul << 20;
  return (getauxval(HARDWARE) & ASIMD_DOTPROD) != 0 ? DOTPROD : 0;
}
#elif defined(__APPLE__)
/** Every Mac with such a processor has them. */
EXPORT u32 features() { return DOTPROD; }
#else
EXPORT u32 features() { return 0; }
#endif

#endif
