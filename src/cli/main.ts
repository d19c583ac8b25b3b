import { startDriverAhead } from './driver-ahead.ts';

const argv = process.argv.slice(2);
await startDriverAhead(argv);
const { runProgram } = await import('./program.ts');
// No process.exit: anything still open at this point would be a leak, and pipes must be flushed. Nor would it end
// sooner while a driver is starting for an invalid command line: Node waits for native calls on its threads in any
// case.
process.exitCode = await runProgram(argv);
