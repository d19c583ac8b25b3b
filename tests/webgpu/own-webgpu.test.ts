import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floatText } from '../../src/devices/webgpu/kernels/library/float-text.ts';
import { openDawn, type openWebGpu } from '../../src/node/open-webgpu.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import fc from '../support/fast-check.ts';

test('a runtime’s own WebGPU is taken before Dawn', { skip: NO_SOFTWARE_GPU }, async (t) => {
  const dawn = await openDawn();
  const asked: unknown[] = [];
  // What Deno has, with Dawn behind it: the adapter interface is all that is used.
  const gpu = {
    wgslLanguageFeatures: dawn.wgslLanguageFeatures,
    requestAdapter: (options?: GPURequestAdapterOptions) => {
      asked.push(options);
      return dawn.requestAdapter(options);
    },
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
  t.after(() => {
    if (before) Object.defineProperty(globalThis, 'navigator', before);
    else Reflect.deleteProperty(globalThis, 'navigator');
  });
  const fresh = new URL('../../src/node/open-webgpu.js?own', import.meta.url).href;
  const own = (await import(fresh)) as { openWebGpu: typeof openWebGpu };
  await using device = await own.openWebGpu();
  assert.equal(asked.length, 1);
  assert.equal(device.info.backend, 'webgpu');
  using buffer = device.createBuffer(1024, 'own');
  assert.equal(buffer.byteLength, 1024);
});

test('numbers in kernels are exact in any compiler’s reading', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = floatText(value);
      assert.match(text, /^-?[\d.]+(?:e[+-]?\d+)?f$/);
      assert.ok(Object.is(Math.fround(Number(text.slice(0, -1))), value));
    }),
  );
});
