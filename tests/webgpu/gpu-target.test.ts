import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseTarget } from '../../src/devices/webgpu/gpu-target.ts';

/** What Dawn tells of a GPU with matrix units. */
function adapter(subgroupMinSize: number, subgroupMaxSize = subgroupMinSize): GPUAdapter {
  const limits = {
    maxComputeInvocationsPerWorkgroup: 1024,
    maxComputeWorkgroupSizeX: 1024,
    maxComputeWorkgroupStorageSize: 32 << 10,
    maxStorageBufferBindingSize: 1 << 30,
  };
  const config = { componentType: 'f16', resultComponentType: 'f32', M: 16, N: 16, K: 16 };
  return {
    limits,
    features: new Set(['subgroups', 'shader-f16', 'chromium-experimental-subgroup-matrix']),
    info: { subgroupMinSize, subgroupMaxSize, subgroupMatrixConfigs: [config] },
  } as unknown as GPUAdapter;
}

test('matrix units are taken where a tile can be shared out among a subgroup', () => {
  const lanesOf = (of: GPUAdapter) => chooseTarget(of, new Set(), { without: [] }).target.matrices?.lanes;
  assert.equal(lanesOf(adapter(32)), 32);
  assert.equal(lanesOf(adapter(64)), undefined);
  assert.equal(lanesOf(adapter(32, 64)), undefined);
});
