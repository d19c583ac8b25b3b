import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serveCommand } from '../../src/cli/commands/serve.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ENDPOINTS } from '../../src/server/routes.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = readFileSync(join(PROJECT_ROOT, 'docs/server.md'), 'utf8');

test('docs/server.md names every endpoint, option and metric of the server, and no others', async () => {
  const endpoints = Array.from(PAGE.matchAll(/^\| `((?:GET|POST|DELETE) \/\S*)` \|/gm), ([, name]) => name);
  assert.deepEqual(endpoints.toSorted(), ENDPOINTS.map(({ method, path }) => `${method} ${path}`).toSorted());
  for (const { long } of serveCommand.options.filter(
    ({ helpGroupHeading }) => helpGroupHeading === 'Server:',
  )) {
    assert.ok(PAGE.includes(`\`${long}\``) || PAGE.includes(`, ${long}\``), long);
  }
  const { text } = await new PrometheusMetrics().exposition({ models: [], activeRequests: 0 });
  const counted = Array.from(
    text.matchAll(/^# TYPE ((?:rocmforge_|vllm:|llamacpp:)\w+) /gm),
    ([, name]) => name,
  );
  const named = Array.from(PAGE.matchAll(/`((?:rocmforge_|vllm:|llamacpp:)\w+)`/g), ([, name]) => name);
  assert.deepEqual(named.toSorted(), counted.toSorted());
});
