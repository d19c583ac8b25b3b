// The quants of a group by how many bits each has. `Planes` finds the arrays, `Loaded` is a group in registers, `quad` gives
// four of its quants as bytes, `Octet` and `octet` do the same for eight, `store` writes a group from bytes.
#pragma once
#include "packed/planes.h"

template <i32 BITS>
struct Quants;

struct Octet {
  u32 low, high;
};

/// The bytes of two words as halves less OFFSET, in the order of halves.h.
template <i32 OFFSET, bool SIGNED>
DEVICE u32x4 byte_halves(Octet levels) {
  // The byte b under the half 1024 is the half 1024 + b.
  constexpr u32 LIFT = 0x64646464u;
  constexpr i32 LEAST = SIGNED ? 128 : 0;
  u32 flip = SIGNED ? 0x80808080u : 0, bias = pack_half2(1024 + LEAST + OFFSET, 1024 + LEAST + OFFSET);
  u32 low = levels.low ^ flip, high = levels.high ^ flip;
  return {half2_sub(byte_permute(low, LIFT, 0x4240u), bias), half2_sub(byte_permute(low, LIFT, 0x4341u), bias),
          half2_sub(byte_permute(high, LIFT, 0x4240u), bias), half2_sub(byte_permute(high, LIFT, 0x4341u), bias)};
}
/// The same of the nibbles of a word, the low ones of its bytes first. The high ones under the half 1024 are sixteen times too large.
template <i32 OFFSET>
DEVICE u32x4 nibble_halves(u32 nibbles) {
  constexpr u32 LIFT = 0x64006400u, LOW = 0x000f000fu, HIGH = 0x00f000f0u;
  u32 bias = pack_half2(1024 + OFFSET, 1024 + OFFSET), sixteenth = pack_half2(0.0625f, 0.0625f), rest = pack_half2(-64 - OFFSET, -64 - OFFSET);
  u32 odd = nibbles >> 8;
  return {half2_sub(masked_onto(nibbles, LOW, LIFT), bias), half2_sub(masked_onto(odd, LOW, LIFT), bias),
          half2_fma(masked_onto(nibbles, HIGH, LIFT), sixteenth, rest), half2_fma(masked_onto(odd, HIGH, LIFT), sixteenth, rest)};
}

/// The eight codes of a word of `TableQuants` to the levels of a table, its 16 bytes in four words. `BYTE_PERMUTE` looks at three bits of
/// a selector's nibble, so that the fourth bit chooses between two halves of the table.
DEVICE Octet table_octet(u32 word, u32 first, u32 second, u32 third, u32 fourth) {
  u32 selector = word & 0x77777777, half = ((word & 0x88888888) >> 1) | 0x32103210;
  u32 low = byte_permute(byte_permute(first, second, selector), byte_permute(third, fourth, selector), half);
  selector >>= 16, half >>= 16;
  return {low, byte_permute(byte_permute(first, second, selector), byte_permute(third, fourth, selector), half)};
}

/// Packs the group of a block's elements from `first` on.
template <class Format>
DEVICE void pack_codes(const typename Format::Q::Planes& planes, i64 index, const u8* block, u32 first) {
  u32 quads[8];
  UNROLL for (i32 q = 0; q < 8; q++) {
    quads[q] = 0;
    UNROLL for (i32 i = 0; i < 4; i++) quads[q] |= (Format::quant(block, first + 4 * q + i) & 255) << (8 * i);
  }
  Format::Q::store(planes, index, quads);
}

/// A word with bit q of byte i for element i of quad q.
template <>
struct Quants<1> {
  struct Planes {
    u32* bits;
  };
  struct Loaded {
    u32 bits;
  };
  typedef Loaded LoadedOctet;
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u32>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_streaming(planes.bits + group)}; }
  DEVICE u32 quad(const Loaded& loaded, i32 q) { return (loaded.bits >> q) & 0x01010101; }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32) { return load(planes, group); }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) { return {quad(loaded, t), quad(loaded, t + 4)}; }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    u32 bits = 0;
    UNROLL for (i32 q = 0; q < 8; q++) bits |= (quads[q] & 0x01010101) << q;
    planes.bits[group] = bits;
  }
};

/// 4 bits: word t of 16 bytes holds quad t in its low nibbles and quad t + 4 in its high ones.
template <>
struct Quants<4> {
  struct Planes {
    u32x4* nibbles;
  };
  struct Loaded {
    u32x4 nibbles;
  };
  struct LoadedOctet {
    u32 nibbles;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u32x4>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_streaming(planes.nibbles + group)}; }
  DEVICE u32 word(const u32x4& words, i32 t) { return t == 0 ? words.x : t == 1 ? words.y : t == 2 ? words.z : words.w; }
  DEVICE u32 quad(const Loaded& loaded, i32 q) { return (word(loaded.nibbles, q & 3) >> (q & 4)) & 0x0f0f0f0f; }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {load_streaming(reinterpret_cast<const u32*>(planes.nibbles + group) + t)};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32) {
    return {loaded.nibbles & 0x0f0f0f0f, (loaded.nibbles >> 4) & 0x0f0f0f0f};
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    u32 words[4];
    UNROLL for (i32 t = 0; t < 4; t++) words[t] = (quads[t] & 0x0f0f0f0f) | ((quads[t + 4] & 0x0f0f0f0f) << 4);
    planes.nibbles[group] = {words[0], words[1], words[2], words[3]};
  }
};

/// 4 bits that are looked up in a table: word t of 16 bytes holds the codes of quad t in its lower half, one after another, and those of
/// quad t + 4 in its upper half. So they are selectors of bytes as they stand.
struct TableQuants : Quants<4> {
  // Codes by themselves are never wanted.
  static void quad() = delete;
  static void octet() = delete;
  DEVICE u32 neighbours(u32 quad) {
    u32 codes = quad & 0x0f0f0f0f;
    codes |= codes >> 4;
    return (codes & 0xff) | ((codes >> 8) & 0xff00);
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    u32 words[4];
    UNROLL for (i32 t = 0; t < 4; t++) words[t] = neighbours(quads[t]) | (neighbours(quads[t + 4]) << 16);
    planes.nibbles[group] = {words[0], words[1], words[2], words[3]};
  }
};

/// 5 bits: 4 as above, and a word with bit q of byte i for element i of quad q.
template <>
struct Quants<5> {
  struct Planes {
    Quants<4>::Planes low;
    u32* fifths;
  };
  struct Loaded {
    Quants<4>::Loaded low;
    u32 fifths;
  };
  struct LoadedOctet {
    u32 nibbles, fifths;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    Quants<4>::Planes low = Quants<4>::planes(cursor, groups);
    return {low, cursor.take<u32>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {Quants<4>::load(planes.low, group), load_streaming(planes.fifths + group)};
  }
  DEVICE u32 fifth(u32 fifths, i32 q) { return (q < 4 ? fifths << (4 - q) : fifths >> (q - 4)) & 0x10101010; }
  DEVICE u32 quad(const Loaded& loaded, i32 q) { return Quants<4>::quad(loaded.low, q) | fifth(loaded.fifths, q); }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {Quants<4>::load_octet(planes.low, group, t).nibbles, load_streaming(planes.fifths + group)};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) {
    return {(loaded.nibbles & 0x0f0f0f0f) | ((loaded.fifths << (4 - t)) & 0x10101010),
            ((loaded.nibbles >> 4) & 0x0f0f0f0f) | ((loaded.fifths >> t) & 0x10101010)};
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    Quants<4>::store(planes.low, group, quads);
    u32 fifths = 0;
    UNROLL for (i32 q = 0; q < 8; q++) fifths |= ((quads[q] >> 4) & 0x01010101) << q;
    planes.fifths[group] = fifths;
  }
};

/// 2 bits: word t / 2 of 8 bytes holds quad t at bit 4 (t % 2) of each byte, and quad t + 4 two bits above it.
template <>
struct Quants<2> {
  struct Planes {
    u32x2* pairs;
  };
  struct Loaded {
    u32x2 pairs;
  };
  struct LoadedOctet {
    u32 pairs;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u32x2>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_streaming(planes.pairs + group)}; }
  DEVICE u32 quad(const Loaded& loaded, i32 q) {
    return ((q & 2 ? loaded.pairs.y : loaded.pairs.x) >> (4 * (q & 1) + (q >> 2) * 2)) & 0x03030303;
  }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {load_streaming(reinterpret_cast<const u32*>(planes.pairs + group) + (t >> 1))};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) {
    u32 pairs = loaded.pairs >> (4 * (t & 1));
    return {pairs & 0x03030303, (pairs >> 2) & 0x03030303};
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    u32 words[2] = {0, 0};
    UNROLL for (i32 q = 0; q < 8; q++) words[(q & 3) >> 1] |= (quads[q] & 0x03030303) << (4 * (q & 1) + (q >> 2) * 2);
    planes.pairs[group] = {words[0], words[1]};
  }
};

/// 3 bits: 2 as above, and a word of third bits, laid out as the fifth bits of 5.
template <>
struct Quants<3> {
  struct Planes {
    Quants<2>::Planes low;
    u32* thirds;
  };
  struct Loaded {
    Quants<2>::Loaded low;
    u32 thirds;
  };
  struct LoadedOctet {
    u32 pairs, thirds;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    Quants<2>::Planes low = Quants<2>::planes(cursor, groups);
    return {low, cursor.take<u32>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {Quants<2>::load(planes.low, group), load_streaming(planes.thirds + group)};
  }
  DEVICE u32 third(u32 thirds, i32 q) { return (q < 2 ? thirds << (2 - q) : thirds >> (q - 2)) & 0x04040404; }
  DEVICE u32 quad(const Loaded& loaded, i32 q) { return Quants<2>::quad(loaded.low, q) | third(loaded.thirds, q); }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {Quants<2>::load_octet(planes.low, group, t).pairs, load_streaming(planes.thirds + group)};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) {
    Octet low = Quants<2>::octet({loaded.pairs}, t);
    return {low.low | (((loaded.thirds >> t) & 0x01010101) << 2), low.high | (((loaded.thirds >> (t + 4)) & 0x01010101) << 2)};
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    Quants<2>::store(planes.low, group, quads);
    u32 thirds = 0;
    UNROLL for (i32 q = 0; q < 8; q++) thirds |= ((quads[q] >> 2) & 0x01010101) << q;
    planes.thirds[group] = thirds;
  }
};

/// 6 bits: the low 4 as above, the upper 2 as the pairs of 2.
template <>
struct Quants<6> {
  struct Planes {
    Quants<4>::Planes low;
    Quants<2>::Planes high;
  };
  struct Loaded {
    Quants<4>::Loaded low;
    Quants<2>::Loaded high;
  };
  struct LoadedOctet {
    u32 nibbles, pairs;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    Quants<4>::Planes low = Quants<4>::planes(cursor, groups);
    return {low, Quants<2>::planes(cursor, groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {Quants<4>::load(planes.low, group), Quants<2>::load(planes.high, group)};
  }
  DEVICE u32 quad(const Loaded& loaded, i32 q) {
    return Quants<4>::quad(loaded.low, q) | (Quants<2>::quad(loaded.high, q) << 4);
  }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {Quants<4>::load_octet(planes.low, group, t).nibbles, Quants<2>::load_octet(planes.high, group, t).pairs};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) {
    Octet high = Quants<2>::octet({loaded.pairs}, t);
    return {(loaded.nibbles & 0x0f0f0f0f) | (high.low << 4), ((loaded.nibbles >> 4) & 0x0f0f0f0f) | (high.high << 4)};
  }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    Quants<4>::store(planes.low, group, quads);
    u32 high[8];
    UNROLL for (i32 q = 0; q < 8; q++) high[q] = (quads[q] >> 4) & 0x03030303;
    Quants<2>::store(planes.high, group, high);
  }
};

/// 8 bits, signed: quads 0 to 3 in one array, 4 to 7 in another.
template <>
struct Quants<8> {
  struct Planes {
    u32x4 *low, *high;
  };
  struct Loaded {
    u32x4 low, high;
  };
  struct LoadedOctet {
    u32 low, high;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    u32x4* low = cursor.take<u32x4>(groups);
    return {low, cursor.take<u32x4>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {load_streaming(planes.low + group), load_streaming(planes.high + group)};
  }
  DEVICE u32 quad(const Loaded& loaded, i32 q) { return Quants<4>::word(q < 4 ? loaded.low : loaded.high, q & 3); }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32 t) {
    return {load_streaming(reinterpret_cast<const u32*>(planes.low + group) + t),
            load_streaming(reinterpret_cast<const u32*>(planes.high + group) + t)};
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32) { return {loaded.low, loaded.high}; }
  DEVICE void store(const Planes& planes, i64 group, const u32* quads) {
    planes.low[group] = {quads[0], quads[1], quads[2], quads[3]};
    planes.high[group] = {quads[4], quads[5], quads[6], quads[7]};
  }
};
