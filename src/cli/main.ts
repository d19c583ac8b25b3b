import { runProgram } from './program.ts';

// No process.exit: what is still open then would be a leak, and pipes are written to the end.
process.exitCode = await runProgram(process.argv.slice(2));
