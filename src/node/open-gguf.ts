import { silentLogger } from '../base/log.ts';
import { GgufFile } from '../gguf/index.ts';
import { type OpenSourceOptions, openSource } from './open-source.ts';

/** How a model file is opened. */
export interface OpenGgufOptions extends OpenSourceOptions {
  /** The longest header that is believed; 256 MiB where not given. */
  readonly maxHeaderBytes?: number;
}

/**
 * Opens the GGUF model at a local path or an http(s) address; the parts of a split model are found beside the given one.
 * Reads headers only. The caller disposes the file.
 */
export async function openGguf(location: string | URL, options: OpenGgufOptions = {}): Promise<GgufFile> {
  const started = performance.now();
  const source = await openSource(location, options);
  const file = await GgufFile.open(source, {
    resolveSibling: (name) => openSource(name, options),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.maxHeaderBytes ? { maxHeaderBytes: options.maxHeaderBytes } : {}),
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
