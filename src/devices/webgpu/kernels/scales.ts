import type { ScaleKind } from './packed-format.ts';

/** Words that the planes of scales take: for each group, for each eight groups. */
export const SCALE_PLANES: Readonly<Record<ScaleKind, readonly [number, number]>> = {
  half: [1 / 2, 0],
  'half-pair': [1, 0],
  'byte-pair': [1 / 2, 1],
  'nibble-pairs': [1 / 2, 1],
  'signed-bytes': [1 / 2, 1],
};

const LOAD_PAIR = /* wgsl */ `
fn load_scales(group: u32) -> vec2<u32> {
  return vec2<u32>(weight_word(SCALES_AT + (group >> 1u)), weight_word(SUPER_AT + (group >> 3u)));
}`;

const SCALES: Readonly<Record<ScaleKind, string>> = {
  half: /* wgsl */ `
const HALVES = false;
const MINS = false;
fn load_scales(group: u32) -> vec2<u32> { return vec2<u32>(weight_word(SCALES_AT + (group >> 1u)), 0u); }
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let d = half_to_float((raw.x >> (16u * (group & 1u))) & 0xffffu);
  return Scales(vec2<f32>(d, d), vec2<f32>());
}
`,
  'half-pair': /* wgsl */ `
const HALVES = false;
const MINS = true;
fn load_scales(group: u32) -> vec2<u32> { return vec2<u32>(weight_word(SCALES_AT + group), 0u); }
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let pair = halves_of(raw.x);
  return Scales(pair.xx, pair.yy);
}
`,
  'byte-pair': /* wgsl */ `
const HALVES = false;
const MINS = true;
${LOAD_PAIR}
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let pair = halves_of(raw.y);
  let bytes = raw.x >> (16u * (group & 1u));
  let scale = pair.x * f32(bytes & 255u);
  let least = -(pair.y * f32((bytes >> 8u) & 255u));
  return Scales(vec2<f32>(scale, scale), vec2<f32>(least, least));
}
`,
  'nibble-pairs': /* wgsl */ `
const HALVES = true;
const MINS = true;
${LOAD_PAIR}
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let pair = halves_of(raw.y);
  let bytes = raw.x >> (16u * (group & 1u));
  let scale = pair.x * vec2<f32>(f32(bytes & 15u), f32((bytes >> 8u) & 15u));
  return Scales(scale, -(pair.y * vec2<f32>(f32((bytes >> 4u) & 15u), f32((bytes >> 12u) & 15u))));
}
`,
  'signed-bytes': /* wgsl */ `
const HALVES = true;
const MINS = false;
${LOAD_PAIR}
fn scales_of(raw: vec2<u32>, group: u32) -> Scales {
  let d = bitcast<f32>(raw.y);
  let bytes = bitcast<i32>(raw.x << (16u * (1u - (group & 1u))));
  return Scales(d * vec2<f32>(f32((bytes << 8u) >> 24u), f32(bytes >> 24u)), vec2<f32>());
}
`,
};

/**
 * `scales_at(group)`: a weight is `scale * (level - OFFSET) + least`, of the group's first 16 elements and its last 16; both
 * are equal where `HALVES` is false, `least` is zero where `MINS` is. `load_scales` and `scales_of` do it in two steps, one that
 * loads and one that computes. Wants `HALVES` of the library.
 */
export function scalesText(kind: ScaleKind): string {
  return /* wgsl */ `
struct Scales { scale: vec2<f32>, least: vec2<f32> }
fn scales_at(group: u32) -> Scales { return scales_of(load_scales(group), group); }
${SCALES[kind]}`;
}
