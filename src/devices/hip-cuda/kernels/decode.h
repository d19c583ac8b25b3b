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

/// A group's scale and min for each of its halves, twice in a word.
struct PairedScales {
  u32 scale[2], min[2];
};

DEVICE u32 twice(f32 value) {
  f32 larger = within_halves(value * WEIGHT_SCALE);
  return pack_halves(larger, larger);
}

DEVICE PairedScales paired_scales(const P::S::Loaded& loaded) {
  GroupScales of = P::S::of(loaded);
  return {{twice(of.scale[0]), twice(of.scale[1])}, {twice(of.min[0]), twice(of.min[1])}};
}

/// Four signed or unsigned bytes less OFFSET, times a scale, plus a min.
DEVICE u32x2 quad_halves(u32 quad, u32 scale, u32 min) {
  u32 levels = P::levels(quad), bias = pack_halves(1024.0f + P::OFFSET, 1024.0f + P::OFFSET);
  if (P::SIGNED) {
    levels ^= 0x80808080u;
    bias = pack_halves(1152.0f + P::OFFSET, 1152.0f + P::OFFSET);
  }
  // The byte b under the half 1024 is the half 1024 + b.
  u32 low = halves_sub(choose_bytes(levels, 0x64646464u, 0x4140u), bias);
  u32 high = halves_sub(choose_bytes(levels, 0x64646464u, 0x4342u), bias);
  if (P::S::MINS) return {halves_fma(low, scale, min), halves_fma(high, scale, min)};
  return {halves_mul(low, scale), halves_mul(high, scale)};
}

/// Octet `t` of a group, WEIGHT_SCALE times larger.
DEVICE u32x4 octet_halves(const P::Q::Loaded& quants, const PairedScales& scales, i32 t) {
  u32x2 low = quad_halves(P::Q::quad(quants, t), scales.scale[0], scales.min[0]);
  u32x2 high = quad_halves(P::Q::quad(quants, t + 4), scales.scale[1], scales.min[1]);
  return {low.x, low.y, high.x, high.y};
}
