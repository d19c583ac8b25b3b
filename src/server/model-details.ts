import type { GgufFile } from '../gguf/index.ts';

/** What the header of a model's file says of it. */
export interface ModelDetails {
  /** Size of its files. */
  readonly bytes: number;
  readonly architecture: string;
  /** Number of its weights' elements, for people: `1.1B`. */
  readonly parameters: string;
  /** The format of most of its weights' bytes: `Q4_K`. */
  readonly quantization: string;
}

/** Reads no tensor. */
export function detailsOfFile(gguf: GgufFile): ModelDetails {
  const { metadata, tensors, byteLength: bytes } = gguf;
  const byFormat = new Map<string, number>();
  for (const { format, byteLength } of tensors)
    byFormat.set(format.name, (byFormat.get(format.name) ?? 0) + byteLength);
  const [most] = [...byFormat].toSorted(([, a], [, b]) => b - a);
  const count = tensors.reduce((sum, { elementCount }) => sum + elementCount, 0);
  return {
    bytes,
    architecture: metadata.string('general.architecture') ?? '',
    parameters: metadata.string('general.size_label') ?? shortCount(count),
    quantization: most?.[0].toUpperCase() ?? '',
  };
}

/** `8.0B`, `361.8M`, `260.0K`. */
function shortCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  return count >= 1e6 ? `${(count / 1e6).toFixed(1)}M` : `${(count / 1e3).toFixed(1)}K`;
}
