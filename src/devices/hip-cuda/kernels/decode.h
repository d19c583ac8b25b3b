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

/// A group's scale and min for each of its halves, the same half twice in a word.
struct PairedScales {
  u32 scale[2], min[2];
};

/// Two halves, WEIGHT_SCALE times larger, the second with a sign.
DEVICE u32 larger_halves(u32 halves, f32 sign) { return half2_clamp(half2_mul(halves, pack_half2(WEIGHT_SCALE, sign * WEIGHT_SCALE))); }
DEVICE u32 both_first(u32 halves) { return byte_permute(halves, halves, 0x1010u); }
DEVICE u32 both_second(u32 halves) { return byte_permute(halves, halves, 0x3232u); }

/// How scales become halves. Those of bytes are products of halves: rounded once, as products of f32 would be.
template <class S>
struct ScaleHalves {
  DEVICE PairedScales of(const typename S::Loaded& loaded) {
    GroupScales own = S::of(loaded);
    u32 scale = half2_clamp(pack_half2(own.scale[0] * WEIGHT_SCALE, own.scale[1] * WEIGHT_SCALE));
    if (!S::MINS) return {{both_first(scale), both_second(scale)}, {0, 0}};
    u32 min = half2_clamp(pack_half2(own.min[0] * WEIGHT_SCALE, own.min[1] * WEIGHT_SCALE));
    return {{both_first(scale), both_second(scale)}, {both_first(min), both_second(min)}};
  }
};
template <>
struct ScaleHalves<ByteScalesAndMins<false>> {
  DEVICE PairedScales of(const ByteScalesAndMins<false>::Loaded& loaded) {
    u32 bytes = half2_sub(byte_permute(loaded.bytes, 0x64, 0x4140u), pack_half2(1024, 1024));
    u32 own = larger_halves(half2_mul(loaded.pair, bytes), -1), scale = both_first(own), min = both_second(own);
    return {{scale, scale}, {min, min}};
  }
};
template <bool halves>
struct ScaleHalves<ByteScales<halves>> {
  DEVICE PairedScales of(const typename ByteScales<halves>::Loaded& loaded) {
    u32 bytes = half2_sub(byte_permute(loaded.bytes ^ 0x8080, 0x64, 0x4140u), pack_half2(1152, 1152));
    u32 own = larger_halves(half2_mul(both_first(loaded.d), bytes), 1), scale = both_first(own);
    return {{scale, halves ? both_second(own) : scale}, {0, 0}};
  }
};

DEVICE PairedScales paired_scales(const P::S::Loaded& loaded) { return ScaleHalves<P::S>::of(loaded); }

/// Octet `t` of a group from its levels as halves, WEIGHT_SCALE times larger.
DEVICE u32x4 scaled_octet(u32x4 levels, const PairedScales& of) {
  if (P::S::MINS) {
    return {half2_fma(levels.x, of.scale[0], of.min[0]), half2_fma(levels.y, of.scale[0], of.min[0]),
            half2_fma(levels.z, of.scale[1], of.min[1]), half2_fma(levels.w, of.scale[1], of.min[1])};
  }
  return {half2_mul(levels.x, of.scale[0]), half2_mul(levels.y, of.scale[0]), half2_mul(levels.z, of.scale[1]),
          half2_mul(levels.w, of.scale[1])};
}

DEVICE u32x4 decode_octet(const P::Entries& entries, const PairedScales& scales, i32 t) {
  return scaled_octet(P::octet_halves(entries, t), scales);
}
