/** The files of LoRA adapters that requests may load. */
export interface AdapterFiles {
  /** The location of a file that a request names. Rejects with `REQUEST_INVALID` if it is none that may be loaded. */
  locate(path: string): Promise<string>;
}
