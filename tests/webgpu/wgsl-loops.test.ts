import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { refuseUnsetInLoops, unsetInLoops } from '../support/wgsl-loops.ts';

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
  await refuseUnsetInLoops();
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
