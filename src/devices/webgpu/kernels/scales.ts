import type { ScaleKind } from '../../../device/index.ts';

const SHARED_LOAD = 'weight_word(SUPER_AT + (group >> 3u))';

/** How the bits of a group, `bits`, and what it shares, `raw.y`, become its scales and mins. */
const SCALES: Readonly<Record<ScaleKind, string>> = {
  half: /* wgsl */ `
  let d = half_to_float(bits & 0xffffu);
  return Scales(vec2<f32>(d, d), vec2<f32>());`,
  'half-pair': /* wgsl */ `
  let pair = unpack_half2(bits);
  return Scales(pair.xx, pair.yy);`,
  exponent: /* wgsl */ `
  let e = bits & 255u;
  let d = bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << (e & 1u), e < 2u));
  return Scales(vec2<f32>(d, d), vec2<f32>());`,
  'small-floats': /* wgsl */ `
  return Scales(vec2<f32>(half_e4m3(bits & 255u), half_e4m3((bits >> 8u) & 255u)), vec2<f32>());`,
  'byte-pair': /* wgsl */ `
  let pair = unpack_half2(raw.y);
  let scale = pair.x * f32(bits & 255u);
  let minimum = -(pair.y * f32((bits >> 8u) & 255u));
  return Scales(vec2<f32>(scale, scale), vec2<f32>(minimum, minimum));`,
  'nibble-pairs': /* wgsl */ `
  let pair = unpack_half2(raw.y);
  let scale = pair.x * vec2<f32>(f32(bits & 15u), f32((bits >> 8u) & 15u));
  return Scales(scale, -(pair.y * vec2<f32>(f32((bits >> 4u) & 15u), f32((bits >> 12u) & 15u))));`,
  'signed-bytes': /* wgsl */ `
  let pair = bitcast<i32>(bits << 16u);
  return Scales(bitcast<f32>(raw.y) * vec2<f32>(f32((pair << 8u) >> 24u), f32(pair >> 24u)), vec2<f32>());`,
  'odd-nibbles': /* wgsl */ `
  let odd = vec2<f32>(f32(2u * (bits & 15u) + 1u), f32(2u * ((bits >> 4u) & 15u) + 1u));
  return Scales(bitcast<f32>(raw.y) * odd, vec2<f32>());`,
};

/** Half of an E4M3 number without its sign; the code that would be NaN means zero. */
const HALF_E4M3 = /* wgsl */ `
fn half_e4m3(code: u32) -> f32 {
  let exponent = (code >> 3u) & 15u;
  let normal = bitcast<f32>(((exponent + 119u) << 23u) | ((code & 7u) << 20u));
  return select(select(normal, f32(code & 7u) * (1.0 / 1024.0), exponent == 0u), 0.0, code == 0x7fu);
}
`;

/**
 * `scales_at(group)`: a weight is `scale * (level - OFFSET) + min`, of the group's first 16 elements and its last 16; both
 * are equal where `PER_HALF` is false, `min` is zero where `MINS` is. `load_scales` and `scales_of` do it in two steps, one that
 * loads and one that computes. `OWN_BITS` bits belong to `SPAN` groups. Wants `HALVES` of the library.
 */
export function scalesText(kind: ScaleKind, hasShared: boolean): string {
  return /* wgsl */ `
struct Scales { scale: vec2<f32>, min: vec2<f32> }
fn scales_at(group: u32) -> Scales { return scales_of(load_scales(group), group); }
fn load_scales(group: u32) -> vec2<u32> {
  return vec2<u32>(weight_word(SCALES_AT + group / SPAN * OWN_BITS / 32u), ${hasShared ? SHARED_LOAD : '0u'});
}
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let bits = raw.x >> (group / SPAN * OWN_BITS % 32u);
${SCALES[kind]}
}
${kind === 'small-floats' ? HALF_E4M3 : ''}`;
}

/** `pack_scales(first, block, count)` writes the scales of a unit of groups. */
export function packScalesText(hasShared: boolean): string {
  return /* wgsl */ `
const SCALES_A_WORD = 32u / OWN_BITS;
fn pack_scales(first: u32, block: u32, count: u32) {
  for (var i = 0u; i < count; i += SCALES_A_WORD * SPAN) {
    var word = 0u;
    for (var k = 0u; k < SCALES_A_WORD; k++) {
      let g = i + k * SPAN;
      if (g < count) { word |= own_scales(block + g / BLOCK_GROUPS * BLOCK_BYTES, 32u * (g % BLOCK_GROUPS)) << (k * OWN_BITS % 32u); }
    }
    weight[job.scales_at + (first + i) / (SCALES_A_WORD * SPAN)] = word;
  }
${hasShared ? '  weight[job.super_at + (first >> 3u)] = shared_scales(block);' : ''}
}
`;
}
