/** A message channel to a worker thread. */
export interface WorkerPort {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** A running worker. */
export interface WorkerHandle extends WorkerPort {
  /**
   * Called once when the worker dies unexpectedly, even if it had already died before, since it may have been started
   * ahead of time.
   */
  onFailure(listener: (error: Error) => void): void;
  /** Whether this worker keeps the process alive; a new worker does not. */
  hold(held: boolean): void;
  terminate(): Promise<void>;
}

/** The platform's means to start worker threads for a device. */
export interface WorkerHost {
  /** Physical cores that the process may use. */
  readonly threads: number;
  /** Starts a worker that runs the device's worker function; `name` shows in debuggers and traces. */
  start(name: string): WorkerHandle;
}
