import { runProgram } from '../../src/cli/program.ts';

// Runs the command lines that its parent sends, one after another: the process of `cliProcess`. Each run listens for what may happen to
// standard output and error, as if it were the only one.
process.stdout.setMaxListeners(0);
process.stderr.setMaxListeners(0);
process.on('message', (argv: readonly string[]) => {
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = ((text: unknown) => {
      written[name] += String(text);
      return true;
    }) as NodeJS.WriteStream['write'];
  }
  void runProgram(argv).then((code) => process.send?.({ code, signal: null, ...written }));
});
