import assert from 'node:assert/strict';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { unsetInLoops } from './wgsl-loops.ts';
import { poisonWorkgroups } from './wgsl-poison.ts';

let watched = false;
let poisons = false;

/**
 * From now on, devices of the process's WebGPU refuse kernels with variables of loops without a value; and where `poisoned`,
 * workgroup memory holds garbage at first.
 */
export async function watchWgsl({ poisoned = false }: { readonly poisoned?: boolean } = {}): Promise<void> {
  poisons ||= poisoned;
  if (watched) return;
  watched = true;
  const gpu = await openDawn();
  after(gpu, 'requestAdapter', (adapter) => {
    if (!adapter) return;
    after(adapter, 'requestDevice', (device) => {
      const create = device.createShaderModule.bind(device);
      device.createShaderModule = (of) => {
        assert.deepEqual(unsetInLoops(of.code), [], `${of.label}: variables of loops without a value`);
        return create(poisons ? { ...of, code: poisonWorkgroups(of.code) } : of);
      };
    });
  });
}

/** Calls `then` with what a method will resolve to. */
function after<Name extends string, Result>(
  of: { [name in Name]: (...args: never[]) => Promise<Result> },
  name: Name,
  then: (result: Result) => void,
): void {
  const method = of[name].bind(of);
  of[name] = async (...args: never[]) => {
    const result = await method(...args);
    then(result);
    return result;
  };
}
