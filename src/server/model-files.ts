/** The files of served models, which requests may copy and delete. */
export interface ModelFiles {
  /**
   * Makes a model available under another name. Rejects with `MODEL_NOT_FOUND`, `REQUEST_INVALID` for a name that no
   * file can have or that is taken, and `WRITE_FAILED`.
   */
  copy(id: string, as: string): Promise<void>;
  /** Deletes a model's files. Rejects with `MODEL_NOT_FOUND` and `WRITE_FAILED`. */
  remove(id: string): Promise<void>;
}
