// The matrix instructions, from their documented lane layouts: RDNA 3 and 4 ISA, "Wave matrix multiply accumulate"; CDNA ISA,
// "Matrix arithmetic". D = A * B + C for 16 x 16 tiles; a lane holds parts of a row of A, of a column of B, of a column of D.
#pragma once

typedef _Float16 emulated_half4 __attribute__((vector_size(8)));
typedef _Float16 emulated_half8 __attribute__((vector_size(16)));
typedef _Float16 emulated_half16 __attribute__((vector_size(32)));
typedef float emulated_float4 __attribute__((vector_size(16)));
typedef float emulated_float8 __attribute__((vector_size(32)));
typedef int emulated_int4 __attribute__((vector_size(16)));
typedef int emulated_int8 __attribute__((vector_size(32)));

namespace emulator {

template <class Vector, class Element>
static inline Element element(const Vector& vector, uint32_t index) {
  Element value;
  memcpy(&value, reinterpret_cast<const char*>(&vector) + index * sizeof(Element), sizeof(Element));
  return value;
}

// A lane's part of a row of A and of a column of B, exchanged at once: only one exchange's values are there to be read.
template <class Vector>
struct Operands {
  Vector row, column;
};

// RDNA 3: a lane holds a whole row of A and a whole column of B (all 16 values of k), and lanes 16-31 repeat lanes 0-15.
template <class Vector>
static inline void requireRepeated(const Exchange<Operands<Vector>>& all) {
  // Each lane looks at its own pair: all of them, at all.
  const uint32_t l = lane() % 16;
  const Operands<Vector> lower = all.of(l), upper = all.of(l + 16);
  if (memcmp(&lower, &upper, sizeof lower) != 0)
    block->fail(*block, "lanes 16-31 of a WMMA operand do not repeat lanes 0-15");
}

static inline void requireWave(uint32_t lanes) {
  if (block->waveSize != lanes) block->fail(*block, "a matrix instruction of the other wave size");
}

}  // namespace emulator

// RDNA 3, wave32. D: element i of lane l is row 2i + l / 16, column l % 16.
static inline emulated_float8 __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(emulated_half16 a, emulated_half16 b,
                                                                         emulated_float8 c) {
  using namespace emulator;
  requireWave(32);
  const Exchange<Operands<emulated_half16>> all({a, b});
  requireRepeated(all);
  const emulated_half16 column = all.of(lane() % 16).column;
  for (uint32_t i = 0; i < 8; i++) {
    const emulated_half16 row = all.of(2 * i + lane() / 16).row;
    for (uint32_t k = 0; k < 16; k++) c[i] += static_cast<float>(row[k]) * static_cast<float>(column[k]);
  }
  return c;
}

// As above with bytes: four to an int, k ascending.
static inline emulated_int8 __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(bool aSigned, emulated_int4 a, bool bSigned,
                                                                       emulated_int4 b, emulated_int8 c, bool) {
  using namespace emulator;
  requireWave(32);
  const Exchange<Operands<emulated_int4>> all({a, b});
  requireRepeated(all);
  const emulated_int4 column = all.of(lane() % 16).column;
  for (uint32_t i = 0; i < 8; i++) {
    const emulated_int4 row = all.of(2 * i + lane() / 16).row;
    for (uint32_t k = 0; k < 4; k++) c[i] = __builtin_amdgcn_sudot4(aSigned, row[k], bSigned, column[k], c[i], false);
  }
  return c;
}

// RDNA 4, wave32: lane l holds k = 8 (l / 16) ... + 7 of row (column) l % 16. D: element i is row 8 (l / 16) + i.
static inline emulated_float8 __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(emulated_half8 a, emulated_half8 b,
                                                                               emulated_float8 c) {
  using namespace emulator;
  requireWave(32);
  const Exchange<Operands<emulated_half8>> all({a, b});
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t row = 8 * (lane() / 16) + i, column = lane() % 16;
    for (uint32_t k = 0; k < 16; k++) {
      const uint32_t part = 16 * (k / 8);
      c[i] += static_cast<float>(all.of(row + part).row[k % 8]) * static_cast<float>(all.of(column + part).column[k % 8]);
    }
  }
  return c;
}

// CDNA, wave64: lane l holds k = 4 (l / 16) ... + 3 of row (column) l % 16. D: element i is row 4 (l / 16) + i.
static inline emulated_float4 __builtin_amdgcn_mfma_f32_16x16x16f16(emulated_half4 a, emulated_half4 b,
                                                                    emulated_float4 c, int, int, int) {
  using namespace emulator;
  requireWave(64);
  const Exchange<Operands<emulated_half4>> all({a, b});
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t row = 4 * (lane() / 16) + i, column = lane() % 16;
    for (uint32_t k = 0; k < 16; k++) {
      const uint32_t part = 16 * (k / 4);
      c[i] += static_cast<float>(all.of(row + part).row[k % 4]) * static_cast<float>(all.of(column + part).column[k % 4]);
    }
  }
  return c;
}

namespace emulator {

// MFMA of bytes, `Packed` of them a lane: lane l holds k = n (l / 16) ... of row (column) l % 16, n bytes a lane.
template <class Packed>
static inline emulated_int4 mfmaBytes(Packed a, Packed b, emulated_int4 c) {
  requireWave(64);
  constexpr uint32_t each = sizeof(Packed);
  const Exchange<Operands<Packed>> all({a, b});
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t row = 4 * (lane() / 16) + i, column = lane() % 16;
    for (uint32_t part = 0; part < 64; part += 16) {
      const Packed x = all.of(row + part).row, y = all.of(column + part).column;
      for (uint32_t k = 0; k < each; k++) c[i] += element<Packed, int8_t>(x, k) * element<Packed, int8_t>(y, k);
    }
  }
  return c;
}

}  // namespace emulator

static inline emulated_int4 __builtin_amdgcn_mfma_i32_16x16x16i8(int a, int b, emulated_int4 c, int, int, int) {
  return emulator::mfmaBytes<int>(a, b, c);
}
static inline emulated_int4 __builtin_amdgcn_mfma_i32_16x16x32_i8(long a, long b, emulated_int4 c, int, int, int) {
  return emulator::mfmaBytes<long>(a, b, c);
}
