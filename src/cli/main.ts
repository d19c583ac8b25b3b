import { startDriverAhead } from './driver-ahead.ts';

const argv = process.argv.slice(2);
await startDriverAhead(argv);
const { runProgram } = await import('./program.ts');
// No process.exit: what is still open then would be a leak, and pipes are written to the end. Nor would it end sooner where a
// driver is still starting for a command line that turned out to be wrong: Node waits for its threads' native calls then, too.
process.exitCode = await runProgram(argv);
