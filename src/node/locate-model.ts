import { stat } from 'node:fs/promises';
import { fail } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { bundledModel } from './bundled-model.ts';
import { isModelName, ModelHub, type PullProgress } from './hub/index.ts';

/** How a model that is named is found. */
export interface LocateOptions {
  /** Headers for the server that is asked. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
  /** Called while a model that is not on this machine is downloaded. */
  readonly onPull?: ((progress: PullProgress) => void) | undefined;
}

/**
 * Where a model is: paths and addresses are what they are; a model by name (`hf:user/repo:Q4_K_M`, `ollama:name`) is found in the
 * cache, and pulled if it is not there; without one, it is the bundled model. Rejects with `INVALID_ARGUMENT`, `PACKAGE_INCOMPLETE`
 * and as `ModelHub.pull`.
 */
export async function locateModel(location: string | undefined, options: LocateOptions): Promise<string> {
  if (location === undefined) return bundledModel();
  if (typeof location !== 'string') {
    const expected = 'a path, an address or a name; undefined for the bundled model';
    fail('INVALID_ARGUMENT', { name: 'location', found: typeof location, expected });
  }
  if (location === '') {
    const expected = 'a path, an address or a name; undefined for the bundled model';
    fail('INVALID_ARGUMENT', { name: 'location', found: 'an empty text', expected });
  }
  // A file of such a name comes first.
  if (!isModelName(location) || (await stat(location).catch(() => undefined))) return location;
  const { headers, signal, logger, onPull } = options;
  using hub = await ModelHub.open({ headers, signal, logger });
  const name = hub.parse(location);
  const cached = await hub.cached(name);
  if (cached) return cached.path;
  logger?.info('pulling', { model: location });
  return (await hub.pull(name, { onProgress: onPull })).path;
}
