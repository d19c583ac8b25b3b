import { InvalidArgumentError, Option } from 'commander';
import type { ControlVectorOptions, ControlVectorSource } from '../node/open-control-vectors.ts';

/** Control vectors, as flags. The names are llama.cpp's. */
export interface ControlVectorFlags {
  readonly controlVector?: readonly ControlVectorSource[];
  readonly controlVectorScaled?: readonly ControlVectorSource[];
  readonly controlVectorLayerRange?: readonly [first: number, last: number];
}

const RANGE = '--control-vector-layer-range';

/** Which control vectors, and where they are added. */
export function controlVectorOptions(): Option[] {
  return [
    new Option(
      '--control-vector <file,...>',
      'control vector in GGUF that is added to the residual stream; repeatable',
    ).argParser((text, before?: readonly ControlVectorSource[]) => [
      ...(before ?? []),
      ...text.split(',').map((location) => ({ location, scale: 1 })),
    ]),
    new Option(
      '--control-vector-scaled <file:scale,...>',
      'the same with a scale, which may be negative; repeatable',
    ).argParser((text, before?: readonly ControlVectorSource[]) => [
      ...(before ?? []),
      ...text.split(',').map(scaledSource),
    ]),
    new Option(
      `${RANGE} <first last>`,
      'first and last layer behind which control vectors are added, counted from 0 (default: all of theirs)',
    ).argParser(layerRange),
  ].map((option) => option.helpGroup('Model:'));
}

/** The library's options for flags. */
export function controlVectorsOf({
  controlVector = [],
  controlVectorScaled = [],
  controlVectorLayerRange: controlVectorLayers,
}: ControlVectorFlags): ControlVectorOptions {
  const controlVectors = [...controlVector, ...controlVectorScaled];
  return {
    ...(controlVectors.length > 0 && { controlVectors }),
    ...(controlVectorLayers && { controlVectorLayers }),
  };
}

/** The command line with the two layers of a range as one word: as llama.cpp takes them, they are two. */
export function joinRange(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf(RANGE);
  const [first = '', last = ''] = argv.slice(at + 1, at + 3);
  if (at < 0 || !/^\d+$/.test(first) || !/^\d+$/.test(last)) return argv;
  return [...argv.slice(0, at + 1), `${first} ${last}`, ...argv.slice(at + 3)];
}

function scaledSource(text: string): ControlVectorSource {
  // A drive or an address has a colon of its own.
  const [, location, digits = ''] = /^(.+):([^:]*)$/s.exec(text) ?? [];
  const scale = Number(digits);
  if (location === undefined || digits.trim() === '' || !Number.isFinite(scale))
    throw new InvalidArgumentError('Expected a file, a colon and a number.');
  return { location, scale };
}

function layerRange(text: string): readonly [number, number] {
  const [, first, last] = /^(\d+)[ ,-]+(\d+)$/.exec(text) ?? [];
  if (first === undefined || last === undefined || Number(last) < Number(first))
    throw new InvalidArgumentError('Expected the first and the last layer.');
  return [Number(first), Number(last)];
}
