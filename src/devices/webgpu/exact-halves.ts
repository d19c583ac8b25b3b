import type { GPUDevice } from '../../base/web-types.ts';
import { BUFFER_USAGE, MAP_MODE } from './gpu-usage.ts';
import { HALVES } from './kernels/library/halves.ts';
import type { KernelModule } from './launching/kernel-module.ts';
import { moduleText } from './launching/kernel-module.ts';

const HALF_COUNT = 1 << 16;
const THREADS = 256;

/** Counts the f16 numbers that WGSL converts otherwise than `half_to_float`; of what is no number, it must give none. */
const COMPARE_HALVES: KernelModule = {
  name: 'compare_halves',
  constants: { THREADS, NATIVE_HALVES: false },
  parameters: [{ name: 'differences', type: 'atomic<u32>', access: 'write' }],
  texts: [
    HALVES,
    /* wgsl */ `
fn differs(native: f32, bits: u32) -> bool {
  if ((bits & 0x7fffu) > 0x7c00u) { return (bitcast<u32>(native) & 0x7fffffffu) <= 0x7f800000u; }
  return bitcast<u32>(native) != bitcast<u32>(half_to_float(bits));
}
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {
  let bits = thread.x;
  let both = unpack2x16float(bits | (bits << 16u));
  if (differs(both.x, bits) || differs(both.y, bits)) { atomicAdd(&differences, 1u); }
}
`,
  ],
};

/**
 * Whether a GPU's own conversion of f16 to f32 is exact, which WGSL leaves open for subnormal numbers: tried with every f16 number. Rejects as
 * the device does.
 */
export async function hasExactHalves(device: GPUDevice): Promise<boolean> {
  const module = device.createShaderModule({ code: moduleText(COMPARE_HALVES, ['write']) });
  const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute: { module } });
  const { storage, copySource, copyTarget, mapRead } = BUFFER_USAGE;
  const differences = device.createBuffer({ size: 4, usage: storage | copySource });
  const readback = device.createBuffer({ size: 4, usage: copyTarget | mapRead });
  try {
    const layout = pipeline.getBindGroupLayout(0);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: differences } }] }),
    );
    pass.dispatchWorkgroups(HALF_COUNT / THREADS);
    pass.end();
    encoder.copyBufferToBuffer(differences, 0, readback, 0, 4);
    device.queue.submit([encoder.finish()]);
    await readback.mapAsync(MAP_MODE.read);
    return new Uint32Array(readback.getMappedRange())[0] === 0;
  } finally {
    differences.destroy();
    readback.destroy();
  }
}
