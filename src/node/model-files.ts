import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fail } from '../base/errors.ts';
import type { ServedModel } from '../server/index.ts';
import { locateModel } from './locate-model.ts';
import { fileDigest, modelDetails, modelMemory } from './model-facts.ts';
import { loadModelInWorker } from './load-model-in-worker.ts';
import type { WorkerModelOptions } from './open-engine.ts';

const EXTENSION = '.gguf';
/** The parts of a split model except the first. */
const LATER_PART = /-(?!00001)\d{5}-of-\d{5}$/;
const FIRST_PART = /-00001-of-\d{5}$/;

/** The name under which a file is served: its own without the extension and the part number. */
export function modelName(location: string): string {
  // In a path, these are ordinary characters.
  const address = isAddress(location) ? (location.split(/[?#]/, 1)[0] as string) : location;
  const name = basename(address);
  const stem = name.endsWith(EXTENSION) ? name.slice(0, -EXTENSION.length) : name;
  return stem.replace(FIRST_PART, '');
}

/**
 * Models to be served, from locations of the form `PATH` or `NAME=PATH`, each opened with the same options on its own
 * thread, so that the serving thread stays free for requests. Models by name are pulled first. Rejects with `INVALID_ARGUMENT` if
 * two have the same name, and as `locateModel`.
 */
export async function servedModels(
  locations: readonly string[],
  options: WorkerModelOptions,
): Promise<ServedModel[]> {
  const sources = new Map<string, ServedModel>();
  for (const text of locations) {
    const [named, location] = namedLocation(text);
    const path = await locateModel(location, options);
    const id = named ?? modelName(path);
    if (sources.has(id)) {
      fail('INVALID_ARGUMENT', {
        name: 'model',
        found: `two of the name ${id}`,
        expected: 'NAME=PATH to tell them apart',
      });
    }
    sources.set(id, await sourceOf(id, path, options));
  }
  return [...sources.values()];
}

/** The parts of `NAME=LOCATION`; of a location alone, only that. */
export function namedLocation(text: string): readonly [name: string | undefined, location: string] {
  const [, name, location = text] = /^([\w.:-]+(?:\/[\w.:-]+)*)=(.+)$/s.exec(text) ?? [];
  return [name, location];
}

/** The GGUF files in a folder, sorted by name; split models count once. Rejects with `INVALID_ARGUMENT`. */
export async function modelFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) =>
    fail('INVALID_ARGUMENT', { name: 'models', found: folder, expected: 'a folder that can be read' }, error),
  );
  const files = names.filter(
    (name) => name.endsWith(EXTENSION) && !LATER_PART.test(name.slice(0, -EXTENSION.length)),
  );
  return files.sort().map((name) => join(folder, name));
}

async function sourceOf(id: string, location: string, options: WorkerModelOptions): Promise<ServedModel> {
  const modified = await stat(location).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
  return {
    id,
    created: Math.floor(modified / 1000),
    adapters: options.mergeAdapters ? [] : Object.keys(options.adapters ?? {}),
    details: once(() => modelDetails(location, options)),
    digest: digestOf(location),
    memory: (signal) => modelMemory(location, options, signal),
    open: ({ signal, onProgress }) => {
      // Whatever an engine before this one, or this server before it ended, has told.
      options.onBlocks?.([{ kind: 'cleared' }]);
      return loadModelInWorker(location, {
        ...options,
        signal,
        onProgress: ({ bytes, totalBytes }) => onProgress(totalBytes > 0 ? bytes / totalBytes : 0),
      });
    },
  };
}

/** The outcome of the first call that succeeds, for all calls. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let outcome: Promise<T> | undefined;
  return () => {
    outcome ??= work().catch((error: unknown) => {
      outcome = undefined;
      throw error;
    });
    return outcome;
  };
}

/** The digest of a model's files once it is known; none for addresses of other machines. */
function digestOf(location: string): () => string | undefined {
  let digest: string | undefined;
  let isWanted = false;
  const compute = async () => {
    digest = await fileDigest(await partsOf(location));
  };
  return () => {
    if (!isWanted && !isAddress(location)) {
      isWanted = true;
      // Files that cannot be read have none.
      compute().catch(() => {});
    }
    return digest;
  };
}

/** All files of a model, of which `path` is the first. Rejects with errors of reading. */
export async function partsOf(path: string): Promise<string[]> {
  const stem = path.slice(0, -EXTENSION.length);
  if (!path.endsWith(EXTENSION) || !FIRST_PART.test(stem)) return [path];
  const begin = basename(stem).replace(FIRST_PART, '');
  const count = stem.slice(-5);
  const names = await readdir(dirname(path));
  const isPart = (name: string) =>
    name.startsWith(`${begin}-`) && /^-\d{5}-of-\d{5}\.gguf$/.test(name.slice(begin.length));
  return names
    .filter((name) => isPart(name) && name.endsWith(`-of-${count}${EXTENSION}`))
    .sort()
    .map((name) => join(dirname(path), name));
}

function isAddress(location: string): boolean {
  return /^https?:\/\//i.test(location);
}
