import type { StepTable } from './step-table.ts';

/** What the host sends to a worker. Messages of one worker arrive in order. */
export type HostMessage =
  | {
      readonly kind: 'start';
      readonly control: SharedArrayBuffer;
      readonly index: number;
      readonly threads: number;
      readonly kernels: WebAssembly.Module;
    }
  /** A new bank; commands that name it follow. */
  | { readonly kind: 'bank'; readonly id: number; readonly memory: WebAssembly.Memory }
  /** A new step; commands that name it follow. */
  | { readonly kind: 'step'; readonly id: number; readonly table: StepTable }
  /** The step will not be named again. */
  | { readonly kind: 'drop'; readonly id: number }
  /** New commands are in the ring. */
  | { readonly kind: 'wake' };

/** What a worker sends to the host. */
export type WorkerMessage =
  /** The command that the host wanted to hear of is done. */
  | { readonly kind: 'done' }
  /** The worker cannot go on. */
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };
