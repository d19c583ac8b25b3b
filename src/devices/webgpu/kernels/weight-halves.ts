import type { Wgsl } from './library/wgsl.ts';

/**
 * Pieces of 16 neighbouring weights of a quantized matrix, half a group: `load_piece` brings one into registers, and nothing more,
 * so that nobody waits for it; `piece_octets` decodes its weights to halves.
 */
export const PACKED_PIECES = /* wgsl */ `
struct Piece { quants: Quants, scales: vec2<u32>, i: u32 }
fn load_piece(i: u32) -> Piece { return Piece(load_half(i >> 1u, i & 1u), load_scales(i >> 1u), i); }
fn piece_octets(piece: Piece) -> array<vec4<u32>, 2> {
  let half = piece.i & 1u;
  let scales = scales_of(piece.scales, piece.i >> 1u);
  let scale = scale_to_half2(select(scales.scale.x, scales.scale[half], PER_HALF));
  let minimum = scale_to_half2(select(scales.min.x, scales.min[half], PER_HALF));
  let first = weight_halves(levels(half_quad(piece.quants, half, 0u)), scale, minimum);
  let second = weight_halves(levels(half_quad(piece.quants, half, 1u)), scale, minimum);
  let third = weight_halves(levels(half_quad(piece.quants, half, 2u)), scale, minimum);
  let fourth = weight_halves(levels(half_quad(piece.quants, half, 3u)), scale, minimum);
  return array<vec4<u32>, 2>(vec4<u32>(first, second), vec4<u32>(third, fourth));
}
`;

/** Four signed bytes as halves. The byte b under the half 1024 is the half 1024 + b, so that numbers need no conversion. */
export const WEIGHT_HALVES: Wgsl = {
  uses: ['f16'],
  text: /* wgsl */ `
const BIAS = vec2<f16>(f16(1152u + OFFSET));
fn scale_to_half2(value: f32) -> vec2<f16> { return vec2<f16>(f16(clamp(value * WEIGHT_SCALE, -65504.0, 65504.0))); }
fn weight_halves(bytes: u32, scale: vec2<f16>, minimum: vec2<f16>) -> vec2<u32> {
  let low = bitcast<vec2<f16>>((bytes & 0x00ff00ffu) ^ 0x64806480u) - BIAS;
  let high = bitcast<vec2<f16>>(((bytes >> 8u) & 0x00ff00ffu) ^ 0x64806480u) - BIAS;
  if (MINS) { return vec2<u32>(bitcast<u32>(fma(low, scale, minimum)), bitcast<u32>(fma(high, scale, minimum))); }
  return vec2<u32>(bitcast<u32>(low * scale), bitcast<u32>(high * scale));
}
`,
};
