import { spawnSync } from 'node:child_process';

/** A Python that has these modules: that of `ROCMFORGE_TEST_PYTHON`, or `python3`; undefined if there is none. */
export function pythonWith(modules: string): string | undefined {
  const python = process.env.ROCMFORGE_TEST_PYTHON ?? 'python3';
  const { status } = spawnSync(python, ['-c', `import ${modules}`], { stdio: 'ignore' });
  return status === 0 ? python : undefined;
}
