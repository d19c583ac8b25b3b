import { constants, setPriority } from 'node:os';
import { type LogFields, silentLogger } from '../base/log.ts';
import type { CompileNote } from './native-compiling.ts';
import { buildNativeKernels } from './native-kernels.ts';

/** The main function of the process that `compileElsewhere` starts: it gives way to everybody else, and says what it did to whoever still listens. */
async function main(): Promise<void> {
  const tell = (note: CompileNote) => {
    if (process.connected) process.send?.(note, undefined, undefined, () => {});
  };
  const debug = (message: string, fields: LogFields = {}) => tell({ kind: 'debug', message, fields });
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some systems forbid it: then it compiles as everybody else computes.
  }
  try {
    await buildNativeKernels({ variant: process.argv[2], logger: { ...silentLogger, debug } });
  } catch (error) {
    tell({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
}

await main();
