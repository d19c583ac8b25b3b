// Numbers of sixteen bits: f16, or with BFLOATS bf16.
#pragma once
#include "prelude.h"

#if BFLOATS
DEVICE f32 widened(u16 value) { return bit_cast<f32>(u32(value) << 16); }
/// To the nearest, the even one of two; numbers that are not finite are unlikely here, and stay so.
DEVICE u16 narrowed(f32 value) {
  u32 bits = bit_cast<u32>(value);
  return u16((bits & 0x7f800000u) == 0x7f800000u ? bits >> 16 | (bits & 0xffffu ? 1u : 0u) : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
#else
DEVICE f32 widened(u16 value) { return half_to_float(value); }
DEVICE u16 narrowed(f32 value) { return float_to_half(value); }
#endif
