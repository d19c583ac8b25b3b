import type { OwnFile } from '../devices/remote/index.ts';
import { modelFingerprint } from '../engine/model-fingerprint.ts';
import { openGguf } from './open-gguf.ts';

/** A model's file from which a worker reads weights. Whoever opened it disposes it. */
export interface ModelFile extends OwnFile, AsyncDisposable {}

/** Opens one. Rejects as `openGguf`, and with errors of reading. */
export async function openModelFile(path: string): Promise<ModelFile> {
  const gguf = await openGguf(path);
  try {
    return {
      fingerprint: await modelFingerprint(gguf, {}),
      tensor: (name) => {
        const found = gguf.tensor(name);
        if (!found) return undefined;
        const { byteLength, format, source, offset: begin } = found;
        const read = async (offset: number, into: Uint8Array) => {
          await source.read(begin + offset, into);
        };
        return { byteLength, format, read };
      },
      [Symbol.asyncDispose]: () => gguf.dispose(),
    };
  } catch (error) {
    await gguf.dispose();
    throw error;
  }
}
