import type { Logger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { checkModel } from '../engine/call-arguments.ts';
import type { TextModel } from '../engine/text-model.ts';
import { ModelServer } from './server.ts';

/** Options of the API of one model. */
export interface ModelFetchOptions {
  /** The model's name in the API. Default: its file's. */
  readonly id?: string | undefined;
  readonly logger?: Logger | undefined;
}

const OPTIONS: OptionNames<ModelFetchOptions> = { id: true, logger: true };

/** What `fetch` takes and gives. */
export type ModelFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The server's HTTP API for an open model as a `fetch` that opens no connection, for clients that accept one:
 * `new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'none', fetch: modelFetch(model) })`. The model stays the caller's. Throws
 * `INVALID_ARGUMENT` or `OPTION_UNKNOWN`.
 */
export function modelFetch(model: TextModel, options: ModelFetchOptions = {}): ModelFetch {
  checkModel(model);
  checkOptions('modelFetch', options, OPTIONS);
  const { id = model.id, logger } = options;
  const created = Math.floor(Date.now() / 1000);
  // The server is never disposed, so it does not dispose the model either.
  const server = new ModelServer({
    models: [{ id, created, open: async () => model }],
    parallel: Math.max(1, model.activity.slots),
    ...(logger && { logger }),
  });
  server.loaded.catch(() => {});
  return (input, init) => server.fetch(new Request(input, init));
}
