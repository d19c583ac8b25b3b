import type { TestContext } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import type { ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { HttpListener, type ListenOptions } from '../../src/node/http-listener.ts';
import { type LoadModelOptions, loadModel } from '../../src/node/load-model.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { NO_METRICS, type ServerMetrics } from '../../src/server/metrics.ts';
import { type ServedModel, ModelServer, type ServerOptions } from '../../src/server/index.ts';
import { openOrRelease } from './open-or-release.ts';
import { BUNDLED } from './run-cli.ts';
import { tinyModel } from './tiny-model.ts';

/** A tiny random model by name, by default on the CPU device. */
export function tinySource(
  id = 'tiny',
  options: ModelOptions = {},
  openDevice: () => Device | Promise<Device> = () => openCpu({ threads: 1, memoryLimit: 2 ** 30 }),
): ServedModel {
  return {
    id,
    created: 1_700_000_000,
    open: async ({ onProgress, signal }) => {
      const device = await openDevice();
      const parts = { gguf: await tinyModel(), device, architectures: ALL_ARCHITECTURES };
      const progress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number }) =>
        onProgress(bytes / totalBytes);
      return openOrRelease(parts, { ...options, signal, onProgress: progress });
    },
  };
}

/** The bundled model on the CPU device. */
export function bundledSource(options: LoadModelOptions = {}): ServedModel {
  return {
    id: 'minimind2',
    created: 1_700_000_000,
    open: ({ signal }) => loadModel(BUNDLED, { device: 'cpu', threads: 1, ...options, signal }),
  };
}

/** Metrics that tell, at `/metrics`, only how many requests run or wait. */
export const ACTIVITY: ServerMetrics = {
  ...NO_METRICS,
  exposition: async ({ activeRequests }) => ({
    contentType: 'application/json',
    text: JSON.stringify(activeRequests),
  }),
};

/** The requests that run or wait in a server with these metrics. */
export async function activeRequests(server: ModelServer): Promise<number> {
  const response = await server.fetch(new Request('http://server/metrics'));
  return (await response.json()) as number;
}

/** A server of a tiny model, closed when the test ends. */
export async function tinyServer(t: TestContext, options: Partial<ServerOptions> = {}): Promise<ModelServer> {
  const { parallel = 4 } = options;
  const models = [tinySource('tiny', { sequences: parallel })];
  const server = new ModelServer({ models, parallel, metrics: ACTIVITY, ...options });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  return server;
}

/** A server on a local socket, closed when the test ends. */
export async function listen(
  t: TestContext,
  server: ModelServer,
  options: ListenOptions = {},
): Promise<string> {
  const listener = await HttpListener.open(server.fetch, { port: 0, ...options });
  t.after(() => listener[Symbol.asyncDispose]());
  return listener.url;
}

/** A POST request with a JSON body. */
export function post(path: string, body: unknown, init: RequestInit = {}): Request {
  const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) };
  return new Request(`http://server${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...init,
    headers,
  });
}

/** The JSON values of a stream's events, except `[DONE]`. */
export function eventsOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
