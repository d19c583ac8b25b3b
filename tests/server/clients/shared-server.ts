import { after, before } from 'node:test';
import { HttpListener } from '../../../src/node/http-listener.ts';
import { ModelServer } from '../../../src/server/index.ts';
import { ACTIVITY, bundledSource } from '../../support/test-server.ts';

/** The key that the server asks for. */
export const KEY = 'sk-test';
/** The name of the model. */
export const MODEL = 'minimind2';

/** A server of the bundled model on the CPU device, listening while the tests of a file run. */
export function sharedServer(): { readonly url: string; readonly server: ModelServer } {
  const shared: { url: string; server: ModelServer } = { url: '', server: undefined as never };
  let listener: HttpListener | undefined;
  before(async () => {
    shared.server = new ModelServer({
      models: [bundledSource({ sequences: 4, context: 1024 })],
      parallel: 4,
      keys: [KEY],
      metrics: ACTIVITY,
    });
    await shared.server.loaded;
    listener = await HttpListener.open(shared.server.fetch, { port: 0 });
    shared.url = listener.url;
  });
  after(async () => {
    await listener?.[Symbol.asyncDispose]();
    await shared.server[Symbol.asyncDispose]();
  });
  return shared;
}

/** A question that the model answers with a clear margin. */
export const QUESTION = 'What is the capital of France?';
/** What its answer has. */
export const ANSWER = /Paris/;

/** A function as JSON schema. */
export const WEATHER_PARAMETERS = {
  type: 'object',
  properties: {
    city: { type: 'string', enum: ['Paris', 'Rome'] },
    days: { type: 'integer', minimum: 1, maximum: 9 },
  },
  required: ['city', 'days'],
  additionalProperties: false,
};
