const LAST = 'rocmforge last model';
const OPENING = 'rocmforge opens last model';

/** The model that was used last: one of the server, or one that this browser keeps. */
export type LastModel =
  | { readonly place: 'server'; readonly id: string }
  | { readonly place: 'browser'; readonly id: string; readonly title: string };

/** The model of the last visit. */
export function lastModel(): LastModel | undefined {
  try {
    const last = JSON.parse(localStorage.getItem(LAST) ?? 'null') as Partial<LastModel> | null;
    return last?.id !== undefined && last.place !== undefined ? (last as LastModel) : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps what the next visit begins with. */
export function keepLastModel(model: LastModel): void {
  try {
    localStorage.setItem(LAST, JSON.stringify(model));
  } catch {
    // The first is used again.
  }
}

/**
 * Opens the model of the last visit, unless the page came to its end when it did that: a model that is too large for a phone would
 * end the page each time that it is opened.
 */
export async function openLast(open: () => Promise<void>): Promise<void> {
  try {
    const hasEnded = localStorage.getItem(OPENING) !== null;
    if (!hasEnded) localStorage.setItem(OPENING, 'yes');
    if (!hasEnded) await open();
    localStorage.removeItem(OPENING);
  } catch {
    // Where nothing is kept, there is no model of a last visit.
  }
}
