import { asBytes } from '../base/bytes.ts';
import type { UnsharedBytes } from '../base/web-types.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import type { ControlVectors } from '../model/control-vectors.ts';
import type { TensorIndex } from '../model/part-scope.ts';
import type { RopeOverrides } from '../model/rope-overrides.ts';

/** Tensors whose contents are sampled, and the bytes of each. */
const [SAMPLES, SAMPLE_BYTES] = [32, 64];

/**
 * Identifies a model: the SHA-256 of its metadata, of its tensors' names, formats and shapes, and of samples of their
 * contents, in hexadecimal. Fine-tuned or merged variants of a model differ; `merged` has tensors that replace the
 * file's, `control` what is added to the residual stream, `rope` replaces settings of the file. Rejects with errors of reading.
 */
export async function modelFingerprint(
  gguf: GgufFile,
  {
    merged,
    control,
    rope,
  }: {
    readonly merged?: TensorIndex | undefined;
    readonly control?: ControlVectors | undefined;
    readonly rope?: RopeOverrides | undefined;
  },
): Promise<string> {
  const { metadata } = gguf;
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  for (const key of metadata.keys()) {
    pieces.push(encoder.encode(`${key} ${metadata.typeOf(key)} `));
    const encoded = metadata.encoded(key);
    if (encoded) pieces.push(encoded.payload);
  }
  if (rope) pieces.push(encoder.encode(JSON.stringify(Object.entries(rope).toSorted())));
  for (const [layer, vector] of control ?? [])
    pieces.push(encoder.encode(`control ${layer} `), asBytes(vector));
  const tensors = gguf.tensors.map((tensor) => merged?.get(tensor.name) ?? tensor);
  for (const { name, format, shape } of tensors) {
    pieces.push(encoder.encode(`${name} ${format.name} ${shape.join('x')} `));
  }
  const stride = Math.max(1, Math.ceil(tensors.length / SAMPLES));
  const sampled = tensors.filter(({ name }, at) => at % stride === 0 || merged?.has(name));
  pieces.push(...(await Promise.all(sampled.map(sample))));
  const digest = await crypto.subtle.digest('SHA-256', joined(pieces));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Bytes from the middle of a tensor. */
async function sample({ source, offset, byteLength }: TensorInfo): Promise<Uint8Array> {
  const length = Math.min(SAMPLE_BYTES, byteLength);
  const bytes = new Uint8Array(length);
  await source.read(offset + Math.floor((byteLength - length) / 2), bytes);
  return bytes;
}

function joined(pieces: readonly Uint8Array[]): UnsharedBytes {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
