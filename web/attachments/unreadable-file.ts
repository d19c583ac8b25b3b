/** Why no text can be had of a file. */
export type UnreadableReason =
  /** It is an image, a sound or a film. */
  | 'media'
  /** It is of a kind that is not read. */
  | 'unknown'
  /** It is damaged. */
  | 'broken'
  /** It is encrypted. */
  | 'protected'
  /** It is too large. */
  | 'large'
  /** What reads it could not be loaded. */
  | 'offline'
  /** It has no text. */
  | 'empty';

/** A file whose text cannot be had. */
export class UnreadableFile extends Error {
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}
