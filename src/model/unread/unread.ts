/** Something of a model's file that nothing is computed with, though one might think so. */
export interface Unread {
  readonly kind: 'tensor' | 'key';
  /** Its name; of tensors that several layers have, `blk.*.` and what follows. */
  readonly name: string;
  /** How many tensors it stands for. */
  readonly count: number;
  /** `error` where results would be others with it: the file is refused, unless that is allowed. */
  readonly level: 'error' | 'warning';
  readonly reason: string;
}

/** One of them in a line. */
export function unreadText({ kind, name, count, reason }: Unread): string {
  return `${kind} ${name}${count > 1 ? ` (${count})` : ''}: ${reason}`;
}
