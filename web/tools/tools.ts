import type { ChatTool } from '../../src/browser/index.ts';
import { TEXTS } from '../texts.ts';
import { runInSandbox, type SandboxResult } from './sandbox.ts';

/** A function that a model may call, when the person allows it. */
export interface PageTool {
  readonly definition: ChatTool;
  /** What the person is asked before a call. */
  readonly ask: string;
  /** Runs a call with its arguments as JSON. Rejects if it is aborted. */
  call(written: string, signal: AbortSignal): Promise<SandboxResult>;
}

/** JavaScript in a sandbox. */
export const JAVASCRIPT_TOOL: PageTool = {
  definition: {
    type: 'function',
    function: {
      name: 'run_javascript',
      description:
        'Runs a JavaScript program and returns what it writes with console.log and what it returns. It has no network, no files and no page, and must end within 10 seconds. Use it to compute.',
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'The program; await is allowed.' } },
        required: ['code'],
        additionalProperties: false,
      },
    },
  },
  ask: TEXTS.call.ask,
  async call(written, signal) {
    const code = codeOf(written);
    if (code === undefined) return { isFailed: true, text: TEXTS.call.malformed };
    return runInSandbox(code, { signal, tooLong: TEXTS.call.tooLong });
  },
};

/** The program that a call of `JAVASCRIPT_TOOL` asks to run; undefined if its arguments have none. */
export function codeOf(written: string): string | undefined {
  try {
    const { code } = JSON.parse(written) as { code?: unknown };
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
  }
}
