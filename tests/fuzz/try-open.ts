import assert from 'node:assert/strict';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { GgufFile, loadTensorBytes } from '../../src/gguf/index.ts';
import { CountingSource } from './counting-source.ts';

/** A model as named files; the first is opened. */
export type FileSet = ReadonlyMap<string, Uint8Array>;

/**
 * Opens a damaged model and uses everything in it. Gives the error's code, or `ok`. Throws for what must never happen: an
 * error without a code, a bug's error, a tensor outside the file, a source left open, more read than there is.
 */
export async function tryOpen(files: FileSet): Promise<string> {
  const sources: CountingSource[] = [];
  const open = (name: string): CountingSource => {
    const content = files.get(name);
    if (!content) throw new Error(`no file ${name}`);
    const source = new CountingSource(content, name);
    sources.push(source);
    return source;
  };
  const [first = ''] = files.keys();
  const outcome = await use(open(first), async (name) => open(name));
  for (const source of sources) {
    assert.equal(source.disposals, 1, `${source.name} was disposed ${source.disposals} times`);
  }
  return outcome;
}

async function use(
  source: CountingSource,
  resolveSibling: (name: string) => Promise<CountingSource>,
): Promise<string> {
  try {
    await using file = await GgufFile.open(source, { resolveSibling });
    assert.ok(source.bytesRead <= source.size, 'a byte of the header was read twice');
    for (const key of file.metadata.keys()) {
      file.metadata.get(key);
      file.metadata.typeOf(key);
    }
    for (const tensor of file.tensors) {
      assert.ok(tensor.offset + tensor.byteLength <= tensor.source.size);
      assert.equal((await loadTensorBytes(tensor)).byteLength, tensor.byteLength);
    }
    return 'ok';
  } catch (error) {
    if (!isRocmforgeError(error) || error.code === 'INTERNAL') throw error;
    assert.ok(error.message.length > 20 && error.fix.length > 10);
    return error.code;
  }
}
