// Eight neighbouring elements of a head in a paged cache, as they are stored, on their way to halves.
#pragma once
#include "halves.h"
#include "paged-cache.h"

#if CACHE == 2
struct Octet {
  u32x2 quants;
  u16 scale;
};

/// Octet `octet` of a head of SIZE elements, the `head`-th of the cache.
template <i32 SIZE, i32>
DEVICE Octet load_octet(const CacheElement* cache, ScalePlane scales, i64 head, i32 octet) {
  i64 at = head * SIZE + 8 * octet;
  return {*reinterpret_cast<const u32x2*>(cache + at), scales[at / 32]};
}

/// Two quants times their scales: the byte b under the half 1024 is the half 1024 + b, and b is 128 more than the quant.
DEVICE u32 quants_to_half2(u32 quants, u32 selector, u32 scales) {
  u32 lifted = byte_permute(quants ^ 0x80808080u, 0x64646464u, selector);
  return half2_mul(half2_sub(lifted, pack_half2(1152.0f, 1152.0f)), scales);
}

DEVICE u32x4 octet_to_half(const Octet& octet) {
  u32 scales = octet.scale | (u32(octet.scale) << 16);
  return {quants_to_half2(octet.quants.x, 0x4140u, scales), quants_to_half2(octet.quants.x, 0x4342u, scales),
          quants_to_half2(octet.quants.y, 0x4140u, scales), quants_to_half2(octet.quants.y, 0x4342u, scales)};
}
#else
typedef u32x4 Octet;

#if CACHE == 3
template <i32 SIZE, i32 TYPE>
DEVICE Octet load_octet(const CacheElement* cache, ScalePlane blocks, i64 head, i32 octet) {
  i64 first = head * SIZE + 8 * octet;
  if (TYPE == 1) return reinterpret_cast<const u32x4*>(cache)[first / 8];
  f32 at[8];
  load_eight<TYPE>(cache, blocks, first, at);
  return {pack_half2(clamp_half(at[0]), clamp_half(at[1])), pack_half2(clamp_half(at[2]), clamp_half(at[3])),
          pack_half2(clamp_half(at[4]), clamp_half(at[5])), pack_half2(clamp_half(at[6]), clamp_half(at[7]))};
}
#else
template <i32 SIZE, i32>
DEVICE Octet load_octet(const CacheElement* cache, ScalePlane, i64 head, i32 octet) {
  return *reinterpret_cast<const u32x4*>(cache + head * SIZE + 8 * octet);
}
#endif

DEVICE u32x4 octet_to_half(const Octet& octet) { return octet; }
#endif
