// Numbers that blocks of several formats hold.
#pragma once
#include "prelude.h"

/// 2^(exponent - 128), subnormal for the two smallest.
DEVICE f32 half_power(u32 exponent) { return bit_cast<f32>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23); }

/// Half of the E4M3 number whose bits, without a sign, are those from bit 20 on: of a binary32 number 2^119 times as small, where what
/// is subnormal in one is in the other.
DEVICE f32 half_e4m3_at_20(u32 bits) { return bit_cast<f32>(bits) * bit_cast<f32>((119u + 127) << 23); }

/// The seven bits of an E4M3 number without its sign; the code that would be NaN means zero.
DEVICE u32 e4m3_magnitude(u32 code) { return code == 0x7f ? 0 : code & 0x7f; }

/// Half of an E4M3 number without its sign.
DEVICE f32 half_e4m3(u32 code) { return half_e4m3_at_20(e4m3_magnitude(code) << 20); }

/// Digit `number` of five that a byte holds as a base-3 fraction of 256.
DEVICE u32 ternary_digit(u32 byte, u32 number) {
  u32 power = number == 0 ? 1 : number == 1 ? 3 : number == 2 ? 9 : number == 3 ? 27 : 81;
  return (((byte * power) & 255) * 3) >> 8;
}

/// Eight sign bits from seven: the number of minus signs is even.
DEVICE u32 even_signs(u32 seven) {
  u32 parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | ((parity & 1) << 7);
}
