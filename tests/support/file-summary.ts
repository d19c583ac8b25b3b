import { createHash } from 'node:crypto';
import { type GgufFile, loadTensorBytes } from '../../src/gguf/index.ts';

/** What a file holds, short enough to be kept: a hash of each tensor, and the metadata. */
export interface FileSummary {
  /** Format, shape, and the start of the data's SHA-256. */
  readonly tensors: Readonly<Record<string, readonly [format: string, shape: string, sha256: string]>>;
  /** Values as JSON; of long ones the start of its SHA-256. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Names that a converter makes of a repository's name. */
const NAMES =
  /^general\.(name|basename|finetune|version|size_label|organization|license|tags|languages|base_model.*)$/;

/** The summary of a file, without what names the model. */
export async function summaryOf(gguf: GgufFile): Promise<FileSummary> {
  const tensors = new Map<string, readonly [string, string, string]>();
  for (const tensor of gguf.tensors) {
    const hash = hashOf(await loadTensorBytes(tensor));
    tensors.set(tensor.name, [tensor.format.name, tensor.shape.join(' x '), hash]);
  }
  const metadata = [...gguf.metadata.keys()].flatMap((key) => {
    const value = gguf.metadata.encoded(key);
    if (!value || NAMES.test(key)) return [];
    const text = `${value.type} ${Buffer.from(value.payload).toString('hex')}`;
    return [[key, text.length > 60 ? hashOf(Buffer.from(text)) : text] as const];
  });
  return { tensors: sorted(tensors), metadata: sorted(metadata) };
}

function sorted<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 24);
}
