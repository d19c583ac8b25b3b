import { fail } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { GgufFile } from '../gguf/index.ts';
import { type ControlVectorFile, type ControlVectors, readControlVectors } from '../model/control-vectors.ts';
import { openGguf } from './open-gguf.ts';

/** The location of a control vector, and its scale. */
export interface ControlVectorSource {
  /** A GGUF file: a path or an http(s) URL. */
  readonly location: string;
  /** What its directions are multiplied with; a negative one leads the other way. Default 1. */
  readonly scale?: number | undefined;
}

/** What is added to the residual stream of every request. */
export interface ControlVectorOptions {
  /** Control vectors in GGUF, as llama.cpp's `cvector-generator` writes them; several are added up. Default: none. */
  readonly controlVectors?: readonly (string | ControlVectorSource)[] | undefined;
  /** The first and the last layer behind which they are added, counted from 0. Default: all of theirs. */
  readonly controlVectorLayers?: readonly [first: number, last: number] | undefined;
}

const SOURCE: OptionNames<ControlVectorSource> = { location: true, scale: true };

/**
 * Reads control vectors into memory and closes their files. Rejects with `CONTROL_VECTOR_INVALID`, `INVALID_ARGUMENT` for a scale
 * or a range that is none, or errors of reading. A vector that was made for another architecture is told to the logger.
 */
export async function openControlVectors(
  { metadata }: GgufFile,
  {
    controlVectors,
    controlVectorLayers: range,
    signal,
    logger,
  }: ControlVectorOptions & {
    readonly signal?: AbortSignal | undefined;
    readonly logger?: Logger | undefined;
  },
): Promise<ControlVectors | undefined> {
  const sources = sourcesOf(controlVectors);
  checkRange(range, sources.length);
  if (sources.length === 0) return undefined;
  const architecture = metadata.string('general.architecture');
  const files: ControlVectorFile[] = [];
  try {
    for (const { location, scale } of sources) {
      const gguf = await openGguf(location, signal ? { signal } : {});
      files.push({ gguf, scale });
      const made = gguf.metadata.string('controlvector.model_hint');
      if (made !== undefined && made !== architecture)
        logger?.warn('a control vector was made for another architecture', {
          file: gguf.name,
          made,
          architecture,
        });
    }
    return await readControlVectors(files, range, signal);
  } finally {
    for (const { gguf } of files) await gguf.dispose();
  }
}

function sourcesOf(
  of: ControlVectorOptions['controlVectors'] = [],
): { readonly location: string; readonly scale: number }[] {
  const refuse = (name: string, found: unknown, expected: string) =>
    fail('INVALID_ARGUMENT', { name, found: String(found), expected });
  if (!Array.isArray(of)) return refuse('controlVectors', typeof of, 'a list of locations');
  return of.map((source: string | ControlVectorSource, at) => {
    if (typeof source === 'object') checkOptions('controlVectors', source, SOURCE);
    const { location, scale = 1 } = typeof source === 'object' ? source : { location: source };
    if (typeof location !== 'string') return refuse(`controlVectors[${at}]`, location, 'a location');
    if (!Number.isFinite(scale)) return refuse(`scale of ${location}`, scale, 'a finite number');
    return { location, scale };
  });
}

function checkRange(range: ControlVectorOptions['controlVectorLayers'], vectors: number): void {
  if (range === undefined) return;
  const refuse = (found: string, expected: string) =>
    fail('INVALID_ARGUMENT', { name: 'controlVectorLayers', found, expected });
  if (vectors === 0) refuse('no controlVectors', 'controlVectors that it limits');
  const isRange =
    Array.isArray(range) &&
    range.length === 2 &&
    range.every((layer) => Number.isSafeInteger(layer) && layer >= 0) &&
    range[0] <= range[1];
  if (!isRange) refuse(String(range), 'the first and the last layer');
}
