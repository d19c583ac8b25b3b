import type { SharedBlock } from '../device/index.ts';

const WASM_PAGE_BYTES = 64 * 1024;

/** Memory that threads share and drivers pin: of what JavaScript has, only WebAssembly's is both. */
export function sharedBlock(byteLength: number): SharedBlock {
  const pages = Math.ceil(byteLength / WASM_PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return { bytes: new Uint8Array(memory.buffer), [Symbol.dispose]: () => {} };
}
