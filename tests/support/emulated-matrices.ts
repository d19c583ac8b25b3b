import { chooseTarget, type GpuMatrices, type GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import { WebGpuDevice } from '../../src/devices/webgpu/webgpu-device.ts';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { watchWgsl } from './watched-wgsl.ts';

/** The number of threads that emulate a subgroup; they communicate through workgroup memory only. */
const LANES = 32;

/**
 * `SUBGROUP_MATRICES` without matrix units: a thread holds eight adjacent sums of a row, that row of a left matrix, and
 * the location of a right matrix.
 */
const MATRICES_BY_THREADS = /* wgsl */ `
alias Left = array<vec4<u32>, 2>;
alias Sums = array<f32, 8>;
struct Right { place: u32, line: u32, rows: bool }

fn left_at(place: u32, line: u32, lane: u32) -> Left {
  let at = place + lane / 2u * line;
  return Left(tile[at], tile[at + 1u]);
}
fn right_at(place: u32, line: u32) -> Right { return Right(place, line, false); }
fn right_rows_at(place: u32, line: u32) -> Right { return Right(place, line, true); }
fn half_of(vector: vec4<u32>, i: u32) -> f32 { return unpack2x16float(vector[i / 2u])[i % 2u]; }
fn multiplied(left: Left, right: Right, sums: Sums, lane: u32) -> Sums {
  var more = sums;
  var own = left;
  for (var i = 0u; i < 8u; i++) {
    let n = lane % 2u * 8u + i;
    for (var octet = 0u; octet < 2u; octet++) {
      let column = tile[right.place + n * right.line * u32(!right.rows) + octet * u32(!right.rows)];
      for (var j = 0u; j < 8u; j++) {
        var b = half_of(column, j);
        if (right.rows) { b = half_of(tile[right.place + (8u * octet + j) * right.line + n / 8u], n % 8u); }
        more[i] = fma(half_of(own[octet], j), b, more[i]);
      }
    }
  }
  return more;
}
fn store_sums(place: u32, line: u32, sums: Sums, lane: u32) {
  for (var i = 0u; i < 2u; i++) {
    let quad = vec4<f32>(sums[4u * i], sums[4u * i + 1u], sums[4u * i + 2u], sums[4u * i + 3u]);
    tile[place + lane / 2u * line + lane % 2u * 2u + i] = bitcast<vec4<u32>>(quad);
  }
}
`;

/** `weight_halves` where WGSL has no halves but in pairs. */
const WEIGHT_HALVES_IN_PAIRS = /* wgsl */ `
fn scale_to_half2(value: f32) -> vec2<f32> {
  return vec2<f32>(quantizeToF16(clamp(value * WEIGHT_SCALE, -65504.0, 65504.0)));
}
fn weight_halves(bytes: u32, scale: vec2<f32>, minimum: vec2<f32>) -> vec2<u32> {
  let levels = vec4<f32>(signed_bytes(bytes) - vec4<i32>(i32(OFFSET)));
  return vec2<u32>(pack2x16float(levels.xz * scale + minimum), pack2x16float(levels.yw * scale + minimum));
}
`;

const EMULATED: GpuMatrices = {
  rows: 16,
  outputs: 16,
  depth: 16,
  lanes: LANES,
  text: MATRICES_BY_THREADS,
  decodeText: WEIGHT_HALVES_IN_PAIRS,
};

/** The software GPU with emulated matrix units, to run their kernels. */
export function openWithEmulatedMatrices(): Promise<WebGpuDevice> {
  return openChanged('emulated matrices', { matrices: EMULATED });
}

/** The software GPU limited to the number of buffers per kernel that WebGPU guarantees. */
export function openWithFewBuffers(): Promise<WebGpuDevice> {
  return openChanged('few buffers', { storageBindings: 8 });
}

/** The software GPU with kernels as for others: loops written out, and its own conversion of f16. */
export async function openAsHardware(): Promise<WebGpuDevice> {
  return openChanged('loops written out', { unroll: true, nativeHalves: true });
}

async function openChanged(name: string, changes: Partial<GpuTarget>): Promise<WebGpuDevice> {
  await watchWgsl();
  const gpu = await openDawn();
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('there is no adapter');
  const chosen = chooseTarget(adapter, gpu.wgslLanguageFeatures ?? new Set(), { without: [] });
  const { requiredFeatures, requiredLimits } = chosen;
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  const target = { ...chosen.target, ...changes };
  const info = { backend: 'webgpu', name, details: {} };
  const opened = new WebGpuDevice({
    device,
    target,
    info,
    memoryBytes: 2 ** 40,
    shared: { hasLoaded: false },
  });
  await opened.prepare();
  return opened;
}
