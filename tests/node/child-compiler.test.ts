import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CompileJob } from '../../src/devices/hip-cuda/index.ts';
import { ChildCompiler } from '../../src/node/child-compiler.ts';

const JOB: CompileJob = { api: 'hip', name: 'job', source: '', options: [] };

test('what a closed compiler did not compile is rejected: running, waiting, and asked for later', async () => {
  const compiler = new ChildCompiler({ libraries: { hip: ['libnowhere.so.1'] }, processes: 1 });
  const asked = [1, 2, 3].map(() => compiler.compile(JOB));
  const answers = Promise.allSettled(asked);
  await compiler[Symbol.asyncDispose]();
  for (const answer of [...(await answers), ...(await Promise.allSettled([compiler.compile(JOB)]))]) {
    assert.equal(answer.status, 'rejected');
    assert.equal((answer.reason as { code?: unknown }).code, 'DISPOSED');
  }
});
