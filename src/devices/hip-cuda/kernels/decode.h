// Quantized groups as f16, an octet (see halves.h) at a time.
#pragma once
#include "halves.h"
#include PACKED_FORMAT

typedef PackedFormat P;

/// Weights are made this many times larger, so that small ones do not fall among the subnormal halves; those of formats with large
/// numbers are not.
constexpr f32 WEIGHT_SCALE = P::WEIGHT_SCALE;

struct RawGroup {
  P::Q::Loaded quants;
  P::S::Loaded scales;
};

/// A group's scale and min for each of its halves, scale_to_half2 in a word.
struct PairedScales {
  u32 scale[2], min[2];
};

DEVICE u32 scale_to_half2(f32 value) {
  f32 larger = clamp_half(value * WEIGHT_SCALE);
  return pack_half2(larger, larger);
}

DEVICE PairedScales paired_scales(const P::S::Loaded& loaded) {
  GroupScales of = P::S::of(loaded);
  return {{scale_to_half2(of.scale[0]), scale_to_half2(of.scale[1])}, {scale_to_half2(of.min[0]), scale_to_half2(of.min[1])}};
}

/// Four signed or unsigned bytes less OFFSET, times a scale, plus a min.
DEVICE u32x2 decode_quad(u32 levels, u32 scale, u32 min) {
  u32 bias = pack_half2(1024.0f + P::OFFSET, 1024.0f + P::OFFSET);
  if (P::SIGNED) {
    levels ^= 0x80808080u;
    bias = pack_half2(1152.0f + P::OFFSET, 1152.0f + P::OFFSET);
  }
  // The byte b under the half 1024 is the half 1024 + b.
  u32 low = half2_sub(byte_permute(levels, 0x64646464u, 0x4140u), bias);
  u32 high = half2_sub(byte_permute(levels, 0x64646464u, 0x4342u), bias);
  if (P::S::MINS) return {half2_fma(low, scale, min), half2_fma(high, scale, min)};
  return {half2_mul(low, scale), half2_mul(high, scale)};
}

/// Octet `t` of a group, WEIGHT_SCALE times larger.
DEVICE u32x4 decode_octet(const P::Entries& entries, const PairedScales& scales, i32 t) {
  Octet levels = P::octet_levels(entries, t);
  u32x2 low = decode_quad(levels.low, scales.scale[0], scales.min[0]);
  u32x2 high = decode_quad(levels.high, scales.scale[1], scales.min[1]);
  return {low.x, low.y, high.x, high.y};
}
