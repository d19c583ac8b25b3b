import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CompileJob } from '../../src/devices/hip-cuda/index.ts';
import { ChildCompiler } from '../../src/node/child-compiler.ts';

const JOB: CompileJob = { api: 'hip', name: 'job', source: '', options: [] };

test('what a closed compiler did not compile is rejected: running, waiting, and asked for later', async () => {
  const compiler = new ChildCompiler({ libraries: { hip: ['libnowhere.so.1'] }, processes: 1 });
  const asked = ['one', 'two', 'three'].map((source) => compiler.compile({ ...JOB, source }));
  const answers = Promise.allSettled(asked);
  await compiler[Symbol.asyncDispose]();
  for (const answer of [...(await answers), ...(await Promise.allSettled([compiler.compile(JOB)]))]) {
    assert.equal(answer.status, 'rejected');
    assert.equal((answer.reason as { code?: unknown }).code, 'DISPOSED');
  }
});

test('what several ask for at the same time is compiled once', async () => {
  await using compiler = new ChildCompiler({ libraries: { hip: ['libnowhere.so.1'] } });
  const compiling = compiler.compile(JOB);
  assert.equal(compiler.compile({ ...JOB, options: [] }), compiling);
  const other = compiler.compile({ ...JOB, source: 'another' });
  assert.notEqual(other, compiling);
  // Either may be the first to be rejected.
  await Promise.all([compiling, other].map((one) => assert.rejects(one, { code: 'LIBRARY_NOT_FOUND' })));
  const again = compiler.compile(JOB);
  assert.notEqual(again, compiling);
  await assert.rejects(again, { code: 'LIBRARY_NOT_FOUND' });
});
