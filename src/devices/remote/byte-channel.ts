/** A connection to another process, over which bytes arrive in order or not at all. */
export interface ByteChannel {
  /** Where the other side is, for messages. */
  readonly address: string;
  /** Sends bytes behind those before. They must not change until the other side is known to have read them. */
  write(parts: readonly Uint8Array[]): void;
  /** Sends all that was written before; resolves when it has left, or the connection has ended; undefined if it has already. */
  flushed(): Promise<void> | undefined;
  /** Called with what arrives; bytes before the call wait for it. */
  onBytes(listener: (bytes: Uint8Array) => void): void;
  /** Called once when the connection has ended, on either side, with the reason. */
  onEnd(listener: (why: string) => void): void;
  /** Whether bytes are taken; the other side's wait meanwhile, so that they need no memory here. */
  pause(paused: boolean): void;
  /** Whether the connection keeps the process alive; a new one does. */
  hold(held: boolean): void;
  /** Calls back again and again, which does not keep the process alive, until what it returns is called. */
  every(milliseconds: number, work: () => void): () => void;
  /** Ends the connection at once, and what was started for it. */
  close(): Promise<void>;
}
