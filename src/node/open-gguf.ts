import { silentLogger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { GgufFile } from '../gguf/index.ts';
import { OPEN_SOURCE_OPTIONS, type OpenSourceOptions, openSource } from './open-source.ts';

/** Options for opening a model file. */
export interface OpenGgufOptions extends OpenSourceOptions {
  /** Maximum length of the header; default 256 MiB. */
  readonly maxHeaderBytes?: number;
}

const OPEN_GGUF_OPTIONS: OptionNames<OpenGgufOptions> = { ...OPEN_SOURCE_OPTIONS, maxHeaderBytes: true };

/**
 * Opens the GGUF model at a local path or an http(s) URL; the parts of a split model are found next to the given one.
 * Reads headers only. The caller disposes the file.
 */
export async function openGguf(location: string | URL, options: OpenGgufOptions = {}): Promise<GgufFile> {
  checkOptions('openGguf', options, OPEN_GGUF_OPTIONS);
  const started = performance.now();
  const { maxHeaderBytes, ...how } = options;
  const source = await openSource(location, how);
  const file = await GgufFile.open(source, {
    resolveSibling: (name) => openSource(name, how),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(maxHeaderBytes ? { maxHeaderBytes } : {}),
  });
  (options.logger ?? silentLogger).debug('opened', {
    file: file.name,
    parts: file.parts.length,
    bytes: file.byteLength,
    tensors: file.tensors.length,
    milliseconds: Math.round(performance.now() - started),
  });
  return file;
}
