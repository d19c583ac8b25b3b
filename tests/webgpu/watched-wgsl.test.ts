import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GPUDevice } from '../../src/base/web-types.ts';
import { BUFFER_USAGE, MAP_MODE } from '../../src/devices/webgpu/gpu-usage.ts';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { watchWgsl } from '../support/watched-wgsl.ts';
import { unsetInLoops } from '../support/wgsl-loops.ts';
import { poisonWorkgroups } from '../support/wgsl-poison.ts';

const main = (body: string): string =>
  `var<workgroup> shared_sums: array<f32, 4>;\n@compute @workgroup_size(1) fn main() { ${body} }`;

test('variables of loops that are declared without a value are found, and no others', () => {
  const unset = (body: string) => unsetInLoops(main(body));
  assert.deepEqual(unset('var a: f32; for (var i = 0u; i < 4u; i++) { var b = 0.0; }'), []);
  assert.deepEqual(unset('{ var a: vec4<f32>; } if (true) { var b: u32; }'), []);
  assert.deepEqual(unset('for (var i = 0u; i < 4u; i++) { var a: vec4<f32>; a.x = 1.0; }'), ['a']);
  assert.deepEqual(unset('while (true) { if (true) { { var a: array<u32, 2>; } } break; }'), ['a']);
  assert.deepEqual(unset('loop { // for {\n var a: u32; var b: u32 = 1u; break; } var c: u32;'), ['a']);
});

test('a device that is watched refuses them', { skip: NO_SOFTWARE_GPU }, async () => {
  await watchWgsl();
  const adapter = await (await openDawn()).requestAdapter();
  assert.ok(adapter);
  const device = await adapter.requestDevice();
  device.createShaderModule({ code: main('var a: u32;') });
  assert.throws(
    () => device.createShaderModule({ code: main('loop { var a: u32; break; }') }),
    /without a value/,
  );
  device.destroy();
});

test('workgroup memory is garbage where it is poisoned', () => {
  const code = [
    'alias Pair = vec2<u32>; struct Scales { a: f32, b: Pair }',
    'var<workgroup> sums: array<f32, max(4u, 2u * 3u)>; var<workgroup> scales: array<Scales, 2>;',
    'var<workgroup> found: array<atomic<u32>, 8>; var<workgroup> first: i32;',
    '@compute @workgroup_size(64) fn main(@builtin(workgroup_id) group: vec3<u32>) { sums[0] = 1.0; }',
  ].join('\n');
  const text = poisonWorkgroups(code);
  for (const line of [
    'i < u32(max(4u, 2u * 3u)); i += 32u) { sums[i] = bitcast<f32>(garbage); }',
    '{ scales[i] = Scales(bitcast<f32>(garbage), vec2<u32>(garbage)); }',
    '{ atomicStore(&found[i], garbage); }',
    'first = bitcast<i32>(garbage);',
    '@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) poisoning_thread: u32)',
  ]) {
    assert.ok(text.includes(line), `${line} in ${text}`);
  }
  assert.equal(poisonWorkgroups(main('').split('\n')[1] ?? ''), main('').split('\n')[1]);
});

/** The first word that a module writes to `y`. */
async function firstWord(device: GPUDevice, code: string): Promise<number | undefined> {
  const module = device.createShaderModule({
    code: `@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n${code}`,
  });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const { storage, copySource, copyTarget, mapRead } = BUFFER_USAGE;
  const y = device.createBuffer({ size: 16, usage: storage | copySource });
  const back = device.createBuffer({ size: 16, usage: copyTarget | mapRead });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer: y } }],
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(y, 0, back, 0, 16);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(MAP_MODE.read);
  return new Uint32Array(back.getMappedRange())[0];
}

test(
  'a kernel that reads workgroup memory before it writes there finds garbage',
  { skip: NO_SOFTWARE_GPU },
  async () => {
    await watchWgsl({ poisoned: true });
    const adapter = await (await openDawn()).requestAdapter();
    assert.ok(adapter);
    const device = await adapter.requestDevice();
    const read = (before: string) =>
      firstWord(
        device,
        `var<workgroup> sum: u32; @compute @workgroup_size(1) fn main() { ${before} y[0] = sum; }`,
      );
    assert.equal(await read('sum = 7u;'), 7);
    assert.equal(await read(''), 0xffffdead);
    device.destroy();
  },
);
