import type { TestContext } from 'node:test';
import type { Pooling } from '../../src/index.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from './fixture.ts';

/** The fixture of a family, and the pooling that it is opened with. */
interface VectorModel {
  readonly name: string;
  readonly pooling?: Pooling;
}

/** A server of small random models that embed or rank, by their ids. */
export function vectorServer(t: TestContext, models: Readonly<Record<string, VectorModel>>): ModelServer {
  const sources = Object.entries(models).map(([id, { name, pooling }]) => ({
    id,
    created: 1_700_000_000,
    open: () =>
      loadModel(fixture(`families/${name}.gguf`), { device: 'cpu', threads: 1, cacheType: 'f32', pooling }),
  }));
  const server = new ModelServer({ models: sources, parallel: 2, metrics: new PrometheusMetrics() });
  t.after(() => server[Symbol.asyncDispose]());
  return server;
}
