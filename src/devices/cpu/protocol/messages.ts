import type { WasmMemory, WasmModule } from '../../../base/web-types.ts';
import type { NativeBuild } from '../native/native-kernels.ts';
import type { StepTable } from './step-table.ts';

/** Messages from the host to a worker. They arrive in order. */
export type HostMessage =
  | {
      readonly kind: 'start';
      readonly control: SharedArrayBuffer;
      readonly index: number;
      readonly threads: number;
      readonly kernels: WasmModule;
      /** They decide on the layouts of matrices: see `layoutsOf`. */
      readonly native: NativeBuild | undefined;
      /** Whether a message `native` may follow. */
      readonly nativeLater: boolean;
    }
  | Announcement
  /** The step will not be used again. */
  | { readonly kind: 'drop'; readonly id: number }
  /** New commands are in the ring. */
  | { readonly kind: 'wake' };

/** Messages that every worker reads before it takes part in a command submitted later. */
export type Announcement =
  /** Native kernels take their places from now on, or never will. */
  | { readonly kind: 'native'; readonly build: NativeBuild | undefined }
  /** A new bank. */
  | { readonly kind: 'bank'; readonly id: number; readonly memory: WasmMemory }
  /** A new step. */
  | { readonly kind: 'step'; readonly id: number; readonly table: StepTable };

/** Messages from a worker to the host. */
export type WorkerMessage =
  /** The command for which a message was requested is done. */
  | { readonly kind: 'done' }
  /** The worker cannot continue. */
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };
