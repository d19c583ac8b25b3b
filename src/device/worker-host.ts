/** A message channel to a worker thread. */
export interface WorkerPort {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** A running worker. */
export interface WorkerHandle extends WorkerPort {
  /** Called once when the worker dies without being asked to, soon where it has died already: it may have been started ahead. */
  onFailure(listener: (error: Error) => void): void;
  /** While held the process stays alive for this worker; a fresh worker is not held. */
  hold(held: boolean): void;
  terminate(): Promise<void>;
}

/** What a platform gives a device that computes on worker threads: how to start them. */
export interface WorkerHost {
  /** Physical cores that the process may use. */
  readonly threads: number;
  /** Starts a worker that runs the device's worker function; `name` shows in debuggers and traces. */
  start(name: string): WorkerHandle;
}
