/** What the processor and the operating system support, asked before any other kernel is loaded. Compiled for every processor. */
#include "export.h"

#if defined(__x86_64__)

/** The bits of the result, as `../variants.ts` names them. */
constexpr u32 AVX2 = 1;
constexpr u32 AVX512_VNNI = 2;
constexpr u32 AMX_INT8 = 4;

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

/** Whether the operating system lets this process's threads use tiles, which it has to be asked for. */
static bool grantsTiles() {
#if defined(__linux__)
  constexpr long ARCH_PRCTL = 158;
  constexpr long REQUEST_PERMISSION = 0x1023;
  constexpr long TILE_DATA = 18;
  long result = ARCH_PRCTL;
  __asm__ volatile("syscall" : "+a"(result) : "D"(REQUEST_PERMISSION), "S"(TILE_DATA) : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

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
  constexpr u32 TILE_INT8 = 1u << 24 | 1u << 25;
  constexpr u32 TILE_REGISTERS = 0x600e6;
  const bool hasTiles = (found & AVX512_VNNI) != 0 && all(seventh.d, TILE_INT8) && all(keptRegisters(), TILE_REGISTERS);
  if (hasTiles && grantsTiles()) found |= AMX_INT8;
  return found;
}

#elif defined(__aarch64__)

/** The bits of the result, as `../variants.ts` names them. */
constexpr u32 DOTPROD = 1;
constexpr u32 I8MM = 2;

#if defined(__linux__)
extern "C" unsigned long getauxval(unsigned long);

EXPORT u32 features() {
  constexpr unsigned long HARDWARE = 16;
  constexpr unsigned long ASIMD_DOTPROD = 1ul << 20;
  constexpr unsigned long MORE_HARDWARE = 26;
  constexpr unsigned long MATRICES_OF_BYTES = 1ul << 13;
  if ((getauxval(HARDWARE) & ASIMD_DOTPROD) == 0) return 0;
  return (getauxval(MORE_HARDWARE) & MATRICES_OF_BYTES) != 0 ? DOTPROD | I8MM : DOTPROD;
}
#elif defined(__APPLE__)
/** Every Mac with such a processor has products of four bytes; which one has more would take a symbol of the system's library. */
EXPORT u32 features() { return DOTPROD; }
#else
EXPORT u32 features() { return 0; }
#endif

#endif
