/** How far a load has come. */
export interface LoadProgress {
  /** File bytes read and handed to the device. */
  readonly bytes: number;
  readonly totalBytes: number;
  readonly tensors: number;
  readonly totalTensors: number;
  /** The tensor that was touched last. */
  readonly tensor: string;
  /** Seconds since the load began. */
  readonly seconds: number;
}
