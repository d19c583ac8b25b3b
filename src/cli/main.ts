import { startDriverAhead } from './driver-ahead.ts';

const argv = process.argv.slice(2);
await startDriverAhead(argv);
const { runProgram } = await import('./program.ts');
// No process.exit: what is still open then would be a leak, and pipes are written to the end.
process.exitCode = await runProgram(argv);
