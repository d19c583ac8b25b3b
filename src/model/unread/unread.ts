/** Something in a model's file that is not used, though it may matter. */
export interface Unread {
  readonly kind: 'tensor' | 'key';
  /** Its name; for tensors of several layers, `blk.*.` and the rest. */
  readonly name: string;
  /** Number of tensors that it covers. */
  readonly count: number;
  /** `error` if it would change the results: the file is refused unless that is allowed. */
  readonly level: 'error' | 'warning';
  readonly reason: string;
}

/** A one-line description. */
export function unreadText({ kind, name, count, reason }: Unread): string {
  return `${kind} ${name}${count > 1 ? ` (${count})` : ''}: ${reason}`;
}
