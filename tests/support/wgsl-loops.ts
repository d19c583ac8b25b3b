import assert from 'node:assert/strict';
import { openDawn } from '../../src/node/open-webgpu.ts';

/**
 * Variables that WGSL declares within loops without a value. They would be zero in every round, but Tint (Dawn, Chromium) makes
 * SPIR-V in which they are zero in the first one only, and so did Naga (wgpu, Deno, Firefox) until May 2026: our kernels give a
 * value to every variable of a loop.
 */
export function unsetInLoops(code: string): readonly string[] {
  const found: string[] = [];
  const blocks: ('loop' | 'other')[] = [];
  let parentheses = 0;
  let statement = '';
  for (const char of code.replace(/\/\/.*/g, '')) {
    if (char === '(') parentheses++;
    if (char === ')') parentheses--;
    if (parentheses > 0 || !'{};'.includes(char)) {
      statement += char;
      continue;
    }
    if (char === '{') blocks.push(/^\s*(?:for|while|loop)\b/.test(statement) ? 'loop' : 'other');
    if (char === '}') blocks.pop();
    if (char === ';' && blocks.includes('loop')) {
      const name = /^\s*var (\w+):[^=]*$/.exec(statement)?.[1];
      if (name !== undefined) found.push(name);
    }
    statement = '';
  }
  return found;
}

let watched = false;

/** From now on, devices of the process's WebGPU throw when they are given such a variable. */
export async function refuseUnsetInLoops(): Promise<void> {
  if (watched) return;
  watched = true;
  const gpu = await openDawn();
  after(gpu, 'requestAdapter', (adapter) => {
    if (!adapter) return;
    after(adapter, 'requestDevice', (device) => {
      const create = device.createShaderModule.bind(device);
      device.createShaderModule = (of) => {
        assert.deepEqual(unsetInLoops(of.code), [], `${of.label}: variables of loops without a value`);
        return create(of);
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
