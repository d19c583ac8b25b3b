import type { Logger } from '../../../base/log.ts';
import type { Ffi, LiveObjects } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { HostReads } from '../memory/host-reads.ts';
import type { HipCudaPinned } from '../memory/hip-cuda-pinned.ts';
import type { StagingPool } from './staging-pool.ts';
import type { CompletionPoller } from './completion-poller.ts';
import type { EventPool } from './event-pool.ts';

/** What the objects of one device share. */
export interface HipCudaContext {
  readonly ffi: Ffi;
  readonly driver: Driver;
  readonly logger: Logger;
  readonly live: LiveObjects;
  readonly events: EventPool;
  readonly poller: CompletionPoller;
  readonly staging: StagingPool;
  readonly reads: HostReads;
  /** The pinned buffer that this memory belongs to, if any. */
  pinnedOf(bytes: Uint8Array): HipCudaPinned | undefined;
  /** Throws `DISPOSED` for a disposed object and `BINDING` for one of another device. */
  owns(object: Disposable): void;
}
