import { runProgram } from '../../src/cli/program.ts';
import type { CliResult } from './run-cli.ts';

/** Runs the command lines that its parent sends, one after another: the process of `runCliEach`. */
process.once('message', (lines: readonly (readonly string[])[]) => {
  void runEach(lines).then((results) => {
    // A channel that ends loses what has not been written yet.
    process.send?.(results, () => process.disconnect());
  });
});

async function runEach(lines: readonly (readonly string[])[]): Promise<CliResult[]> {
  // Each run listens for what may happen to them, as if it were the only one.
  process.stdout.setMaxListeners(0);
  process.stderr.setMaxListeners(0);
  const results: CliResult[] = [];
  for (const argv of lines) {
    const written = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      process[name].write = ((text: unknown) => {
        written[name] += String(text);
        return true;
      }) as NodeJS.WriteStream['write'];
    }
    results.push({ code: await runProgram(argv), signal: null, ...written });
  }
  return results;
}
