import { RunTimeCompiler } from '../devices/hip-cuda/index.ts';
import type { CompileReply, CompileRequest } from './child-compiler.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { compilerTable } from './library-places.ts';

/** LLVM's recursion needs more than koffi's default stack. */
const STACK_BYTES = 16 << 20;

/** The main function of the processes that `ChildCompiler` starts: compiles requests until it is told to end. */
async function serve(): Promise<void> {
  const ffi = await loadKoffiFfi({ stackBytes: STACK_BYTES });
  const compilers = new Map<string, RunTimeCompiler>();
  const compilerOf = ({ job: { api }, libraries }: CompileRequest): RunTimeCompiler => {
    const known = compilers.get(api);
    if (known) return known;
    const opened = new RunTimeCompiler(ffi, compilerTable(api), libraries);
    compilers.set(api, opened);
    return opened;
  };
  const answer = (request: CompileRequest): CompileReply => {
    try {
      return compilerOf(request).compile(request.job);
    } catch (error) {
      return { unavailable: error instanceof Error ? error.message : String(error) };
    }
  };
  process.on('message', (request: CompileRequest) => process.send?.(answer(request)));
  process.on('disconnect', () => process.exit(0));
}

await serve();
